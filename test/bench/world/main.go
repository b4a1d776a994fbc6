//go:build linux

// Command world is the servers of the benchmark, in a process of their own: a
// program that measures others must be small itself.
//
//	world FOLDER
//
// It starts Vault, Consul, an S3 gateway and PostgreSQL, writes the same
// cleanup twice, as FOLDER/plan and as the usual shell hook FOLDER/hook, and
// prints the job's id. Then each line on its input makes the job's residue
// again, after a check that the one before is gone, and is answered with a
// line when that is done. It ends with its input.
package main

import (
	"bufio"
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/s3"

	"job-cleanup/test/rig"
	"job-cleanup/test/servers"
)

// world is the servers and the job.
type world struct {
	folder, job string
	token       string // the job's, "" before there is one

	vault    *servers.VaultServer
	consul   *servers.ConsulServer
	s3       *servers.S3Server
	postgres *servers.PostgresServer
}

func main() {
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "usage: world FOLDER")
		os.Exit(2)
	}
	var failure error
	err := rig.Perform(func(t rig.T) { failure = serve(t, os.Args[1]) })
	if err = errors.Join(err, failure); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func serve(t rig.T, folder string) error {
	var id [16]byte
	_, _ = rand.Read(id[:]) // never fails, says crypto/rand
	w := &world{
		folder: folder, job: hex.EncodeToString(id[:]),
		vault: servers.Vault(t), consul: servers.Consul(t), s3: servers.S3(t), postgres: servers.Postgres(t),
	}
	w.s3.Bucket("artifacts")
	if err := w.describe(); err != nil {
		return err
	}
	fmt.Println(w.job)
	for lines := bufio.NewScanner(os.Stdin); lines.Scan(); {
		if left := w.left(); left != nil {
			return fmt.Errorf("not removed: %s", strings.Join(left, ", "))
		}
		if err := w.leave(); err != nil {
			return err
		}
		fmt.Println("ready")
	}
	return nil
}

// leave makes the job's residue.
func (w *world) leave() error {
	w.token, _ = w.vault.Token(map[string]any{"policies": []string{"default"}})
	if err := os.WriteFile(filepath.Join(w.folder, "vault-token"), []byte(w.token), 0o600); err != nil {
		return err
	}
	for n := range 3 {
		key := fmt.Sprintf("kv/jobs/%s/%d", w.job, n)
		if status, text := w.consul.Do(http.MethodPut, key, "value"); status != http.StatusOK {
			return fmt.Errorf("consul: %s: status %d: %s", key, status, text)
		}
	}
	_, err := w.s3.Client().PutObject(context.Background(), &s3.PutObjectInput{
		Bucket: aws.String("artifacts"), Key: aws.String(w.key()), Body: strings.NewReader("half a result"),
	})
	schema := "batch_" + w.job
	w.postgres.Exec("postgres",
		"CREATE SCHEMA IF NOT EXISTS "+schema, "CREATE TABLE IF NOT EXISTS "+schema+".orders (n int)",
		"INSERT INTO "+schema+".orders SELECT n FROM generate_series(1, 1000) AS n")
	return err
}

func (w *world) key() string { return "jobs/" + w.job + "/result.part" }

// left lists what is there of the residue.
func (w *world) left() []string {
	if w.token == "" {
		return nil
	}
	var left []string
	if w.vault.Valid(w.token) {
		left = append(left, "the token")
	}
	if status, _ := w.consul.Do(http.MethodGet, "kv/jobs/"+w.job+"/?keys", ""); status != http.StatusNotFound {
		left = append(left, "the keys")
	}
	list, err := w.s3.Client().ListObjectsV2(context.Background(), &s3.ListObjectsV2Input{Bucket: aws.String("artifacts")})
	if err != nil || len(list.Contents) > 0 {
		left = append(left, "the object")
	}
	if w.postgres.Count("postgres", "SELECT count(*) FROM batch_"+w.job+".orders") > 0 {
		left = append(left, "the rows")
	}
	return left
}
