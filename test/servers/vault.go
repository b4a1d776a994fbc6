//go:build linux

package servers

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"job-cleanup/test/rig"
)

// VaultServer is a real Vault core, unsealed. It has the auth methods userpass
// and approle, the secrets engine kv (version 1), and the engine lease: reading
// lease/creds/NAME issues an account with a lease, and lease/live/ lists those
// that were issued and not revoked. See test/vaultserver.
type VaultServer struct {
	*Server
	Address string // http://127.0.0.1:PORT
	Root    string // the root token
}

// Vault starts one.
func Vault(t rig.T) *VaultServer {
	t.Helper()
	binary, err := vaultBinary()
	if err != nil {
		t.Skipf("needs Vault's core: %v", err)
	}
	listen := loopback(freePort(t))
	v := &VaultServer{Server: newServer(t, "vault"), Address: "http://" + listen}
	v.command = func() *exec.Cmd { return exec.Command(binary, "--listen", listen, "--data", v.folder) }
	v.answers = func(ctx context.Context) error { return wantStatus(ctx, v.Address+"/v1/sys/health", http.StatusOK) }
	v.Start()
	v.Root = v.rootToken()
	for _, mount := range []string{"auth/userpass", "auth/approle", "mounts/kv", "mounts/lease"} {
		v.Must(v.Root, http.MethodPost, "sys/"+mount, map[string]any{"type": filepath.Base(mount)})
	}
	return v
}

func (v *VaultServer) rootToken() string {
	v.t.Helper()
	text, err := os.ReadFile(filepath.Join(v.folder, "keys.json"))
	if err != nil {
		v.t.Fatal(err)
	}
	var keys struct {
		RootToken string `json:"root_token"`
	}
	if err := json.Unmarshal(text, &keys); err != nil {
		v.t.Fatal(err)
	}
	return keys.RootToken
}

// Do calls the HTTP API as the holder of a token: path is what follows /v1/,
// body is sent as JSON, nil for none. It returns the status and the answer.
func (v *VaultServer) Do(token, method, path string, body any) (int, map[string]any) {
	v.t.Helper()
	var text []byte
	if body != nil {
		var err error
		if text, err = json.Marshal(body); err != nil {
			v.t.Fatal(err)
		}
	}
	ctx, cancel := context.WithTimeout(context.Background(), askLimit)
	defer cancel()
	status, reply, err := call(ctx, method, v.Address+"/v1/"+path, http.Header{"X-Vault-Token": {token}}, text)
	if err != nil {
		v.t.Fatal(err)
	}
	var answer map[string]any
	if len(reply) > 0 {
		if err := json.Unmarshal(reply, &answer); err != nil {
			v.t.Fatalf("vault: %s %s: %v: %.200q", method, path, err, reply)
		}
	}
	return status, answer
}

// Must is Do for a call that has to succeed.
func (v *VaultServer) Must(token, method, path string, body any) map[string]any {
	v.t.Helper()
	status, answer := v.Do(token, method, path, body)
	if status/100 != 2 {
		v.t.Fatalf("vault: %s %s: status %d: %v", method, path, status, answer["errors"])
	}
	return answer
}

// Policy writes a policy, in Vault's own language.
func (v *VaultServer) Policy(name, rules string) {
	v.t.Helper()
	v.Must(v.Root, http.MethodPut, "sys/policies/acl/"+name, map[string]any{"policy": rules})
}

// Token makes a token with the root token's rights over it. Parameters are
// those of auth/token/create: policies, ttl, type, no_parent…
func (v *VaultServer) Token(parameters map[string]any) (token, accessor string) {
	v.t.Helper()
	auth, _ := v.Must(v.Root, http.MethodPost, "auth/token/create", parameters)["auth"].(map[string]any)
	token, _ = auth["client_token"].(string)
	accessor, _ = auth["accessor"].(string)
	if token == "" {
		v.t.Fatal("vault: no token was made")
	}
	return token, accessor
}

// Valid reports whether a token still works.
func (v *VaultServer) Valid(token string) bool {
	v.t.Helper()
	status, _ := v.Do(token, http.MethodGet, "auth/token/lookup-self", nil)
	return status == http.StatusOK
}

// Leases lists the accounts of the engine lease that were issued and are not
// revoked.
func (v *VaultServer) Leases() []string {
	v.t.Helper()
	status, answer := v.Do(v.Root, "LIST", "lease/live", nil)
	if status == http.StatusNotFound {
		return nil
	}
	data, _ := answer["data"].(map[string]any)
	keys, _ := data["keys"].([]any)
	var names []string
	for _, key := range keys {
		names = append(names, fmt.Sprint(key))
	}
	return names
}

// vaultBinary builds test/vaultserver on first use, which takes minutes.
func vaultBinary() (string, error) {
	output, err := exec.Command("go", "list", "-m", "-f", "{{.Dir}}", "job-cleanup").Output()
	if err != nil {
		return "", fmt.Errorf("go list: %w", err)
	}
	source := filepath.Join(strings.TrimSpace(string(output)), "test", "vaultserver")
	sum, err := hashFolder(source)
	if err != nil {
		return "", err
	}
	return cached("vaultserver-"+sum, "vaultserver", func(folder string) error {
		return run(source, []string{"CGO_ENABLED=0"},
			"go", "build", "-trimpath", "-ldflags", "-s -w", "-o", filepath.Join(folder, "vaultserver"), ".")
	})
}

// hashFolder sums up the names and contents of a folder's files.
func hashFolder(folder string) (string, error) {
	entries, err := os.ReadDir(folder)
	if err != nil {
		return "", err
	}
	sum := sha256.New()
	for _, entry := range entries {
		text, err := os.ReadFile(filepath.Join(folder, entry.Name()))
		if err != nil {
			return "", err
		}
		fmt.Fprintf(sum, "%s %d\n%s", entry.Name(), len(text), text)
	}
	return hex.EncodeToString(sum.Sum(nil)[:6]), nil
}
