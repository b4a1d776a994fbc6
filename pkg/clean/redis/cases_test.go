package redis

import (
	"fmt"
	"testing"

	"job-cleanup/pkg/clean/cleantest"
	"job-cleanup/pkg/residue"
)

// Thousands of keys of ours among others, with every sort of value; the others
// stay.
func TestCase23_decoysStay(t *testing.T) {
	w := real(t)
	prefix := `dl:job[a-z]?*\:7:`
	decoys := []string{`dl:jobb?*\:7:a`, `dl:job[a-z]?*\:70:a`, `dl:job[a-z]?*\:7`, `DL:job[a-z]?*\:7:a`, ` dl:job[a-z]?*\:7:a`, `dl:joba?*:7:a`, `dl:job[a-z]?*\\:7:a`, `dl:*`, `*`, ``}
	w.put(t, "theirs", decoys...)
	pipe := w.Pipeline()
	for i := range 5000 {
		pipe.Set(background, fmt.Sprintf("%s%d\x00\xff\n*", prefix, i), "x", 0)
		pipe.Set(background, fmt.Sprintf("other:%d", i), "x", 0)
	}
	pipe.RPush(background, prefix+"list", 1, 2)
	pipe.HSet(background, prefix+"hash", "a", "b")
	pipe.XAdd(background, xadd(prefix+"stream"))
	if _, err := pipe.Exec(background); err != nil {
		t.Fatal(err)
	}
	before := w.DBSize(background).Val()
	c := opened(t, w, "DeleteKeys", prefix)
	want(t, "ours", clean(t, c), "removed")
	if n := w.has(t, decoys...); n != len(decoys) {
		t.Errorf("%d of %d decoys are left", n, len(decoys))
	}
	if got := before - w.DBSize(background).Val(); got != 5003 {
		t.Errorf("%d keys went, want 5003", got)
	}
	found, err := c.Find(background)
	if err != nil || len(found) != 0 {
		t.Errorf("afterwards: found %+v, %v", found, err)
	}
}

func TestCase48_prefix(t *testing.T) {
	w := real(t)
	for _, bad := range []string{"", "jobs/1", "/", "-_.:", "jobs/1*"} {
		for _, tracked := range []bool{false, true} {
			spec := specOf(w.Address, "DeleteKeys", bad)
			if tracked {
				spec.Value, spec.Tracked = "jobs/1/", &residue.Residue{Type: "keys", Ref: bad}
			}
			if _, err := Kind.Open(spec, depsOf("")); cleantest.Verdict(err) != "refused error" {
				t.Errorf("prefix %q, tracked %v: %v", bad, tracked, err)
			}
		}
	}
	w.put(t, "x", "jobs/1/a", "jobs/10/a", "jobs/1", "jobs/1.a")
	want(t, "jobs/1/", clean(t, opened(t, w, "DeleteKeys", "jobs/1/")), "removed")
	if w.has(t, "jobs/1/a") != 0 || w.has(t, "jobs/10/a", "jobs/1", "jobs/1.a") != 3 {
		t.Error("jobs/1/ took the wrong keys")
	}
}

// A cluster's node and a replica do not know all keys: their no is no proof.
func TestCase18_partialServer(t *testing.T) {
	tests := []struct{ mode, role, want string }{
		{"standalone", "master", "removed"}, {"cluster", "master", "refused error"}, {"sentinel", "master", "refused error"},
		{"standalone", "replica", "owed error"}, {"standalone", "slave", "owed error"}, {"", "", "refused error"},
	}
	for _, tt := range tests {
		want(t, tt.mode+" "+tt.role, judgeServer(tt.mode, tt.role), tt.want)
	}
	w := real(t)
	if err := w.Do(background, "REPLICAOF", "127.0.0.1", "1").Err(); err != nil {
		t.Fatal(err)
	}
	_, err := opened(t, w, "DeleteKeys", "replica:1:").Find(background)
	want(t, "a real replica", err, "owed error")
	if err := w.Do(background, "REPLICAOF", "NO", "ONE").Err(); err != nil {
		t.Fatal(err)
	}
}
