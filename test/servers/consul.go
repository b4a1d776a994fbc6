//go:build linux

package servers

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"

	"job-cleanup/test/rig"
)

// ConsulServer is a single real Consul server that denies what has no token.
type ConsulServer struct {
	*Server
	Address string // http://127.0.0.1:PORT
	Token   string // of the management policy
}

// Consul starts one.
func Consul(t rig.T) *ConsulServer {
	t.Helper()
	binary, err := consulBinary()
	if err != nil {
		t.Skipf("needs consul: %v", err)
	}
	port, rpc, serf := freePort(t), freePort(t), freePort(t)
	c := &ConsulServer{Server: newServer(t, "consul"), Address: "http://" + loopback(port), Token: newUUID()}
	config := map[string]any{
		"server": true, "bootstrap_expect": 1, "data_dir": filepath.Join(c.folder, "data"),
		"bind_addr": "127.0.0.1", "client_addr": "127.0.0.1", "node_name": "test", "log_level": "warn",
		"disable_update_check": true, "leave_on_terminate": false,
		"performance": map[string]any{"raft_multiplier": 1},
		"ports": map[string]any{
			"http": port, "server": rpc, "serf_lan": serf,
			"serf_wan": -1, "dns": -1, "grpc": -1, "https": -1,
		},
		"acl": map[string]any{
			"enabled": true, "default_policy": "deny",
			"tokens": map[string]any{"master": c.Token, "agent": c.Token},
		},
	}
	text, err := json.Marshal(config)
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(c.folder, "config.json")
	if err := os.WriteFile(path, text, 0o600); err != nil {
		t.Fatal(err)
	}
	c.command = func() *exec.Cmd { return exec.Command(binary, "agent", "-config-file", path) }
	c.answers = c.makesSessions
	c.Start()
	return c
}

// makesSessions is nil when the server leads, has its ACLs, and knows itself
// as a healthy node: sessions need all of that.
func (c *ConsulServer) makesSessions(ctx context.Context) error {
	var session struct{ ID string }
	for _, step := range []string{"create", "destroy/"} {
		url := c.Address + "/v1/session/" + step + session.ID
		status, body, err := call(ctx, http.MethodPut, url, c.header(), nil)
		if err == nil && status != http.StatusOK {
			err = fmt.Errorf("status %d: %.200q", status, body)
		}
		if err == nil && session.ID == "" {
			err = json.Unmarshal(body, &session)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func (c *ConsulServer) header() http.Header { return http.Header{"X-Consul-Token": {c.Token}} }

// Do calls the HTTP API with the management token: path is what follows /v1/.
// It returns the status and the answer's text.
func (c *ConsulServer) Do(method, path, body string) (int, string) {
	c.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), askLimit)
	defer cancel()
	status, text, err := call(ctx, method, c.Address+"/v1/"+path, c.header(), []byte(body))
	if err != nil {
		c.t.Fatal(err)
	}
	return status, string(text)
}

// newUUID returns a random UUID, the form that Consul wants of tokens.
func newUUID() string {
	var b [16]byte
	_, _ = rand.Read(b[:]) // never fails, says crypto/rand
	return fmt.Sprintf("%x-%x-%x-%x-%x", b[:4], b[4:6], b[6:8], b[8:10], b[10:])
}
