//go:build linux

package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"

	"github.com/hashicorp/go-hclog"
	"github.com/hashicorp/vault/sdk/physical/file"
	"github.com/hashicorp/vault/vault"
)

// keys is what a server needs to open its own storage again.
type keys struct {
	RootToken string `json:"root_token"`
	Unseal    []byte `json:"unseal"`
}

func newCore(storage string) (*vault.Core, error) {
	logger := hclog.New(&hclog.LoggerOptions{Name: "vault", Level: hclog.Warn, Output: os.Stderr})
	backend, err := file.NewFileBackend(map[string]string{"path": storage}, logger)
	if err != nil {
		return nil, err
	}
	return vault.NewCore(&vault.CoreConfig{
		Physical:           backend,
		Logger:             logger,
		DisableMlock:       true,
		CredentialBackends: authMethods,
		LogicalBackends:    secretsEngines,
		BuiltinRegistry:    registry{},
	})
}

// unseal opens the storage with the keys in a file; the first time it makes
// both.
func unseal(ctx context.Context, core *vault.Core, path string) error {
	text, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		text, err = initialize(ctx, core)
		if err == nil {
			err = os.WriteFile(path, text, 0o600)
		}
	}
	if err != nil {
		return err
	}
	var k keys
	if err := json.Unmarshal(text, &k); err != nil {
		return fmt.Errorf("read %q: %w", path, err)
	}
	open, err := core.Unseal(k.Unseal)
	if err == nil && !open {
		err = errors.New("unseal: still sealed")
	}
	return err
}

func initialize(ctx context.Context, core *vault.Core) ([]byte, error) {
	oneShare := &vault.SealConfig{SecretShares: 1, SecretThreshold: 1}
	result, err := core.Initialize(ctx, &vault.InitParams{BarrierConfig: oneShare, RecoveryConfig: oneShare})
	if err != nil {
		return nil, err
	}
	return json.Marshal(keys{RootToken: result.RootToken, Unseal: result.SecretShares[0]})
}
