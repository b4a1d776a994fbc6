//go:build linux

package servers_test

import (
	"errors"
	"net/http"
	"syscall"
	"testing"

	"job-cleanup/test/servers"
)

// wantGone fails if a server's process, or one of its group, lives on.
func wantGone(t *testing.T, pid int) {
	t.Helper()
	if err := syscall.Kill(-pid, 0); !errors.Is(err, syscall.ESRCH) {
		t.Errorf("process group %d: %v, want none", pid, err)
	}
}

func TestVault(t *testing.T) {
	var pid int
	t.Run("lives", func(t *testing.T) {
		v := servers.Vault(t)
		v.Policy("reader", `path "kv/*" { capabilities = ["read"] }`)
		token, accessor := v.Token(map[string]any{"policies": []string{"reader"}})
		if !v.Valid(token) || accessor == "" {
			t.Error("the token does not work")
		}
		v.Must(v.Root, http.MethodGet, "lease/creds/one", nil)
		v.Stop()
		v.Start()
		pid = v.PID()
		if !v.Valid(token) || len(v.Leases()) != 1 {
			t.Errorf("after the restart: valid %t, leases %q", v.Valid(token), v.Leases())
		}
		v.Must(token, http.MethodPost, "auth/token/revoke-self", nil)
		if v.Valid(token) {
			t.Error("a revoked token works")
		}
		v.Must(v.Root, http.MethodPost, "sys/leases/revoke-prefix/lease", map[string]any{"sync": true})
		if left := v.Leases(); left != nil {
			t.Errorf("revoked, and there are %q", left)
		}
	})
	wantGone(t, pid)
}
