package plan

import (
	"job-cleanup/pkg/expand"
	"job-cleanup/pkg/residue"
	"job-cleanup/pkg/unitfile"
)

// options reads the keys of the kind that select nothing, and resolves the
// defaults of those that the plan leaves away.
func (c *compiler) options(s *step) {
	for _, o := range s.kind.Options {
		if isCommon(o.Key) {
			continue
		}
		for _, e := range c.sources(s, o) {
			text, use, err := c.settled(o.Value, e.Value)
			if err != nil {
				s.refuse(c.problem(e, err))
				continue
			}
			if s.options == nil {
				s.options = map[string][]string{}
			}
			s.options[o.Key] = append(s.options[o.Key], text)
			s.use.Env = s.use.Env || use.Env
		}
	}
}

// sources returns what an option is set to: by the plan, else by its
// variable, else by its default. The variable is read as if the plan said
// ${NAME}, so all that holds for such text holds for it.
func (c *compiler) sources(s *step, o residue.Option) []unitfile.Entry {
	var given []unitfile.Entry
	for _, e := range s.entries {
		if e.Key == o.Key {
			given = append(given, e)
		}
	}
	if len(given) > 0 && !o.Many {
		given = given[len(given)-1:]
	}
	if len(given) > 0 {
		return given
	}
	raw := o.Default
	if o.Env != "" && c.ctx.Env != nil {
		if v, _ := c.ctx.Env(o.Env); v != "" {
			raw = "${" + o.Env + "}"
			if o.Value == residue.SecretRef {
				raw = "env:" + o.Env // what stands in the variable is the secret, not a reference to one
			}
		}
	}
	if raw == "" {
		return nil
	}
	return []unitfile.Entry{{Key: o.Key, Value: raw, File: s.section.File, Line: s.section.Line}}
}

// settled is value for what is recorded: as long as the job may still set a
// variable, its default is not taken.
func (c *compiler) settled(v residue.Value, raw string) (string, expand.Use, error) {
	text, use, err := c.value(v, raw)
	if err == nil && c.ctx.Early && use.Defaulted && v != residue.Words {
		err = &fault{text: "a variable in it is not set yet", reason: residue.Unset, deferred: true}
	}
	return text, use, err
}
