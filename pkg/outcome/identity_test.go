package outcome

import (
	"errors"
	"strings"
	"testing"
)

func TestParseCgroup(t *testing.T) {
	tests := []struct {
		name, text string
		want       Cgroup
	}{
		{"v2", "0::/system.slice/batch.service\n", Cgroup{Unit: "batch.service", Path: "/system.slice/batch.service"}},
		{"v2 without newline", "0::/system.slice/batch.service", Cgroup{Unit: "batch.service", Path: "/system.slice/batch.service"}},
		{"instance in a slice of its own", "0::/system.slice/system-batch.slice/batch@1.service\n", Cgroup{Unit: "batch@1.service", Path: "/system.slice/system-batch.slice/batch@1.service"}},
		{"escaped instance", `0::/system.slice/batch@a\x2db.service`, Cgroup{Unit: `batch@a\x2db.service`, Path: `/system.slice/batch@a\x2db.service`}},
		{"stop hook of a delegated unit", "0::/system.slice/batch.service/.control\n", Cgroup{Unit: "batch.service", Path: "/system.slice/batch.service"}},
		{"deepest", "0::/machine.slice/systemd-nspawn@x.service/payload/system.slice/batch.service\n", Cgroup{Unit: "batch.service", Path: "/machine.slice/systemd-nspawn@x.service/payload/system.slice/batch.service"}},
		{"v1", "12:pids:/system.slice/other.service\n1:name=systemd:/system.slice/batch.service\n", Cgroup{Unit: "batch.service", Path: "/system.slice/batch.service"}},
		{"v1 without the manager's line", "12:pids:/system.slice/batch.service\n", Cgroup{}},
		{"hybrid", "1:name=systemd:/system.slice/batch.service\n0::/\n", Cgroup{Unit: "batch.service", Path: "/system.slice/batch.service"}},
		{"namespace", "0::/\n", Cgroup{}},
		{"empty", "", Cgroup{}},
		{"no lines of that form", "x\n:\n::\n0:\n", Cgroup{}},
		{"user unit", "0::/user.slice/user-1000.slice/user@1000.service/app.slice/x.service\n", Cgroup{Unit: "x.service", UserManager: true, Path: "/user.slice/user-1000.slice/user@1000.service/app.slice/x.service"}},
		{"user scope", "0::/user.slice/user-1000.slice/user@1000.service/app.slice/x.scope\n", Cgroup{}},
		{"user scope in a container", "0::/box.service/user.slice/user-1.slice/user@1.service/app.slice/x.scope\n", Cgroup{}},
		{"user session", "0::/user.slice/user-0.slice/session-3.scope\n", Cgroup{}},
		{"escaped by the manager", "0::/system.slice/_cpu.service\n", Cgroup{Unit: "cpu.service", Path: "/system.slice/_cpu.service"}},
		{"underscore of its own", "0::/system.slice/__x.service\n", Cgroup{Unit: "_x.service", Path: "/system.slice/__x.service"}},
		{"no unit name", "0::/system.slice/a.service/b c.service\n", Cgroup{Unit: "a.service", Path: "/system.slice/a.service"}},
		{"deleted", "0::/system.slice/a.service (deleted)\n", Cgroup{Unit: "a.service", Path: "/system.slice/a.service"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if got := ParseCgroup(tt.text); got != tt.want {
				t.Errorf("got %+v, want %+v", got, tt.want)
			}
		})
	}
}

