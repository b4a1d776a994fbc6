package main

import (
	"sync"
	"sync/atomic"

	"job-cleanup/pkg/clean/all"
	"job-cleanup/pkg/residue"
)

var (
	known       = sync.OnceValue(all.Kinds)
	replacement atomic.Pointer[residue.Registry] // of tests, whose abandoned work may still read it
)

// kinds are the kinds of residue this program knows.
func kinds() *residue.Registry {
	if other := replacement.Load(); other != nil {
		return other
	}
	return known()
}
