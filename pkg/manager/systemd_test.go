package manager_test

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"job-cleanup/pkg/manager"
	"job-cleanup/pkg/manager/managertest"
)

// booted skips a test where systemd does not run the machine.
func booted(t *testing.T) {
	t.Helper()
	if _, err := os.Stat("/run/systemd/private"); err != nil || os.Geteuid() != 0 {
		t.Skip("needs root on a machine that systemd runs")
	}
}

// systemdRun starts a transient unit and ends it with the test.
func systemdRun(t *testing.T, unit string, args ...string) {
	t.Helper()
	args = append([]string{"--quiet", "--unit=" + unit}, args...)
	if out, err := exec.Command("systemd-run", args...).CombinedOutput(); err != nil {
		t.Fatalf("systemd-run: %v: %s", err, out)
	}
	t.Cleanup(func() {
		_ = exec.Command("systemctl", "stop", unit).Run()         // may be gone
		_ = exec.Command("systemctl", "reset-failed", unit).Run() // may not be failed
	})
}

// property asks systemctl, so that another client than ours judges.
func property(t *testing.T, unit, name string) string {
	t.Helper()
	out, err := exec.Command("systemctl", "show", "--value", "--property="+name, unit).Output()
	if err != nil {
		t.Fatal(err)
	}
	return strings.TrimSpace(string(out))
}

// ways are a machine's two ways to its manager.
func ways() map[string]manager.Address {
	both := manager.System()
	return map[string]manager.Address{
		"bus":     {Bus: both.Bus},
		"private": {Bus: "unix:path=/nonexistent", Private: both.Private},
	}
}

func TestSystemdProperties(t *testing.T) {
	booted(t)
	const unit = `mgr\x2dtest.service`
	systemdRun(t, unit, "-p", "Type=exec", "-p", "DynamicUser=yes", "-p", "RuntimeDirectory=mgr1 mgr2", "-p", "StateDirectory=mgrs", "-p", "PrivateTmp=yes",
		"-p", "BindPaths=/usr:/mnt", "-p", "BindReadOnlyPaths=/usr:/srv", "-p", "TemporaryFileSystem=/opt:ro", "-p", "ProtectHome=tmpfs",
		"-p", "InaccessiblePaths=/boot", "-p", "TimeoutStopSec=42", "-p", "TimeoutStartSec=infinity", "-p", "KillMode=mixed",
		"-p", "NotifyAccess=all", "-p", "ProtectSystem=strict", "-p", "PrivateNetwork=yes", "sleep", "1000")
	managertest.Eventually(t, "running", func() bool { return property(t, unit, "SubState") == "running" })
	for way, address := range ways() {
		t.Run(way, func(t *testing.T) {
			conn, err := manager.Dial(limited(t), address)
			if err != nil {
				t.Fatal(err)
			}
			defer conn.Close()
			u, err := conn.Unit(limited(t), unit)
			if err != nil {
				t.Fatal(err)
			}
			compare(t, unit, u)
			byID, err := conn.ByInvocation(limited(t), u.Invocation)
			if err != nil || byID.Name != unit {
				t.Errorf("by invocation: %q, %v", byID.Name, err)
			}
			byPID, err := conn.ByPID(limited(t), u.MainPID)
			if err != nil || byPID.Name != unit {
				t.Errorf("by pid: %q, %v", byPID.Name, err)
			}
			if life, err := conn.Live(limited(t), unit); err != nil || life.State != manager.Alive || life.Invocation != u.Invocation {
				t.Errorf("life: %+v, %v", life, err)
			}
			listed, err := conn.List(limited(t), `mgr\x2d*`)
			if err != nil || len(listed) != 1 || listed[0].Name != unit || listed[0].ActiveState != "active" {
				t.Errorf("list: %+v, %v", listed, err)
			}
		})
	}
}

func compare(t *testing.T, unit string, u manager.Unit) {
	t.Helper()
	if age := time.Since(u.Started); age < 0 || age > time.Minute || u.Active.Before(u.Started) || !u.Ended.IsZero() {
		t.Errorf("times %v, %v, %v", u.Started, u.Active, u.Ended)
	}
	if u.UID == nil || u.GID == nil || *u.UID < 60000 || !u.Dynamic || !u.Transient || u.MainPID < 2 {
		t.Errorf("uid %v, gid %v, dynamic %v, transient %v, pid %d", u.UID, u.GID, u.Dynamic, u.Transient, u.MainPID)
	}
	if u.TimeoutStart != manager.Infinite || u.TimeoutStop != 42*time.Second {
		t.Errorf("timeouts %v, %v", u.TimeoutStart, u.TimeoutStop)
	}
	for name, got := range map[string]string{
		"Id": u.Name, "InvocationID": u.Invocation, "ControlGroup": u.Cgroup, "FragmentPath": u.Fragment, "User": u.User, "Group": u.Group,
		"LoadState": u.LoadState, "ActiveState": u.ActiveState, "SubState": u.SubState, "Result": u.Result, "Slice": u.Slice,
		"KillMode": u.KillMode, "NotifyAccess": u.NotifyAccess, "ProtectHome": u.Sandbox.ProtectHome, "ProtectSystem": u.Sandbox.ProtectSystem,
		"RuntimeDirectory": strings.Join(u.RuntimeDirectory, " "), "StateDirectory": strings.Join(u.StateDirectory, " "),
		"InaccessiblePaths": strings.Join(u.Sandbox.Inaccessible, " "),
	} {
		if want := property(t, unit, name); got != want || want == "" && name != "User" && name != "Group" {
			t.Errorf("%s: %q, systemctl says %q", name, got, want)
		}
	}
	s := u.Sandbox
	if !s.PrivateTmp || !s.PrivateNetwork || strings.Join(s.BindPaths, " ") != "/mnt /srv" || strings.Join(s.TemporaryFS, " ") != "/opt" {
		t.Errorf("sandbox %+v", s)
	}
}