func TestIdentify(t *testing.T) {
	const cgroup = "0::/system.slice/batch@1.service\n"
	github := []string{"GITHUB_ACTIONS=true", "GITHUB_RUN_ID=9", "GITHUB_RUN_ATTEMPT=1", "GITHUB_JOB=build", "RUNNER_NAME=r1"}
	with := func(more ...string) Lookup { return env(append(more, github...)...) }
	tests := []struct {
		name   string
		env    Lookup
		cgroup string
		flags  Flags
		want   Identity
	}{
		{"hook", env("INVOCATION_ID=aa", "SYSTEMD_EXEC_PID=7", "SERVICE_RESULT=success"), cgroup, Flags{},
			Identity{"batch@1.service", "aa", "cgroup", "INVOCATION_ID", "", false}},
		{"hook, with a CI platform's variables in its Environment=", with("INVOCATION_ID=aa", "SYSTEMD_EXEC_PID=7"), cgroup, Flags{},
			Identity{"batch@1.service", "aa", "cgroup", "INVOCATION_ID", "", false}},
		{"script of the job", env("INVOCATION_ID=aa", "SYSTEMD_EXEC_PID=6"), cgroup, Flags{},
			Identity{"batch@1.service", "aa", "cgroup", "INVOCATION_ID", "", false}},
		{"CI job under a runner service", with("INVOCATION_ID=aa", "SYSTEMD_EXEC_PID=6"), cgroup, Flags{},
			Identity{"batch@1.service", "github:9:build:1:r1", "cgroup", "github", "github", false}},
		{"CI job without a service", with(), "0::/\n", Flags{},
			Identity{"", "github:9:build:1:r1", "", "github", "github", false}},
		{"CI job with an invocation of its own", with(), "0::/\n", Flags{Invocation: "mine"},
			Identity{"", "mine", "", "--invocation", "github", false}},
		{"handler", env("MONITOR_UNIT=a.service", "MONITOR_INVOCATION_ID=bb", "INVOCATION_ID=aa", "SYSTEMD_EXEC_PID=7"), cgroup, Flags{},
			Identity{"a.service", "bb", "MONITOR_UNIT", "MONITOR_INVOCATION_ID", "", false}},
		{"handler that also names the unit", env("MONITOR_UNIT=a.service", "MONITOR_INVOCATION_ID=bb", "INVOCATION_ID=aa"), cgroup, Flags{Unit: "a.service"},
			Identity{"a.service", "bb", "--unit", "MONITOR_INVOCATION_ID", "", false}},
		{"handler without the other's invocation", env("MONITOR_UNIT=a.service", "INVOCATION_ID=aa"), cgroup, Flags{},
			Identity{"a.service", "", "MONITOR_UNIT", "", "", false}},
		{"the same with a hidden cgroup", env("MONITOR_UNIT=a.service", "INVOCATION_ID=aa"), "0::/\n", Flags{},
			Identity{"a.service", "", "MONITOR_UNIT", "", "", false}},
		{"handler that nobody told", env("INVOCATION_ID=aa", "SYSTEMD_EXEC_PID=7"), cgroup, Flags{Unit: "a.service"},
			Identity{"a.service", "", "--unit", "", "", false}},
		{"stop hook with a MONITOR_UNIT that its job wrote", env("SERVICE_RESULT=", "MONITOR_UNIT=victim.service", "MONITOR_INVOCATION_ID=bb", "INVOCATION_ID=aa"), cgroup, Flags{},
			Identity{"batch@1.service", "aa", "cgroup", "INVOCATION_ID", "", false}},
		{"start hook with a MONITOR_UNIT that its job wrote", env("MONITOR_UNIT=victim.service", "MONITOR_INVOCATION_ID=bb", "INVOCATION_ID=aa"), cgroup, Flags{Own: true},
			Identity{"batch@1.service", "aa", "cgroup", "INVOCATION_ID", "", false}},
		{"flags win", env("MONITOR_UNIT=a.service", "MONITOR_INVOCATION_ID=bb", "INVOCATION_ID=aa"), cgroup, Flags{Unit: "b.service", Invocation: "cc"},
			Identity{"b.service", "cc", "--unit", "--invocation", "", false}},
		{"hidden cgroup, unit given", env("INVOCATION_ID=aa", "SYSTEMD_EXEC_PID=7"), "0::/\n", Flags{Unit: "b.service"},
			Identity{"b.service", "aa", "--unit", "INVOCATION_ID", "", false}},
		{"hidden cgroup", env("INVOCATION_ID=aa", "SYSTEMD_EXEC_PID=7"), "0::/\n", Flags{},
			Identity{"", "aa", "", "INVOCATION_ID", "", false}},
		{"user unit", env("INVOCATION_ID=aa"), "0::/user.slice/user-1.slice/user@1.service/app.slice/x.service\n", Flags{},
			Identity{"x.service", "aa", "cgroup", "INVOCATION_ID", "", true}},
		{"another unit by hand from a user unit", env("INVOCATION_ID=aa"), "0::/user@1.service/app.slice/term.service\n", Flags{Unit: "x.service"},
			Identity{"x.service", "", "--unit", "", "", false}},
		{"invocation that is no file name", env("INVOCATION_ID=../../etc"), cgroup, Flags{},
			Identity{"batch@1.service", `\x2e.\x2f..\x2fetc`, "cgroup", "INVOCATION_ID", "", false}},
		{"nothing", nil, "", Flags{}, Identity{}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got, err := Identify(Caller{Env: tt.env, PID: 7, Cgroup: tt.cgroup}, tt.flags)
			if err != nil || got != tt.want {
				t.Errorf("got %+v, %v\nwant %+v", got, err, tt.want)
			}
		})
	}
}

