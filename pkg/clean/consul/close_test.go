package consul_test

import (
	"testing"

	"job-cleanup/pkg/clean/cleantest"
	"job-cleanup/pkg/clean/consul"
	"job-cleanup/pkg/residue"
	"job-cleanup/pkg/secret"
)

func TestOneConnection(t *testing.T) {
	cleantest.Connection(t, func(address string) residue.Cleaner {
		spec := residue.Spec{Selector: "DestroySession", Value: "batch-1", Options: map[string][]string{
			"Address": {address},
		}}
		deps := residue.Deps{Secret: func(string) (secret.Text, error) { return secret.New("secret"), nil }}
		c, err := consul.Kind.Open(spec, deps)
		if err != nil {
			t.Fatal(err)
		}
		return c
	})
}
