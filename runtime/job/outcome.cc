#include "runtime/job/outcome.h"

#include <array>

#include "runtime/base/check.h"
#include "runtime/base/strings.h"
#include "runtime/job/job_fields.h"
#include "runtime/job/json_fields.h"

namespace tony {
namespace {

// The contract's table of outcome classes. `retryable` answers an engine that asks "may the same job, submitted again
// unchanged, sensibly end better?". How often to try is the engine's own setting: a failing user program is therefore
// retryable, as every engine retries a failed step unless it is told not to.
struct OutcomeRow {
  OutcomeClass cls;
  std::string_view name;
  bool retryable;
  Charge charge;
  std::string_view meaning;
};
constexpr std::array kOutcomes = {
    OutcomeRow{OutcomeClass::kSuccess, "success", false, Charge::kNever, "what had to end well did"},
    OutcomeRow{OutcomeClass::kUserError, "user_error", true, Charge::kCharged,
               "the program failed; the engine's own retries decide"},
    OutcomeRow{OutcomeClass::kUserConfig, "user_config", false, Charge::kNever,
               "the command cannot be run or found, or a setting of the job is wrong"},
    OutcomeRow{OutcomeClass::kOom, "oom", false, Charge::kNever,
               "more memory than was asked for or than there is; the same ask would run out of it again"},
    OutcomeRow{OutcomeClass::kNodeLost, "node_lost", true, Charge::kFree,
               "a node or executor was lost; another may live"},
    OutcomeRow{OutcomeClass::kPreempted, "preempted", true, Charge::kFree,
               "the resources went to somebody of higher priority"},
    OutcomeRow{OutcomeClass::kInfra, "infra", true, Charge::kFree, "TonY's or the cluster's fault"},
    OutcomeRow{OutcomeClass::kHung, "hung", true, Charge::kCharged,
               "a task made no progress: a lost peer or a stuck device, mostly"},
    OutcomeRow{OutcomeClass::kTimeout, "timeout", true, Charge::kCharged,
               "a time limit has passed, maybe while waiting for resources"},
    OutcomeRow{OutcomeClass::kKilled, "killed", false, Charge::kNever, "somebody asked for its end"},
    OutcomeRow{OutcomeClass::kAbandoned, "abandoned", true, Charge::kNever,
               "nobody has watched it for as long as its watch timeout; an engine that is back may run it again"},
    // No attempt ends of these; a submit is refused for them, or a scheduler refuses the job.
    OutcomeRow{OutcomeClass::kSpecInvalid, "spec_invalid", false, Charge::kNever,
               "the job's properties were refused, and would be again"},
    OutcomeRow{OutcomeClass::kAuth, "auth", false, Charge::kNever, "not permitted; a person has to permit it"},
    OutcomeRow{OutcomeClass::kQuota, "quota", true, Charge::kNever,
               "a queue or quota has no room; others may leave some"},
};

struct AdviceRow {
  Advice advice;
  std::string_view name;
};
constexpr std::array kAdvices = {
    AdviceRow{Advice::kNone, "none"},
    AdviceRow{Advice::kTransient, "transient"},
    AdviceRow{Advice::kPermanent, "permanent"},
};

struct SourceRow {
  Source source;
  std::string_view name;
};
constexpr std::array kSources = {
    SourceRow{Source::kItself, "itself"},
    SourceRow{Source::kPeer, "peer"},
    SourceRow{Source::kSignal, "signal"},
};

struct FinalStateRow {
  FinalState state;
  std::string_view name;
};
constexpr std::array kFinalStates = {
    FinalStateRow{FinalState::kSucceeded, "SUCCEEDED"},
    FinalStateRow{FinalState::kFailed, "FAILED"},
    FinalStateRow{FinalState::kKilled, "KILLED"},
};

const OutcomeRow& RowOf(OutcomeClass c) {
  const auto row = static_cast<size_t>(c);
  CHECK(row < kOutcomes.size() && kOutcomes[row].cls == c);
  return kOutcomes[row];
}

// What a shell says of a command that it may not run, or cannot find.
constexpr int kNotExecutable = 126;
constexpr int kNotFound = 127;

}  // namespace

std::string_view ToString(OutcomeClass c) { return RowOf(c).name; }

std::string_view MeaningOf(OutcomeClass c) { return RowOf(c).meaning; }

std::vector<OutcomeClass> AllOutcomeClasses() {
  std::vector<OutcomeClass> all;
  for (const auto& row : kOutcomes) all.push_back(row.cls);
  return all;
}

std::optional<OutcomeClass> OutcomeClassFromString(std::string_view text) {
  for (const auto& row : kOutcomes) {
    if (row.name == text) return row.cls;
  }
  return std::nullopt;
}

bool IsRetryable(OutcomeClass c, Advice advice) {
  return advice == Advice::kNone ? RowOf(c).retryable : advice == Advice::kTransient;
}

std::string_view ToString(Advice advice) {
  const auto row = static_cast<size_t>(advice);
  CHECK(row < kAdvices.size() && kAdvices[row].advice == advice);
  return kAdvices[row].name;
}

std::optional<Advice> AdviceFromString(std::string_view text) {
  for (const auto& row : kAdvices) {
    if (row.name == text) return row.advice;
  }
  return std::nullopt;
}

std::string_view ToString(Source source) {
  const auto row = static_cast<size_t>(source);
  CHECK(row < kSources.size() && kSources[row].source == source);
  return kSources[row].name;
}

std::optional<Source> SourceFromString(std::string_view text) {
  for (const auto& row : kSources) {
    if (row.name == text) return row.source;
  }
  return std::nullopt;
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

std::string_view ToString(FinalState state) {
  const auto row = static_cast<size_t>(state);
  CHECK(row < kFinalStates.size() && kFinalStates[row].state == state);
  return kFinalStates[row].name;
}

std::optional<FinalState> FinalStateFromString(std::string_view text) {
  for (const auto& row : kFinalStates) {
    if (row.name == text) return row.state;
  }
  return std::nullopt;
}

}  // namespace tony
