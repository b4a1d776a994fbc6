//go:build linux

package servers

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"syscall"
)

// Program is a server's program, or a tool, that is made on first use and then cached.
type Program struct {
	Name string
	path func() (string, error)
}

// Path returns the program's file, which it makes if it is not in the cache:
// for Vault that takes minutes.
func (p Program) Path() (string, error) { return p.path() }

// The programs that are made.
var (
	GatewayProgram  = Program{"the S3 gateway", gatewayBinary}
	ConsulProgram   = Program{"Consul", consulBinary}
	VaultProgram    = Program{"Vault's core", vaultBinary}
	PromtoolProgram = Program{"promtool", promtoolBinary}
)

// cached returns a file of a folder in the cache, and has the folder made if
// it is not there. A lock lets test runs side by side share the work, and the
// folder gets its name when it is complete.
func cached(name, file string, create func(folder string) error) (string, error) {
	cache, err := cacheFolder()
	if err != nil {
		return "", err
	}
	folder := filepath.Join(cache, name)
	lock, err := os.OpenFile(folder+".lock", os.O_CREATE|os.O_RDWR, 0o644)
	if err != nil {
		return "", err
	}
	defer lock.Close()
	if err := syscall.Flock(int(lock.Fd()), syscall.LOCK_EX); err != nil {
		return "", fmt.Errorf("lock %q: %w", lock.Name(), err)
	}
	path := filepath.Join(folder, file)
	if _, err := os.Stat(path); err == nil {
		return path, nil
	}
	unfinished := folder + ".unfinished"
	if err := errors.Join(os.RemoveAll(unfinished), os.RemoveAll(folder), os.Mkdir(unfinished, 0o755)); err != nil {
		return "", err
	}
	if err := create(unfinished); err != nil {
		return "", err
	}
	return path, os.Rename(unfinished, folder)
}

func cacheFolder() (string, error) {
	folder := os.Getenv("JOB_CLEANUP_TEST_CACHE")
	if folder == "" && os.Getuid() == 0 {
		folder = "/var/cache/job-cleanup-test"
	}
	if folder == "" {
		own, err := os.UserCacheDir()
		if err != nil {
			return "", err
		}
		folder = filepath.Join(own, "job-cleanup-test")
	}
	return folder, os.MkdirAll(folder, 0o755)
}
