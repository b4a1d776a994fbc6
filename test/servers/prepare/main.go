//go:build linux

// Command prepare builds and fetches the servers that no Debian package of
// this suite brings, so that no test has to wait for it. The first time it
// takes minutes; later it finds them in the cache. What can't be had is said,
// and its tests are skipped.
package main

import (
	"fmt"
	"os"

	"job-cleanup/test/servers"
)

func main() {
	for _, program := range []servers.Program{servers.GatewayProgram, servers.ConsulProgram, servers.VaultProgram, servers.PromtoolProgram} {
		if _, err := program.Path(); err != nil {
			fmt.Fprintf(os.Stderr, "prepare: %s can't be had, and its tests are skipped: %v\n", program.Name, err)
		}
	}
}
