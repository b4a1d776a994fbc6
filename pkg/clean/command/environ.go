package command

import (
	"errors"
	"os/user"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"job-cleanup/pkg/expand"
	"job-cleanup/pkg/residue"
)

// searchPath is where programs without a path are looked up, and PATH.
const searchPath = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"

// environment is all that the command gets to see beside HOME.
func environment(spec residue.Spec, deps residue.Deps) ([]string, error) {
	ended := deps.Job.Outcome
	env := []string{
		"PATH=" + searchPath,
		"LANG=C.UTF-8",
		"JOB_CLEANUP_UNIT=" + deps.Job.Unit,
		"JOB_CLEANUP_INVOCATION=" + deps.Job.Invocation,
		"SERVICE_RESULT=" + ended.Result,
	}
	if ended.Code != "" { // as in systemd: unset when no main process was known
		env = append(env, "EXIT_CODE="+ended.Code, "EXIT_STATUS="+ended.Status)
	}
	passed, err := passed(spec.Options["PassEnvironment"], deps)
	if err != nil {
		return nil, err
	}
	added, err := added(spec.Options["Environment"], deps)
	return append(append(env, passed...), added...), err
}

// passed are the variables of PassEnvironment=.
func passed(lists []string, deps residue.Deps) ([]string, error) {
	var env []string
	for _, name := range strings.Fields(strings.Join(lists, " ")) {
		if !variable(name) {
			return nil, refused("PassEnvironment=%q is no variable name", name)
		}
		if deps.Env == nil {
			return nil, residue.Errorf(residue.Retry, residue.Unset, "variable %q can't be passed: the job's environment is gone", name)
		}
		if value, ok := deps.Env(name); ok {
			env = append(env, name+"="+value)
		}
	}
	return env, nil
}

// added are the words of Environment=. Messages leave values out.
func added(lists []string, deps residue.Deps) ([]string, error) {
	var env []string
	for _, list := range lists {
		pairs, err := words("Environment=", list, deps)
		if err != nil {
			return nil, err
		}
		for i, pair := range pairs {
			if name, _, ok := strings.Cut(pair, "="); !ok || !variable(name) {
				return nil, refused("word %d of Environment= is not NAME=VALUE", i+1)
			}
		}
		env = append(env, pairs...)
	}
	return env, nil
}

// variable reports whether name can be a variable's name.
func variable(name string) bool {
	const letters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_"
	return name != "" && strings.Trim(name[:1], letters) == "" && strings.Trim(name, letters+"0123456789") == ""
}

// identity says who the command is run as when it must not be us. A job can
// write the environment that its own hook gets; so with root's rights nothing
// of it reaches a command, which then runs as the job's user. So does any
// command whose hook would run as that user: a later pass by root must not give
// it rights that the unit's author did not.
func identity(spec residue.Spec, job residue.Job) *residue.Identity {
	if unix.Geteuid() != 0 || job.User == nil || job.User.UID == 0 {
		return nil
	}
	if spec.FromEnv || fromEnv(spec) || !job.FullRights {
		return job.User
	}
	return nil
}

// fromEnv reports whether anything of the job's environment gets into the
// command line or the command's environment.
func fromEnv(spec residue.Spec) bool {
	if len(spec.Options["PassEnvironment"]) > 0 {
		return true
	}
	for _, text := range append([]string{spec.Value}, spec.Options["Environment"]...) {
		_, err := expand.Words(text, nil)
		var fault *expand.Error
		if errors.As(err, &fault) && fault.Unset {
			return true
		}
	}
	return false
}

// home is the home folder of whoever the command runs as, "/" when unknown.
func home(as, job *residue.Identity) string {
	uid := uint32(unix.Geteuid())
	if as != nil {
		uid = as.UID
	}
	if job != nil && job.UID == uid && job.Home != "" {
		return job.Home
	}
	if u, err := user.LookupId(strconv.FormatUint(uint64(uid), 10)); err == nil && u.HomeDir != "" {
		return u.HomeDir
	}
	return "/"
}
