// Failures of single programs: shells, signals, native code, Python.
#include "tests/e2e/failure_reports.h"

namespace tony {
namespace {

using Failures = std::vector<InjectedFailure>;

// A command that runs a Python program of several lines.
std::string Python(const std::string& text) { return "python3 - <<'END'\n" + text + "\nEND"; }

// A command that makes failing_program fail. Sanitizers of this build must not handle the signals, because they would
// report them in their own words.
std::string Native(const std::string& kind) {
  const std::string off = "handle_segv=0:handle_sigbus=0:handle_abort=0:handle_sigill=0:handle_sigfpe=0";
  return "export ASAN_OPTIONS=" + off + " TSAN_OPTIONS=" + off + "; ulimit -c 0; exec @F " + kind;
}

}  // namespace

// clang-format off
Failures FailuresOfShells() {
  return {
      {"exit code and last line", "echo context; echo cannot open the data >&2; exit 3", "user_error",
       {"exit code 3: its last line: cannot open the data"}, {"cannot open the data"}},
      {"silent exit", "exit 1", "user_error", {"exit code 1 (user_error)"}},
      {"exit 255", "exit 255", "user_error", {"exit code 255"}},
      {"exit 2", "echo usage: train DATA >&2; exit 2", "user_error", {"exit code 2: its last line: usage: train DATA"}},
      {"error only on stdout", "echo step 1; echo fatal: the table has no rows; exit 1", "user_error",
       {"its last line: fatal: the table has no rows (on stdout)"}, {"step 1", "the table has no rows"}},
      {"known error only on stdout", "echo 'CUDA out of memory. Tried to allocate 2.00 GiB'; echo bye; exit 1", "oom",
       {"CUDA out of memory. Tried to allocate 2.00 GiB (on stdout): out of GPU memory"}, {"bye"}},
      {"error on stderr has priority over stdout", "echo 'CUDA out of memory'; echo 'ValueError: nan' >&2; exit 1", "user_error", {"exit code 1: ValueError: nan (user_error)"}, {}, {"CUDA"}},
      {"missing command", "pyton train.py", "user_config", {"pyton: command not found: the command was not found"}, {"pyton"}},
      {"missing program", "/no/such/program --now", "user_config", {"/no/such/program: No such file or directory", "not found"}},
      {"missing script", "./train.sh", "user_config", {"./train.sh: No such file or directory", "not found"}},
      {"missing command in a script", "set -e; mkdir out; feature-sync --all; echo done", "user_config", {"feature-sync: command not found"}},
      {"script without execute permission", "echo exit 0 > s; ./s", "user_config", {"exit code 126", "./s: Permission denied", "cannot be executed"}},
      {"folder as program", "/tmp", "user_config", {"/tmp: Is a directory", "cannot be executed"}},
      {"missing interpreter", "printf '#!/no/such/sh\\n' > s; chmod +x s; ./s", "user_config", {"./s: cannot execute: required file not found", "the interpreter in the script's first line"}},
      {"program for another machine", "printf '\\177ELF\\001garbage' > s; chmod +x s; ./s", "user_config", {"cannot execute binary file", "cannot be executed"}},
      {"unset variable with bash -u", "set -u; echo $DATA_DIR/x", "user_config", {"DATA_DIR: unbound variable", "a variable that is not set"}, {}, {"was not found"}},
      {"unset variable with sh -u", "sh -uc 'echo $DATA_DIR'", "user_config", {"DATA_DIR: parameter not set", "a variable that is not set"}},
      {"error message of a missing variable", "echo ${DATA_DIR:?say where the data is}", "user_config", {"exit code 127", "DATA_DIR: say where the data is"}},
      {"unfinished if in a script", "if true; do echo; fi", "user_config", {"syntax error near unexpected token", "not a valid shell script"}},
      {"unterminated quote", "echo 'abc", "user_config", {"unexpected EOF while looking for matching"}},
      {"missing file", "cat /no/such/data.csv", "user_error", {"/no/such/data.csv: No such file or directory", "does not exist"}},
      {"forbidden operation", "chmod 777 /proc/self/stat", "user_error", {"Operation not permitted", "no permission to use"}},
      {"failed pipe with set -e", "set -eo pipefail; echo no rows >&2; false | cat", "user_error", {"exit code 1", "no rows"}},
      {"end by timeout(1)", "timeout 0.1 sleep 9", "timeout", {"exit code 124: the command timeout(1) ended the task at its limit"}},
      {"exit code for a transient error", "exit 193", "user_error", {"exit code 193", "trying again may help"}, {}, {}, "worker:0", 1, {"tony.restart.lost.budget=0"}},
      {"exit code for a permanent error", "echo bad schema >&2; exit 194", "user_error", {"exit code 194", "bad schema", "will not help"}},
      {"failure rule for an exit code", "exit 17", "user_config", {"exit code 17: no license"}, {}, {}, "worker:0", 1, {"tony.failure.exit.17=user_config, no license"}},
      {"failure rule for a line of stdout", "echo E42 at step 9; exit 1", "user_config", {"E42 at step 9 (on stdout): a corrupt shard"}, {"E42"}, {}, "worker:0", 1, {"tony.failure.pattern.a=E[0-9]+ => user_config, a corrupt shard"}},
      {"error file", R"(echo '{"class":"oom","message":"batch too large"}' > $TONY_ERROR_FILE; exit 1)", "oom", {"exit code 1: batch too large (oom)"}},
      {"malformed error file", "echo oops > $TONY_ERROR_FILE; exit 5", "user_error", {"exit code 5", "error file: not JSON"}},
  };
}

Failures FailuresBySignals() {
  const std::string outside = "a signal ended the task", itself = "the task's own processes may have sent the signal";
  return {
      {"kills itself", "echo step 7 >&2; kill -9 $$", "user_error", {"SIGKILL", "killed by something outside"}, {"step 7"}},
      {"killed by its own child", "(kill -9 $$) & wait", "user_error", {"SIGKILL", "killed by something"}},
      {"child is killed", "sleep 9 & kill -9 $!; wait $!", "user_error", {"exit code 137", "killed by something"}},
      {"ends itself with SIGTERM", "kill -TERM $$", "user_error", {"SIGTERM", outside, itself}},
      {"ends itself with SIGINT", "echo step 8 >&2; kill -INT $$", "user_error", {"SIGINT", outside, itself}, {"step 8"}},
      {"child sends SIGTERM", "(kill -TERM $$) & wait", "user_error", {"SIGTERM", itself}},
      {"exit code of SIGTERM", "exit 143", "user_error", {"exit code 143", itself}},
      {"SIGHUP", "kill -HUP $$", "user_error", {"SIGHUP", itself}},
      {"SIGPIPE", "kill -PIPE $$", "user_error", {"SIGPIPE", "has no reader"}},
      {"SIGQUIT", "ulimit -c 0; exec sh -c 'kill -QUIT $$'", "user_error", {"SIGQUIT"}},
      {"SIGUSR1", "kill -USR1 $$", "user_error", {"SIGUSR1"}},
      {"SIGALRM", "kill -ALRM $$", "timeout", {"SIGALRM", "a timer of the program expired and ended the program"}},
      {"SIGBUS", "ulimit -c 0; kill -BUS $$", "user_error", {"SIGBUS", "full"}},
      {"SIGSYS", "ulimit -c 0; kill -SYS $$", "user_error", {"SIGSYS", "a sandbox forbids"}},
      {"processor time limit", "ulimit -c 0; kill -XCPU $$", "timeout", {"SIGXCPU", "more processor time"}},
  };
}

Failures FailuresOfNativeCode() {
  return {
      {"null pointer", Native("segv"), "user_error", {"SIGSEGV", "memory that does not belong to it"}},
      {"stack overflow", Native("overflow"), "user_error", {"SIGSEGV"}},
      {"failed assertion", Native("assert"), "user_error", {"SIGABRT", "Assertion `zero == 1' failed", "an assertion in native code failed"}},
      {"uncaught exception", Native("throw"), "user_error", {"SIGABRT", "what():  bad row 17", "did not catch"}},
      {"failed memory allocation", Native("memory"), "oom", {"SIGABRT", "std::bad_alloc", "could not get the memory"}},
      {"division by zero", Native("divide"), "user_error", {"SIGFPE", "divided an integer by zero"}},
      {"illegal instruction", Native("trap"), "user_error", {"SIGILL", "does not have"}},
      {"missing library", "export LD_LIBRARY_PATH=; exec $(dirname @F)/needs_library", "user_config",
       {"error while loading shared libraries", "missing or too old"}},
  };
}

Failures FailuresOfPython() {
  const std::string noise = "\nimport sys\nfor i in range(500): print('noise', i, file=sys.stderr)\n";
  Failures failures = {
      {"exception", Python("raise ValueError('bad shape')"), "user_error", {"exit code 1: ValueError: bad shape (user_error)"}, {"Traceback"}},
      {"exception while another is handled", Python("try:\n  {}['a']\nexcept KeyError: raise RuntimeError('no column a')"), "user_error", {"RuntimeError: no column a"}, {"KeyError"}},
      {"own exception class", Python("class Boom(BaseException): pass\nraise Boom('x7')"), "user_error", {"Boom: x7"}},
      {"missing module", Python("import no_such_module"), "user_config", {"No module named 'no_such_module'", "is missing"}},
      {"import error", Python("from os import no_such_name"), "user_config", {"ImportError: cannot import name 'no_such_name'"}},
      {"syntax error", Python("print(1"), "user_config", {"SyntaxError", "not valid Python"}},
      {"missing script", "python3 no_such.py", "user_config", {"can't open file", "cannot find the program"}},
      {"missing data", Python("open('/no/such/data')"), "user_error", {"FileNotFoundError", "/no/such/data", "does not exist"}},
      {"sys.exit with a message", Python("import sys; sys.exit('no data for 2026-11-22')"), "user_error", {"no data for 2026-11-22"}},
      {"unrecognized argument", Python("import argparse\nargparse.ArgumentParser(prog='train').parse_args(['--epochz'])"), "user_config", {"unrecognized arguments: --epochz"}},
      {"failed memory allocation", Python("x = bytearray(1 << 62)"), "oom", {"MemoryError"}},
      {"log lines after a traceback", Python("import atexit\n@atexit.register\ndef noisy():" + std::string("\n  import sys\n  for i in range(500): print('noise', i, file=sys.stderr)\nraise ValueError('bad shape')")), "user_error",
       {"exit code 1: ValueError: bad shape (user_error)"}, {"Traceback", "in <module>", "ValueError: bad shape", "noise 499"}},
      {"log lines after a missing module", Python("import atexit\n@atexit.register\ndef noisy():" + std::string("\n  import sys\n  for i in range(500): print('noise', i, file=sys.stderr)\nimport no_such_module")), "user_config",
       {"No module named 'no_such_module'"}, {"Traceback", "noise 499"}},
      {"exit code after a handled exception", Python("import traceback, sys\ntry: {}['a']\nexcept KeyError: traceback.print_exc()" + noise + "sys.exit(3)"), "user_error",
       {"exit code 3: its last line: noise 499"}, {"KeyError", "noise 499"}},
      {"exception on stdout", Python("import traceback, sys\ntry: {}['a']\nexcept KeyError: traceback.print_exc(file=sys.stdout); sys.exit(1)"), "user_error", {"KeyError: 'a' (on stdout)"}, {"Traceback"}},
      {"process interrupts itself", Python("import os, signal\nos.kill(os.getpid(), signal.SIGINT)\nimport time; time.sleep(5)"), "user_error", {"KeyboardInterrupt", "the task's own processes may have sent the signal"}, {"KeyboardInterrupt"}},
      {"abort", Python("import os\nos.abort()"), "user_error", {"exit code 134", "native code aborted"}},
      {"exception of a child process", Python("import subprocess, sys\nsubprocess.run([sys.executable, '-c', 'raise OSError(\"bad shard\")'], check=True)"), "user_error", {"exit code 1: OSError: bad shard", "CalledProcessError"}},
      {"ignored exception at interpreter exit", Python("class Pool:\n  def __del__(self): import no_such_module\nkeep = Pool()\nraise ValueError('bad shape')"), "user_error", {"exit code 1: ValueError: bad shape (user_error)"}},
  };
  for (auto& failure : failures) failure.need = Need::kPython;
  return failures;
}
// clang-format on

}  // namespace tony
