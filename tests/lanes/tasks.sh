# Sourced for the command of each unit (units.toml): functions for these commands.
# shellcheck shell=bash

# shellcheck source=scripts/steps.sh
. "$(dirname "${BASH_SOURCE[0]}")/../../scripts/steps.sh"
bin=$root/build/release/bin

# Debian's Python, because another python3 that comes first in PATH lacks its packages.
python3() { /usr/bin/python3 -B "$@"; }

# Splits a name: "jax-digits-am-killed" is the sample jax-digits, and the fault that is injected while it runs.
sample_of() {  # TEST
  local sample=$1
  while [ ! -d "$root/samples/$sample" ] && [[ $sample == *-* ]]; do sample=${sample%-*}; done
  echo "$sample"
}

sample_venvs() {  # TEST...
  local name
  for name in "$@"; do make_sample_venv "$(sample_of "$name")"; done
}

# Builds Horovod into the environment of its sample, which takes some ten minutes on two cores.
make_horovod_venv() {
  local venv
  make_sample_venv horovod-digits && venv=$(sample_venv horovod-digits) || return
  "$venv/bin/python" -c 'import horovod.torch' 2>/dev/null && return
  env HOROVOD_WITH_PYTORCH=1 HOROVOD_WITHOUT_TENSORFLOW=1 HOROVOD_WITHOUT_MXNET=1 HOROVOD_WITHOUT_MPI=1 \
    HOROVOD_WITH_GLOO=1 MAKEFLAGS=-j2 PATH="$venv/bin:$PATH" \
    "$installer/bin/pip" --python "$venv/bin/python" install --disable-pip-version-check --no-input --no-build-isolation \
    --no-deps horovod==0.28.1
}

samples() {  # TEST...
  local name list=()
  for name in "$@"; do
    list+=("$name: $root/tests/e2e/sample_run $name $bin $(sample_venv "$(sample_of "$name")")")
  done
  checks "${list[@]}"
}

# Each command is a separate check: "NAME: COMMAND".
checks() {  # CHECK...
  local check passed=0 failed=0
  for check in "$@"; do
    echo "---- $check"
    if (eval "${check#*: }"); then
      echo "ok ${check%%: *}"
      passed=$((passed + 1))
    else
      echo "FAILED ${check%%: *}: exit code of ${check#*: }"
      failed=$((failed + 1))
    fi
  done
  echo "$passed passed, $failed failed"
  [ "$failed" = 0 ]
}

azkaban() {  # SUITE
  make_sample_venv azkaban
  [ "$1" != spark ] || make_sample_venv azkaban/spark
  "$root/tests/conformance/azkaban/run" "$bin" "$(sample_venv azkaban)" "$1"
}

airflow() {  # VERSION[-celery] SUITE...
  make_sample_venv jax-digits
  make_airflow_venv "$1"
  "$root/tests/conformance/airflow/run" "$bin" "$(airflow_venv "$1")" --training "$(sample_venv jax-digits)" \
    --checks "$(airflow_venv checks)" "${@:2}"
}

hadoop() { "$root/tests/conformance/hadoop/run" "$root/build/release/tests" "$@"; }  # VERSION SUITE...

packaging() {  # SUITE...
  if ! can_mount; then
    echo "skipped packaging: needs root"
    echo "0 passed, 0 failed"
    return
  fi
  "$root/tests/packaging/run" "$root/build/release" "$@"
}

# Prints seeds that failed; `scripts/sim --seed N --trace` runs one of them again.
simulate() {  # FIRST|fresh COUNT [--requests]
  local first=$1
  [ "$first" != fresh ] || first=$(od -An -N4 -tu4 /dev/urandom | tr -d ' ')
  echo "seeds from $first on: $2"
  "$root/build/release/tests/tony-sim" "${@:3}" --first "$first" --seeds "$2"
}

# The comparisons of os, records, staging, history, page and ledger are left to people who work there: tests/mutants/README.md.
mutants() {  # K/N
  "$root/scripts/mutants" --fresh --slice "$1" --jobs "$(nproc)" \
    --only '^(row|order) |^comparison (am|executor|runtime/(job|spec|framework|keeper/am_)|runtime/records/(journal|submit))'
}

# An input that was found is kept next to the build, and printed.
fuzz() {  # PRESET SECONDS [FIRST COUNT]
  local target targets list=()
  mapfile -t targets < <(sed -nE 's/^tony_fuzz\((\w+).*/\1/p' "$root/tests/fuzz/CMakeLists.txt")
  for target in "${targets[@]:${3:-0}:${4:-100}}"; do
    list+=("$target: $root/tests/fuzz/run $root/build/$1/tests/fuzz_$target $2")
  done
  checks "${list[@]}"
}

can_mount() { [ "$(id -u)" = 0 ] && unshare --mount mount -t tmpfs none /mnt 2>/dev/null; }

frees_parts_of_files() {
  local file rc=0
  file=$(mktemp)
  head -c 65536 /dev/zero >"$file"
  fallocate --punch-hole --offset 0 --length 32768 "$file" 2>/dev/null || rc=1
  rm "$file"
  return $rc
}

# Prints regular expressions of the names of tests that this machine may skip, one in each line.
may_be_skipped() {  # PRESET
  local cgroups others='(Strangers|SharedHome|OtherUser|Secret|Master|Impersonation|OldMaster)Test[.]'
  cgroups=$("$root/build/$1/tests/cgroup_look" 2>/dev/null || true)
  [[ $cgroups == *limits* ]] || echo NeedsWritableCgroup
  [[ $cgroups == *v1* ]] || echo 'KillCgroupTest.*/v1_|UnifiedCgroups_RootOnly'
  [[ $cgroups == *unified* ]] || echo 'KillCgroupTest.*/v2_|UnifiedCgroups_RootOnly'
  [ "$(id -u)" != 0 ] || echo _NotAsRoot
  can_mount || echo "_NeedsRoot|RootOnly|SmallDiskTest|FrozenHistoryTest|^(Ledger|Limits)?$others"
  command -v mkfs.ext4 >/dev/null && [ -e /dev/loop-control ] || echo FrozenHistoryTest
  unshare --user true 2>/dev/null || echo 'MasterTest.*UserNamespace'
  frees_parts_of_files || echo '(LogCap|LogReader|LastLines|LogFollower)Test|(UsageWatch|UsageE2e|LongLine)Test.*Limit'
  [ "$(cut -f1 /proc/sys/net/ipv4/ip_local_port_range)" -ge 21000 ] || echo 'PortReservationTest.(AServerThatBinds|APortReleased|AReservedPortIsOutside)'
  [ "$(ulimit -Hn)" = unlimited ] || [ "$(ulimit -Hn)" -ge 10200 ] || echo CrowdTest
  [ -w /dev/shm ] || echo 'SharedMemory(E2e)?Test'
  [ ! -e /var/lib/tony/ledger ] || echo LedgerFolderTest.AUserWithoutWriteAccess
  echo _FullRounds  # the unit e2e-full-rounds runs them
  echo '^PodmanTest'  # the unit podman runs them
  echo UsageWatchTest.AnAttemptThatEndsBeforeItsFirstSample  # if a process takes long to start
}
