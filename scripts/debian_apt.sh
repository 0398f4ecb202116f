# Sourced: apt with its own lists, for sources and for packages of another processor. The machine's lists, packages and
# architectures do not change.
# shellcheck shell=bash

# Uses only the machine's own Debian mirrors.
debian_apt_begin() {  # APT_FOLDER deb|deb-src
  mkdir -p "$1/lists/partial" "$1/parts" "$1/cache/archives/partial"
  : >"$1/status"
  cat /etc/apt/sources.list.d/debian.sources 2>/dev/null |
    sed -E "s/^Types:.*/Types: $2/; /^Architectures:/d" >"$1/parts/debian.sources" || true
  [ -s "$1/parts/debian.sources" ] || rm "$1/parts/debian.sources"
  sed -nE "s/^deb( .*debian.*)/$2\1/; T; s/\[ *arch=[^] ]* *\]//; s/arch=[^] ]* *//; p" /etc/apt/sources.list \
    >"$1/sources.list" 2>/dev/null || true
}

debian_apt() {  # APT_FOLDER ARGUMENTS...
  apt-get -qq -o Dir::Etc::sourcelist="$1/sources.list" -o Dir::Etc::sourceparts="$1/parts" -o Dir::State::lists="$1/lists" \
    -o Dir::State::status="$1/status" -o Dir::Cache="$1/cache" -o APT::Sandbox::User="$(id -un)" "${@:2}"
}
