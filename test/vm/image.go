//go:build linux

// Package vm runs the built program in a whole machine of its own, with its own
// kernel, disks and memory: for what a container can't show. There are two such
// things: power that goes at any moment, and a memory limit.
//
// Its tests run only when JOB_CLEANUP_VM is set, as `make test-vm` does.
package vm

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"

	"job-cleanup/test/rig"
)

// kernel are the packages that make a machine out of a container's root.
var kernel = []string{"linux-image-cloud-amd64", "initramfs-tools"}

// image is what machines of a suite start from; they never write to it.
type image struct {
	disk, kernel, initrd string
	accel                string // how qemu runs them
}

// files are what the machine has beside Debian: its disks, and the agent that
// the test talks to. The second disk keeps changes to itself for long, so that
// what relies on its order with the first one is found out. The gate holds the sweep of a boot back until the test has
// looked at what the power cut left.
var files = map[string]string{
	"etc/fstab": "/dev/vda / ext4 defaults 0 1\n" +
		"/dev/vdb /opt/vm ext4 ro 0 0\n" +
		"/dev/vdc /srv/data ext4 commit=60 0 2\n",
	"etc/hostname":                                              "vm\n",
	"etc/systemd/system/vm-agent.service":                       "[Service]\nExecStart=/opt/vm/agent\nRestart=on-failure\nOOMScoreAdjust=-900\n[Install]\nWantedBy=multi-user.target\n",
	"etc/systemd/system/vm-gate.service":                        "[Unit]\nBefore=job-cleanup-sweep-boot.service\n[Service]\nType=oneshot\nExecStart=/opt/vm/agent gate\n[Install]\nWantedBy=multi-user.target\n",
	"etc/systemd/journald.conf.d/vm.conf":                       "[Journal]\nStorage=persistent\nSyncIntervalSec=5s\nRateLimitBurst=0\n",
	"etc/systemd/system/systemd-udev-trigger.service.d/vm.conf": udevTrigger,
}

var folders = []string{"opt/vm", "srv/data", "var/log/journal"}

var wanted = []string{"vm-agent.service", "vm-gate.service"}

// imageOf makes the image of a suite, or takes it from the cache beside its
// root. It has another name when the root or the files above change.
func imageOf(suite string) (*image, error) {
	root, err := rig.Root(suite, kernel...)
	if err != nil {
		return nil, err
	}
	img := &image{disk: root + "-" + recipe() + ".ext4"}
	img.initrd = img.disk + ".initrd"
	if img.kernel, err = oneFile(root, "boot/vmlinuz-*"); err != nil {
		return nil, err
	}
	lock, err := os.OpenFile(root+".lock", os.O_CREATE|os.O_RDWR, 0o644)
	if err != nil {
		return nil, err
	}
	defer lock.Close()
	if err := syscall.Flock(int(lock.Fd()), syscall.LOCK_EX); err != nil {
		return nil, fmt.Errorf("lock %q: %w", lock.Name(), err)
	}
	if _, err := os.Stat(img.disk); err == nil {
		return img, nil
	}
	return img, img.make(root)
}

// oneFile finds a file whose name has a version in it.
func oneFile(root, pattern string) (string, error) {
	found, err := filepath.Glob(filepath.Join(root, pattern))
	if err != nil || len(found) == 0 {
		return "", fmt.Errorf("no %q in %q: %w", pattern, root, errors.Join(err, os.ErrNotExist))
	}
	return found[0], nil
}

// recipe names what imageOf adds to a root.
func recipe() string {
	sum := sha256.Sum256(fmt.Append(nil, files, folders, wanted, initramfs, masked)) // maps are printed in order
	return hex.EncodeToString(sum[:4])
}

// make copies the root, adds the files and packs it all into a file system.
func (img *image) make(root string) error {
	work := img.disk + ".unfinished"
	defer os.RemoveAll(work)
	if err := os.RemoveAll(work); err != nil {
		return err
	}
	copied := filepath.Join(work, "root")
	if err := os.Mkdir(work, 0o700); err != nil {
		return err
	}
	if err := command("cp", "-a", "--reflink=auto", root, copied); err != nil {
		return err
	}
	if err := complete(copied); err != nil {
		return err
	}
	if err := command("chroot", copied, "update-initramfs", "-u"); err != nil {
		return err
	}
	initrd, err := oneFile(copied, "boot/initrd.img-*")
	if err == nil {
		err = os.Rename(initrd, img.initrd)
	}
	if err != nil {
		return err
	}
	disk := filepath.Join(work, "disk")
	if err := pack(disk, "vm-root", "4G", copied); err != nil {
		return err
	}
	return os.Rename(disk, img.disk)
}

// complete adds the files to a root.
func complete(root string) error {
	for _, folder := range folders {
		if err := os.MkdirAll(filepath.Join(root, folder), 0o755); err != nil {
			return err
		}
	}
	all := maps.Clone(files)
	maps.Copy(all, initramfs)
	for name, text := range all {
		path := filepath.Join(root, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			return err
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			return err
		}
	}
	wants := filepath.Join(root, "etc/systemd/system/multi-user.target.wants")
	if err := os.MkdirAll(wants, 0o755); err != nil {
		return err
	}
	for _, unit := range wanted {
		if err := os.Symlink("../"+unit, filepath.Join(wants, unit)); err != nil {
			return err
		}
	}
	return mask(root)
}

// pack makes a sparse ext4 file with a folder's content; "" for none.
func pack(disk, label, size, folder string) error {
	args := []string{"-q", "-F", "-L", label}
	if folder != "" {
		args = append(args, "-d", folder)
	}
	return command("mkfs.ext4", append(args, disk, size)...)
}

func command(name string, args ...string) error {
	if output, err := exec.Command(name, args...).CombinedOutput(); err != nil {
		return fmt.Errorf("%s: %w\n%s", name, err, output)
	}
	return nil
}
