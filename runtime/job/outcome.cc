#include "runtime/job/outcome.h"

#include <array>

#include "runtime/base/check.h"
#include "runtime/base/strings.h"
#include "runtime/job/job_fields.h"
#include "runtime/job/json_fields.h"

namespace tony {
namespace {

// The table of outcome classes, which workflow engines rely on. `retryable` answers an engine's question: can the same
// job end better if it is submitted again unchanged? The engine's own setting decides how often to try. A failing user
// program is therefore retryable, because every engine retries a failed step unless it is configured not to.
struct OutcomeRow {
  OutcomeClass cls;
  bool retryable;
  Charge charge;
  std::string_view meaning;
};
constexpr std::array kOutcomes = {
    OutcomeRow{OutcomeClass::kSuccess, false, Charge::kNever, "all tasks that had to succeed have succeeded"},
    OutcomeRow{OutcomeClass::kUserError, true, Charge::kCharged,
               "the program failed; the workflow engine's own setting decides whether the step is retried"},
    OutcomeRow{OutcomeClass::kUserConfig, false, Charge::kNever,
               "the command cannot be run or found, or a setting of the job is wrong"},
    OutcomeRow{OutcomeClass::kOom, false, Charge::kNever,
               "the task used more memory than it requested, or than the machine has; the same request would run out "
               "of memory again"},
    OutcomeRow{OutcomeClass::kNodeLost, true, Charge::kFree, "a node or executor was lost; another one may work"},
    OutcomeRow{OutcomeClass::kPreempted, true, Charge::kFree, "the resources went to a job of higher priority"},
    OutcomeRow{OutcomeClass::kInfra, true, Charge::kFree, "a fault of TonY or of the cluster"},
    OutcomeRow{OutcomeClass::kHung, true, Charge::kCharged,
               "a task made no progress, most often because of a lost peer or a stuck device"},
    OutcomeRow{OutcomeClass::kTimeout, true, Charge::kCharged,
               "a time limit has passed, perhaps while the job waited for resources"},
    OutcomeRow{OutcomeClass::kKilled, false, Charge::kNever, "a person or a program requested the end of the job"},
    OutcomeRow{OutcomeClass::kAbandoned, true, Charge::kNever,
               "no client watched the job during its whole watch timeout; a workflow engine that is back may submit "
               "the job again"},
    // Attempts never have these classes. They are for submissions that are refused, and for jobs that a scheduler
    // refuses.
    OutcomeRow{OutcomeClass::kSpecInvalid, false, Charge::kNever,
               "the job's properties were refused, and would be refused again"},
    OutcomeRow{OutcomeClass::kAuth, false, Charge::kNever,
               "the job or its user lacks a permission, which an "
               "administrator has to grant"},
    OutcomeRow{OutcomeClass::kQuota, true, Charge::kNever, "a queue or quota is full; it may have room later"},
};

const OutcomeRow& RowOf(OutcomeClass c) {
  const auto row = static_cast<size_t>(c);
  CHECK(row < kOutcomes.size() && kOutcomes[row].cls == c);
  return kOutcomes[row];
}

// Exit codes of a shell for a command that it may not run, or cannot find.
constexpr int kNotExecutable = 126;
constexpr int kNotFound = 127;

}  // namespace

std::string_view MeaningOf(OutcomeClass c) { return RowOf(c).meaning; }

std::vector<OutcomeClass> AllOutcomeClasses() {
  std::vector<OutcomeClass> all;
  for (const auto& row : kOutcomes) all.push_back(row.cls);
  return all;
}

bool IsRetryable(OutcomeClass c, Advice advice) {
  return advice == Advice::kNone ? RowOf(c).retryable : advice == Advice::kTransient;
}

std::string ToJson(const Outcome& outcome) { return WriteJson(outcome); }

Result<Outcome> OutcomeFromJson(std::string_view text) { return ReadJson<Outcome>(text, "outcome"); }

std::string DescribeExit(const Outcome& outcome) {
  const std::string exit = outcome.exit ? ToString(*outcome.exit) : "";
  if (!outcome.process) return exit;
  return StrCat("process ", *outcome.process, exit.empty() ? "" : ": ", exit);
}

Charge ChargeOf(const Outcome& outcome) {
  if (outcome.Succeeded() || outcome.advice == Advice::kPermanent) return Charge::kNever;
  return outcome.advice == Advice::kTransient ? Charge::kFree : RowOf(outcome.cls).charge;
}

OutcomeClass ClassOf(const ExitStatus& exit) {
  if (exit.Succeeded()) return OutcomeClass::kSuccess;
  if (exit.kind == ExitStatus::Kind::kSignaled) return OutcomeClass::kUserError;
  return exit.value == kNotExecutable || exit.value == kNotFound ? OutcomeClass::kUserConfig : OutcomeClass::kUserError;
}

}  // namespace tony
