package main

import (
	"bufio"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"job-cleanup/pkg/residue"
)

// account is one line of passwd(5).
type account struct {
	name     string
	uid, gid uint32
	home     string
}

// accounts reads a passwd file; a machine without one has none.
func accounts(path string) []account {
	file, err := os.Open(path)
	if err != nil {
		return nil
	}
	defer file.Close()
	var all []account
	for lines := bufio.NewScanner(file); lines.Scan(); {
		f := strings.Split(lines.Text(), ":")
		if len(f) < 7 {
			continue
		}
		uid, err := strconv.ParseUint(f[2], 10, 32)
		gid, err2 := strconv.ParseUint(f[3], 10, 32)
		if errors.Join(err, err2) == nil {
			all = append(all, account{f[0], uint32(uid), uint32(gid), f[5]})
		}
	}
	return all
}

// homes lists the folders that are somebody's home.
func homes(all []account) []string {
	found := []string{"/root"}
	for _, a := range all {
		if filepath.IsAbs(a.home) && filepath.Clean(a.home) != "/" {
			found = append(found, filepath.Clean(a.home))
		}
	}
	slices.Sort(found)
	return slices.Compact(found)
}

func homeOf(all []account, uid uint32) string {
	for _, a := range all {
		if a.uid == uid {
			return a.home
		}
	}
	return ""
}

// identityOf returns the account of a name or number; nil when there is none.
func identityOf(all []account, name string) *residue.Identity {
	for _, a := range all {
		if a.name == name || strconv.FormatUint(uint64(a.uid), 10) == name {
			return &residue.Identity{UID: a.uid, GID: a.gid, Name: a.name, Home: a.home}
		}
	}
	return nil
}
