// Every row of the built-in table is tested with evidence from a real failure.
#include <gtest/gtest.h>

#include <algorithm>
#include <csignal>
#include <set>

#include "runtime/base/strings.h"
#include "runtime/job/failure_rules.h"

namespace tony {
namespace {

using enum OutcomeClass;
using enum Charge;

Evidence ExitOf(int code, const std::string& stderr_tail = "") {
  return {.exit = ExitStatus{ExitStatus::Kind::kExited, code}, .stderr_tail = stderr_tail};
}
Evidence Signal(int signal, OomEvidence oom = OomEvidence::kUnknown, const std::string& stderr_tail = "") {
  return {.exit = ExitStatus{ExitStatus::Kind::kSignaled, signal}, .oom = oom, .stderr_tail = stderr_tail};
}
Evidence Yarn(int status) { return {.scheduler_status = status}; }
Evidence OomOf(int code, const std::string& stderr_tail = "") {
  Evidence evidence = ExitOf(code, stderr_tail);
  evidence.oom = OomEvidence::kCgroup;
  return evidence;
}

Evidence NoRoom(int code) {
  Evidence evidence = ExitOf(code);
  evidence.full_disk = "/jobs";
  return evidence;
}

struct TableRow {
  std::string rule;
  OutcomeClass cls;
  Charge charge;
  std::vector<Evidence> seen;
};

// clang-format off
std::vector<TableRow> Rows() {
  return {
      {"said-transient", kUserError, kFree, {ExitOf(193), ExitOf(193, "ValueError: x\n")}},
      {"said-permanent", kUserError, kNever, {ExitOf(194), ExitOf(194, "Connection reset by peer\n")}},
      {"yarn-aborted", kNodeLost, kFree, {Yarn(-100)}},
      {"yarn-disks-failed", kInfra, kFree, {Yarn(-101)}},
      {"yarn-preempted", kPreempted, kFree, {Yarn(-102)}},
      {"yarn-virtual-memory", kOom, kNever, {Yarn(-103)}},
      {"yarn-memory", kOom, kNever, {Yarn(-104)}},
      {"yarn-stopped-by-am", kKilled, kNever, {Yarn(-105)}},
      {"yarn-stopped-by-rm", kInfra, kFree, {Yarn(-106)}},
      {"yarn-after-the-end", kKilled, kNever, {Yarn(-107)}},
      {"yarn-evicted", kPreempted, kFree, {Yarn(-108)}},
      {"yarn-excess-logs", kUserConfig, kNever, {Yarn(-109)}},
      {"yarn-never-ran", kInfra, kFree, {Yarn(-1000)}},
      {"yarn-node-manager-lost-it", kInfra, kFree, {Yarn(154)}},
      {"oom-killed", kOom, kNever, {Signal(SIGKILL, OomEvidence::kCgroup), OomOf(137)}},
      {"oom-killed-child", kOom, kNever, {
          OomOf(1, "RuntimeError: DataLoader worker (pid 46794) is killed by signal: Killed. \n"),
          OomOf(1, "RuntimeError: DataLoader worker (pid(s) 3216) exited unexpectedly\n"),
          OomOf(1, "bash: line 1: 12345 Killed                  python train.py\n"),
          OomOf(1, "concurrent.futures.process.BrokenProcessPool: A process in the process pool was terminated\n"),
          OomOf(1, "subprocess.CalledProcessError: Command 'x' died with <Signals.SIGKILL: 9>.\n"),
          OomOf(1, "  exitcode  : -9 (pid: 4242)\n"),
          OomOf(1, "  traceback : Signal 9 (SIGKILL) received by PID 4242\n")}},
      {"gpu-memory", kOom, kNever, {
          ExitOf(1, "RuntimeError: CUDA out of memory. Tried to allocate 20.00 MiB (GPU 0; 15.78 GiB total capacity)\n"),
          ExitOf(1, "[rank1]: torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB.\n"),
          ExitOf(1, "torch.cuda.OutOfMemoryError: HIP out of memory. Tried to allocate 2.00 GiB.\n"),
          ExitOf(1, "RuntimeError: CUDA error: CUBLAS_STATUS_ALLOC_FAILED when calling `cublasCreate(handle)`\n"),
          ExitOf(1, "RuntimeError: CUDA error: out of memory\n"),
          Signal(SIGABRT, OomEvidence::kNone, "F0000 failed: CUDA_ERROR_OUT_OF_MEMORY: out of memory\n")}},
      {"xla-memory", kOom, kNever, {
          ExitOf(1, "jaxlib.xla_extension.XlaRuntimeError: RESOURCE_EXHAUSTED: Out of memory while trying to allocate 74 bytes.\n"),
          ExitOf(1, "tensorflow.python.framework.errors_impl.ResourceExhaustedError: Graph execution error:\n"),
          ExitOf(1, "OOM when allocating tensor with shape[512,512] and type float\n"),
          ExitOf(1, "Execution of replica 0 failed: Resource exhausted: Out of memory while trying to allocate 55 bytes.\n")}},
      {"python-memory", kOom, kNever, {
          ExitOf(1, "Traceback (most recent call last):\n  File \"x.py\", line 1, in <module>\nMemoryError\n"),
          ExitOf(1, "numpy.core._exceptions._ArrayMemoryError: Unable to allocate 7.45 GiB for an array with shape (9,)\n"),
          ExitOf(1, "OSError: [Errno 12] Cannot allocate memory\n"),
          ExitOf(1, "RuntimeError: [enforce fail] DefaultCPUAllocator: can't allocate memory: you tried to allocate 4 bytes.\n")}},
      {"cpp-memory", kOom, kNever, {
          Signal(SIGABRT, OomEvidence::kNone, "terminate called after throwing an instance of 'std::bad_alloc'\n  what():  std::bad_alloc\n")}},
      {"java-memory", kOom, kNever, {ExitOf(1, "Exception in thread \"main\" java.lang.OutOfMemoryError: Java heap space\n")}},
      {"shared-memory", kUserConfig, kNever, {
          ExitOf(1, "RuntimeError: DataLoader worker (pid 1) is killed by signal: Bus error. It is possible that dataloader's workers are out of shared memory.\n"),
          Signal(SIGBUS, OomEvidence::kNone, "ERROR: Unexpected bus error encountered in worker. This might be caused by insufficient shared memory (shm).\n")}},
      {"python-module", kUserConfig, kNever, {
          ExitOf(1, "ModuleNotFoundError: No module named 'torch'\n"),
          ExitOf(1, "[rank0]: ModuleNotFoundError: No module named 'torch'\n"),
          ExitOf(1, "ImportError: libcudnn.so.8: cannot open shared object file: No such file or directory\n")}},
      {"python-syntax", kUserConfig, kNever, {
          ExitOf(1, "    print 1\nSyntaxError: Missing parentheses in call to 'print'\n"),
          ExitOf(1, "IndentationError: unexpected indent\n")}},
      {"python-script", kUserConfig, kNever, {
          ExitOf(2, "python3: can't open file '/job/work/train.py': [Errno 2] No such file or directory\n"),
          ExitOf(1, "/usr/bin/python3.11: No module named trainer\n")}},
      {"arguments", kUserConfig, kNever, {
          ExitOf(2, "usage: train.py [-h]\ntrain.py: error: unrecognized arguments: --epochz 3\n"),
          ExitOf(2, "train.py: error: argument --epochs: invalid int value: 'x'\n")}},
      {"r-package", kUserConfig, kNever, {ExitOf(1, "Error in library(x) : there is no package called 'x'\nExecution halted\n")}},
      {"java-class", kUserConfig, kNever, {
          ExitOf(1, "Error: Could not find or load main class Train\nCaused by: java.lang.ClassNotFoundException: Train\n"),
          ExitOf(1, "Exception in thread \"main\" java.lang.NoClassDefFoundError: org/x/Y\n\tat Train.main(Train.java:3)\n")}},
      {"shared-library", kUserConfig, kNever, {
          ExitOf(127, "./train: error while loading shared libraries: libfoo.so.1: cannot open shared object file\n"),
          ExitOf(1, "./train: /lib/libc.so.6: version `GLIBC_2.38' not found (required by ./train)\n")}},
      {"unset-variable", kUserConfig, kNever, {
          ExitOf(127, "/bin/bash: line 1: DATA_DIR: unbound variable\n"), ExitOf(2, "sh: 1: DATA_DIR: parameter not set\n"),
          ExitOf(127, "/bin/bash: line 1: DATA_DIR: parameter null or not set\n")}},
      {"shell-syntax", kUserConfig, kNever, {
          ExitOf(2, "/bin/bash: -c: line 1: syntax error near unexpected token `fi'\n"), ExitOf(2, "sh: 1: Syntax error: \"fi\" unexpected\n"),
          ExitOf(2, "/bin/bash: -c: line 1: unexpected EOF while looking for matching `''\n")}},
      {"command-not-found", kUserConfig, kNever, {
          ExitOf(127, "/bin/bash: line 1: pyton: command not found\n"), ExitOf(127, "sh: 1: pyton: not found\n"),
          ExitOf(127, "/bin/bash: line 1: ./train.py: No such file or directory\n")}},
      {"interpreter-missing", kUserConfig, kNever, {
          ExitOf(127, "/bin/bash: line 1: ./s: cannot execute: required file not found\n"),
          ExitOf(126, "bash: ./s: /no/such/sh: bad interpreter: No such file or directory\n")}},
      {"command-not-executable", kUserConfig, kNever, {
          ExitOf(126, "/bin/bash: line 1: ./train.py: Permission denied\n"), ExitOf(126, "/bin/bash: line 1: /tmp: Is a directory\n"),
          ExitOf(126, "/bin/bash: line 1: ./s: cannot execute binary file: Exec format error\n")}},
      {"disk-full", kUserError, kCharged, {
          ExitOf(1, "OSError: [Errno 28] No space left on device\n"), ExitOf(1, "cp: write error: Disk quota exceeded\n"),
          ExitOf(1, "RuntimeError: [enforce fail at inline_container.cc:783] . PytorchStreamWriter failed writing file data/0: file write failed\n"),
          ExitOf(1, "tensorflow.python.framework.errors_impl.ResourceExhaustedError: /ckpt/model.tmp; No space left on device\n"),
          ExitOf(1, "RuntimeError: [enforce fail at inline_container.cc:603] . unexpected pos 123 vs 456\n")}},
      {"gpu-fault", kInfra, kFree, {
          ExitOf(1, "RuntimeError: CUDA error: uncorrectable ECC error encountered\n"),
          ExitOf(1, "RuntimeError: CUDA error: uncorrectable NVLink error detected during the execution\n"),
          ExitOf(1, "Failed to initialize NVML: Driver/library version mismatch\n"),
          ExitOf(9, "NVIDIA-SMI has failed because it couldn't communicate with the NVIDIA driver.\n")}},
      {"ray-node-slow", kInfra, kFree, {
          ExitOf(1, "Exception: The current node timed out during startup. This could happen because some of the raylet failed to startup or the GCS has become overloaded.\n")}},
      {"collective-timeout", kHung, kCharged, {
          Signal(SIGABRT, OomEvidence::kNone, "[rank0]:[E1206 18:44:12.7 ProcessGroupNCCL.cpp:607] [Rank 0] Watchdog caught collective operation timeout: WorkNCCL(SeqNum=7753) ran for 600061 milliseconds before timing out.\n"),
          ExitOf(1, "RuntimeError: [../third_party/gloo/gloo/transport/tcp/unbound_buffer.cc:81] Timed out waiting 1800000ms for recv operation to complete\n"),
          ExitOf(1, "jax.errors.JaxRuntimeError: DEADLINE_EXCEEDED: Barrier timed out. Barrier_id: start\n"),
          ExitOf(1, "RuntimeError: Rank 1 failed to pass monitoredBarrier in 1000 ms\n"),
          ExitOf(1, "torch.distributed.DistStoreError: Timed out after 61 seconds waiting for clients. 1/2 clients joined.\n")}},
      {"peer-lost", kUserError, kCharged, {
          ExitOf(1, "RuntimeError: [../third_party/gloo/gloo/transport/tcp/pair.cc:534] Connection closed by peer [127.0.0.1]:36341\n"),
          ExitOf(1, "ConnectionResetError: [Errno 104] Connection reset by peer\n"),
          ExitOf(1, "RuntimeError: [gloo/transport/tcp/pair.cc:446] writev [127.0.0.1]:4711: Broken pipe\n"),
          ExitOf(1, "torch.distributed.DistBackendError: NCCL error in: NCCLUtils.hpp:268, remote process exited or there was a network error, NCCL version 2.21.5\nncclRemoteError: A call failed possibly due to a network error or a remote process exiting prematurely.\nLast error:\nsocketProgress: Connection closed by remote peer node2<42830>\n"),
          ExitOf(1, "tensorflow.python.framework.errors_impl.UnavailableError: Socket closed\n"),
          ExitOf(1, "DistNetworkError: Failed to recv, got 0 bytes. Connection was likely closed. Did the remote server shutdown or crash?\n"),
          Signal(SIGABRT, OomEvidence::kNone, "Terminating process because the JAX distributed service detected fatal errors. This most likely indicates that another task died; see the other task logs for more details.\n"),
          ExitOf(1, "horovod.common.exceptions.HorovodInternalError: ncclCommAbort\n")}},
      {"peer-unreachable", kUserError, kCharged, {
          ExitOf(1, "ConnectionRefusedError: [Errno 111] Connection refused\n"),
          ExitOf(1, "torch.distributed.DistNetworkError: The client socket has timed out after 60000ms while trying to connect to (10.0.0.1, 29500).\n"),
          ExitOf(1, "OSError: [Errno 113] No route to host\n")}},
      {"address-in-use", kUserError, kCharged, {ExitOf(1, "OSError: [Errno 98] Address already in use\n")}},
      {"native-assertion", kUserError, kCharged, {
          Signal(SIGABRT, OomEvidence::kNone, "train: train.cc:7: int main(): Assertion `rows > 0' failed.\n"),
          Signal(SIGABRT, OomEvidence::kNone, "F0000 00:00:00 1 graph.cc:42] Check failed: rows > 0 \n")}},
      {"native-exception", kUserError, kCharged, {
          Signal(SIGABRT, OomEvidence::kNone, "terminate called after throwing an instance of 'std::runtime_error'\n  what():  bad row 17\n")}},
      {"native-thread", kUserError, kCharged, {
          Signal(SIGABRT, OomEvidence::kNone, "terminate called without an active exception\n")}},
      {"heap-damaged", kUserError, kCharged, {
          Signal(SIGABRT, OomEvidence::kNone, "double free or corruption (out)\n"), Signal(SIGABRT, OomEvidence::kNone, "free(): invalid pointer\n"),
          Signal(SIGABRT, OomEvidence::kNone, "*** stack smashing detected ***: terminated\n")}},
      {"child-killed", kInfra, kFree, {
          ExitOf(1, "  exitcode  : -9 (pid: 4242)\n  traceback : Signal 9 (SIGKILL) received by PID 4242\n"),
          ExitOf(1, "torch.distributed.elastic.multiprocessing.api.SignalException: Process 4242 got signal: 15\n"),
          ExitOf(1, "RuntimeError: DataLoader worker (pid 46794) is killed by signal: Killed. \n"),
          ExitOf(1, "subprocess.CalledProcessError: Command 'x' died with <Signals.SIGKILL: 9>.\n")}},
      {"permission-denied", kUserError, kCharged, {ExitOf(1, "cat: /data/x: Permission denied\n"), ExitOf(1, "PermissionError: [Errno 1] Operation not permitted: '/dev/x'\n")}},
      {"file-missing", kUserError, kCharged, {ExitOf(1, "cat: /data/x: No such file or directory\n"), ExitOf(1, "FileNotFoundError: [Errno 2] No such file or directory: '/data/x'\n")}},
      {"keyboard-interrupt", kInfra, kFree, {Signal(SIGINT, OomEvidence::kNone, "    time.sleep(5)\nKeyboardInterrupt\n"), ExitOf(130, "KeyboardInterrupt\n")}},
      {"job-disk-full", kUserError, kCharged, {NoRoom(1), NoRoom(2), NoRoom(74)}},
      {"python-exception", kUserError, kCharged, {
          ExitOf(1, "ValueError: bad shape\n"), ExitOf(1, "torch.cuda.CudaError: launch failed\n"), ExitOf(1, "[rank3]: KeyError: 'x'\n"),
          ExitOf(1, "ConnectionResetError: [Errno 104] Connection reset by peer\n\nDuring handling of the above exception, another exception occurred:\n\nValueError: bad\n")}},
      {"misuse", kUserError, kCharged, {ExitOf(2)}},
      {"timeout-command", kTimeout, kCharged, {ExitOf(124)}},
      {"not-executable", kUserConfig, kNever, {ExitOf(126), ExitOf(126, "./train.py: cannot\n")}},
      {"not-found", kUserConfig, kNever, {ExitOf(127), ExitOf(127, "/bin/bash: line 1: DATA_DIR: say where the data is\n")}},
      {"hangup", kInfra, kFree, {Signal(SIGHUP), ExitOf(129)}},
      {"interrupt", kInfra, kFree, {Signal(SIGINT), ExitOf(130)}},
      {"quit", kUserError, kCharged, {Signal(SIGQUIT), ExitOf(131)}},
      {"illegal-instruction", kUserError, kCharged, {Signal(SIGILL), ExitOf(132)}},
      {"trap", kUserError, kCharged, {Signal(SIGTRAP), ExitOf(133)}},
      {"abort", kUserError, kCharged, {Signal(SIGABRT), ExitOf(134)}},
      {"bus-error", kUserError, kCharged, {Signal(SIGBUS), ExitOf(135)}},
      {"arithmetic", kUserError, kCharged, {Signal(SIGFPE), ExitOf(136)}},
      {"killed-oom-near", kInfra, kFree, {Signal(SIGKILL, OomEvidence::kMachine)}},
      {"killed-no-oom", kInfra, kFree, {Signal(SIGKILL, OomEvidence::kNone)}},
      {"killed", kInfra, kFree, {Signal(SIGKILL), ExitOf(137)}},
      {"segmentation-fault", kUserError, kCharged, {Signal(SIGSEGV), ExitOf(139)}},
      {"broken-pipe", kUserError, kCharged, {Signal(SIGPIPE), ExitOf(141)}},
      {"alarm", kTimeout, kCharged, {Signal(SIGALRM), ExitOf(142)}},
      {"terminated", kInfra, kFree, {Signal(SIGTERM), ExitOf(143)}},
      {"processor-time", kTimeout, kCharged, {Signal(SIGXCPU), ExitOf(152)}},
      {"file-size", kUserConfig, kNever, {Signal(SIGXFSZ), ExitOf(153)}},
      {"bad-system-call", kUserError, kCharged, {Signal(SIGSYS), ExitOf(159)}},
      {"failed", kUserError, kCharged, {ExitOf(1), ExitOf(3), ExitOf(255), ExitOf(154), Signal(SIGUSR1), Yarn(-42), Evidence{}}},
  };
}
// clang-format on

TEST(FailureTableTest, EveryBuiltInRuleMatchesItsSampleEvidence) {
  for (const TableRow& row : Rows()) {
    for (const Evidence& seen : row.seen) {
      const std::string what = StrCat(row.rule, ": ", seen.exit ? ToString(*seen.exit) : "", " ", seen.stderr_tail);
      EXPECT_EQ(RuleFor(seen, {}).name, row.rule) << what;
      const Outcome outcome = Classify(seen, {});
      EXPECT_EQ(outcome.cls, row.cls) << what;
      EXPECT_EQ(ChargeOf(outcome), row.charge) << what;
      EXPECT_EQ(outcome.exit, seen.exit) << what;
      EXPECT_EQ(outcome.stderr_tail, seen.stderr_tail) << what;
    }
  }
}

TEST(FailureTableTest, EveryBuiltInRuleHasSampleEvidence) {
  std::set<std::string> tested;
  for (const TableRow& row : Rows()) EXPECT_TRUE(tested.insert(row.rule).second) << row.rule << " twice";
  for (const FailureRule& rule : BuiltInRules()) EXPECT_TRUE(tested.erase(rule.name)) << rule.name << " has no test";
  EXPECT_TRUE(tested.empty()) << *tested.begin() << " is no row";
}

TEST(FailureTableTest, EveryBuiltInPatternParses) {
  for (const FailureRule& rule : BuiltInRules()) {
    if (rule.pattern.empty()) continue;
    const auto pattern = LinePattern::Parse(rule.pattern);
    EXPECT_TRUE(pattern.ok()) << rule.name << ": " << pattern.error().message;
  }
}

TEST(FailureTableTest, EveryBuiltInRuleHasAUniqueNameAndAOneLineMeaning) {
  std::set<std::string> names;
  for (const FailureRule& rule : BuiltInRules()) {
    EXPECT_TRUE(names.insert(rule.name).second) << rule.name;
    EXPECT_FALSE(rule.meaning.empty()) << rule.name;
    EXPECT_FALSE(rule.meaning.ends_with('.')) << rule.name;
    EXPECT_TRUE(std::ranges::none_of(rule.meaning + rule.remedy, [](char c) { return c == '\n'; })) << rule.name;
  }
  EXPECT_EQ(BuiltInRules().back(),
            (FailureRule{
                .name = "failed", .meaning = BuiltInRules().back().meaning, .remedy = BuiltInRules().back().remedy}));
}

}  // namespace
}  // namespace tony
