# Sourced by scripts/test, with $root and $only set: runs the tests of one build and adds up what became of them.
# shellcheck shell=bash

passed=0
failed=0
skipped=0
failures=()

fail() {  # WHAT
  failed=$((failed + 1))
  failures+=("$1")
}

is_root() { [ "$(id -u)" = 0 ] && unshare --mount mount -t tmpfs none /mnt 2>/dev/null; }

frees_parts_of_files() {
  local file rc=0
  file=$(mktemp)
  head -c 65536 /dev/zero >"$file"
  fallocate --punch-hole --offset 0 --length 32768 "$file" 2>/dev/null || rc=1
  rm "$file"
  return $rc
}

# Regular expressions of names, one a line: what may be skipped on this machine.
may_be_skipped() {  # PRESET
  local cgroups others='(Strangers|SharedHome|OtherUser|Secret|Master|Impersonation|OldMaster)Test[.]'
  cgroups=$("$root/build/$1/tests/cgroup_look" 2>/dev/null || true)
  [[ $cgroups == *limits* ]] || echo NeedsWritableCgroup
  [[ $cgroups == *v1* ]] || echo 'KillCgroupTest.*/v1_|RootOnlyUnifiedCgroups'
  [[ $cgroups == *unified* ]] || echo 'KillCgroupTest.*/v2_|RootOnlyUnifiedCgroups'
  [ "$(id -u)" != 0 ] || echo _NotAsRoot
  is_root || echo "_NeedsRoot|RootOnly|[.]AsRoot|SmallDiskTest|FrozenHistoryTest|^(Ledger|Limits)?$others"
  command -v mkfs.ext4 >/dev/null && [ -e /dev/loop-control ] || echo FrozenHistoryTest
  unshare --user true 2>/dev/null || echo 'MasterTest.*(MountedElsewhere|UserNamespace)'
  frees_parts_of_files || echo '(LogCap|LogReader|LastLines|LogFollower)Test|(UsageWatch|UsageE2e|LongLine)Test.*Limit'
  [ "$(cut -f1 /proc/sys/net/ipv4/ip_local_port_range)" -ge 21000 ] || echo PortReservationTest.APortToLetGo
  [ "$(ulimit -Hn)" = unlimited ] || [ "$(ulimit -Hn)" -ge 10200 ] || echo CrowdTest
  [ ! -e /var/lib/tony/ledger ] || echo LedgerFolderTest.AsRootWithoutTheRight
  echo UsageWatchTest.AnAttemptThatIsOverAtOnce  # where a process takes long to start
}

# A lane without a matching test counts as nothing if --only asks for some.
run_ctest() {  # PRESET CTEST_OPTIONS...
  local preset=$1 out=$root/build/logs/ctest-$1 kind what
  local ctest=(ctest --test-dir "$root/build/$1" -R "$only" "${@:2}")
  echo "      tests of $preset"
  rm -f "$out".*
  "${ctest[@]}" --show-only=json-v1 >"$out.json"
  # A third of their time is waiting.
  "${ctest[@]}" -j "$(($(nproc) * 3 / 2))" --output-on-failure --output-junit "$out.xml" 2>&1 | tee "$out.txt" |
    grep --line-buffered -vE ' Start +[0-9]+: |   Passed  |^Internal ctest|^Test project|^$' || true
  "$root/scripts/lane_results" "$out.xml" "$out.json" "$(may_be_skipped "$preset" | paste -sd '|')" >"$out.results" ||
    fail "$preset: no results"
  while read -r kind what; do
    case $kind in
      passed) passed=$((passed + what)) ;;
      failed) fail "$preset: $what" ;;
      skipped) skipped=$((skipped + 1)) && echo "      skipped: $what" ;;
    esac
  done <"$out.results"
}

# A test that is in the sources but not in the build is red, and so is a kind of which none ran, or fewer than in
# another lane: then something is missing on this machine. With --only nobody knows how many there should be.
check_numbers() {  # PRESET LABELS...
  local preset=$1 label number of all=0 written
  local -A numbers=()
  while read -r label number; do
    numbers[$label]=$number
    all=$((all + number))
  done < <(sed -n 's/^label //p' "$root/build/logs/ctest-$preset.results")
  shift
  echo "      ran in $preset:$(for label in "$@"; do printf ' %s %s,' "${numbers[$label]:-0}" "$label"; done) $all together"
  [ "$only" = . ] || return 0
  for label in "$@"; do
    of=${should_run[$label]:-1}
    [ "${numbers[$label]:-0}" -ge "$of" ] || fail "$preset: ${numbers[$label]:-0} tests of kind $label ran, of $of"
    should_run[$label]=${numbers[$label]:-1}
  done
  [ "$preset" = asan ] || return 0
  written=$(find "$root/tests" -name '*.cc' -exec grep -hE '^TEST(_F|_P)?\(' {} + | wc -l || true)
  [ "$all" -ge "$written" ] || fail "$preset: $all tests ran, but tests/ has $written"
}
declare -A should_run=()
