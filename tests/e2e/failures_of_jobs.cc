// Failures that machines cause in tasks, and failures that tasks cause in each other.
#include "tests/e2e/failure_reports.h"
#include "tests/e2e/tony_test.h"

namespace tony {
namespace {

using Failures = std::vector<InjectedFailure>;

constexpr int kWorkers = 3;

// A command for all workers: worker:2 is the leader and ends in the way `how` of failing_program; the other workers are
// connected to it.
std::string LedBy(const std::string& how) {
  return "if [ $TASK_INDEX = 2 ]; then exec @F lead @D/port-$TONY_GENERATION 2 " + how +
         "; else exec @F follow @D/port-$TONY_GENERATION; fi";
}

// A command for three workers: each waits until all of them run. Worker `index` runs `what` then, and the others sleep.
std::string OneOf(int index, const std::string& what) {
  return "touch @D/runs-$TASK_INDEX; until [ -e @D/runs-0 ] && [ -e @D/runs-1 ] && [ -e @D/runs-2 ]; do sleep 0.05; "
         "done; "
         "if [ $TASK_INDEX = " +
         std::to_string(index) + " ]; then " + what + "; fi; exec sleep 600";
}

}  // namespace

// clang-format off
Failures FailuresOfMachines() {
  const std::string limit = SanitizedPrograms() ? "400m" : "64m", most = SanitizedPrograms() ? "900M" : "300M";
  return {
      {"memory limit", "head -c " + most + " /dev/zero | tail > /dev/null", "oom", {"out of memory", "tony.worker.memory sets the limit"}, {}, {}, "worker:0", 1, {"tony.worker.memory=" + limit}, Need::kMemoryLimit},
      {"full disk outside the job folder", "echo 1 > /dev/full", "user_error", {"No space left on device", "a disk of the node is full"}},
      {"full disk of the job folder", "head -c 100M /dev/zero > checkpoint 2> /dev/null || { echo nobody reads this >&2; exit 4; }", "user_error", {"exit code 4", "the disk under the job's folder has no room left (@D/"}, {}, {}, "worker:0", 1, {}, Need::kRoot},
      {"file size limit", "ulimit -f 8; head -c 100K /dev/zero > big", "user_config", {"exit code 153", "ulimit -f"}},
      {"GPU memory used up", "echo 'torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2 GiB.' >&2; exit 1", "oom", {"CUDA out of memory. Tried to allocate 2 GiB.: out of GPU memory"}},
      {"GPU hardware fault", "echo 'RuntimeError: CUDA error: uncorrectable ECC error encountered' >&2; exit 1", "infra", {"uncorrectable ECC error", "a GPU does not work"}, {}, {}, "worker:0", 1, {"tony.restart.lost.budget=0"}},
      {"time limit", "exec sleep 600", "timeout", {"longer than 4.0 s (tony.application.timeout)", "no output from worker:0 for"}, {}, {}, "", 1, {"tony.application.timeout=4000"}},
  };
}

Failures FailuresOfCollectives() {
  const std::string primary = "exit code 1: ValueError: bad batch (user_error)";
  const std::string settled = "tony.restart.settle-ms=300";
  return {
      {"worker raises and the other workers lose the connection", LedBy("raise"), "user_error", {primary}, {"ValueError: bad batch"}, {"first cause: worker:0", "first cause: worker:1"}, "worker:2", kWorkers},
      {"worker raises and exits slowly", LedBy("slow"), "user_error", {primary}, {"ValueError: bad batch"}, {}, "worker:2", kWorkers},
      {"worker that raises and exits slowly uses the restart budget once", LedBy("slow"), "user_error", {primary, "restart budget used up: gang 1 of 1"}, {"worker:2 failed on 127.0.0.1: exit code 1: ValueError: bad batch"}, {}, "worker:2", kWorkers, {"tony.restart.gang.budget=1"}},
      {"worker kills itself", LedBy("die"), "user_error", {"SIGKILL"}, {}, {}, "worker:2", kWorkers},
      {"worker exits early with code 0", LedBy("leave"), "user_error", {"Connection closed by peer", "the task's connection to another task broke", "worker:2 had ended with exit code 0"}, {}, {}, "*", kWorkers},
      {"no process listens at the address of a worker", "address=$(echo $TF_CONFIG | grep -o '127.0.0.1:[0-9]*' | sed -n 2p); if [ $TASK_INDEX = 0 ]; then exec @F dial $address; else exec sleep 600; fi",
       "user_error", {"Connection refused", "this address belongs to worker:1 (running)"}, {}, {}, "worker:0", kWorkers},
      {"a worker of three raises", OneOf(1, "echo 'KeyError: 7' >&2; exit 1"), "user_error", {"KeyError: 7"}, {}, {}, "worker:1", kWorkers},
      {"a worker of three crashes", OneOf(2, "kill -SEGV $$"), "user_error", {"SIGSEGV"}, {}, {}, "worker:2", kWorkers},
      {"collective operation times out", OneOf(0, "echo 'Watchdog caught collective operation timeout: WorkNCCL(SeqNum=7)' >&2; exit 1"), "hung", {"Watchdog caught collective operation timeout", "another task is lost, stuck"}, {}, {}, "worker:0", kWorkers},
      {"worker hangs", "until [ -e @D/hangs ]; do [ $TASK_INDEX = 1 ] && touch @D/hangs; sleep 0.05; done; while [ $TASK_INDEX != 1 ]; do echo step; sleep 0.1; done; exec sleep 600",
       "timeout", {"tony.application.timeout", "no output from worker:1 for"}, {}, {"no output from worker:0", ", worker:0", ", worker:2"}, "", kWorkers, {"tony.application.timeout=4000"}},
  };
}
// clang-format on

}  // namespace tony
