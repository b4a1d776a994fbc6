//go:build linux

package servers

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"job-cleanup/test/rig"
)

// consulSuite is the last Debian suite that had Consul.
const consulSuite = "bullseye"

func consulBinary() (string, error) { return debian(consulSuite, "consul", "usr/bin/consul") }

// debian unpacks a package of a Debian suite into the cache on first use and
// returns one of its files. Nothing of it is installed, and apt gets sources,
// lists and a cache of its own, so the machine's are as they were.
func debian(suite, name, file string) (string, error) {
	return cached(name+"-"+suite, file, func(folder string) error {
		mirror, err := rig.Mirror()
		if err != nil {
			return err
		}
		work, err := os.MkdirTemp("", "job-cleanup-apt-")
		if err != nil {
			return err
		}
		defer os.RemoveAll(work)
		sources := filepath.Join(work, "sources.list")
		err = errors.Join(
			os.WriteFile(sources, []byte("deb "+mirror+" "+suite+" main\n"), 0o644),
			os.MkdirAll(filepath.Join(work, "lists", "partial"), 0o755),
			os.MkdirAll(filepath.Join(work, "cache", "archives", "partial"), 0o755))
		if err != nil {
			return err
		}
		apt := []string{
			"apt-get", "-q", "-o", "Dir::Etc::SourceList=" + sources, "-o", "Dir::Etc::SourceParts=/dev/null",
			"-o", "Dir::State::Lists=" + filepath.Join(work, "lists"), "-o", "Dir::Cache=" + filepath.Join(work, "cache"),
			"-o", "APT::Sandbox::User=", "-o", "Acquire::Languages=none",
			"-o", "Acquire::IndexTargets::deb::DEP-11::DefaultEnabled=false",
		}
		if err := run(work, nil, append(apt, "update")...); err != nil {
			return err
		}
		if err := run(work, nil, append(apt, "download", name)...); err != nil {
			return err
		}
		found, err := filepath.Glob(filepath.Join(work, name+"_*.deb"))
		if err != nil || len(found) != 1 {
			return fmt.Errorf("apt-get downloaded %q", found)
		}
		return run(work, nil, "dpkg", "-x", found[0], folder)
	})
}
