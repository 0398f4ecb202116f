# Sourced: whole systems to install into, by debootstrap.
# shellcheck shell=bash

# Made once a release, and kept where the checkout keeps what it builds.
make_root() {  # RELEASE FOLDER [DEBOOTSTRAP_OPTIONS...]
  local cache mirror
  cache=$root/build/roots/$(tr -c 'a-z0-9.\n' - <<<"$1${*:3}").tar
  mkdir -p "${cache%/*}" "$2"
  if [ ! -s "$cache" ]; then
    mirror=$(cat /etc/apt/sources.list.d/debian.sources /etc/apt/sources.list 2>/dev/null |
      sed -nE 's/^(URIs:|deb) +(\[[^]]*\] +)?([^ ]+).*/\3/p' | head -n 1)
    debootstrap --variant=minbase "${@:3}" "$1" "$2.making" "${mirror:-http://deb.debian.org/debian}" >"$2.log" 2>&1 ||
      { tail -n 3 "$2.log"; return 1; }
    tar -C "$2.making" --exclude ./var/cache/apt -cf "$cache.part" . && mv "$cache.part" "$cache"
    rm -rf --one-file-system "$2.making"
  fi
  tar -C "$2" -xf "$cache"
}

# Whatever was started ends with it.
in_root() {  # ROOT COMMAND...
  timeout -k 10 300 unshare --mount --pid --fork --kill-child -- sh -c '
    mount -t proc proc "$0/proc" && mount --rbind /dev "$0/dev" && chroot=$(command -v chroot) &&
    exec env -i HOME=/root PATH=/usr/sbin:/usr/bin:/sbin:/bin LC_ALL=C.UTF-8 "$chroot" "$0" "$@"' "$@" </dev/null
}

# This machine, but what the command does to it is gone afterwards: all except what it writes into the checkout.
in_layer() {  # EMPTY_FOLDER SECONDS COMMAND...
  # shellcheck disable=SC2016
  timeout -k 10 "$2" unshare --mount --pid --fork --kill-child -- bash -c '
    set -e
    mount -t tmpfs tmpfs "$0" && mkdir "$0/upper" "$0/work" "$0/root"
    mount -t overlay overlay -o "lowerdir=/,upperdir=$0/upper,workdir=$0/work" "$0/root"
    mount --rbind "$1" "$0/root$1" && mount --rbind /dev "$0/root/dev" && mount -t proc proc "$0/root/proc"
    chroot=$(command -v chroot) && cd / && exec "$chroot" "$0/root" "${@:2}"' "$1" "$root" "${@:3}" </dev/null
}
