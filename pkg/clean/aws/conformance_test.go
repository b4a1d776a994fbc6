package aws_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"job-cleanup/pkg/clean/aws"
	"job-cleanup/pkg/clean/cleantest"
	"job-cleanup/pkg/residue"
)

func TestProfileConformance(t *testing.T) {
	file := filepath.Join(t.TempDir(), "credentials")
	var n atomic.Int32
	has := func(t testing.TB, name string) bool { return strings.Contains(read(t, file), "["+name+"]\n") }
	cleantest.Run(t, cleantest.Subject{
		Kind: aws.Kind,
		Spec: func(ref string) residue.Spec { return profileSpec(file, ref) },
		Deps: func(testing.TB) residue.Deps { return deps() },
		Make: func(t testing.TB) string {
			name := fmt.Sprintf("batch@7-%03d", n.Add(1))
			add(t, file, section(name, "ASIA"+name, past))
			return name
		},
		Exists: has,
		Remove: func(t testing.TB, name string) {
			write(t, file, strings.Replace(read(t, file), section(name, "ASIA"+name, past), "", 1))
		},
		Decoy: func(t testing.TB, name string) func() error {
			other := section(name+"0", "ASIAOTHER", past) + section("x"+name, "ASIAOTHER", past)
			add(t, file, other)
			return func() error {
				if !strings.Contains(read(t, file), other) {
					return errors.New("the others' sections are not what they were")
				}
				return nil
			}
		},
		State:   func(t testing.TB, _ string) string { return picture(t, file) },
		Secrets: []string{canary},
	})
	clean(t, file)
}

func TestCacheConformance(t *testing.T) {
	dir := t.TempDir()
	var n atomic.Int32
	cleantest.Run(t, cleantest.Subject{
		Kind: aws.Kind,
		Spec: cacheSpec,
		Deps: func(testing.TB) residue.Deps { return deps() },
		Make: func(t testing.TB) string {
			path := filepath.Join(dir, fmt.Sprintf("%03d.json", n.Add(1)))
			write(t, path, cacheText("ASIAOURS", past))
			return path
		},
		Exists: func(_ testing.TB, path string) bool { _, err := os.Lstat(path); return err == nil },
		Remove: func(t testing.TB, path string) {
			if err := os.Remove(path); err != nil {
				t.Fatal(err)
			}
		},
		Decoy: func(t testing.TB, path string) func() error {
			write(t, path+"0", cacheText("ASIAOTHER", past))
			return func() error { _, err := os.Lstat(path + "0"); return err }
		},
		State:   picture,
		Secrets: []string{canary},
	})
}

// picture is a file's content, times and mode.
func picture(t testing.TB, path string) string {
	info, err := os.Lstat(path)
	if err != nil {
		t.Fatal(err)
	}
	return fmt.Sprint(read(t, path), info.ModTime(), info.Mode())
}
