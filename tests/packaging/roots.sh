# Sourced: makes whole systems to install into, with debootstrap. Systems of another processor are started through
# "${emulated[@]}".
# shellcheck shell=bash

emulated=()

mirror_of_debian() {
  local mirror
  mirror=$(cat /etc/apt/sources.list.d/debian.sources /etc/apt/sources.list 2>/dev/null |
    sed -nE 's/^(URIs:|deb) +(\[[^]]*\] +)?([^ ]+).*/\3/p' | head -n 1)
  echo "${mirror:-http://deb.debian.org/debian}"
}

# Each release is made once, and kept where the checkout keeps its builds.
make_root() {  # RELEASE FOLDER [DEBOOTSTRAP_OPTIONS...]
  local cache
  cache=$root/build/roots/$(tr -c 'a-z0-9.\n' - <<<"$1${*:3}").tar
  mkdir -p "${cache%/*}" "$2"
  if [ ! -s "$cache" ]; then
    { debootstrap --variant=minbase "${@:3}" "$1" "$2.making" "$(mirror_of_debian)" && second_stage "$2.making"; } \
      >"$2.log" 2>&1 || { tail -n 3 "$2.log"; return 1; }
    tar -C "$2.making" --exclude ./var/cache/apt -cf "$cache.part" . && mv "$cache.part" "$cache"
    rm -rf --one-file-system "$2.making"
  fi
  tar -C "$2" -xf "$cache"
}

# Runs the steps that debootstrap leaves to the other processor's own programs. It cannot make devices, as in an LXC
# container.
second_stage() {  # ROOT
  [ ! -d "$1/debootstrap" ] || in_root "$1" env container=lxc /debootstrap/debootstrap --second-stage
}

# Debian 12's own qemu refuses a keeper's first call, which makes it the parent of orphans. The qemu of its backports
# supports it.
make_emulator() {  # FILE
  local folder
  [ ! -x "$1" ] || return 0
  folder=$(mktemp -d)
  debian_apt_begin "$folder" deb
  rm -f "$folder"/parts/*
  echo "deb $(mirror_of_debian) bookworm-backports main" >"$folder/sources.list"
  (cd "$folder" && debian_apt "$folder" update && debian_apt "$folder" download qemu-user &&
    dpkg-deb --extract qemu-user_*.deb .) && mkdir -p "${1%/*}" && mv "$folder/usr/bin/qemu-aarch64" "$1"
  local rc=$?
  rm -rf "$folder"
  return $rc
}

# All processes end with the command.
in_root() {  # ROOT COMMAND...
  timeout -k 10 900 "${emulated[@]}" unshare --mount --pid --fork --kill-child -- sh -c '
    mount -t proc proc "$0/proc" && mount --rbind /dev "$0/dev" && chroot=$(command -v chroot) &&
    exec env -i HOME=/root PATH=/usr/sbin:/usr/bin:/sbin:/bin LC_ALL=C.UTF-8 "$chroot" "$0" "$@"' "$@" </dev/null
}

# Runs a command on this machine and discards its changes afterwards, except files that it writes into the checkout.
in_layer() {  # EMPTY_FOLDER SECONDS COMMAND...
  # shellcheck disable=SC2016
  timeout -k 10 "$2" unshare --mount --pid --fork --kill-child -- bash -c '
    set -e
    mount -t tmpfs tmpfs "$0" && mkdir "$0/upper" "$0/work" "$0/root"
    mount -t overlay overlay -o "lowerdir=/,upperdir=$0/upper,workdir=$0/work" "$0/root"
    mount --rbind "$1" "$0/root$1" && mount --rbind /dev "$0/root/dev" && mount -t proc proc "$0/root/proc"
    chroot=$(command -v chroot) && cd / && exec "$chroot" "$0/root" "${@:2}"' "$1" "$root" "${@:3}" </dev/null
}
