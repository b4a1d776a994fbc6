//go:build linux

package rig

import (
	"errors"
	"fmt"
	"os"
)

// errEnded carries the reason why the show ended early up to Perform.
type errEnded struct{ error }

// stage is what a machine needs of a test, for a program that is none.
type stage struct{ cleanups []func() }

// Perform runs what needs a T, for a program that is no test, and then what was
// to be cleaned up, whatever happened. A failure, or a reason to skip, is the
// error it returns.
func Perform(show func(T)) (err error) {
	s := new(stage)
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
	folder, err := os.MkdirTemp("", "job-cleanup-stage-")
	if err != nil {
		s.Fatal(err)
	}
	s.Cleanup(func() { os.RemoveAll(folder) })
	return folder
}

var _ T = (*stage)(nil)
