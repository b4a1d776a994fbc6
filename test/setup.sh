#!/usr/bin/env bash
# Installs the Debian packages that the tests and the demo use, if they are
# missing, and those named as arguments. Without root or apt-get it says which
# tests will be skipped.
set -euo pipefail

# systemd-container, debootstrap: machines with real systemd
# dbus-daemon: a bus of the tests' own
# gcc, libc6-dev: the race detector
# e2fsprogs, procps, util-linux: chattr, mkfs, pkill, nsenter
# postgresql, redis-server, rabbitmq-server: real servers, which tests start
# chromium, fonts-dejavu-core: looks at the page of history --html
# awscli, curl, postgresql-client: the usual shell hook, which make bench measures
# man-db, mandoc: two readers of the manual pages
# bash-completion, zsh, fish: the shells whose completions are tested
# rpm: to look into the package for other distributions, and to install it
packages=(systemd-container debootstrap dbus-daemon gcc libc6-dev e2fsprogs procps util-linux
	postgresql redis-server rabbitmq-server awscli curl postgresql-client man-db mandoc bash-completion zsh fish
	chromium fonts-dejavu-core rpm)
packages+=("$@")

missing=()
for package in "${packages[@]}"; do
	if [ "$(dpkg-query -W -f '${db:Status-Status}' "$package" 2>/dev/null || true)" != installed ]; then
		missing+=("$package")
	fi
done
if [ ${#missing[@]} -eq 0 ]; then
	exit 0
fi
if [ "$(id -u)" != 0 ] || ! command -v apt-get >/dev/null; then
	echo "setup: can't install ${missing[*]} (needs root and apt-get);" \
		"the tests that need them are skipped, and without a C compiler the race detector fails"
	exit 0
fi
echo "setup: installing ${missing[*]}"
# No package starts a service of this machine. A policy that is there stays.
policy=/usr/sbin/policy-rc.d
if [ ! -e "$policy" ] && [ ! -L "$policy" ]; then
	trap 'rm -f "$policy"' EXIT
	printf '#!/bin/sh\nexit 101\n' >"$policy"
	chmod 755 "$policy"
fi
export DEBIAN_FRONTEND=noninteractive
apt-get update -q || echo "setup: apt-get update failed, trying with the lists that are here"
apt-get install -y -q --no-install-recommends "${missing[@]}"
