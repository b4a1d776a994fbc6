package vault_test

import (
	"testing"

	"job-cleanup/pkg/clean/cleantest"
	"job-cleanup/pkg/clean/vault"
	"job-cleanup/pkg/residue"
	"job-cleanup/pkg/secret"
)

func TestOneConnection(t *testing.T) {
	cleantest.Connection(t, func(address string) residue.Cleaner {
		spec := residue.Spec{Selector: "Revoke", Value: "self", Options: map[string][]string{
			"Address": {address}, "Token": {"file:/token"},
		}}
		deps := residue.Deps{Secret: func(string) (secret.Text, error) { return secret.New("secret"), nil }}
		c, err := vault.Kind.Open(spec, deps)
		if err != nil {
			t.Fatal(err)
		}
		return c
	})
}
