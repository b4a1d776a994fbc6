package main

import "job-cleanup/pkg/outcome"

// endingTold is how the job ended as somebody told us: the command line, else
// the service manager, else the CI platform.
func (s *site) endingTold(id outcome.Identity) (outcome.Outcome, error) {
	if text := s.opts.result; text != "" {
		how, ok := outcome.FromWord(text)
		if !ok {
			return how, usagef("a word such as success, failure or cancelled", "--result %q is no result word", text)
		}
		return how, nil
	}
	how := outcome.FromEnv(s.env.lookup)
	if how.Result == outcome.Unknown && id.CI != "" && id.InvocationFrom == id.CI {
		how = outcome.FromCI(id.CI, s.env.lookup)
	}
	return how, nil
}
