package secret

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"job-cleanup/pkg/outcome"
)

// ErrUnavailable is wrapped by the errors of Resolve when there is no secret
// to read. In the journal's words the reason is "no-credentials".
var ErrUnavailable = errors.New("no secret there")

// ErrForbidden is wrapped by the errors of Resolve when the policy does not
// let a reference be read.
var ErrForbidden = errors.New("reference not allowed here")

// Resolver reads secrets by reference, as far as its policy goes. The zero
// value reads files only. Fields are set before it is used; then it is safe
// for concurrent use.
type Resolver struct {
	Env         outcome.Lookup // nil: env: is not allowed
	Credentials string         // folder of CREDENTIALS_DIRECTORY; "": there are none
	Stash       *Stash         // nil: there is none
	Schemes     []string       // those allowed; nil means all

	// Owner is set for references that a job wrote down: file: only, and only
	// what this uid may read itself.
	Owner *uint32
}

// Resolve reads the secret of a reference. Of a file or credential one newline
// at the end is dropped. An empty secret counts as none.
func (r Resolver) Resolve(ref string) (Text, error) {
	parsed, err := ParseRef(ref)
	if err != nil {
		return Text{}, err
	}
	if err := r.allows(parsed.Scheme); err != nil {
		return Text{}, fmt.Errorf("secret %q: %w", ref, err)
	}
	t, err := r.read(parsed)
	if err == nil && t.Empty() {
		err = errors.New("it is empty")
	}
	if err != nil && !errors.Is(err, ErrForbidden) && !errors.Is(err, ErrUnavailable) {
		err = fmt.Errorf("%w: %w", ErrUnavailable, err)
	}
	if err != nil {
		return Text{}, fmt.Errorf("secret %q: %w", ref, err)
	}
	return t, nil
}

func (r Resolver) allows(scheme string) error {
	switch {
	case r.Schemes != nil && !slices.Contains(r.Schemes, scheme),
		r.Owner != nil && scheme != File,
		r.Env == nil && scheme == Env:
		return ErrForbidden
	}
	return nil
}

func (r Resolver) read(ref Ref) (Text, error) {
	switch ref.Scheme {
	case File:
		return r.readFile(ref.Name)
	case Env:
		value, ok := r.Env(ref.Name)
		if !ok {
			return Text{}, errors.New("the variable is not set")
		}
		return New(value), nil
	case Credential:
		if r.Credentials == "" {
			return Text{}, errors.New("the unit's credentials are not here")
		}
		f, err := openPlain(filepath.Join(r.Credentials, ref.Name))
		if err != nil {
			return Text{}, err
		}
		return readText(f)
	default:
		if r.Stash == nil {
			return Text{}, errors.New("there is no stash")
		}
		return r.Stash.Get(ref.Name)
	}
}

// readFile reads a file that root or we, or the owner, led us to.
func (r Resolver) readFile(path string) (Text, error) {
	trusted := []uint32{0, uint32(os.Geteuid())}
	if r.Owner != nil {
		trusted = append(trusted, *r.Owner)
	}
	f, err := openThrough(path, trusted)
	if err != nil {
		return Text{}, err
	}
	if r.Owner != nil {
		if err := readableBy(f, *r.Owner); err != nil {
			f.Close()
			return Text{}, err
		}
	}
	return readText(f)
}

// Scrub replaces every occurrence of the secrets in text, also as URLs, JSON
// and base64 write them, for what a server answered and people will read.
func Scrub(text string, secrets ...Text) string {
	hidden := make([]bool, len(text))
	for _, s := range secrets {
		for _, form := range s.forms() {
			for at := 0; ; at++ {
				i := strings.Index(text[at:], form)
				if i < 0 {
					break
				}
				at += i
				for j := range len(form) {
					hidden[at+j] = true
				}
			}
		}
	}
	var b strings.Builder
	for i := range len(text) {
		switch {
		case !hidden[i]:
			b.WriteByte(text[i])
		case i == 0 || !hidden[i-1]: // what overlaps or touches is one
			b.WriteString(Redacted)
		}
	}
	return b.String()
}