func TestIdentify_badUnitNames(t *testing.T) {
	tests := []struct {
		env   Lookup
		flags Flags
		from  string
	}{
		{env(), Flags{Unit: "../../etc/x.service"}, "--unit"},
		{env(), Flags{Unit: "batch"}, "--unit"},
		{env("MONITOR_UNIT=a/b.service"), Flags{}, "MONITOR_UNIT"},
	}
	for _, tt := range tests {
		id, err := Identify(Caller{Env: tt.env, Cgroup: "0::/system.slice/own.service"}, tt.flags)
		var e *UnitNameError
		if !errors.As(err, &e) || e.From != tt.from || e.Hint() == "" || id != (Identity{}) {
			t.Errorf("from %s: got %+v, %v", tt.from, id, err)
		}
	}
}

// Two jobs under one runner service share its cgroup and its INVOCATION_ID.
func TestCase40_twoJobsUnderOneRunner(t *testing.T) {
	both := []string{"INVOCATION_ID=aa", "SYSTEMD_EXEC_PID=1"}
	pairs := map[string][2][]string{
		"github, two runs":          {{"GITHUB_ACTIONS=true", "GITHUB_RUN_ID=1", "GITHUB_JOB=b"}, {"GITHUB_ACTIONS=true", "GITHUB_RUN_ID=2", "GITHUB_JOB=b"}},
		"github, a matrix":          {{"GITHUB_ACTIONS=true", "GITHUB_RUN_ID=1", "GITHUB_JOB=b", "RUNNER_NAME=x"}, {"GITHUB_ACTIONS=true", "GITHUB_RUN_ID=1", "GITHUB_JOB=b", "RUNNER_NAME=y"}},
		"github, tried again":       {{"GITHUB_ACTIONS=true", "GITHUB_RUN_ID=1", "GITHUB_JOB=b", "GITHUB_RUN_ATTEMPT=1"}, {"GITHUB_ACTIONS=true", "GITHUB_RUN_ID=1", "GITHUB_JOB=b", "GITHUB_RUN_ATTEMPT=2"}},
		"gitlab":                    {{"GITLAB_CI=true", "CI_JOB_ID=1"}, {"GITLAB_CI=true", "CI_JOB_ID=2"}},
		"gitlab, two servers":       {{"GITLAB_CI=true", "CI_JOB_ID=1", "CI_SERVER_HOST=a"}, {"GITLAB_CI=true", "CI_JOB_ID=1", "CI_SERVER_HOST=b"}},
		"jenkins":                   {{"JENKINS_URL=u", "JOB_NAME=a/b", "BUILD_NUMBER=1"}, {"JENKINS_URL=u", "JOB_NAME=a-b", "BUILD_NUMBER=1"}},
		"jenkins without its URL":   {{"BUILD_TAG=jenkins-a-1"}, {"BUILD_TAG=jenkins-a-2"}},
		"buildkite":                 {{"BUILDKITE=true", "BUILDKITE_JOB_ID=1"}, {"BUILDKITE=true", "BUILDKITE_JOB_ID=2"}},
		"circleci":                  {{"CIRCLECI=true", "CIRCLE_WORKFLOW_JOB_ID=1"}, {"CIRCLECI=true", "CIRCLE_WORKFLOW_JOB_ID=1", "CIRCLE_NODE_INDEX=1"}},
		"azure, same job, 2 builds": {{"TF_BUILD=True", "BUILD_BUILDID=1", "SYSTEM_JOBID=j"}, {"TF_BUILD=True", "BUILD_BUILDID=2", "SYSTEM_JOBID=j"}},
		"woodpecker":                {{"CI=woodpecker", "CI_REPO=a/b", "CI_PIPELINE_NUMBER=1"}, {"CI=woodpecker", "CI_REPO=a/b", "CI_PIPELINE_NUMBER=1", "CI_WORKFLOW_NUMBER=2"}},
		"drone":                     {{"DRONE=true", "DRONE_REPO=a/b", "DRONE_BUILD_NUMBER=1"}, {"DRONE=true", "DRONE_REPO=a/b", "DRONE_BUILD_NUMBER=2"}},
		"travis":                    {{"TRAVIS=true", "TRAVIS_JOB_ID=1"}, {"TRAVIS=true", "TRAVIS_JOB_ID=2"}},
		"the separator in a name":   {{"GITHUB_ACTIONS=true", "GITHUB_RUN_ID=1", "GITHUB_JOB=b:1"}, {"GITHUB_ACTIONS=true", "GITHUB_RUN_ID=1:b", "GITHUB_JOB=1"}},
	}
	for name, pair := range pairs {
		t.Run(name, func(t *testing.T) {
			var ids [2]Identity
			for i, vars := range pair {
				id, err := Identify(Caller{Env: env(append(vars, both...)...), PID: 2, Cgroup: "0::/system.slice/runner.service\n"}, Flags{})
				if err != nil || id.Unit != "runner.service" || id.CI == "" || id.InvocationFrom != id.CI {
					t.Fatalf("job %d: %+v, %v", i, id, err)
				}
				ids[i] = id
			}
			if ids[0].Invocation == ids[1].Invocation {
				t.Errorf("both jobs are %q", ids[0].Invocation)
			}
		})
	}
}

