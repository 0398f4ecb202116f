#include "am/completion_policy.h"

#include "runtime/base/check.h"
#include "runtime/base/strings.h"

namespace tony::am {
Verdict FailedBy(const EndedTask& task) {
  return {.state = FinalState::kFailed,
          .cls = task.outcome->cls,
          .message = DescribeFailure(task),
          .attempt = task.attempt,
          .host = task.host,
          .exit = task.outcome->exit,
          .stderr_tail = task.outcome->stderr_tail,
          .stdout_tail = task.outcome->stdout_tail,
          .advice = task.outcome->advice};
}

Verdict JudgeEarlyEnd(const EndedTask& last) {
  if (!last.outcome->Succeeded()) return FailedBy(last);
  const Outcome too_early{
      .cls = OutcomeClass::kInfra, .exit = last.outcome->exit, .message = "it ended before the gang had formed"};
  return FailedBy({last.attempt, last.host, &too_early});
}

std::string DescribeFailure(const EndedTask& task) {
  const Outcome& outcome = *task.outcome;
  std::string text = StrCat(ToString(task.attempt.task), " failed");
  if (!task.host.empty()) text += StrCat(" on ", task.host);
  if (const std::string exit = DescribeExit(outcome); !exit.empty()) text += StrCat(": ", exit);
  if (!outcome.message.empty()) text += StrCat(": ", outcome.message);
  return StrCat(text, " (", ToString(outcome.cls), ")");
}

std::optional<Verdict> JudgeEnd(const JobSpec& spec, const EndedTask& last, int succeeded_tracked) {
  const RoleSpec* role = spec.FindRole(last.attempt.task.role);
  CHECK(role != nullptr);
  switch (role->completion) {
    case Completion::kSidecar:
      return std::nullopt;
    case Completion::kUntracked:
      if (!last.outcome->Succeeded()) return FailedBy(last);
      return std::nullopt;
    case Completion::kTracked:
      if (!last.outcome->Succeeded()) return FailedBy(last);
      if (succeeded_tracked < spec.TrackedTasks()) return std::nullopt;
      return Verdict{
          .state = FinalState::kSucceeded, .cls = OutcomeClass::kSuccess, .message = "all tracked tasks succeeded"};
  }
  return std::nullopt;
}

}  // namespace tony::am
