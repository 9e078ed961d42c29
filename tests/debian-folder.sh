# shellcheck shell=bash disable=SC2154 # who sources this says where: $folder
# Sourced by those who need a fresh Debian: as root, with a mirror in reach.

# The commands that follow run in $folder.
inside() { chroot "$folder" env DEBIAN_FRONTEND=noninteractive LC_ALL=C "$@"; }

# debian_folder SUITE: a system of this name in $folder, unless one is there, until this shell ends.
debian_folder() {
  if [ ! -x "$folder/usr/bin/apt-get" ]; then
    command -v debootstrap > /dev/null || apt-get -qq install -y debootstrap
    local mirror
    mirror=$(awk '/^deb |^URIs:/ { for (i = 2; i <= NF; i++) if ($i ~ /^http/) { print $i; exit } }' \
      /etc/apt/sources.list /etc/apt/sources.list.d/* 2> /dev/null || true)
    debootstrap --variant=minbase "$1" "$folder" "${mirror:-http://deb.debian.org/debian}"
  fi
  local mount
  for mount in proc sys dev; do
    mountpoint -q "$folder/$mount" || mount --bind "/$mount" "$folder/$mount"
  done
  trap 'umount "$folder/proc" "$folder/sys" "$folder/dev" || true' EXIT
  # The way out to the packages is the host's.
  cp /etc/resolv.conf /etc/hosts "$folder/etc/" 2> /dev/null || true
  if [ -d /etc/apt/apt.conf.d ]; then cp -n /etc/apt/apt.conf.d/*proxy* "$folder/etc/apt/apt.conf.d/" 2> /dev/null || true; fi
  inside apt-get -qq update
}
