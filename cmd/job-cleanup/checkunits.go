package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"job-cleanup/pkg/manager"
	"job-cleanup/pkg/unitfile"
)

// What stands for the instance of a template that is checked, and for the unit
// of a plan that belongs to none.
const (
	sampleInstance = "instance"
	sampleUnit     = "job@instance.service"
)

// checked are the units that the arguments name, else the loaded services.
func (s *site) checked(ctx context.Context) ([]*subject, error) {
	if len(s.opts.args) == 0 {
		return s.loaded(ctx)
	}
	var subjects []*subject
	for _, arg := range s.opts.args {
		u, err := s.checkedUnit(ctx, arg)
		if err != nil {
			return nil, err
		}
		subjects = append(subjects, s.asSubject(u))
	}
	return subjects, nil
}

// checkedUnit reads what one argument names.
func (s *site) checkedUnit(ctx context.Context, arg string) (*unitfile.Unit, error) {
	if isFile(arg) {
		return fileUnit(arg)
	}
	name := serviceName(arg)
	if conn, err := s.dial(ctx, s.opts.user); err == nil {
		defer conn.Close()
		limited, cancel := context.WithTimeout(ctx, managerLimit)
		defer cancel()
		if live, err := conn.Load(limited, name); err == nil && live.Fragment != "" {
			if u, err := unitfile.LoadFrom(live.Name, live.Fragment, live.DropIns); err == nil {
				return u, nil
			}
		}
	}
	u, err := unitfile.Load(name, s.search(s.opts.user))
	switch {
	case errors.Is(err, unitfile.ErrNotFound):
		return nil, usagef("give the file's path if it is not installed", "%v", err)
	case err != nil:
		return nil, wrongUnit(err)
	}
	return u, nil
}

// fileUnit reads a file: a unit with the drop-ins beside it, or one that holds
// a plan alone, which has no wiring that could be wrong.
func fileUnit(path string) (*unitfile.Unit, error) {
	if _, err := unitfile.ParseName(filepath.Base(path)); err == nil {
		u, err := unitfile.LoadFrom(filepath.Base(path), path, dropInsBeside(path))
		if err != nil {
			return nil, usagef("give a unit's name, or the path of its file", "%v", err)
		}
		return u, nil
	}
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, usagef("give a unit's name, or the path of its file", "read plan: %v", err)
	}
	u := &unitfile.Unit{Fragment: path}
	u.Sections, u.Problems = unitfile.Parse(path, text)
	return u, nil
}

// dropInsBeside are the drop-ins in the folder of a unit's file. Glob's only
// error is about its pattern, and then there are none that it can mean.
func dropInsBeside(path string) []string {
	escaped := strings.NewReplacer(`\`, `\\`, `*`, `\*`, `?`, `\?`, `[`, `\[`).Replace(path)
	found, _ := filepath.Glob(escaped + ".d/*.conf")
	return found
}

// asSubject is a unit that is only looked at: nothing ran, nothing runs. A
// template is compiled as some instance of it would be.
func (s *site) asSubject(u *unitfile.Unit) *subject {
	sub := &subject{unit: u}
	sub.job.UserBus = s.opts.user
	sub.identity.Unit = cmp.Or(u.Name, sampleUnit)
	if name, err := unitfile.ParseName(u.Name); err == nil && name.IsTemplate() {
		sub.identity.Unit = name.WithInstance(sampleInstance).String()
	}
	sub.job.Unit = sub.identity.Unit
	return sub
}

// sweeper is the timer that has a machine, or a user, swept.
const sweeper = "job-cleanup-sweep.timer"

// unswept is the fault of the whole machine: what a hook had to leave is
// written down, and nobody comes for it. Without a manager nobody can tell.
func (s *site) unswept(ctx context.Context) []finding {
	conn, err := s.dial(ctx, s.opts.user)
	if err != nil {
		return nil
	}
	defer conn.Close()
	listed, err := conn.List(ctx, sweeper)
	if err != nil || slices.ContainsFunc(listed, func(l manager.Listed) bool { return l.ActiveState == "active" }) {
		return nil
	}
	scope := ""
	if s.opts.user {
		scope = "--user "
	}
	return []finding{{sweeper, unitfile.Finding{
		Check: "no-sweep", Severity: unitfile.Warn, File: sweeper,
		Text: "it is not active: what a hook could not remove stays owed until the unit's next run",
		Fix:  "systemctl " + scope + "enable --now " + sweeper,
	}}}
}

// loaded are the services that the manager has loaded from files.
func (s *site) loaded(ctx context.Context) ([]*subject, error) {
	conn, err := s.dial(ctx, s.opts.user)
	if err != nil {
		return nil, usagef("name the units or files to check", "the service manager does not answer, so its units are not known")
	}
	defer conn.Close()
	listed, err := conn.List(ctx, "*.service")
	if err != nil {
		return nil, fmt.Errorf("ask the service manager for its units: %w", err)
	}
	var subjects []*subject
	for _, l := range listed {
		if l.LoadState != "loaded" {
			continue
		}
		live, err := conn.Unit(ctx, l.Name)
		if err != nil || live.Fragment == "" {
			continue // gone meanwhile
		}
		u, err := unitfile.LoadFrom(live.Name, live.Fragment, live.DropIns)
		if err != nil {
			s.trouble("", err)
			continue
		}
		subjects = append(subjects, s.asSubject(u))
	}
	return subjects, nil
}
