package ledger

import (
	"bytes"
	"errors"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"job-cleanup/pkg/outcome"
	"job-cleanup/pkg/residue"
)

func TestOwed(t *testing.T) {
	a, b := spec("a"), spec("b")
	x, y := thing("x"), thing("y")
	const pa, pb, px, py = "/var/tmp/a", "/var/tmp/b", ":/var/tmp/x", ":/var/tmp/y"
	owed := residue.Errorf(residue.Retry, residue.Timeout, "slow")
	tests := []struct {
		name    string
		records []Record
		want    []string
	}{
		{"nothing", nil, []string{}},
		{"specs in order", []Record{NewSpec(b), NewSpec(a)}, []string{pb, pa}},
		{"a spec twice", []Record{NewSpec(a), NewSpec(a)}, []string{pa}},
		{"found but not complete", []Record{NewSpec(a), Found(a.ID, x)}, []string{pa, pa + px}},
		{"complete", []Record{NewSpec(a), Found(a.ID, x), Complete(a.ID)}, []string{pa + px}},
		{"complete without residue", []Record{NewSpec(a), Complete(a.ID)}, []string{}},
		{"removed", []Record{NewSpec(a), Found(a.ID, x), Found(a.ID, y), Complete(a.ID), Closed(a.ID, x.ID, "removed", "")}, []string{pa + py}},
		{"attempt", []Record{NewSpec(a), Attempt(a.ID, "", "owed", 1, owed)}, []string{pa}},
		{"closed spec keeps residue", []Record{NewSpec(a), Found(a.ID, x), Closed(a.ID, "", "refused", "protected")}, []string{pa + px}},
		{"attempt after closed", []Record{NewSpec(a), Closed(a.ID, "", "absent", ""), Attempt(a.ID, "", "owed", 1, owed)}, []string{}},
		{"spec again after closed", []Record{NewSpec(a), Complete(a.ID), Closed(a.ID, "", "absent", ""), NewSpec(a)}, []string{pa}},
		{"found again after closed", []Record{NewSpec(a), Complete(a.ID), Found(a.ID, x), Closed(a.ID, x.ID, "removed", ""), Found(a.ID, x)}, []string{pa + px}},
		{"closed before spec", []Record{Closed(a.ID, "", "absent", ""), NewSpec(a)}, []string{pa}},
		{"forget spec", []Record{NewSpec(a), Found(a.ID, x), Forget(a.ID)}, []string{}},
		{"forget residue", []Record{NewSpec(a), Found(a.ID, x), Forget(x.ID)}, []string{pa}},
		{"forget nothing", []Record{NewSpec(a), Forget("none")}, []string{pa}},
		{"track again after forget", []Record{NewSpec(a), Forget(a.ID), NewSpec(a)}, []string{pa}},
		{"residue of a lost spec", []Record{Found(a.ID, x)}, []string{"", px}},
		{"attempt at a lost spec", []Record{Attempt(a.ID, "", "owed", 1, owed)}, []string{""}},
		{"attempt at lost residue", []Record{NewSpec(a), Complete(a.ID), Attempt(a.ID, x.ID, "owed", 1, owed)}, []string{pa + ":"}},
		{"unknown kind", []Record{NewSpec(residue.Spec{ID: "1", Kind: "comet", Value: "c"})}, []string{"c"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			_, l := ours(t)
			for _, r := range tt.records {
				add(t, l, r)
			}
			s := newState()
			if len(tt.want) > 0 || slices.ContainsFunc(tt.records, func(r Record) bool { return owes([]Record{r}) }) {
				s = replay(t, l)
			}
			if got := refs(s); !slices.Equal(got, tt.want) {
				t.Errorf("owed %q, want %q", got, tt.want)
			}
			if s.Done() != (len(tt.want) == 0) {
				t.Errorf("Done is %t", s.Done())
			}
		})
	}
}

func TestRecordsComeBack(t *testing.T) {
	s := spec("a")
	s.Options = map[string][]string{"Within": {"/a\xff", "\uFFFD"}, "Follow": nil}
	s.Facts = map[string]string{"mount": "7"}
	s.Timeout = time.Minute
	tracked := residue.Residue{Type: "path", Ref: "/tmp/\xfe\xff-\u2028-\x00", Expires: epoch}
	tracked.Identify()
	s.Tracked = &tracked
	s.Identify()
	job := Job{Job: residue.Job{Unit: "u", Invocation: "i", Boot: "b", Start: epoch, Bases: []string{"/run/\xc3"},
		User: &residue.Identity{UID: 7, Dynamic: true}, Sandbox: []residue.Hidden{{Path: "/tmp", How: residue.Private}}},
		Witness: ByHolder, Holder: &Process{PID: 1, Start: 1<<64 - 1, Space: "pid:[1]"}, Machine: "m", MaxJob: time.Hour,
		Fragment: "/etc/systemd/system/u", DropIns: []string{"/run/x"}, StartLimit: 1, StopLimit: 2}
	until := &residue.Error{Class: residue.Until, Reason: residue.Other, Until: epoch, Err: errors.New("batch\xfftoken")}
	attempt := Attempt(s.ID, "", "not-revocable", 3, until)
	attempt.Next = epoch.Add(time.Hour)
	ending := Ending{Outcome: outcome.Outcome{Result: "oom-kill", Code: "killed", Status: "KILL"}, RunStart: epoch, RunEnd: epoch}
	_, l := ours(t)
	l.store.clock = func() time.Time { return epoch }
	add(t, l, NewJob(job), NewSpec(s), attempt, Ended(ending))
	got := replay(t, l)
	if !reflect.DeepEqual(got.Job, job) || !got.Recorded.Equal(epoch) {
		t.Errorf("job: %+v\nwant %+v", got.Job, job)
	}
	if got.Ending == nil || *got.Ending != ending {
		t.Errorf("outcome: %+v", got.Ending)
	}
	want := []Debt{{Spec: s, Progress: Progress{Since: epoch, Status: "not-revocable", Attempts: 3, Last: epoch,
		Reason: residue.Other, Message: "batch\xfftoken", Next: epoch.Add(time.Hour), Until: epoch}}}
	if owed := got.Owed(); !reflect.DeepEqual(owed, want) {
		t.Errorf("owed %+v\nwant %+v", owed, want)
	}
}

