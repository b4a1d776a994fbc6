//go:build linux

package vm

import (
	"os"
	"path/filepath"
	"strings"
)

// Without hardware acceleration a boot of all of Debian takes minutes. What the
// tests need is the kernel, its file system and memory controller, systemd with
// its journal and bus, and what is under test. So the kernel loads only what
// the disks need, udev looks only at disks and ports, and the units below are
// masked.

// initramfs has the first root load what the disks need and nothing else.
var initramfs = map[string]string{
	"etc/initramfs-tools/conf.d/vm": "MODULES=list\nCOMPRESS=gzip\n",
	"etc/initramfs-tools/modules":   "virtio_pci\nvirtio_blk\next4\n",
}

// udevTrigger is a drop-in that leaves most devices alone.
const udevTrigger = "[Service]\nExecStart=\nExecStart=-udevadm trigger --type=all --action=add --prioritized-subsystem=block --subsystem-match=block --subsystem-match=virtio-ports\n"

// masked units have nothing to do with what is tested.
var masked = strings.Fields(`
	apparmor.service apt-daily.timer apt-daily-upgrade.timer dpkg-db-backup.timer e2scrub_all.timer
	e2scrub_reap.service fstrim.timer systemd-tmpfiles-clean.timer getty.target getty@.service serial-getty@.service
	dev-hugepages.mount dev-mqueue.mount sys-kernel-debug.mount sys-kernel-tracing.mount
	sys-kernel-config.mount sys-fs-fuse-connections.mount proc-sys-fs-binfmt_misc.automount
	modprobe@.service systemd-modules-load.service systemd-binfmt.service kmod-static-nodes.service
	ldconfig.service systemd-hwdb-update.service systemd-journal-catalog-update.service
	systemd-update-done.service systemd-firstboot.service systemd-sysusers.service
	systemd-random-seed.service systemd-pstore.service systemd-ask-password-console.path
	systemd-ask-password-wall.path systemd-networkd.service systemd-networkd.socket
	systemd-timesyncd.service systemd-logind.service systemd-user-sessions.service
	systemd-update-utmp.service systemd-update-utmp-runlevel.service systemd-pcrphase.service
	systemd-machine-id-commit.service systemd-tpm2-setup.service systemd-tpm2-setup-early.service
	systemd-boot-random-seed.service systemd-repart.service systemd-sysctl.service
	systemd-creds.socket systemd-pcrextend.socket systemd-pcrlock.socket systemd-sysext.socket
	systemd-hostnamed.socket systemd-importd.socket systemd-bootctl.socket
	tpm2.target
`)

func mask(root string) error {
	for _, unit := range masked {
		if err := os.Symlink("/dev/null", filepath.Join(root, "etc/systemd/system", unit)); err != nil && !os.IsExist(err) {
			return err
		}
	}
	return nil
}
