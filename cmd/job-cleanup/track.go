package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"unicode"

	"github.com/spf13/pflag"

	"job-cleanup/pkg/journal"
	"job-cleanup/pkg/ledger"
	"job-cleanup/pkg/residue"
)

func trackVerb() *verb {
	return &verb{
		name:  "track",
		args:  "KIND REF | --forget ID",
		short: "add residue to this job's ledger, during the job",
		long: "Writes down one thing that the job leaves, with proof of its identity where it exists already, and prints its id. " +
			"Called by the job's own scripts. --forget takes it back.\nKinds: " + strings.Join(nouns(), ", ") + ".",
		max: 2,
		options: func(fs *pflag.FlagSet, o *options) {
			whichJob(fs, o)
			whichFolders(fs, o)
			fs.StringVar(&o.forget, "forget", "", "take back what was tracked with this `ID`")
			o.extra = trackOptions(fs)
		},
		run: runTrack,
	}
}

// nouns lists what can be tracked.
func nouns() []string {
	var all []string
	for _, kind := range kinds().Kinds() {
		for _, sel := range kind.Selectors {
			if !sel.NoTrack {
				all = append(all, kind.Noun(sel))
			}
		}
	}
	return all
}

// trackOptions registers the keys of all kinds that can be tracked as options;
// which of them a kind has is checked once the kind is known.
func trackOptions(fs *pflag.FlagSet) map[string]*[]string {
	all := map[string]*[]string{}
	add := func(name, doc string) {
		if all[name] == nil && fs.Lookup(name) == nil {
			all[name] = fs.StringArray(name, nil, doc)
		}
	}
	for _, kind := range kinds().Kinds() {
		if !trackableKind(kind) {
			continue
		}
		for _, option := range kind.Options {
			add(dashed(option.Key), "`VALUE` of "+option.Key+"=, as in a plan")
		}
		for _, sel := range kind.Selectors {
			for _, mark := range sel.Marks {
				add(mark.Key, "`VALUE`: "+strings.TrimSuffix(mark.Doc, "."))
			}
		}
	}
	return all
}

// trackableKind reports whether anything of a kind can be tracked.
func trackableKind(kind *residue.Kind) bool {
	return slices.ContainsFunc(kind.Selectors, func(sel residue.Selector) bool { return !sel.NoTrack })
}

// dashed turns a plan's key into an option's name: PathStyle, path-style;
// CACert, ca-cert.
func dashed(key string) string {
	var b strings.Builder
	runes := []rune(key)
	for i, r := range runes {
		if i > 0 && unicode.IsUpper(r) &&
			(unicode.IsLower(runes[i-1]) || i+1 < len(runes) && unicode.IsLower(runes[i+1])) {
			b.WriteByte('-')
		}
		b.WriteRune(unicode.ToLower(r))
	}
	return b.String()
}

func runTrack(ctx context.Context, p *program, o *options) (int, error) {
	args := o.args
	o.args = nil
	within := p.insideExec(o)
	s, sub, err := p.about(ctx, o, true)
	if err != nil {
		return 0, err
	}
	defer s.close()
	if err := s.adoptExec(ctx, sub, within); err != nil {
		return 0, err
	}
	if sub.identity.Invocation == "" {
		return 0, usagef("call it from the job's own script, or say --unit and --invocation", "no job to track for: no INVOCATION_ID, no CI job id")
	}
	led, err := s.ledgerOf(sub.job.Job)
	if err != nil {
		return 0, err
	}
	rec := newRecorder(led, s.onlyJournal(), sub.job.Job)
	if o.forget != "" {
		return s.forget(ctx, rec, o.forget)
	}
	spec, err := s.tracked(ctx, sub, args, rec)
	if err != nil {
		return 0, err
	}
	if err := led.Append(ctx, ledger.NewJob(sub.job), ledger.NewSpec(spec)); err != nil {
		return 0, err
	}
	rec.send(journal.Record{Event: journal.Tracked, Kind: spec.Kind, Type: spec.Tracked.Type, Ref: spec.Tracked.Ref, ResidueID: spec.ID})
	_, err = fmt.Fprintln(p.stdout, spec.ID)
	return exitDone, err
}