func TestEscape(t *testing.T) {
	for _, s := range []string{"", "plain", "é", "\xff", "a\xffb\xfe", "\uFFFD", "\uFFFDff", "\xef\xbf", "\xed\xa0\x80", "\uFFFD\xff\uFFFD"} {
		e := escape(s)
		if strings.ToValidUTF8(e, "?") != e {
			t.Errorf("escape(%q) = %q is not UTF-8", s, e)
		}
		if got := unescape(e); got != s {
			t.Errorf("unescape(escape(%q)) = %q", s, got)
		}
	}
	if got := unescape("a\uFFFDzz\uFFFD1"); got != "a\uFFFDzz\uFFFD1" {
		t.Errorf("a mark that is not ours became %q", got)
	}
}

func TestUnknownIsOwed(t *testing.T) {
	for _, line := range []string{
		`{"v":2,"t":"spec","spec":{"id":7}}`, `{"v":1,"t":"prayer","to":"x"}`, `{"v":0,"t":"job"}`, `{"v":-1,"t":""}`,
	} {
		s, err := Replay(strings.NewReader(line + "\n"))
		if err != nil || len(s.Unknown) != 1 || s.Unknown[0] != line || s.Done() || s.damaged > 0 {
			t.Errorf("%s: %+v, %v", line, s, err)
		}
	}
}

func TestDamage(t *testing.T) {
	text, err := encode([]Record{normal(NewSpec(spec("a")), epoch), normal(NewSpec(spec("b")), epoch)})
	if err != nil {
		t.Fatal(err)
	}
	lines := bytes.SplitAfter(text, []byte("\n"))
	first, second := string(lines[0]), string(lines[1])
	const a, b = "/var/tmp/a", "/var/tmp/b"
	nul := strings.Repeat("\x00", 4096)
	tests := []struct {
		name, text    string
		owed          []string
		damaged, torn int
	}{
		{"whole", first + second, []string{a, b}, 0, 0},
		{"last newline missing", first + strings.TrimSuffix(second, "\n"), []string{a, b}, 0, 0},
		{"torn end", first + second[:20], []string{a}, 0, 1},
		{"torn, then gone on", first[:20] + "\n" + second, []string{b}, 0, 1},
		{"one brace", "{\n" + second, []string{b}, 0, 1},
		{"twice", first + first + second, []string{a, b}, 0, 0},
		{"blank lines", "\n\n" + first + " \n" + second, []string{a, b}, 0, 0},
		{"zeros at the end", first + nul, []string{a}, 0, 1},
		{"many zeros at the end", first + strings.Repeat(nul, 1024), []string{a}, 0, 1},
		{"zeros, then gone on", first + nul + "\n" + second, []string{a, b}, 1, 0},
		{"zeros inside", first[:30] + nul + second, []string{}, 1, 0},
		{"two on one line", strings.TrimSuffix(first, "\n") + second, []string{}, 1, 0},
		{"torn and whole on one line", first[:20] + second, []string{}, 1, 0},
		{"garbage", "garbage\n" + second, []string{b}, 1, 0},
		{"not an object", "[]\n1\nnull\n\"x\"\n" + second, []string{b}, 4, 0},
		{"no version", "{}\n{\"t\":\"spec\"}\n{\"v\":\"1\",\"t\":\"job\"}\n" + second, []string{b}, 3, 0},
		{"nothing in it", "{\"v\":1,\"t\":\"spec\"}\n{\"v\":1,\"t\":\"closed\",\"id\":\"x\"}\n" + second, []string{b}, 2, 0},
		{"wrong type", "{\"v\":1,\"t\":\"spec\",\"spec\":{\"id\":1}}\n" + second, []string{b}, 1, 0},
		{"long line", first + `{"v":1,"t":"` + strings.Repeat("x", MaxLine) + "\"}\n" + second, []string{a, b}, 1, 0},
		{"unknown field", strings.Replace(first, `"v":1`, `"v":1,"new":1`, 1), []string{a}, 0, 0},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s, err := Replay(strings.NewReader(tt.text))
			if err != nil {
				t.Fatal(err)
			}
			if got := refs(s); !slices.Equal(got, tt.owed) || s.damaged != tt.damaged || s.Torn != tt.torn {
				t.Errorf("owed %q, %d damaged, %d torn; want %q, %d, %d\n%+v", got, s.damaged, s.Torn, tt.owed, tt.damaged, tt.torn, s.Damage)
			}
			if tt.damaged > 0 && s.Done() {
				t.Error("a damaged file counts as done")
			}
		})
	}
}

type zeros struct{}

func (zeros) Read(p []byte) (int, error) { clear(p); return len(p), nil }

func TestEndlessFileIsDamage(t *testing.T) {
	s, err := Replay(zeros{})
	if err != nil || s.damaged != 1 || s.Done() {
		t.Errorf("%+v, %v", s, err)
	}
}

type failing struct{}

func (failing) Read([]byte) (int, error) { return 0, errors.New("bad disk") }

func TestReadErrorIsNotAnEnd(t *testing.T) {
	if _, err := Replay(failing{}); err == nil {
		t.Error("no error")
	}
}
