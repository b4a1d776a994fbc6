//go:build linux

// Command locks is a Redis server with very many locks of jobs that are over,
// in a process of its own.
//
//	locks FOLDER
//	locks release FOLDER
//
// The first starts the server, and for each line on its input takes the locks
// and writes down in FOLDER/state that the jobs owe them, after a check that
// none is left from before. FOLDER/hook releases them with redis-cli. The second
// is a client that releases them, one after the other, and knows no ledger.
package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/redis/go-redis/v9"

	"job-cleanup/pkg/ledger"
	"job-cleanup/pkg/residue"
	"job-cleanup/test/rig"
	"job-cleanup/test/servers"
)

// jobs are over, and each holds so many locks.
const (
	jobs  = 200
	locks = 10
)

// release deletes a lock that has its value, as everybody has to.
const release = `if redis.call('GET', KEYS[1]) == ARGV[1] then return redis.call('DEL', KEYS[1]) else return 0 end`

func main() {
	var err error
	switch {
	case len(os.Args) == 3 && os.Args[1] == "release":
		err = loop(os.Args[2])
	case len(os.Args) == 2:
		var failure error
		err = errors.Join(rig.Perform(func(t rig.T) { failure = serve(t, os.Args[1]) }), failure)
	default:
		err = errors.New("usage: locks [release] FOLDER")
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func name(job, lock int) string  { return fmt.Sprintf("locks:%d:%d", job, lock) }
func value(job, lock int) string { return fmt.Sprintf("holder-%d-%d", job, lock) }

// each calls do for all locks.
func each(do func(job, lock int) error) error {
	for job := range jobs {
		for lock := range locks {
			if err := do(job, lock); err != nil {
				return err
			}
		}
	}
	return nil
}

func serve(t rig.T, folder string) error {
	server := servers.Redis(t)
	client := server.Client()
	defer client.Close()
	ctx := context.Background()
	text := fmt.Sprintf("#!/bin/sh\nexport REDISCLI_AUTH=$(cat %[1]s/password)\n"+
		"for job in $(seq 0 %[2]d); do for lock in $(seq 0 %[3]d); do\n"+
		"redis-cli -h %[4]s -p %[5]s --raw eval \"%[6]s\" 1 locks:$job:$lock holder-$job-$lock >%[1]s/said || exit 1\ndone; done\n",
		folder, jobs-1, locks-1, host(server.Address), port(server.Address), release)
	err := errors.Join(
		os.WriteFile(filepath.Join(folder, "address"), []byte(server.Address), 0o600),
		os.WriteFile(filepath.Join(folder, "password"), []byte(server.Password), 0o600),
		os.WriteFile(filepath.Join(folder, "hook"), []byte(text), 0o700))
	fmt.Println("ready")
	for lines := bufio.NewScanner(os.Stdin); err == nil && lines.Scan(); fmt.Println("ready") {
		if left, leftErr := client.DBSize(ctx).Result(); leftErr != nil || left > 0 {
			return fmt.Errorf("%d locks were not released: %w", left, leftErr)
		}
		err = errors.Join(take(ctx, client), owe(ctx, folder, server.Address))
	}
	return err
}

func host(address string) string { return address[:strings.LastIndexByte(address, ':')] }
func port(address string) string { return address[strings.LastIndexByte(address, ':')+1:] }

// take takes all locks.
func take(ctx context.Context, client *redis.Client) error {
	_, err := client.Pipelined(ctx, func(p redis.Pipeliner) error {
		return each(func(job, lock int) error { return p.Set(ctx, name(job, lock), value(job, lock), 0).Err() })
	})
	return err
}

// owe writes the ledgers anew, as arm would have.
func owe(ctx context.Context, folder, address string) error {
	state := filepath.Join(folder, "state")
	if err := os.RemoveAll(state); err != nil {
		return err
	}
	owner := ledger.Job{Job: residue.Job{Boot: "00000000000000000000000000000001", User: &residue.Identity{}}, Armed: true}
	store := ledger.Root(state, -1)
	for job := range jobs {
		l, err := store.Ledger(fmt.Sprintf("u-%d.service", job), fmt.Sprintf("%032x", job))
		if err != nil {
			return err
		}
		records := []ledger.Record{ledger.NewJob(owner)}
		for lock := range locks {
			spec := residue.Spec{Kind: "redis", Selector: "ReleaseLock", Value: name(job, lock), Phase: residue.Locks, Options: map[string][]string{
				"Address": {address}, "Password": {"file:" + filepath.Join(folder, "password")}, "Value": {value(job, lock)},
			}}
			spec.Identify()
			records = append(records, ledger.NewSpec(spec))
		}
		if err := l.Append(ctx, records...); err != nil {
			return err
		}
	}
	return nil
}

// loop is the client.
func loop(folder string) error {
	address, err := os.ReadFile(filepath.Join(folder, "address"))
	if err != nil {
		return err
	}
	password, err := os.ReadFile(filepath.Join(folder, "password"))
	if err != nil {
		return err
	}
	client := redis.NewClient(&redis.Options{Addr: string(address), Password: string(password)})
	defer client.Close()
	ctx := context.Background()
	return each(func(job, lock int) error {
		n, err := client.Eval(ctx, release, []string{name(job, lock)}, value(job, lock)).Int()
		if err == nil && n != 1 {
			err = fmt.Errorf("%s was not held", name(job, lock))
		}
		return err
	})
}
