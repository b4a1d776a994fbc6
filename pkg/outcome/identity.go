package outcome

import "strconv"

// Caller is the process that asks which job it belongs to.
type Caller struct {
	Env    Lookup
	PID    int    // its own
	Cgroup string // text of /proc/self/cgroup, "" when it can't be read
}

// Flags are what the command line says about the job.
type Flags struct {
	Unit       string // --unit
	Invocation string // --invocation
	// Own says that only the unit that the caller stands in can be meant, as
	// before a job. A job may write its own environment file, and through a
	// MONITOR_UNIT in it name somebody else's unit.
	Own bool
}

// Identity is the unit and the invocation that a cleanup is about.
type Identity struct {
	Unit           string // a valid unit name; "" when nothing tells it
	Invocation     string // a safe file name; see FileName. "" when nothing tells it
	UnitFrom       string // "--unit", "MONITOR_UNIT", "cgroup" or ""
	InvocationFrom string // "--invocation", "MONITOR_INVOCATION_ID", "INVOCATION_ID", a CI platform, or ""
	CI             string // the CI platform that runs the caller: "github", "gitlab", …; "" for none
	UserManager    bool   // the unit belongs to a user's manager
}

// Identify tells the job of a caller. What it leaves empty is for the service
// manager to say. The error is a *UnitNameError.
//
// A job that can write its unit's EnvironmentFile= can set any variable for
// its hook, those of the manager too, but it can't unset one and can't choose
// the cgroup. So a MONITOR_UNIT is not believed where there is a
// SERVICE_RESULT: handler units have none. The unit is then safe, while the
// invocation may be a lie about that same unit; who acts with more rights than
// the job asks the manager for it.
func Identify(c Caller, f Flags) (Identity, error) {
	here := ParseCgroup(c.Cgroup)
	var id Identity
	switch monitored := get(c.Env, "MONITOR_UNIT"); {
	case f.Unit != "":
		id.Unit, id.UnitFrom = f.Unit, "--unit"
	case monitored != "" && handler(c, f):
		id.Unit, id.UnitFrom = monitored, "MONITOR_UNIT"
	case here.Unit != "":
		id.Unit, id.UnitFrom = here.Unit, "cgroup"
	}
	if id.Unit != "" {
		if err := checkUnitName(id.Unit, id.UnitFrom); err != nil {
			return Identity{}, err
		}
	}
	id.UserManager = here.UserManager && (id.Unit == here.Unit || id.UnitFrom == "MONITOR_UNIT")
	id.invocation(c, f, here)
	return id, nil
}

// invocation fills in the invocation, and the platform that has a say in it.
// INVOCATION_ID belongs to the unit that the caller stands in, and every
// process below a CI runner's service inherits the runner's; so it counts
// first only for a process that the manager itself started, and never for
// another unit.
func (id *Identity) invocation(c Caller, f Flags, here Cgroup) {
	handles := id.Unit != "" && id.Unit == get(c.Env, "MONITOR_UNIT") && handler(c, f)
	own := get(c.Env, "INVOCATION_ID")
	if here.Unit != "" && here.Unit != id.Unit {
		own = ""
	}
	started := get(c.Env, "SYSTEMD_EXEC_PID") == strconv.Itoa(c.PID)
	var job string
	if !handles && !started {
		id.CI, job = ciJob(c.Env)
	}
	switch monitored := get(c.Env, "MONITOR_INVOCATION_ID"); {
	case f.Invocation != "":
		id.Invocation, id.InvocationFrom = FileName(f.Invocation), "--invocation"
	case handles && monitored != "":
		id.Invocation, id.InvocationFrom = FileName(monitored), "MONITOR_INVOCATION_ID"
	case job != "":
		id.Invocation, id.InvocationFrom = job, id.CI
	case own != "" && !handles:
		id.Invocation, id.InvocationFrom = FileName(own), "INVOCATION_ID"
	}
}

// handler reports whether the caller may be an OnFailure= or OnSuccess=
// handler that was told about another unit.
func handler(c Caller, f Flags) bool { return !f.Own && !has(c.Env, "SERVICE_RESULT") }
