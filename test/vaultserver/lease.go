//go:build linux

package main

import (
	"context"
	"errors"
	"time"

	"github.com/hashicorp/vault/sdk/framework"
	"github.com/hashicorp/vault/sdk/logical"
)

// newLeaseBackend makes a secrets engine that stands for those that give out
// accounts of other systems. Reading creds/NAME issues one with a lease; what
// was issued and not yet revoked is listed at live/.
func newLeaseBackend(ctx context.Context, conf *logical.BackendConfig) (logical.Backend, error) {
	account := &framework.Secret{
		Type:            "account",
		Fields:          map[string]*framework.FieldSchema{"account": {Type: framework.TypeString}},
		DefaultDuration: time.Hour,
		Revoke:          revoke,
	}
	issue := func(ctx context.Context, request *logical.Request, data *framework.FieldData) (*logical.Response, error) {
		name, _ := data.Get("name").(string)
		entry, err := logical.StorageEntryJSON("live/"+name, true)
		if err != nil {
			return nil, err
		}
		values := map[string]any{"account": name}
		return account.Response(values, values), request.Storage.Put(ctx, entry)
	}
	backend := &framework.Backend{
		BackendType: logical.TypeLogical,
		Secrets:     []*framework.Secret{account},
		Paths: []*framework.Path{{
			Pattern:    "creds/" + framework.GenericNameRegex("name"),
			Fields:     map[string]*framework.FieldSchema{"name": {Type: framework.TypeString}},
			Operations: map[logical.Operation]framework.OperationHandler{logical.ReadOperation: &framework.PathOperation{Callback: issue}},
		}, {
			Pattern:    "live/?",
			Operations: map[logical.Operation]framework.OperationHandler{logical.ListOperation: &framework.PathOperation{Callback: live}},
		}},
	}
	return backend, backend.Setup(ctx, conf)
}

func live(ctx context.Context, request *logical.Request, _ *framework.FieldData) (*logical.Response, error) {
	names, err := request.Storage.List(ctx, "live/")
	return logical.ListResponse(names), err
}

func revoke(ctx context.Context, request *logical.Request, _ *framework.FieldData) (*logical.Response, error) {
	name, ok := request.Secret.InternalData["account"].(string)
	if !ok {
		return nil, errors.New("the lease names no account")
	}
	return nil, request.Storage.Delete(ctx, "live/"+name)
}
