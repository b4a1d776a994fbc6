// Package all lists the kinds of residue that job-cleanup knows. A new kind is
// one folder beside this one and one line here.
package all

import (
	"job-cleanup/pkg/clean/amqp"
	"job-cleanup/pkg/clean/aws"
	"job-cleanup/pkg/clean/command"
	"job-cleanup/pkg/clean/consul"
	"job-cleanup/pkg/clean/lockfile"
	"job-cleanup/pkg/clean/path"
	"job-cleanup/pkg/clean/postgres"
	"job-cleanup/pkg/clean/redis"
	"job-cleanup/pkg/clean/s3"
	"job-cleanup/pkg/clean/unit"
	"job-cleanup/pkg/clean/vault"
	"job-cleanup/pkg/residue"
)

// Kinds returns a registry of every kind.
func Kinds() *residue.Registry {
	return residue.NewRegistry(
		path.Kind,
		lockfile.Kind,
		command.Kind,
		unit.Kind,
		postgres.Kind,
		redis.Kind,
		amqp.Kind,
		vault.Kind,
		s3.Kind,
		consul.Kind,
		aws.Kind,
	)
}
