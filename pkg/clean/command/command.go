// Package command runs a command line as a step of a cleanup, for residue that
// no other kind knows.
//
// The line is cut into words as an Exec line of a unit is; no shell reads it.
// The command gets a clean environment, no input, a session of its own, and
// limited time. Whatever it leaves running in that session ends with it.
//
// Nobody can tell whether what a command cleans is still there, so it must be
// harmless to run it again: it is run until it ends with success.
package command

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"job-cleanup/pkg/expand"
	"job-cleanup/pkg/residue"
)

// Kind runs commands. Its residue is an intent without proof: the program as
// it was recorded and a digest of the step, never an expanded argument.
var Kind = &residue.Kind{
	Name: "command",
	Doc:  "Runs a command, without a shell, until it has succeeded once.",
	Selectors: []residue.Selector{{
		Key: "Run", Type: "command", Value: residue.Words, Phase: residue.Data, ByName: true, Rank: 9, NoTrack: true, Done: "ran",
		Doc: "The command line, split like an Exec line. The program is an absolute path, or a name that is looked up in " +
			searchPath + ". A variable never becomes two words. It must do no harm when it is run twice.",
		Example: "/usr/local/bin/drop-scratch --batch=%i",
	}},
	Options: []residue.Option{{
		Key: "Environment", Value: residue.Words, Many: true,
		Doc: "NAME=VALUE words that are added to the command's environment. Without it that is PATH, LANG=C.UTF-8, HOME, " +
			"JOB_CLEANUP_UNIT, JOB_CLEANUP_INVOCATION, SERVICE_RESULT, EXIT_CODE and EXIT_STATUS.",
		Example: `"PGHOST=/run/postgresql" PGUSER=batch`,
	}, {
		Key: "PassEnvironment", Value: residue.String, Many: true,
		Doc: "Names of variables of the hook's own environment to pass on; those that are not set are left out. " +
			"A later sweep does not have them: what is still owed then waits for the unit's next run.",
		Example: "AWS_REGION KUBECONFIG",
	}, {
		Key: "WorkingDirectory", Value: residue.Path, Default: "/",
		Doc:     "The folder that the command starts in.",
		Example: "/srv/batch",
	}, {
		Key: "SuccessExitStatus", Value: residue.String, Many: true,
		Doc:     "Exit statuses that mean success beside 0, numbers up to 255.",
		Example: "3 75",
	}},
	Open: open,
}

// usual is the time limit of a command without TimeoutSec=.
const usual = time.Minute

// cleaner runs one command line.
type cleaner struct {
	name    string // the program as recorded, for messages
	ref     string
	argv    []string // expanded: may hold secrets
	env     []string // the same
	dir     string
	success map[int]bool
	limit   time.Duration
	job     *residue.Identity
	as      *residue.Identity // who to become; nil means nobody else
	output  io.Writer
}

func open(spec residue.Spec, deps residue.Deps) (residue.Cleaner, error) {
	if spec.Tracked != nil {
		return nil, refused("a command can't be tracked: only a plan says what is run")
	}
	recorded, err := expand.Split(spec.Value)
	if err != nil {
		return nil, refused("Run= %w", err)
	}
	if len(recorded) == 0 || recorded[0] == "" {
		return nil, refused("Run= names no program")
	}
	c := &cleaner{name: recorded[0], ref: reference(recorded[0], spec), dir: spec.Option("WorkingDirectory"),
		limit: spec.Timeout, output: deps.Output}
	if c.argv, err = words("Run=", spec.Value, deps); err != nil {
		return nil, err
	}
	if err := program(c.name, c.argv[0]); err != nil {
		return nil, err
	}
	if c.success, err = statuses(spec.Options["SuccessExitStatus"]); err != nil {
		return nil, err
	}
	if c.limit <= 0 {
		c.limit = usual
	}
	if c.dir == "" {
		c.dir = "/"
	}
	if !filepath.IsAbs(c.dir) {
		return nil, refused("WorkingDirectory=%q is not absolute", c.dir)
	}
	c.as = identity(spec, deps.Job)
	c.job = deps.Job.User
	c.env, err = environment(spec, deps)
	return c, err
}

func refused(format string, args ...any) error {
	return residue.Errorf(residue.Refused, residue.Other, format, args...)
}

// words expands a recorded text. Without the job's environment what needs it
// stays owed: a later run of the unit has one.
func words(key, text string, deps residue.Deps) ([]string, error) {
	out, err := expand.Words(text, deps.Env)
	var fault *expand.Error
	switch {
	case err == nil:
		return out, nil
	case errors.As(err, &fault) && fault.Unset && deps.Env == nil:
		return nil, residue.Errorf(residue.Retry, residue.Unset, "%s %w", key, err)
	case errors.As(err, &fault) && fault.Unset:
		return nil, residue.Errorf(residue.Refused, residue.Unset, "%s %w", key, err)
	}
	return nil, refused("%s %w", key, err)
}

// program checks how the program is named, before it is expanded and after.
func program(recorded, expanded string) error {
	switch {
	case filepath.IsAbs(expanded), !strings.Contains(expanded, "/") && !strings.ContainsAny(expanded[:1], "-@:+!|."):
		return nil
	case strings.ContainsAny(recorded[:1], "-@:+!|"):
		return refused("Run= begins with %q, which only means something in a unit; see SuccessExitStatus=", recorded[:1])
	}
	return refused("program %q is neither an absolute path nor a plain name", recorded)
}

// statuses reads the numbers of SuccessExitStatus=.
func statuses(lists []string) (map[int]bool, error) {
	ok := map[int]bool{0: true}
	for _, word := range strings.Fields(strings.Join(lists, " ")) {
		n, err := strconv.ParseUint(word, 10, 8)
		if err != nil {
			return nil, refused("SuccessExitStatus=%q is no number from 0 to 255", word)
		}
		ok[int(n)] = true
	}
	return ok, nil
}

// reference names the residue by what was recorded, which holds no secret.
func reference(name string, spec residue.Spec) string {
	text, err := json.Marshal([]any{spec.Value, spec.Options})
	if err != nil { // strings always marshal
		panic(err)
	}
	sum := sha256.Sum256(text)
	return fmt.Sprintf("%s#%s", name, hex.EncodeToString(sum[:6]))
}
