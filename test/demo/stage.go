//go:build linux

package main

import (
	"errors"
	"fmt"
	"os"

	"job-cleanup/test/rig"
)

// errEnded carries the reason why the demo ended early up to perform.
type errEnded struct{ error }

// stage is what a machine needs of a test, for a program that is none.
type stage struct{ cleanups []func() }

// perform runs the show and then what was to be cleaned up, whatever happened.
func (s *stage) perform(show func(*stage)) (err error) {
	defer func() {
		for len(s.cleanups) > 0 {
			last := len(s.cleanups) - 1
			cleanup := s.cleanups[last]
			s.cleanups = s.cleanups[:last]
			cleanup()
		}
	}()
	defer func() {
		switch cause := recover().(type) {
		case nil:
		case errEnded:
			err = cause.error
		default:
			panic(cause)
		}
	}()
	show(s)
	return nil
}

// Helper has no use outside of a test.
func (s *stage) Helper() {}

// Fatal ends the show.
func (s *stage) Fatal(args ...any) { panic(errEnded{errors.New(fmt.Sprint(args...))}) }

// Fatalf ends the show.
func (s *stage) Fatalf(format string, args ...any) { panic(errEnded{fmt.Errorf(format, args...)}) }

// Skip ends the show: without a machine there is nothing to be seen.
func (s *stage) Skip(args ...any) { s.Fatal(args...) }

// Skipf is Skip.
func (s *stage) Skipf(format string, args ...any) { s.Fatalf(format, args...) }

// Cleanup has something done at the end, last one first.
func (s *stage) Cleanup(f func()) { s.cleanups = append(s.cleanups, f) }

// TempDir makes a folder that goes with the show.
func (s *stage) TempDir() string {
	folder, err := os.MkdirTemp("", "job-cleanup-demo-")
	if err != nil {
		s.Fatal(err)
	}
	s.Cleanup(func() { os.RemoveAll(folder) })
	return folder
}

var _ rig.T = (*stage)(nil)
