package path

import "sync"

// shared are the bases that every job has: folders where anybody may put
// things, and where what a plan names can be a job's own.
var shared = []string{"/tmp", "/var/tmp", "/run"}

// scratch are folders of the same sort inside of protected trees, which a plan
// must ask for with Within=.
var scratch = sync.OnceValue(func() []pattern {
	return patterns("/dev/hugepages", "/dev/mqueue", "/dev/shm", "/run/user/*")
})

// kept are folders that must stay themselves, and with them all their
// ancestors. What is below them may go when a base says so.
var kept = []string{
	"/bin", "/boot", "/dev", "/efi", "/etc/*", "/home/*", "/lib", "/lib32", "/lib64", "/libx32", "/media",
	"/mnt", "/nix", "/opt", "/proc", "/root", "/run/lock", "/run/user/*", "/sbin", "/snap/*", "/srv",
	"/sys", "/tmp", "/usr/*", "/usr/local/*",
	"/var/account", "/var/backups", "/var/cache", "/var/crash", "/var/db", "/var/empty", "/var/games",
	"/var/lib", "/var/local", "/var/lock", "/var/log", "/var/mail", "/var/opt", "/var/run", "/var/spool",
	"/var/tmp", "/var/www", "/var/yp",
}

// sealed are trees in which nothing goes at all.
var sealed = []string{
	"/bin", "/boot", "/efi", "/lib", "/lib32", "/lib64", "/libx32", "/lost+found", "/nix", "/proc", "/sbin",
	"/sys", "/usr/bin", "/usr/include", "/usr/lib", "/usr/lib32", "/usr/lib64", "/usr/libexec", "/usr/libx32",
	"/usr/sbin", "/usr/share", "/usr/src",
	"/etc/pam.d", "/etc/ssh", "/etc/ssl", "/etc/systemd",
	"/var/lib/apt", "/var/lib/dbus", "/var/lib/dpkg", "/var/lib/job-cleanup", "/var/lib/pacman", "/var/lib/rpm",
	"/var/lib/systemd", "/var/log/journal",
	"/run/user/*/bus", "/run/user/*/dbus-1", "/run/user/*/gnupg", "/run/user/*/keyring", "/run/user/*/pipewire-*",
	"/run/user/*/pulse", "/run/user/*/systemd", "/run/user/*/wayland-*",
}

// occupied are trees of the system inside of shared bases. Only a folder of
// the job's own strictly below one of them (its RUNTIME_DIRECTORY in
// /run/private, say) opens that folder.
var occupied = []string{
	"/run/.containerenv", "/run/NetworkManager", "/run/agetty.reload", "/run/blkid", "/run/chrony", "/run/containerd",
	"/run/credentials", "/run/cron*", "/run/crun", "/run/cryptsetup", "/run/dbus", "/run/docker*", "/run/faillock",
	"/run/fsck", "/run/host", "/run/initctl", "/run/initramfs", "/run/job-cleanup", "/run/keys", "/run/libvirt",
	"/run/lock/lvm", "/run/lock/subsys", "/run/log", "/run/lvm", "/run/machine-id", "/run/mdadm", "/run/mount",
	"/run/motd*", "/run/netns", "/run/nologin", "/run/nscd", "/run/ostree-booted", "/run/plymouth", "/run/podman",
	"/run/polkit*", "/run/private", "/run/reboot-required*", "/run/resolvconf", "/run/rpcbind*", "/run/runc",
	"/run/secrets", "/run/shm", "/run/sshd*", "/run/sudo", "/run/sysusers.d", "/run/systemd", "/run/tmpfiles.d",
	"/run/udev", "/run/utmp", "/run/xtables.lock",
	"/tmp/.ICE-unix", "/tmp/.Test-unix", "/tmp/.X*-lock", "/tmp/.X11-unix", "/tmp/.XIM-unix", "/tmp/.font-unix",
	"/tmp/lost+found", "/tmp/snap-private-tmp", "/tmp/systemd-private-*",
	"/var/tmp/lost+found", "/var/tmp/systemd-private-*",
	"/var/cache/private", "/var/lib/private", "/var/log/private",
}

// sessions is the tree of the users' runtime folders. It opens for the job's
// own folders, and for a folder in it that Within= names.
const sessions = "/run/user"

// zone is a compiled line of the tables above.
type zone struct {
	pattern pattern
	opens   origin // the least sort of base, strictly below the zone, that opens it
	itself  bool   // protects the folder and its ancestors, but not what is below
}

// zones are the tables as patterns.
var zones = sync.OnceValue(func() []zone {
	var all []zone
	add := func(opens origin, itself bool, list ...string) {
		for _, p := range patterns(list...) {
			all = append(all, zone{pattern: p, opens: opens, itself: itself})
		}
	}
	add(fromNobody, true, kept...)
	add(fromNobody, false, sealed...)
	add(fromJob, false, occupied...)
	add(fromPlan, false, sessions)
	add(fromScratch, false, "/dev")
	return all
})

// patterns compiles a table; a mistake in it is the programmer's.
func patterns(list ...string) []pattern {
	var all []pattern
	for _, text := range list {
		p, err := parsePattern(text)
		if err != nil {
			panic(err)
		}
		all = append(all, p)
	}
	return all
}