// forget takes back what was tracked.
func (s *site) forget(ctx context.Context, rec *recorder, id string) (int, error) {
	state, err := rec.book.ledger.Replay(ctx)
	if err != nil || state.Account(id) == nil || state.Account(id).Spec.Tracked == nil {
		return 0, usagef("track prints the id; status shows what is tracked", "nothing is tracked with id %q", id)
	}
	if err := rec.book.ledger.Append(ctx, ledger.Forget(id)); err != nil {
		return 0, err
	}
	rec.send(journal.Record{Event: journal.Forgotten, Ref: state.Account(id).Spec.Value, ResidueID: id})
	rec.book.written = true
	rec.settle()
	return exitDone, nil
}

// tracked makes the spec of one thing, with what proof there is of it now.
func (s *site) tracked(ctx context.Context, sub *subject, args []string, rec *recorder) (residue.Spec, error) {
	if len(args) != 2 {
		return residue.Spec{}, usagef("job-cleanup track path /var/tmp/batch", "track takes a kind and a reference")
	}
	kind, sel, ok := kinds().Noun(args[0])
	if !ok {
		return residue.Spec{}, usagef("kinds: "+strings.Join(nouns(), ", "), "unknown kind %q", args[0])
	}
	spec := residue.Spec{
		Name: kind.Noun(sel), Kind: kind.Name, Selector: sel.Key, Value: args[1], Phase: sel.Phase, Rank: sel.Rank,
		Source: "track", Tracked: &residue.Residue{Type: sel.Type, Ref: args[1]},
	}
	if err := s.trackedOptions(kind, sel, &spec); err != nil {
		return spec, err
	}
	cleaner, err := kind.Open(spec, s.deps(sub.job.Job, spec, rec))
	if err != nil {
		return spec, untracked(args, err)
	}
	defer residue.Close(cleaner)
	if prover, ok := cleaner.(residue.Prover); ok {
		proven, err := prover.Prove(ctx)
		if err != nil {
			return spec, untracked(args, err)
		}
		spec.Tracked = &proven
	}
	spec.Tracked.Identify()
	spec.Identify()
	return spec, nil
}

// untracked is the error of a thing that can't be tracked, without the words of
// a cleanup where a safety rule forbids it.
func untracked(args []string, err error) error {
	var refused *residue.Error
	if errors.As(err, &refused) && refused.Class == residue.Refused && refused.Err != nil {
		err = fmt.Errorf("can't track %s: %w", args[0], refused.Err)
		return hinted{err, "name what the job itself made, in full; job-cleanup track --help lists what may be said beside it"}
	}
	return fmt.Errorf("track %s %q: %w", args[0], args[1], err)
}

// trackedOptions fills in what the command line said beyond the reference.
func (s *site) trackedOptions(kind *residue.Kind, sel residue.Selector, spec *residue.Spec) error {
	marks, options := map[string]bool{}, map[string]residue.Option{}
	for _, mark := range sel.Marks {
		marks[mark.Key] = true
	}
	for _, option := range kind.Options {
		options[dashed(option.Key)] = option
	}
	for name, values := range s.opts.extra {
		if len(*values) == 0 {
			continue
		}
		option, isOption := options[name]
		switch {
		case marks[name]:
			if spec.Tracked.Proof == nil {
				spec.Tracked.Proof = map[string]string{}
			}
			spec.Tracked.Proof[name] = (*values)[len(*values)-1]
		case isOption && (option.Many || len(*values) == 1):
			if spec.Options == nil {
				spec.Options = map[string][]string{}
			}
			spec.Options[option.Key] = *values
		default:
			return usagef("job-cleanup track --help", "option --%s is not for %q", name, kind.Noun(sel))
		}
	}
	s.trackedDefaults(kind, spec)
	return nil
}

// trackedDefaults fills in what the job's environment says of its servers, as a
// plan would take it: later there is no such environment. Secrets are left out:
// what was tracked uses none of these.
func (s *site) trackedDefaults(kind *residue.Kind, spec *residue.Spec) {
	for _, option := range kind.Options {
		value := cmp.Or(s.env[option.Env], option.Default)
		if option.Value == residue.SecretRef || value == "" || spec.Options[option.Key] != nil {
			continue
		}
		if spec.Options == nil {
			spec.Options = map[string][]string{}
		}
		spec.Options[option.Key] = []string{value}
	}
}

// onlyJournal is the journal without stdout, which is for the id alone.
func (s *site) onlyJournal() journal.Sender {
	native := journal.NewNative(s.uid == 0)
	if native.Available() {
		return native
	}
	return journal.NewStream(io.Discard, false)
}
