// What an attempt's processes used, as its executor measured it: the whole tree, from the start to the newest sample.
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
  int64_t memory_bytes = 0;  // newest, of the attempt's GPUs together
  int64_t most_memory_bytes = 0;
  int percent = 0;  // newest, mean and most of the GPUs' mean utilisation
  int mean_percent = 0;
  int most_percent = 0;
  bool operator==(const GpuUsage&) const = default;
};

// Memory is resident: what each process has for itself, and what they share once.
struct Usage {
  int samples = 0;
  int64_t memory_bytes = 0;  // newest
  int64_t mean_memory_bytes = 0;
  int64_t most_memory_bytes = 0;
  Duration cpu{0};         // user and system time, ended processes included
  int64_t millicores = 0;  // since the sample before: 1000 is one core
  int64_t most_millicores = 0;
  Duration elapsed{0};  // since the start of the attempt's process; cpu / elapsed is the mean
  Duration quiet{0};    // since it last wrote to its stdout or stderr, or started
  std::optional<GpuUsage> gpu;
  bool operator==(const Usage&) const = default;
};

// Why an attempt ended, and why the job ended.

// The contract's outcome classes. Names in JSON and on the wire are those of ToString().
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
std::string_view MeaningOf(OutcomeClass c);  // one clause for a person
std::vector<OutcomeClass> AllOutcomeClasses();

// What the user's program, or a rule about it, says of trying again.
enum class Advice {
  kNone,       // the class decides
  kTransient,  // try again, at nobody's charge
  kPermanent,  // do not
};
constexpr auto NamesOf(Advice) { return EnumNames("none", "transient", "permanent"); }

// Whether a workflow engine may sensibly submit the job again.
bool IsRetryable(OutcomeClass c, Advice advice = Advice::kNone);

// What a failure says of its own cause.
enum class Source {
  kItself,  // nothing: it may be the cause
  kPeer,    // its connection to another task broke, so that task's end is the cause
  kSignal,  // it was told to end by a signal; who sent it, the program itself or a stranger, cannot be known
};
constexpr auto NamesOf(Source) { return EnumNames("itself", "peer", "signal"); }

struct Outcome {
  OutcomeClass cls = OutcomeClass::kSuccess;
  std::optional<ExitStatus> exit;  // absent if no process ran, or nobody saw it end
  std::string message;             // what a person should know beside the exit status; may be empty
  std::string stderr_tail;         // when it failed: the last traceback and the last lines of the attempt's stderr
  std::string stdout_tail = {};    // the last lines of its stdout, where stderr does not say what was wrong
  Advice advice = Advice::kNone;
  Source source = Source::kItself;
  std::optional<Usage> usage;       // nothing: not measured
  std::optional<int> process = {};  // whose exit and last lines these are, where a task has several and it failed
  bool Succeeded() const { return cls == OutcomeClass::kSuccess; }
  bool operator==(const Outcome&) const = default;
};

// As it stands in status documents (job_fields.h).
std::string ToJson(const Outcome& outcome);
Result<Outcome> OutcomeFromJson(std::string_view json);

// "process 2: exit code 3"; of a task with one process its exit alone. Empty: neither is known.
std::string DescribeExit(const Outcome& outcome);

// What pays for a restart after such an end.
enum class Charge {
  kNever,    // there is none: it would end the same way, or a person wants it so
  kCharged,  // the budget of the user's program
  kFree,     // not the program's fault: only the budget that keeps a broken cluster from restarting for ever
};
Charge ChargeOf(const Outcome& outcome);

// From the end of the user's own process, which nobody asked to stop. 126 and 127 are the shell's "may not be run"
// and "not found": user_config; anything else but 0: user_error.
OutcomeClass ClassOf(const ExitStatus& exit);

enum class FinalState { kSucceeded, kFailed, kKilled };
constexpr auto NamesOf(FinalState) { return EnumNames("SUCCEEDED", "FAILED", "KILLED"); }

struct Verdict {
  FinalState state = FinalState::kSucceeded;
  OutcomeClass cls = OutcomeClass::kSuccess;
  std::string message;               // the first cause in one line
  std::optional<AttemptId> attempt;  // whose failure came first
  std::string host;                  // where it ran
  std::optional<ExitStatus> exit;
  std::string stderr_tail, stdout_tail;  // as in its outcome
  Advice advice = Advice::kNone;
  bool operator==(const Verdict&) const = default;
};

}  // namespace tony
