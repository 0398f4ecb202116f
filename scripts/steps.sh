# Sourced by the other scripts: numbered steps with their times. The output of a step goes to a log; if the step fails,
# the end of the log and its name are shown.
# shellcheck shell=bash

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)

begin_steps() {  # NAME TOTAL
  steps_total=$2
  steps_count=0
  # shellcheck disable=SC2034  # The scripts print the whole time themselves.
  steps_began=$EPOCHREALTIME
  steps_log=$root/build/logs/$1.log
  mkdir -p "${steps_log%/*}"
  : >"$steps_log"
  trap 'stop_ticker' EXIT
}

# Without its dot or comma, a value of EPOCHREALTIME is a number of microseconds.
tenths_since() {  # EPOCHREALTIME
  local now=$EPOCHREALTIME
  echo $(((${now/[.,]/} - ${1/[.,]/}) / 100000))
}

seconds_since() {
  local tenths
  tenths=$(tenths_since "$1")
  echo "$((tenths / 10)).$((tenths % 10)) s"
}

# On a terminal a long step shows its progress: ninja's [done/all] and the seconds.
start_ticker() {  # HEADLINE FIRST_LINE_OF_LOG
  ticker=
  [ -t 1 ] || return 0
  (
    while sleep 1; do
      progress=$(tail -n +"$2" "$steps_log" | grep -oE '^\[[0-9]+/[0-9]+\]' | tail -n 1)
      printf '\r%s %-12s %s' "$1" "$progress" "$(seconds_since "$step_began")"
    done
  ) &
  ticker=$!
}

stop_ticker() {
  [ -n "${ticker:-}" ] || return 0
  kill "$ticker" 2>/dev/null || true
  wait "$ticker" 2>/dev/null || true
  ticker=
  printf '\r\033[K'
}

step() {  # TEXT COMMAND...
  local text=$1 headline first rc=0
  shift
  steps_count=$((steps_count + 1))
  step_began=$EPOCHREALTIME
  headline=$(printf '[%d/%s] %-46s' "$steps_count" "$steps_total" "$text")
  first=$(($(wc -l <"$steps_log") + 1))
  echo "== $text: $*" >>"$steps_log"
  [ -t 1 ] && printf '%s' "$headline"
  start_ticker "$headline" "$first"
  "$@" >>"$steps_log" 2>&1 </dev/null || rc=$?
  stop_ticker
  [ -t 1 ] && printf '\r'
  if [ "$rc" = 0 ]; then
    printf '%s %7s\n' "$headline" "$(seconds_since "$step_began")"
    return 0
  fi
  printf '%s failed after %s\n' "$headline" "$(seconds_since "$step_began")"
  tail -n +"$((first + 1))" "$steps_log" | grep -vE '^\[[0-9]+/[0-9]+\] ' | tail -n 30 | sed 's/^/    /' || true
  echo "The whole log: $steps_log"
  return 1
}

configure_and_build() {  # PRESET [TARGET...]
  local preset=$1
  shift
  cd "$root" && cmake --preset "$preset" && cmake --build --preset "$preset" ${1:+--target "$@"}
}

# Prints the virtual environment of a sample. The sample's requirements.txt has exact versions of all packages for
# Debian's Python, so the environment uses that Python even if PATH has another one. If the file changes, the
# environment is made again.
sample_venv() { echo "$root/build/venv/$(sample_with_versions "$1")"; }  # SAMPLE

# If a requirements.txt only includes the requirements.txt of another sample, the samples share an environment.
sample_with_versions() {  # SAMPLE
  local other
  other=$(sed -nE 's,^-r \.\./(.*)/requirements\.txt$,\1,p' "$root/samples/$1/requirements.txt" 2>/dev/null) || true
  echo "${other:-$1}"
}

make_sample_venv() {  # SAMPLE
  local requirements stubs=
  requirements=$root/samples/$(sample_with_versions "$1")/requirements.txt
  [ -e "$requirements" ] || return 0
  if grep -q '^torch==' "$requirements"; then stubs=$root/scripts/torch_cpu_stubs.py; fi
  make_venv "$(sample_venv "$1")" "$requirements" ${stubs:+"$stubs"}
}