func TestIdentify_halfACIPlatform(t *testing.T) {
	id, err := Identify(Caller{Env: env("GITLAB_CI=true", "CI=true", "INVOCATION_ID=aa"), PID: 2}, Flags{})
	if err != nil || id.CI != "" || id.Invocation != "aa" {
		t.Errorf("a platform's mark without its job id: %+v, %v", id, err)
	}
}

func TestFileName(t *testing.T) {
	if got := FileName("0123456789abcdef0123456789abcdef"); got != "0123456789abcdef0123456789abcdef" {
		t.Errorf("a plain id became %q", got)
	}
	if got := FileName(""); got != "" {
		t.Errorf("no text became %q", got)
	}
	long := strings.Repeat("x", 201)
	digest := FileName(long)
	seen := map[string]string{}
	for _, text := range []string{
		".", "..", "/", "a/b", "a-b", `a\x2fb`, `a\b`, "a\x00b", "a\nb", "ü", "A", "a", "~", "~a", "-", "a b", "a:b", strings.Repeat("x", 200),
		long, long + "x", digest, strings.Repeat("/", 51), strings.Repeat("/", 50), "\xff",
	} {
		got := FileName(text)
		if got == "" || got[0] == '.' || strings.ContainsAny(got, "/\x00\n ") || len(got) > 200 {
			t.Errorf("FileName(%q) = %q", text, got)
		}
		if other, ok := seen[got]; ok {
			t.Errorf("%q and %q are both %q", text, other, got)
		}
		seen[got] = text
	}
}

func FuzzFileName(f *testing.F) {
	f.Add("a/b", "a-b")
	f.Add("", ".")
	f.Fuzz(func(t *testing.T, a, b string) {
		x, y := FileName(a), FileName(b)
		if (a == b) != (x == y) {
			t.Errorf("%q → %q, %q → %q", a, x, b, y)
		}
		if len(x) > 200 || strings.HasPrefix(x, ".") || strings.ContainsAny(x, "/\x00") {
			t.Errorf("%q → %q", a, x)
		}
		if joinParts(a, b) == joinParts(b, a) && a != b {
			t.Errorf("%q and %q, in either order, are %q", a, b, joinParts(a, b))
		}
	})
}
