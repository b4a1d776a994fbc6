#!/usr/bin/env bash
# Installs the Debian packages that the tests and the demo use, if they are
# missing. Without root or apt-get it says which tests will be skipped.
set -euo pipefail

# systemd-container, debootstrap: machines with real systemd
# gcc, libc6-dev: the race detector
# e2fsprogs, procps, util-linux: chattr, mkfs, pkill, nsenter
packages=(systemd-container debootstrap gcc libc6-dev e2fsprogs procps util-linux)

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
export DEBIAN_FRONTEND=noninteractive
apt-get update -q || echo "setup: apt-get update failed, trying with the lists that are here"
apt-get install -y -q --no-install-recommends "${missing[@]}"
