//go:build linux

// Command vaultserver runs the real Vault core for tests: one unsealed server
// on loopback, whose data survive a restart.
//
//	vaultserver --listen 127.0.0.1:8200 --data FOLDER
//
// It is a module of its own, so that the core and its dependencies are none of
// the product's. The folder keeps the storage and keys.json, with the root
// token in it; it answers on sys/health once all of that is ready. Beside what
// Vault always has it knows the auth methods userpass and approle and the
// secrets engines kv and lease.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"
	"time"

	vaulthttp "github.com/hashicorp/vault/http"
	"github.com/hashicorp/vault/internalshared/configutil"
	"github.com/hashicorp/vault/vault"
)

func main() {
	listen := flag.String("listen", "127.0.0.1:8200", "`address` to listen on")
	data := flag.String("data", "", "`folder` for everything that is kept")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM, syscall.SIGINT)
	defer stop()
	if err := run(ctx, *listen, *data); err != nil {
		fmt.Fprintln(os.Stderr, "vaultserver:", err)
		os.Exit(1)
	}
}

// run serves until the context ends.
func run(ctx context.Context, listen, data string) error {
	if data == "" {
		return errors.New("--data is missing")
	}
	core, err := newCore(filepath.Join(data, "storage"))
	if err != nil {
		return err
	}
	if err := unseal(ctx, core, filepath.Join(data, "keys.json")); err != nil {
		return err
	}
	listener, err := net.Listen("tcp", listen)
	if err != nil {
		return err
	}
	server := &http.Server{
		Handler: vaulthttp.Handler.Handler(&vault.HandlerProperties{
			Core: core,
			ListenerConfig: &configutil.Listener{
				Type: "tcp", Address: listen, MaxRequestDuration: vault.DefaultMaxRequestDuration,
			},
		}),
		ReadHeaderTimeout: 10 * time.Second,
	}
	go func() {
		<-ctx.Done()
		_ = server.Close() // a test that stops it wants its connections cut
	}()
	if err := server.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return core.Shutdown()
}
