//go:build linux

// Command job is the batch job of package story: it takes something from
// every server, says so, and waits to be ended or fails by itself.
//
//	job CONFIG NAME FOLDER
//
// CONFIG is a file of type config.Config. All it makes is named after NAME. FOLDER is
// where it puts its Vault token and the ids of its session and its upload, as a
// job's runtime folder. When it holds all,
// it writes NAME.holds in the folder Told; the text of NAME.end there, a
// number, is then its exit status, and "kill" is its sudden death.
package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"job-cleanup/test/story/config"
)

// job is one run.
type job struct {
	config.Config
	name, folder string
}

func main() {
	if len(os.Args) != 4 {
		fmt.Fprintln(os.Stderr, "usage: job CONFIG NAME FOLDER")
		os.Exit(2)
	}
	status, err := run(os.Args[1], os.Args[2], os.Args[3])
	if err != nil {
		fmt.Fprintln(os.Stderr, "job:", err)
		status = 99 // no status that a test asks for
	}
	os.Exit(status)
}

func run(path, name, folder string) (int, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return 0, err
	}
	j := &job{name: name, folder: folder}
	if err := json.Unmarshal(text, &j.Config); err != nil {
		return 0, err
	}
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	for _, take := range []func(context.Context) error{
		j.makeFiles, j.takeToken, j.takeLock, j.startUpload, j.fillSchema, j.queueMessages, j.setKeys,
	} {
		if err := take(ctx); err != nil {
			return 0, err
		}
	}
	if err := os.WriteFile(filepath.Join(j.Told, name+".holds"), nil, 0o644); err != nil {
		return 0, err
	}
	return j.end()
}

// end waits until somebody says how to end.
func (j *job) end() (int, error) {
	for ; ; time.Sleep(20 * time.Millisecond) {
		text, err := os.ReadFile(filepath.Join(j.Told, j.name+".end"))
		if err != nil || len(text) == 0 {
			continue
		}
		how := strings.TrimSpace(string(text))
		if how == "kill" {
			return 0, syscall.Kill(os.Getpid(), syscall.SIGKILL)
		}
		return strconv.Atoi(how)
	}
}

// makeFiles makes a tree that no one else cleans.
func (j *job) makeFiles(context.Context) error {
	folder := filepath.Join("/var/tmp/batch-"+j.name, "part", "one")
	if err := os.MkdirAll(folder, 0o755); err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(folder, "result"), []byte("half\n"), 0o644)
}
