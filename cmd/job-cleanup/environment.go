package main

import (
	"os"
	"strings"

	"job-cleanup/pkg/outcome"
)

// environment is a snapshot of the variables that the process was started
// with.
type environment map[string]string

// takeEnvironment copies the environment and clears it, so that no client
// library reads an address, a token or a proxy from it behind our back: what
// a job wrote there must not act with our rights. Who needs a variable gets it
// handed.
func takeEnvironment() environment {
	env := environment{}
	for _, pair := range os.Environ() {
		if name, value, ok := strings.Cut(pair, "="); ok && name != "" {
			env[name] = value
		}
	}
	os.Clearenv()
	return env
}

// lookup is the snapshot in the shape of os.LookupEnv.
func (e environment) lookup(name string) (string, bool) {
	value, ok := e[name]
	return value, ok
}

var _ outcome.Lookup = environment{}.lookup
