// Package completions tests the shells' completions in the shells themselves.
package completions

import (
	"bytes"
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

// systemctl stands for the real one: the units that are there are another
// machine's tomorrow.
const systemctl = `#!/bin/sh
case "$*" in
*--user*list-unit-files*) echo 'mine.service enabled enabled' ;;
*--user*) ;;
*list-unit-files*) printf '%s\n' 'batch.service enabled enabled' 'batch@.service static -' 'cron.service enabled enabled' ;;
*list-units*) printf '%s\n' 'batch@7.service loaded active running Batch 7' 'cron.service loaded active running Cron' ;;
esac
`

// shell offers what it would at the end of a line.
type shell struct {
	name string
	args func(t *testing.T, line, errors string) []string
}

var shells = []shell{
	{"bash", func(_ *testing.T, line, _ string) []string {
		return []string{"bash", "--norc", "--noprofile", "testdata/bash.sh", "job-cleanup.bash", line}
	}},
	{"zsh", func(t *testing.T, line, errors string) []string {
		folder, err := os.Getwd()
		if err != nil {
			t.Fatal(err)
		}
		return []string{"zsh", "-f", "testdata/zsh.zsh", folder, line, errors}
	}},
	{"fish", func(_ *testing.T, line, _ string) []string {
		return []string{"fish", "--no-config", "testdata/fish.fish", "job-cleanup.fish", line}
	}},
}

// session is a shell with an empty home and a path of its own.
type session struct {
	shell
	t       *testing.T
	home    string
	library string // of bash
}

func (s shell) session(t *testing.T) session {
	t.Helper()
	if _, err := exec.LookPath(s.name); err != nil {
		t.Skipf("needs %s", s.name)
	}
	home := t.TempDir()
	for name, text := range map[string]string{"systemctl": systemctl, "job-command-7": "#!/bin/sh\n"} {
		if err := os.WriteFile(filepath.Join(home, name), []byte(text), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	return session{shell: s, t: t, home: home}
}

// offers are the candidates, sorted. No completion complains.
func (s session) offers(line string) []string {
	t, home := s.t, s.home
	t.Helper()
	complaints := filepath.Join(home, "complaints")
	args := s.args(t, line, complaints)
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, args[0], args[1:]...)
	cmd.Env = []string{"HOME=" + home, "PATH=" + home + ":" + os.Getenv("PATH"), "LC_ALL=C.UTF-8", "LIBRARY=" + s.library}
	var out, errors bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errors
	if err := cmd.Run(); err != nil {
		t.Fatalf("%s %q: %v\n%s", s.name, line, err, errors.String())
	}
	inside, _ := os.ReadFile(complaints)
	if text := errors.String() + string(inside); text != "" {
		t.Errorf("%s %q complains: %s", s.name, line, text)
	}
	words := strings.Split(strings.TrimSuffix(out.String(), "\n"), "\n")
	slices.Sort(words)
	return slices.DeleteFunc(words, func(w string) bool { return w == "" })
}

// offered are lines and all that is offered for the word at their end.
var offered = []struct{ line, want string }{
	{"job-cleanup ", "arm check exec generate help history plan run status sweep track version"},
	{"job-cleanup ru", "run"},
	{"job-cleanup --", "--help --version"},
	{"job-cleanup help s", "status sweep"},
	{"job-cleanup run ", "batch.service batch@7.service cron.service"},
	{"job-cleanup run --strict ba", "batch.service batch@7.service"},
	{"job-cleanup run --plan x ba", "batch.service batch@7.service"},
	{"job-cleanup run --step 'Path Remove=/var/tmp/x' ba", "batch.service batch@7.service"},
	{"job-cleanup run --user ", "mine.service"},
	{"job-cleanup run --unit ba", "batch.service batch@7.service"},
	{"job-cleanup run --unit=cr", "cron.service"},
	{"job-cleanup run --stri", "--strict"},
	{"job-cleanup run --result ti", "timeout"},
	{"job-cleanup run --skip p", "path postgres"},
	{"job-cleanup run batch.service ba", ""},
	{"job-cleanup run --timeout ", ""},
	{"job-cleanup history --result c", "cancelled core-dump"},
	{"job-cleanup history --since y", "yesterday"},
	{"job-cleanup status cr", "cron.service"},
	{"job-cleanup sweep x", ""},
	{"job-cleanup track path", "path path-mount"},
	{"job-cleanup track amqp-queue jobs --force ", "no yes"},
	{"job-cleanup track s3-upload s3://b/p --up", "--upload-id"},
	{"job-cleanup track path /tmp/x --up", ""},
	{"job-cleanup track postgres-schema x --ssl-mode ver", "verify-ca verify-full"},
	{"job-cleanup track lockfile /run/x --holder f", "flock"},
	{"job-cleanup generate ", "dropin timer unit"},
	{"job-cleanup generate dropin ba", "batch.service batch@.service batch@7.service"},
	{"job-cleanup generate timer nightly --calendar d", "daily"},
	{"job-cleanup generate unit ba", ""},
	{"job-cleanup exec --stat", "--state-dir"},
	{"job-cleanup exec job-comm", "job-command-7"},
	{"job-cleanup exec --unit cron.service -- job-comm", "job-command-7"},
	{"job-cleanup exec -- job-command-7 --stat", ""},
	{"job-cleanup child ", ""},
	{"job-cleanup child --", ""},
	{"job-cleanup cleaner --", ""},
}

func TestOffered(t *testing.T) {
	for _, s := range shells {
		t.Run(s.name, func(t *testing.T) {
			t.Parallel()
			session := s.session(t)
			for _, c := range offered {
				got := strings.Join(words(session.offers(c.line)), " ")
				if got != c.want {
					t.Errorf("%q: offered %q, want %q", c.line, got, c.want)
				}
			}
		})
	}
}

// words drops what a shell adds by itself: fish repeats the option of --unit=,
// bash is told how to go on.
func words(all []string) []string {
	var kept []string
	for _, word := range all {
		if option, value, ok := strings.Cut(word, "="); ok && strings.HasPrefix(option, "--") {
			word = value
		}
		if !strings.HasPrefix(word, "compopt ") {
			kept = append(kept, word)
		}
	}
	return kept
}

// TestFilesAreOffered: where a file is wanted the shell's own completion of
// files is at work.
func TestFilesAreOffered(t *testing.T) {
	for _, s := range shells {
		t.Run(s.name, func(t *testing.T) {
			t.Parallel()
			session := s.session(t)
			for _, before := range []string{
				"job-cleanup run --plan ", "job-cleanup run --plan=", "job-cleanup track path ", "job-cleanup track aws-profile p --file ",
				"job-cleanup run --state-dir ", "job-cleanup check ",
			} {
				got := session.offers(before + "testdata")
				if !slices.ContainsFunc(got, func(w string) bool {
					return strings.Contains(w, "testdata") || w == "compopt -o default" || w == "compopt -o dirnames"
				}) {
					t.Errorf("%q: offered %q, want the folder", before+"testdata", got)
				}
			}
		})
	}
}

// TestBashBreaksWords: readline puts in only what stands behind its last break.
func TestBashBreaksWords(t *testing.T) {
	bash := shells[0].session(t)
	for line, want := range map[string]string{
		"job-cleanup run batch@":                         "7.service",
		"job-cleanup run batch@7":                        "7.service",
		"job-cleanup run --unit=batch@7.s":               "7.service",
		"job-cleanup track vault-token a --token fi":     "compopt -o nospace|file:",
		"job-cleanup track vault-token a --token file:":  "compopt -o nospace",
		"job-cleanup run batch@7.service --unit=":        "batch.service|batch@7.service|cron.service",
		"job-cleanup exec --step 'a b' -- ls --unit=cro": "compopt -o default",
	} {
		if got := strings.Join(bash.offers(line), "|"); got != want {
			t.Errorf("%q: offered %q, want %q", line, got, want)
		}
	}
}

// TestCommandOfExecIsCompleted: its own completion is used where the shell has
// one.
func TestCommandOfExecIsCompleted(t *testing.T) {
	const library = "/usr/share/bash-completion/bash_completion"
	for _, s := range shells {
		t.Run(s.name, func(t *testing.T) {
			session := s.session(t)
			if _, err := os.Stat(library); s.name == "bash" {
				if err != nil {
					t.Skipf("needs bash-completion: %v", err)
				}
				session.library = library
			}
			if got := session.offers("job-cleanup exec --step 'a b' -- job-cleanup run --stri"); !slices.Equal(got, []string{"--strict"}) {
				t.Errorf("offered %q", got)
			}
		})
	}
}
