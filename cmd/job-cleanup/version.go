package main

import (
	"context"
	"fmt"
	"runtime"
)

// version is set by the linker.
var version = "unknown"

func versionVerb() *verb {
	return &verb{
		name:  "version",
		short: "print the version",
		long:  "Prints the version of the program and of the Go that built it.",
		run: func(_ context.Context, p *program, _ *options) (int, error) {
			_, err := fmt.Fprintf(p.stdout, "job-cleanup %s (%s %s/%s)\n", version, runtime.Version(), runtime.GOOS, runtime.GOARCH)
			return exitDone, err
		},
	}
}
