//go:build linux

package vm

import (
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"
)

var (
	suite = flag.String("suite", "trixie", "the Debian `suite` of the machine")
	cuts  = flag.Int("cuts", 20, "how often the power goes")
	seed  = flag.Uint64("seed", 0, "of the moments; 0 takes one from the clock")
)

// The parts of every machine.
var (
	theImage *image
	tools    string // disk with the program, its units and the agent
)

func TestMain(m *testing.M) {
	flag.Parse()
	if *seed == 0 {
		*seed = uint64(time.Now().UnixNano())
	}
	code, err := setUpAndRun(m)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		code = 1
	}
	os.Exit(code)
}

// unable says why there can be no machine, "" when there can.
func unable() string {
	if os.Getenv("JOB_CLEANUP_VM") == "" {
		return "only for make test-vm, which sets JOB_CLEANUP_VM"
	}
	if os.Getuid() != 0 {
		return "needs root to make the machine's disk"
	}
	for _, tool := range []string{"qemu-system-x86_64", "qemu-img", "mkfs.ext4", "debootstrap", "apt-cache"} {
		if _, err := exec.LookPath(tool); err != nil {
			return "needs " + tool
		}
	}
	return ""
}

func setUpAndRun(m *testing.M) (int, error) {
	if unable() != "" {
		return m.Run(), nil // which says so
	}
	folder, err := os.MkdirTemp("", "job-cleanup-vm-")
	if err != nil {
		return 0, err
	}
	defer os.RemoveAll(folder)
	if theImage, err = imageOf(*suite); err != nil {
		return 0, err
	}
	theImage.accel = acceleration(theImage, folder)
	fmt.Printf("%s, %s, -seed %d\n", filepath.Base(theImage.kernel), theImage.accel, *seed)
	if tools, err = toolsDisk(folder); err != nil {
		return 0, err
	}
	return m.Run(), nil
}

// toolsDisk makes the disk with what is under test.
func toolsDisk(folder string) (string, error) {
	content := filepath.Join(folder, "tools")
	for name, pkg := range map[string]string{"job-cleanup": "job-cleanup/cmd/job-cleanup", "agent": "job-cleanup/test/vm/agent"} {
		build := exec.Command("go", "build", "-trimpath", "-ldflags", "-s -w", "-o", filepath.Join(content, name), pkg)
		build.Env = append(os.Environ(), "CGO_ENABLED=0")
		if output, err := build.CombinedOutput(); err != nil {
			return "", fmt.Errorf("build %s: %w\n%s", name, err, output)
		}
	}
	if err := command("cp", "-r", "../../units", "../../packaging", content); err != nil {
		return "", err
	}
	disk := filepath.Join(folder, "tools.ext4")
	return disk, pack(disk, "vm-tools", "128M", content)
}

// machineFor boots a machine with the program installed as a package would.
func machineFor(t *testing.T) *machine {
	t.Helper()
	if why := unable(); why != "" {
		t.Skip(why)
	}
	m := newMachine(t, theImage, tools)
	m.boot()
	m.shell(`install -m 755 /opt/vm/job-cleanup /usr/bin/job-cleanup
		install -m 644 -t /usr/lib/systemd/system /opt/vm/units/*.service /opt/vm/units/*.timer
		install -D -m 644 /opt/vm/packaging/tmpfiles.conf /usr/lib/tmpfiles.d/job-cleanup.conf
		systemd-tmpfiles --create job-cleanup.conf
		systemctl daemon-reload
		systemctl enable job-cleanup-sweep.timer job-cleanup-sweep-boot.service
		sync`)
	return m
}
