//go:build linux

package main

import (
	"slices"

	"github.com/hashicorp/vault/builtin/credential/approle"
	"github.com/hashicorp/vault/builtin/credential/userpass"
	"github.com/hashicorp/vault/sdk/helper/consts"
	"github.com/hashicorp/vault/sdk/logical"
	"github.com/hashicorp/vault/vault"
)

var (
	authMethods = map[string]logical.Factory{
		"userpass": userpass.Factory,
		"approle":  approle.Factory,
	}
	secretsEngines = map[string]logical.Factory{
		"kv":    vault.PassthroughBackendFactory,
		"lease": newLeaseBackend,
	}
)

// registry is Vault's list of what may be mounted by name: what the core was
// built with, and nothing else.
type registry struct{}

func (registry) factories(kind consts.PluginType) map[string]logical.Factory {
	switch kind {
	case consts.PluginTypeCredential:
		return authMethods
	case consts.PluginTypeSecrets:
		return secretsEngines
	}
	return nil
}

func (r registry) Contains(name string, kind consts.PluginType) bool {
	_, ok := r.factories(kind)[name]
	return ok
}

func (r registry) Get(name string, kind consts.PluginType) (func() (any, error), bool) {
	factory, ok := r.factories(kind)[name]
	return func() (any, error) { return factory, nil }, ok
}

func (r registry) Keys(kind consts.PluginType) []string {
	var names []string
	for name := range r.factories(kind) {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

func (r registry) DeprecationStatus(name string, kind consts.PluginType) (consts.DeprecationStatus, bool) {
	return consts.Supported, r.Contains(name, kind)
}

func (registry) IsBuiltinEntPlugin(string, consts.PluginType) bool { return false }