# Makes the environments that pages need ("<!-- needs: jax-digits as env -->"): those of samples and of Airflow.
make_docs_venvs() {
  local name
  for name in $(sed -nE 's/^<!-- needs: (\S+) (as \S+|in PATH) -->$/\1/p' "$root"/docs/*.md "$root"/docs/*/*.md \
    "$root"/samples/*/README.md | sort -u); do
    case $name in
      airflow-*) make_airflow_venv "${name#airflow-}" || return ;;
      *) make_sample_venv "$name" || return ;;
    esac
  done
}

# Prints a requirements file and the files beside it that it includes by -r.
all_requirements() {  # REQUIREMENTS
  cat "$1" && (cd "$(dirname "$1")" && sed -nE 's/^-r ([^/]+)$/\1/p' "${1##*/}" | xargs -r cat)
}

# The new environment's Python runs the program FINISH with the folder of the packages as argument.
make_venv() {  # VENV REQUIREMENTS [FINISH]
  local venv=$1 requirements=$2 finish=${3:-} stamp
  stamp=$({ all_requirements "$requirements" && cat ${finish:+"$finish"}; } </dev/null | sha256sum) || return
  [ "$(cat "$venv/made-from" 2>/dev/null)" != "$stamp" ] || return 0
  rm -rf "$venv"
  make_installer && /usr/bin/python3 -m venv --without-pip "$venv" &&
    install_requirements "$venv" "$requirements" || return
  [ -z "$finish" ] || "$venv/bin/python" "$finish" "$venv"/lib/python3.*/site-packages || return
  echo "$stamp" >"$venv/made-from"
}

# The environment for the tests of the Python package.
python_venv() { echo "$root/build/venv/python"; }

# The environment of one Airflow version, with the provider and the wheel of the release build, installed as a user
# would; "checks" is the environment of the checkers for the provider's sources.
airflow_venv() { echo "$root/build/venv/airflow-$1"; }  # VERSION, VERSION-celery or checks

make_airflow_venv() {  # VERSION or VERSION-celery
  local venv provider=$root/airflow-operator bin=$root/build/release/bin wheel stamp
  venv=$(airflow_venv "$1")
  make_venv "$(airflow_venv checks)" "$root/tests/conformance/airflow/requirements-checks.txt" &&
    make_venv "$venv" "$root/tests/conformance/airflow/requirements-$1.txt" || return
  stamp=$(find "$provider" "$root/runtime/python" "$bin"/tony{,-am,-executor,-gpu-executor,-keeper} -type f \
    ! -path '*/__pycache__/*' -print0 | sort -z | xargs -0 sha256sum | sha256sum) || return
  [ "$(cat "$venv/provider-made-from" 2>/dev/null)" != "$stamp" ] || return 0
  rm -f "$venv/provider-made-from"
  wheel=$("$root/scripts/wheel" "$bin" "$root/build/wheel" --without-hadoop) && make_installer &&
    install_package "$venv" tony-runtime "$wheel" && install_package "$venv" airflow-provider-tony "$provider" &&
    echo "$stamp" >"$venv/provider-made-from"
}

# The installer has pip and a fixed version of uv, which needs a third of pip's time. If uv is not available, pip
# installs the packages.
installer=$root/build/venv/installer
make_installer() {
  [ ! -e "$installer/made" ] || return 0
  rm -rf "$installer"
  /usr/bin/python3 -m venv "$installer" || return
  "$installer/bin/pip" install --disable-pip-version-check --no-input --progress-bar off uv==0.13.8 || true
  touch "$installer/made"
}

# If uv reaches no package index, pip is tried, because uv does not read pip's configuration.
install_requirements() {  # VENV REQUIREMENTS
  UV_CACHE_DIR=$installer/cache "$installer/bin/uv" pip install --python "$1/bin/python" --no-deps -r "$2" ||
    "$installer/bin/pip" --python "$1/bin/python" install --disable-pip-version-check --no-input --progress-bar off \
      --no-deps -r "$2"
}

# Installs a package without its dependencies, which the environment has. The build tools are fetched for the build.
install_package() {  # VENV NAME FOLDER_OR_WHEEL
  UV_CACHE_DIR=$installer/cache "$installer/bin/uv" pip install --python "$1/bin/python" --reinstall-package "$2" "$3" ||
    "$installer/bin/pip" --python "$1/bin/python" install --disable-pip-version-check --no-input --progress-bar off \
      --force-reinstall --no-deps "$3"
}
