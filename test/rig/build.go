//go:build linux

package rig

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
)

// Program is the import path of the program under test.
const Program = "job-cleanup/cmd/job-cleanup"

// Build builds a program as it is shipped: static, without a symbol table.
func Build(what, file string) error {
	build := exec.Command("go", "build", "-trimpath", "-ldflags", "-s -w", "-o", file, what)
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if output, err := build.CombinedOutput(); err != nil {
		return fmt.Errorf("build %s: %w\n%s", what, err, output)
	}
	return nil
}

// WithProgram builds the program, tells where it is, and runs the tests of a
// package. The answer is an exit code.
func WithProgram(tell func(file string), run func() int) int {
	folder, err := os.MkdirTemp("", "job-cleanup-program-")
	if err == nil {
		defer os.RemoveAll(folder)
		file := filepath.Join(folder, "job-cleanup")
		if err = Build(Program, file); err == nil {
			tell(file)
			return run()
		}
	}
	fmt.Fprintln(os.Stderr, err)
	return 1
}
