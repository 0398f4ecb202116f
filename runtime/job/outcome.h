// Why an attempt or a job ended, and how much an attempt's processes used.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/base/exit_status.h"
#include "runtime/base/names.h"
#include "runtime/base/time.h"
#include "runtime/job/ids.h"

namespace tony {

struct GpuUsage {
  // The memory of all of the attempt's GPUs together, in the newest sample.
  int64_t memory_bytes = 0;
  int64_t most_memory_bytes = 0;
  // GPU utilisation in percent, averaged over the attempt's GPUs: newest sample, mean, maximum.
  int percent = 0;
  int mean_percent = 0;
  int most_percent = 0;
  bool operator==(const GpuUsage&) const = default;
};

// The resources that an attempt's whole process tree used, as its executor measured them from the start to the newest
// sample. Memory is resident: the private memory of each process, and shared memory counted once.
struct Usage {
  int samples = 0;
  int64_t memory_bytes = 0;  // in the newest sample
  int64_t mean_memory_bytes = 0;
  int64_t most_memory_bytes = 0;
  // User and system time, including processes that have ended.
  Duration cpu{0};
  // CPU use since the previous sample; 1000 is one core.
  int64_t millicores = 0;
  int64_t most_millicores = 0;
  // The time since the start of the attempt's process. cpu / elapsed is the mean CPU use.
  Duration elapsed{0};
  // The time since the attempt last wrote to stdout or stderr, or since its start.
  Duration quiet{0};
  std::optional<GpuUsage> gpu;
  bool operator==(const Usage&) const = default;
};

// The classes of outcomes, on which users and engines rely (FAILURES.md). JSON and the wire use the names from
// ToString().
enum class OutcomeClass {
  kSuccess,
  kUserError,
  kUserConfig,
  kOom,
  kNodeLost,
  kPreempted,
  kInfra,
  kHung,
  kTimeout,
  kKilled,
  kAbandoned,
  kSpecInvalid,
  kAuth,
  kQuota,
};
constexpr auto NamesOf(OutcomeClass) {
  return EnumNames("success", "user_error", "user_config", "oom", "node_lost", "preempted", "infra", "hung", "timeout",
                   "killed", "abandoned", "spec_invalid", "auth", "quota");
}
std::string_view MeaningOf(OutcomeClass c);  // Returns one clause for a person.
std::vector<OutcomeClass> AllOutcomeClasses();

// The advice of the user's program, or of a failure rule, on whether to try again.
enum class Advice {
  kNone,       // no advice: the class decides
  kTransient,  // try again; only budget `lost` pays
  kPermanent,  // do not try again
};
constexpr auto NamesOf(Advice) { return EnumNames("none", "transient", "permanent"); }

// Returns whether it makes sense for a workflow engine to submit the job again.
bool IsRetryable(OutcomeClass c, Advice advice = Advice::kNone);

// How a failure is related to its cause.
enum class Source {
  // The failure points to no other cause, so it may be the cause itself.
  kItself,
  // The connection to another task broke, so the cause is the failure of that other task.
  kPeer,
  // A signal ended the process. It is unknown who sent the signal: the program itself or another process.
  kSignal,
};
constexpr auto NamesOf(Source) { return EnumNames("itself", "peer", "signal"); }

struct Outcome {
  OutcomeClass cls = OutcomeClass::kSuccess;
  // The exit status. Not set if no process ran, or if the exit was not observed.
  std::optional<ExitStatus> exit;
  // A remark for a person in addition to the exit status; may be empty.
  std::string message;
  // The last traceback and the last lines of stderr. Set only after a failure.
  std::string stderr_tail;
  // The last lines of stdout. Set only if stderr does not show the reason for a failure.
  std::string stdout_tail = {};
  Advice advice = Advice::kNone;
  Source source = Source::kItself;
  // The usage of the attempt. Not set if the usage was not measured.
  std::optional<Usage> usage;
  // The number of the process that `exit` and the last lines belong to. Set only if a task with several processes has
  // failed.
  std::optional<int> process = {};
  // The outputs of a trial of a sweep as a JSON object, at most kLongestTrialOutputs bytes; empty: none.
  std::string outputs = {};
  bool Succeeded() const { return cls == OutcomeClass::kSuccess; }
  bool operator==(const Outcome&) const = default;
};

// Writes and reads an outcome in the form that status documents have (job_fields.h).
std::string ToJson(const Outcome& outcome);
Result<Outcome> OutcomeFromJson(std::string_view json);

// Returns the process and its exit, e.g. "process 2: exit code 3". For a task with one process, returns only the exit.
// Empty if the exit was not observed and no process is named.
std::string DescribeExit(const Outcome& outcome);

// The budget that pays for a restart after an attempt has ended.
enum class Charge {
  // The task is not restarted, so no budget pays. Either the next attempt would end in the same way, or a person
  // requested the end.
  kNever,
  // The budget for failures of the user's program pays.
  kCharged,
  // The program is not at fault. Only the budget `lost` pays, which keeps a broken cluster from restarting tasks
  // forever.
  kFree,
};
Charge ChargeOf(const Outcome& outcome);

// Returns the outcome class for the exit of the user's own process, if TonY did not stop the process. Exit code 0 is
// success. The shell's exit codes 126 ("may not be run") and 127 ("not found") are user_config. Every other exit is
// user_error.
OutcomeClass ClassOf(const ExitStatus& exit);

enum class FinalState { kSucceeded, kFailed, kKilled };
constexpr auto NamesOf(FinalState) { return EnumNames("SUCCEEDED", "FAILED", "KILLED"); }

struct Verdict {
  FinalState state = FinalState::kSucceeded;
  OutcomeClass cls = OutcomeClass::kSuccess;
  std::string message;  // the first cause in one line
  // The attempt that failed first; not set if no attempt failed.
  std::optional<AttemptId> attempt;
  // The host on which this attempt ran.
  std::string host;
  std::optional<ExitStatus> exit;
  // The last lines that this attempt wrote, as in Outcome.
  std::string stderr_tail, stdout_tail;
  Advice advice = Advice::kNone;
  bool operator==(const Verdict&) const = default;
};

}  // namespace tony
