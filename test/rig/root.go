//go:build linux

package rig

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
)

// packages are what a root has beside the minimal system. procps and e2fsprogs
// are for the tests' own scripts (pkill, chattr), the rest is for systemd.
var packages = []string{
	"systemd", "systemd-sysv", "dbus", "dbus-user-session", "libpam-systemd",
	"libnss-systemd", "ca-certificates", "e2fsprogs", "procps",
}

// cacheFolder holds the roots between test runs.
func cacheFolder() string {
	if folder := os.Getenv("JOB_CLEANUP_TEST_CACHE"); folder != "" {
		return folder
	}
	return "/var/cache/job-cleanup-test"
}

// Root returns the folder of a suite's root with more packages in it, and makes
// it if it is not in the cache. A lock lets test runs side by side share the
// work; a root gets its name when it is complete, and another name when the
// packages change.
func Root(suite string, more ...string) (string, error) {
	all := slices.Concat(packages, more)
	sum := sha256.Sum256([]byte(strings.Join(all, " ")))
	root := filepath.Join(cacheFolder(), "root-"+suite+"-"+hex.EncodeToString(sum[:4]))
	if err := os.MkdirAll(cacheFolder(), 0o755); err != nil {
		return "", err
	}
	lock, err := os.OpenFile(root+".lock", os.O_CREATE|os.O_RDWR, 0o644)
	if err != nil {
		return "", err
	}
	defer lock.Close()
	if err := syscall.Flock(int(lock.Fd()), syscall.LOCK_EX); err != nil {
		return "", fmt.Errorf("lock %q: %w", lock.Name(), err)
	}
	if _, err := os.Stat(root); err == nil {
		return root, nil
	}
	unfinished := root + ".unfinished"
	if err := os.RemoveAll(unfinished); err != nil {
		return "", err
	}
	if err := makeRoot(suite, unfinished, all); err != nil {
		return "", err
	}
	return root, os.Rename(unfinished, root)
}

func makeRoot(suite, folder string, packages []string) error {
	mirror, err := Mirror()
	if err != nil {
		return err
	}
	cmd := exec.Command("debootstrap", "--variant=minbase", "--include="+strings.Join(packages, ","), suite, folder, mirror)
	if output, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("debootstrap: %w\n%s", err, tail(string(output)))
	}
	// Nothing of the machine that made it, and a machine id of its own at every boot.
	for _, name := range []string{"etc/hostname", "etc/machine-id", "var/lib/dbus/machine-id"} {
		if err := os.RemoveAll(filepath.Join(folder, name)); err != nil {
			return err
		}
	}
	return os.WriteFile(filepath.Join(folder, "etc/machine-id"), nil, 0o444)
}

var sourceLine = regexp.MustCompile(`(?m)^\s+\d+ ((?:https?|file)://?\S+) \S+/main `)

// Mirror returns the archive that this machine has base-files from: its own
// distribution's, whatever other sources it has.
func Mirror() (string, error) {
	output, err := exec.Command("apt-cache", "policy", "base-files").Output()
	if err != nil {
		return "", fmt.Errorf("apt-cache policy: %w", err)
	}
	match := sourceLine.FindSubmatch(output)
	if match == nil {
		return "", errors.New("apt-cache policy names no archive for base-files; is apt-get update needed?")
	}
	return string(match[1]), nil
}

// tail returns the last lines of a program's output.
func tail(text string) string {
	lines := strings.Split(strings.TrimSpace(text), "\n")
	return strings.Join(lines[max(0, len(lines)-15):], "\n")
}
