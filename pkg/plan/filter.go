package plan

import (
	"fmt"
	"slices"
	"strings"

	"job-cleanup/pkg/residue"
)

// Filter takes out what --skip names and, when only is not empty, what --only
// does not name. A word is a step's name, a kind or a noun of track; case does
// not count. What is taken out of Specs becomes a Skip; refused steps that are
// taken out are no Problem any more. An unknown word is an error, and the plan
// stays as it was.
func (p *Plan) Filter(reg *residue.Registry, skip, only []string) error {
	known := p.words(reg)
	if err := unknownWord("--skip", skip, known); err != nil {
		return err
	}
	if err := unknownWord("--only", only, known); err != nil {
		return err
	}
	var specs []residue.Spec
	for _, s := range p.Specs {
		names := specNames(reg, s)
		switch {
		case named(names, skip):
			p.Skips = append(p.Skips, skipOf(s, "--skip"))
		case len(only) > 0 && !named(names, only):
			p.Skips = append(p.Skips, skipOf(s, "--only"))
		default:
			specs = append(specs, s)
		}
	}
	p.Specs = specs
	p.Problems = slices.DeleteFunc(p.Problems, func(x Problem) bool {
		names := []string{x.Step, x.Kind}
		return x.Step != "" && (named(names, skip) || len(only) > 0 && !named(append(names, nounsOf(reg, x.Kind)...), only))
	})
	return nil
}

// unknownWord returns a Problem for the first word that means nothing.
func unknownWord(option string, words, known []string) error {
	for _, w := range words {
		if w == "" || !named(known, []string{w}) {
			return Problem{File: option, Reason: residue.Other, Text: fmt.Sprintf("no step, kind or noun is called %q", w), Hint: didYouMean(w, known)}
		}
	}
	return nil
}

// words lists what Filter knows: kinds and nouns, then the steps' names.
func (p *Plan) words(reg *residue.Registry) []string {
	var all []string
	for _, k := range reg.Kinds() {
		all = append(all, k.Name)
		all = append(all, nounsOf(reg, k.Name)...)
	}
	for _, s := range p.Specs {
		all = append(all, s.Name, s.Kind)
	}
	for _, s := range p.Skips {
		all = append(all, s.Step)
	}
	for _, x := range p.Problems {
		all = append(all, x.Step)
	}
	var unique []string
	for _, w := range all {
		if w != "" && !slices.ContainsFunc(unique, func(u string) bool { return strings.EqualFold(u, w) }) {
			unique = append(unique, w)
		}
	}
	return unique
}

// specNames are the words that mean a spec.
func specNames(reg *residue.Registry, s residue.Spec) []string {
	names := []string{s.Name, s.Kind}
	if k := reg.Kind(s.Kind); k != nil {
		if sel, ok := k.SelectorOf(s); ok {
			names = append(names, k.Noun(sel))
		}
	}
	return names
}

// nounsOf lists the nouns of a kind.
func nounsOf(reg *residue.Registry, kind string) []string {
	var nouns []string
	if k := reg.Kind(kind); k != nil {
		for _, sel := range k.Selectors {
			nouns = append(nouns, k.Noun(sel))
		}
	}
	return nouns
}

// named reports whether one of the words is one of the names.
func named(names, words []string) bool {
	return slices.ContainsFunc(words, func(w string) bool {
		return w != "" && slices.ContainsFunc(names, func(n string) bool { return strings.EqualFold(n, w) })
	})
}

// skipOf is the skip of a spec that an option took out.
func skipOf(s residue.Spec, option string) Skip {
	return Skip{Step: s.Name, Kind: s.Kind, Value: s.Value, Source: s.Source, Reason: residue.Disabled, Text: option}
}