func TestSystemdStop(t *testing.T) {
	booted(t)
	for way, address := range ways() {
		t.Run(way, func(t *testing.T) {
			conn, err := manager.Dial(limited(t), address)
			if err != nil {
				t.Fatal(err)
			}
			defer conn.Close()
			unit := "mgrstop-" + way + ".service"
			systemdRun(t, unit, "-p", "Type=notify", "-p", "NotifyAccess=all", "sh", "-c", "trap 'sleep 0.2; exit 3' TERM; systemd-notify --ready; while :; do sleep 0.1; done")
			id := property(t, unit, "InvocationID")
			if err := conn.Stop(limited(t), unit, two); !errors.Is(err, manager.ErrChanged) {
				t.Errorf("stop another invocation: %v", err)
			}
			if state := property(t, unit, "ActiveState"); state != "active" {
				t.Fatalf("after the stop of another invocation: %s", state)
			}
			if err := conn.Stop(limited(t), unit, id); err != nil {
				t.Fatal(err)
			}
			if state := property(t, unit, "ActiveState"); state != "failed" {
				t.Errorf("after the stop: %s, want failed: it left with 3", state)
			}
			if err := conn.Stop(limited(t), unit, id); !errors.Is(err, manager.ErrOver) {
				t.Errorf("stop again: %v", err)
			}
			if life, err := conn.Live(limited(t), unit); err != nil || life.State != manager.Over || life.Invocation != id {
				t.Errorf("life: %+v, %v", life, err)
			}
			if err := conn.ResetFailed(limited(t), unit, two); !errors.Is(err, manager.ErrOver) {
				t.Errorf("reset another invocation: %v", err)
			}
			if err := conn.ResetFailed(limited(t), unit, id); err != nil {
				t.Error(err)
			}
			if state := property(t, unit, "ActiveState"); state != "inactive" {
				t.Errorf("after the reset: %s", state)
			}
			if err := conn.ResetFailed(limited(t), unit, id); !errors.Is(err, manager.ErrOver) {
				t.Errorf("reset again: %v", err)
			}
		})
	}
}

// A unit that stops cleanly is unloaded at once, and looking does not bring it
// back.
func TestSystemdGone(t *testing.T) {
	booted(t)
	conn, err := manager.Dial(limited(t), manager.System())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	for _, args := range [][]string{{"sleep", "1000"}, {"--timer-property=AccuracySec=1", "--on-active=1h", "true"}} {
		unit := "mgrgone.service"
		systemdRun(t, unit, args...)
		if len(args) == 3 {
			unit = "mgrgone.timer"
		}
		if err := conn.Stop(limited(t), unit, property(t, unit, "InvocationID")); err != nil {
			t.Errorf("%s: %v", unit, err)
		}
		managertest.Eventually(t, unit+" unloaded", func() bool {
			_, err := conn.Unit(limited(t), unit)
			return errors.Is(err, manager.ErrNotLoaded)
		})
		if life, err := conn.Live(limited(t), unit); err != nil || life.State != manager.Over {
			t.Errorf("%s: %+v, %v", unit, life, err)
		}
	}
	if u, err := conn.Load(limited(t), "no-such-unit.service"); err != nil || u.LoadState != "not-found" {
		t.Errorf("load: %+v, %v", u, err)
	}
}

func TestSystemdAutoRestart(t *testing.T) {
	booted(t)
	conn, err := manager.Dial(limited(t), manager.System())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	const unit = "mgrrestart.service"
	systemdRun(t, unit, "-p", "Restart=always", "-p", "RestartSec=1000", "false")
	managertest.Eventually(t, "auto-restart", func() bool { return property(t, unit, "SubState") == "auto-restart" })
	life, err := conn.Live(limited(t), unit)
	if err != nil || life.State != manager.Over || life.Invocation == "" {
		t.Errorf("life: %+v, %v", life, err)
	}
	if err := conn.Stop(limited(t), unit, life.Invocation); err != nil {
		t.Errorf("stop while it waits for its restart: %v", err)
	}
}

// A bus that hangs must not keep root from the manager's own socket.
func TestSystemdSilentBus(t *testing.T) {
	booted(t)
	ctx, cancel := context.WithTimeout(limited(t), 2*time.Second)
	defer cancel()
	conn, err := manager.Dial(ctx, manager.Address{Bus: managertest.Silent(t), Private: manager.System().Private})
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if _, err := conn.Unit(limited(t), "-.slice"); err != nil {
		t.Error(err)
	}
}

func TestSystemdUserManager(t *testing.T) {
	booted(t)
	dir, err := filepath.Glob("/run/user/*/systemd/private")
	if err != nil || len(dir) == 0 {
		t.Skip("needs a user's manager that runs")
	}
	conn, err := manager.Dial(limited(t), manager.User(strings.TrimSuffix(dir[0], "/systemd/private")))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	u, err := conn.Unit(limited(t), "basic.target")
	if err != nil || u.ActiveState != "active" {
		t.Errorf("%+v, %v", u, err)
	}
}
