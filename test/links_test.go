package test

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

var (
	fenced   = regexp.MustCompile("(?ms)^ *```.*?^ *```$")
	coded    = regexp.MustCompile("`[^`]*`")
	linked   = regexp.MustCompile(`\]\(([^)\s]+)\)`)
	heading  = regexp.MustCompile(`(?m)^#+ +(.+)$`)
	unspoken = regexp.MustCompile(`[^\p{L}\p{N} _-]`)
)

// anchors are the names of a page's headings, as GitHub makes them.
func anchors(page string) map[string]bool {
	all := map[string]bool{}
	for _, found := range heading.FindAllStringSubmatch(fenced.ReplaceAllString(page, ""), -1) {
		name := unspoken.ReplaceAllString(strings.ToLower(found[1]), "")
		all[strings.ReplaceAll(name, " ", "-")] = true
	}
	return all
}

// TestLinks: what a page points to within the repository is there, down to the
// heading.
func TestLinks(t *testing.T) {
	links := 0
	eachFile(t, func(path string, text []byte) {
		if !strings.HasSuffix(path, ".md") || strings.HasPrefix(path, filepath.Join("..", "pkg")) {
			return // below pkg are parts that pages are made of
		}
		prose := coded.ReplaceAllString(fenced.ReplaceAllString(string(text), ""), "")
		for _, found := range linked.FindAllStringSubmatch(prose, -1) {
			if strings.Contains(found[1], "://") {
				continue
			}
			links++
			target, anchor, _ := strings.Cut(found[1], "#")
			to := path
			if target != "" {
				to = filepath.Join(filepath.Dir(path), target)
			}
			info, err := os.Stat(to)
			if err != nil {
				t.Errorf("%s points to %q, which is not there", path, found[1])
				continue
			}
			if anchor == "" || info.IsDir() {
				continue
			}
			page, err := os.ReadFile(to)
			if err != nil {
				t.Fatal(err)
			}
			if !anchors(string(page))[anchor] {
				t.Errorf("%s points to %q, and there is no such heading", path, found[1])
			}
		}
	})
	if links < 20 {
		t.Errorf("only %d links were found", links)
	}
}

// TestPagesAreReached: every page is linked from another one, so that a reader
// who begins at README.md can find it.
func TestPagesAreReached(t *testing.T) {
	reached := map[string]bool{filepath.Join("..", "README.md"): true}
	queue := []string{filepath.Join("..", "README.md")}
	for len(queue) > 0 {
		page := queue[0]
		queue = queue[1:]
		text, err := os.ReadFile(page)
		if err != nil {
			t.Fatal(err)
		}
		for _, found := range linked.FindAllStringSubmatch(fenced.ReplaceAllString(string(text), ""), -1) {
			target, _, _ := strings.Cut(found[1], "#")
			to := filepath.Join(filepath.Dir(page), target)
			if strings.HasSuffix(to, ".md") && !strings.Contains(found[1], "://") && !reached[to] {
				reached[to] = true
				queue = append(queue, to)
			}
		}
	}
	eachFile(t, func(path string, _ []byte) {
		if strings.HasPrefix(path, filepath.Join("..", "docs")) && strings.HasSuffix(path, ".md") && !reached[path] {
			t.Errorf("no way leads from README.md to %s", path)
		}
	})
}

// TestNothingIsSaidTwice: a page has no two headings of one name, and no
// paragraph stands on two pages.
func TestNothingIsSaidTwice(t *testing.T) {
	const long = 160
	where := map[string]string{}
	eachFile(t, func(path string, text []byte) {
		if !strings.HasSuffix(path, ".md") || strings.HasPrefix(path, filepath.Join("..", "pkg")) {
			return // below pkg are parts that pages are made of
		}
		prose := fenced.ReplaceAllString(string(text), "")
		headings := map[string]bool{}
		for _, found := range heading.FindAllString(prose, -1) {
			if headings[found] {
				t.Errorf("%s has %q twice", path, found)
			}
			headings[found] = true
		}
		for paragraph := range strings.SplitSeq(prose, "\n\n") {
			words := strings.Join(strings.Fields(paragraph), " ")
			if len(words) < long {
				continue
			}
			if where[words] != "" && where[words] != path {
				t.Errorf("%s says what %s says: %.80q…", path, where[words], words)
			}
			where[words] = path
		}
	})
}
