// The table of built-in rules, which failure_rules.cc applies. Rules that explain more about the cause come first.
#include <csignal>

#include "runtime/job/failure_rules.h"

namespace tony {
namespace {

using enum OutcomeClass;
using Rules = std::vector<FailureRule>;

// Matches the beginning of a line with a Python exception, up to the name of the exception: a prefix such as torchrun's
// "[rank3]: ", if the line has one, and the names of modules.
#define PYTHON "^(\\[[^]]*\\]: ?)?([A-Za-z_][A-Za-z0-9_]*\\.)*"

constexpr auto kCgroup = OomEvidence::kCgroup;
constexpr auto kTransient = Advice::kTransient;
constexpr auto kPermanent = Advice::kPermanent;
constexpr auto kPeer = Source::kPeer;
constexpr auto kOfSignal = Source::kSignal;

constexpr const char* kAskForMore =
    "request more memory (tony.<role>.memory), or use less: smaller batches, fewer loader processes";
constexpr const char* kUseLessGpuMemory =
    "use smaller batches or a smaller model for each GPU, or more GPUs; check which other processes use the GPU";
constexpr const char* kSeeThePeer = "check how the other tasks ended, because the task that ended first is the cause";
constexpr const char* kSeeTheCore = "set PYTHONFAULTHANDLER=1 to print the stack, or ulimit -c to get a core file";
constexpr const char* kSeeNothing = "";
constexpr const char* kSeeThePath = "check PATH on the node (-shell_env PATH=...) and the role's command";
constexpr const char* kSeeTheMode =
    "run chmod +x on the file; check the script's first line and the node's architecture";
constexpr const char* kToldToEnd =
    "a signal ended the task; the sender is outside of the job, or one of the task's own processes";
constexpr const char* kWhoEndedIt =
    "find the sender of the signal: a process of the task, an administrator, a service manager, or the shutdown of the "
    "machine";

// clang-format off

// Exit codes by which the program itself advises whether to try again.
Rules SaidByTheProgram() {
  return {
      {.name = "said-transient", .exit_code = 193, .cls = kUserError, .advice = kTransient,
       .meaning = "the program reported that trying again may help", .remedy = "read the task's log"},
      {.name = "said-permanent", .exit_code = 194, .cls = kUserError, .advice = kPermanent,
       .meaning = "the program reported that trying again will not help", .remedy = "read the task's log"},
  };
}

// YARN's ContainerExitStatus. YARN also reports -100 for a node that is only out of reach. A caller of these rules
// therefore waits for proof that the node is lost, or for lost_after.
Rules SaidByTheScheduler() {
  return {
      {.name = "yarn-aborted", .scheduler_status = -100, .cls = kNodeLost,
       .meaning = "YARN took the container back: the container's node is lost, or no program was started in the container in time", .remedy = "check the node's state in the resource manager"},
      {.name = "yarn-disks-failed", .scheduler_status = -101, .cls = kInfra,
       .meaning = "the disks of the node have failed", .remedy = "take the node out of service, and repair its disks"},
      {.name = "yarn-preempted", .scheduler_status = -102, .cls = kPreempted,
       .meaning = "YARN gave the resources to an application of higher priority", .remedy = "check the queue's share of the cluster"},
      {.name = "yarn-virtual-memory", .scheduler_status = -103, .cls = kOom,
       .meaning = "the container used more virtual memory than YARN allows", .remedy = "set yarn.nodemanager.vmem-check-enabled=false on the nodes (programs with CUDA need it), or request more memory"},
      {.name = "yarn-memory", .scheduler_status = -104, .cls = kOom,
       .meaning = "the container used more memory than it requested", .remedy = kAskForMore},
      {.name = "yarn-stopped-by-am", .scheduler_status = -105, .cls = kKilled,
       .meaning = "the application master stopped the container", .remedy = kSeeNothing},
      {.name = "yarn-stopped-by-rm", .scheduler_status = -106, .cls = kInfra,
       .meaning = "YARN's resource manager stopped the container", .remedy = "read the resource manager's log"},
      {.name = "yarn-after-the-end", .scheduler_status = -107, .cls = kKilled,
       .meaning = "YARN removed the container after the application had ended", .remedy = kSeeNothing},
      {.name = "yarn-evicted", .scheduler_status = -108, .cls = kPreempted,
       .meaning = "YARN stopped an opportunistic container to make room for another one", .remedy = "request guaranteed containers"},
      {.name = "yarn-excess-logs", .scheduler_status = -109, .cls = kUserConfig,
       .meaning = "the container wrote larger logs than YARN allows", .remedy = "write less to the logs, or rotate them"},
      {.name = "yarn-never-ran", .scheduler_status = -1000, .cls = kInfra,
       .meaning = "the container never ran, most often because a file could not be copied to the node; if that file has changed, is missing or is not readable for the user, the class is user_config or auth instead", .remedy = "read the container's diagnostics"},
      {.name = "yarn-node-manager-lost-it", .scheduler_status = 154, .cls = kInfra,
       .meaning = "the node manager was restarted and could not find out how the container had ended", .remedy = "read the node manager's log"},
  };
}

// These rules hold if the kernel's count of out-of-memory kills in the attempt's cgroup went up.
Rules OutOfMemory() {
  return {
      {.name = "oom-killed", .signal = SIGKILL, .oom = kCgroup, .cls = kOom,
       .meaning = "killed by the kernel for lack of memory", .remedy = kAskForMore},
      {.name = "oom-killed-child", .oom = kCgroup, .pattern = "(killed by signal: Killed|^Killed$|: line [0-9]+: +[0-9]+ Killed|BrokenProcessPool|exited unexpectedly|<Signals\\.SIGKILL|Signal 9 \\(SIGKILL\\)|exitcode *: -9)", .cls = kOom,
       .meaning = "a process of the task was killed by the kernel for lack of memory", .remedy = kAskForMore},
  };
}

// Rules by messages that programs write before they exit. The latest line decides; if several rules match this line,
// the first of them decides (RuleFor()). A message about a lost connection to another task is a consequence of that
// task's end. The restart after this message is charged to the budget of the program. A restart without a charge would
// hide a bug in one task behind the effects of the bug on the other tasks. If a node was lost, the outcome of the task
// on that node shows it.
Rules WrittenByThePrograms() {
  return {
      {.name = "disk-full", .pattern = "(No space left on device|Disk quota exceeded|PytorchStreamWriter failed writing file|unexpected pos [0-9]+ vs [0-9]+)", .cls = kUserError,
       .meaning = "a disk of the node is full", .remedy = "run df on the node; check what the program writes, and where"},
      {.name = "gpu-memory", .pattern = "(CUDA out of memory|HIP out of memory|[Oo]utOfMemoryError: (CUDA|HIP)|CUDA_ERROR_OUT_OF_MEMORY|CUDA error: out of memory|CUBLAS_STATUS_ALLOC_FAILED)", .cls = kOom,
       .meaning = "out of GPU memory", .remedy = kUseLessGpuMemory},
      {.name = "xla-memory", .pattern = "(RESOURCE_EXHAUSTED: |ResourceExhaustedError|Resource exhausted: (OOM|Out of memory)|OOM when allocating tensor)", .cls = kOom,
       .meaning = "TensorFlow or XLA is out of the device's memory", .remedy = kUseLessGpuMemory},
      {.name = "python-memory", .pattern = "(" PYTHON "MemoryError(:|$)|[Cc]annot allocate memory|Unable to allocate .*(array|[KMGT]iB)|can't allocate memory)", .cls = kOom,
       .meaning = "the program could not get the memory it asked for", .remedy = kAskForMore},
      {.name = "cpp-memory", .pattern = "std::bad_alloc", .cls = kOom,
       .meaning = "the program could not get the memory it asked for", .remedy = kAskForMore},
      {.name = "java-memory", .pattern = "java\\.lang\\.OutOfMemoryError", .cls = kOom,
       .meaning = "Java's heap is too small", .remedy = "raise -Xmx and, with it, tony.<role>.memory"},
      {.name = "shared-memory", .pattern = "(killed by signal: Bus error|insufficient shared memory|out of shared memory)", .cls = kUserConfig,
       .meaning = "/dev/shm is full", .remedy = "use a larger /dev/shm, or fewer loader processes"},
      {.name = "python-module", .pattern = PYTHON "(ModuleNotFoundError|ImportError):", .cls = kUserConfig,
       .meaning = "a Python module is missing or broken in the task's environment", .remedy = "install the module where the tasks run, or ship it with -src_dir"},
      {.name = "python-syntax", .pattern = PYTHON "(SyntaxError|IndentationError|TabError):", .cls = kUserConfig,
       .meaning = "the program is not valid Python for this interpreter", .remedy = "check the line that the message names, and python --version on the node"},
      {.name = "python-script", .pattern = "^[^ ]*python[0-9.]*: (can't open file|No module named)", .cls = kUserConfig,
       .meaning = "Python cannot find the program", .remedy = "check the path in the command; a relative path begins in the task's folder, which has the files of -src_dir"},
      {.name = "arguments", .pattern = ": error: (unrecognized arguments|the following arguments are required|argument |ambiguous option)", .cls = kUserConfig,
       .meaning = "the program does not accept its arguments", .remedy = "check the command and -task_params"},
      {.name = "r-package", .pattern = "there is no package called", .cls = kUserConfig,
       .meaning = "a package of R is missing in the task's environment", .remedy = "install the package where the tasks run, or set R_LIBS to its folder (-shell_env R_LIBS=...)"},
      {.name = "java-class", .pattern = "(Could not find or load main class|ClassNotFoundException|NoClassDefFoundError)", .cls = kUserConfig,
       .meaning = "a class of Java is missing on the class path", .remedy = "check -cp or CLASSPATH, and the jars in -src_dir"},
      {.name = "shared-library", .pattern = "(error while loading shared libraries|version `[^ ]*' not found \\(required by)", .cls = kUserConfig,
       .meaning = "a library that the program needs is missing or too old on the node", .remedy = "check the node's libraries and LD_LIBRARY_PATH"},
      {.name = "unset-variable", .pattern = "(: unbound variable|: parameter (null or )?not set|: parameter null)$", .cls = kUserConfig,
       .meaning = "the task's script uses a variable that is not set", .remedy = "set the variable (-shell_env NAME=VALUE), or correct the script"},
      {.name = "shell-syntax", .pattern = "(: syntax error near unexpected token|: syntax error: |: Syntax error: |: unexpected EOF while looking for)", .cls = kUserConfig,
       .meaning = "the task's command is not a valid shell script", .remedy = "check quotes, brackets and the words after \"do\" or \"then\" in the command"},
      {.name = "interpreter-missing", .pattern = "(: required file not found|: bad interpreter: No such file or directory)$", .cls = kUserConfig,
       .meaning = "the interpreter in the script's first line, or the interpreter's loader, does not exist", .remedy = "correct the script's first line; a Windows line end becomes part of the interpreter's name"},
      {.name = "command-not-found", .exit_code = 127, .pattern = "(: command not found|: not found|: No such file or directory)$", .cls = kUserConfig,
       .meaning = "the command was not found", .remedy = kSeeThePath},
      {.name = "command-not-executable", .exit_code = 126, .pattern = "(: Permission denied|: Is a directory|: cannot execute|: Exec format error)", .cls = kUserConfig,
       .meaning = "the command cannot be executed", .remedy = kSeeTheMode},
      {.name = "gpu-fault", .pattern = "(uncorrectable (NVLink|ECC) error|CUDA_ERROR_ECC_UNCORRECTABLE|fallen off the bus|GPU is lost|Driver/library version mismatch|communicate with the NVIDIA driver)", .cls = kInfra,
       .meaning = "a GPU does not work", .remedy = "check nvidia-smi and the kernel's log (NVRM: Xid) on the node"},
      {.name = "ray-node-slow", .pattern = "The current node timed out during startup", .cls = kInfra,
       .meaning = "a node of Ray did not start within the 30 s that Ray allows", .remedy = "check the load of the machine"},
      {.name = "collective-timeout", .pattern = "(collective operation timeout|[Tt]imed out (after|waiting|initializing)[^:]*(ranks|clients|process group)|Timed out waiting [0-9]+ ?ms for (recv|send) operation|Barrier timed out|failed to pass monitoredBarrier)", .cls = kHung,
       .source = kPeer, .meaning = "a collective operation timed out: another task is lost, stuck, or did not take part", .remedy = kSeeThePeer},
      {.name = "peer-lost", .pattern = "([Cc]onnection (was )?(reset|closed) by (remote )?peer|ncclRemoteError|remote process exited|(recv|send|write).*: [Bb]roken pipe|Socket closed|Connection was likely closed|another task died|HorovodInternalError)", .cls = kUserError,
       .source = kPeer, .meaning = "the task's connection to another task broke; the end of the other task is the cause", .remedy = kSeeThePeer},
      {.name = "peer-unreachable", .pattern = "([Cc]onnection refused|[Nn]o route to host|[Nn]etwork is unreachable|failed to connect to all addresses|Connection timed out|client socket has timed out)", .cls = kUserError,
       .source = kPeer, .meaning = "the task could not reach another host or task", .remedy = "check the address that the message names, and how the other tasks ended"},
      {.name = "address-in-use", .pattern = "([Aa]ddress already in use|EADDRINUSE)", .cls = kUserError,
       .meaning = "the port on which the task wants to listen is in use: by another process, by one of its own processes, or by a connection of an earlier attempt", .remedy = "use another port; the cluster spec gives each task a port of its own"},
      {.name = "native-assertion", .pattern = "(: Assertion [`'].*' failed|: [Aa]ssertion failed|Check failed: )", .cls = kUserError,
       .meaning = "an assertion in native code failed", .remedy = kSeeTheCore},
      {.name = "native-thread", .pattern = "^terminate called without an active exception", .cls = kUserError,
       .meaning = "native code ended while one of its threads was still running", .remedy = "join the threads before the program ends; a PyTorch program can end with os._exit(0) after its work is done"},
      {.name = "native-exception", .pattern = "(^terminate called|^ *what\\(\\): )", .cls = kUserError,
       .meaning = "native code did not catch an exception", .remedy = kSeeTheCore},
      {.name = "heap-damaged", .pattern = "^(double free or corruption|free\\(\\): |malloc\\(\\): |realloc\\(\\): |munmap_chunk\\(\\): |corrupted |\\*\\*\\* stack smashing)", .cls = kUserError,
       .meaning = "native code has written to memory that it must not use", .remedy = kSeeTheCore},
      {.name = "child-killed", .pattern = "(Signal (9|15) \\(SIG(KILL|TERM)\\) received|got signal: |killed by signal: (Killed|Terminated)|<Signals\\.SIG(KILL|TERM)|exited on signal (9|15) |terminated with signal SIG(KILL|TERM))", .cls = kInfra,
       .source = kOfSignal, .meaning = "a process of the task was killed from outside of the job, or by another process of the task", .remedy = kWhoEndedIt},
      {.name = "permission-denied", .pattern = "(Permission denied|Operation not permitted)", .cls = kUserError,
       .meaning = "the task has no permission to use a file or a device", .remedy = "check the owner and mode of the file or device that the message names, and the user that the tasks run as"},
      {.name = "file-missing", .pattern = "No such file or directory", .cls = kUserError,
       .meaning = "a file that the task needs does not exist", .remedy = "check the path that the message names; a relative path begins in the task's folder, which has the files of -src_dir"},
      {.name = "python-exception", .pattern = PYTHON "[A-Za-z_][A-Za-z0-9_]*(Error|Exception)(:|$)", .cls = kUserError,
       .meaning = "the program did not catch an exception", .remedy = "read the exception: tony logs JOB TASK --stderr"},
  };
}

// Rules by the exit code or signal alone. A shell reports a command that signal n ended as exit code 128 + n.
Rules SaidByTheSystem() {
  return {
      {.name = "keyboard-interrupt", .signal = SIGINT, .pattern = "^KeyboardInterrupt", .cls = kInfra,
       .source = kOfSignal, .meaning = kToldToEnd, .remedy = kWhoEndedIt},
      {.name = "timeout-command", .exit_code = 124, .cls = kTimeout,
       .meaning = "the command timeout(1) ended the task at its limit", .remedy = "raise the limit in the role's command"},
      {.name = "not-executable", .exit_code = 126, .cls = kUserConfig,
       .meaning = "the shell cannot execute the command", .remedy = kSeeTheMode},
      {.name = "not-found", .exit_code = 127, .cls = kUserConfig,
       .meaning = "the shell did not find the command, or a variable is not set", .remedy = kSeeThePath},
      {.name = "job-disk-full", .full_disk = true, .cls = kUserError,
       .meaning = "the disk under the job's folder has no room left", .remedy = "run df on the node; check what the program writes, and where; set TONY_HOME to move the jobs' folder"},
      {.name = "misuse", .exit_code = 2, .cls = kUserError,
       .meaning = "most programs use exit code 2 for wrong arguments or a missing file", .remedy = "read the last lines of the task's log"},
      {.name = "hangup", .signal = SIGHUP, .cls = kInfra,
       .source = kOfSignal, .meaning = kToldToEnd, .remedy = kWhoEndedIt},
      {.name = "interrupt", .signal = SIGINT, .cls = kInfra,
       .source = kOfSignal, .meaning = kToldToEnd, .remedy = kWhoEndedIt},
      {.name = "quit", .signal = SIGQUIT, .cls = kUserError,
       .meaning = "SIGQUIT, a request for stack traces, ended the program, because the program does not handle this signal", .remedy = "find the sender of SIGQUIT"},
      {.name = "illegal-instruction", .signal = SIGILL, .cls = kUserError,
       .meaning = "the program used an instruction that this processor does not have", .remedy = "check whether the program was built for a newer processor than the node's"},
      {.name = "trap", .signal = SIGTRAP, .cls = kUserError,
       .meaning = "native code reached a failed assertion or a breakpoint", .remedy = kSeeTheCore},
      {.name = "abort", .signal = SIGABRT, .cls = kUserError,
       .meaning = "native code aborted: a failed assertion or an uncaught exception", .remedy = kSeeTheCore},
      {.name = "bus-error", .signal = SIGBUS, .cls = kUserError,
       .meaning = "memory could not be loaded: most often /dev/shm or the disk below a mapped file is full", .remedy = "run df /dev/shm and df on the node"},
      {.name = "arithmetic", .signal = SIGFPE, .cls = kUserError,
       .meaning = "native code divided an integer by zero", .remedy = kSeeTheCore},
      {.name = "killed-oom-near", .signal = SIGKILL, .oom = OomEvidence::kMachine, .cls = kInfra,
       .source = kOfSignal, .meaning = "killed by something outside of the job; meanwhile the kernel killed processes on this machine for lack of memory, possibly this one", .remedy = "check dmesg on the node for \"Out of memory: Killed process\"; if it is there, request more memory"},
      {.name = "killed-no-oom", .signal = SIGKILL, .oom = OomEvidence::kNone, .cls = kInfra,
       .source = kOfSignal, .meaning = "killed by something outside of the job; the kernel did not kill it for lack of memory", .remedy = "find what killed the task: an administrator, a node manager, or a limit of the machine"},
      {.name = "killed", .signal = SIGKILL, .cls = kInfra,
       .source = kOfSignal, .meaning = "killed by something outside of the job; this machine does not show whether the kernel killed it for lack of memory", .remedy = "check dmesg on the node for \"Out of memory: Killed process\"; otherwise find what killed the task"},
      {.name = "segmentation-fault", .signal = SIGSEGV, .cls = kUserError,
       .meaning = "native code used memory that does not belong to it", .remedy = kSeeTheCore},
      {.name = "broken-pipe", .signal = SIGPIPE, .cls = kUserError,
       .meaning = "the task wrote to a pipe or connection that has no reader", .remedy = "check the command at the other end of the pipe in the role's command"},
      {.name = "alarm", .signal = SIGALRM, .cls = kTimeout,
       .meaning = "a timer of the program expired and ended the program", .remedy = "check the program's own time limits"},
      {.name = "terminated", .signal = SIGTERM, .cls = kInfra,
       .source = kOfSignal, .meaning = kToldToEnd, .remedy = kWhoEndedIt},
      {.name = "processor-time", .signal = SIGXCPU, .cls = kTimeout,
       .meaning = "the task used more processor time than ulimit -t allows", .remedy = "raise the node's limit"},
      {.name = "file-size", .signal = SIGXFSZ, .cls = kUserConfig,
       .meaning = "the task wrote a file larger than ulimit -f allows", .remedy = "raise the node's limit"},
      {.name = "bad-system-call", .signal = SIGSYS, .cls = kUserError,
       .meaning = "the program made a system call that a sandbox forbids", .remedy = "check the container's seccomp profile"},
      {.name = "failed", .cls = kUserError,
       .meaning = "the program failed, and its cause is not known", .remedy = "read the last lines of the task's log: tony logs JOB TASK --stderr"},
  };
}
// clang-format on

#undef PYTHON

}  // namespace

std::span<const FailureRule> BuiltInRules() {
  static const Rules& all = *[] {
    auto* rules = new Rules;
    for (auto part : {SaidByTheProgram, SaidByTheScheduler, OutOfMemory, WrittenByThePrograms, SaidByTheSystem}) {
      for (auto& rule : part()) rules->push_back(std::move(rule));
    }
    return rules;
  }();
  return all;
}

}  // namespace tony
