#include "am/core/completion_policy.h"

#include <algorithm>
#include <string>
#include <vector>

#include "runtime/base/check.h"
#include "runtime/base/strings.h"

namespace tony::am {
namespace {

// What says how many failures of the role fail the job.
std::string LimitOf(const RoleSpec& role) {
  if (role.min_failed) return StrCat(role.Key("min-failed"), "=", *role.min_failed);
  return StrCat(role.Key("min-succeeded"), "=", role.min_succeeded);
}

RoleEnds TrackedEnds(const JobSpec& spec, const Ends& ends) {
  RoleEnds sum;
  for (const RoleSpec& role : spec.roles) {
    if (role.completion != Completion::kTracked) continue;
    const RoleEnds of_role = EndsOf(ends, role);
    sum.succeeded += of_role.succeeded;
    sum.failed += of_role.failed;
  }
  return sum;
}

}  // namespace

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

RoleEnds EndsOf(const Ends& ends, const RoleSpec& role) {
  const auto found = ends.find(role.name);
  return found == ends.end() ? RoleEnds() : found->second;
}

bool HasEnough(const RoleSpec& role, const RoleEnds& ends) {
  return role.min_succeeded > 0 && ends.succeeded >= role.min_succeeded;
}

bool IsComplete(const JobSpec& spec, const Ends& ends, const LeftRoles& left) {
  return std::ranges::all_of(spec.roles, [&](const RoleSpec& role) {
    if (role.completion != Completion::kTracked || left.contains(role.name)) return true;
    const RoleEnds of_role = EndsOf(ends, role);
    return HasEnough(role, of_role) || of_role.succeeded + of_role.failed == role.instances;
  });
}

std::optional<Verdict> JudgeFailure(const JobSpec& spec, const Ends& before, const EarlierFailures& earlier,
                                    const EndedTask& last) {
  const TaskId& task = last.attempt.task;
  const RoleSpec* role = spec.FindRole(task.role);
  CHECK(role != nullptr);
  const bool tonys = spec.completion_rule == CompletionRule::kTony;
  const int of_role = EndsOf(before, *role).failed + 1;
  const bool too_many = role->FailsAt() > 0 && of_role >= role->FailsAt();
  if (too_many && of_role > 1) {
    Verdict verdict = FailedBy(earlier.first_of_role.value_or(last));
    verdict.message += StrCat("; ", of_role, " of ", role->instances, " tasks of role ", role->name, " have failed (",
                              LimitOf(*role), "), the last was ", ToString(task));
    return verdict;
  }
  if (too_many || (tonys && spec.IsChief(task))) {
    Verdict verdict = FailedBy(last);
    if (earlier.first) verdict.message += StrCat("; before it ", DescribeFailure(*earlier.first));
    return verdict;
  }
  const int failed = TrackedEnds(spec, before).failed + (role->completion == Completion::kTracked ? 1 : 0);
  if (!tonys || failed < spec.TrackedTasks()) return std::nullopt;
  Verdict verdict = FailedBy(earlier.first.value_or(last));
  if (failed > 1) verdict.message += StrCat("; all ", failed, " tracked tasks have failed");
  return verdict;
}

Verdict SuccessOf(const JobSpec& spec, const Ends& ends, const std::optional<EndedTask>& first, const LeftRoles& left) {
  Verdict verdict{
      .state = FinalState::kSucceeded, .cls = OutcomeClass::kSuccess, .message = "all tracked tasks succeeded"};
  const RoleEnds tracked = TrackedEnds(spec, ends);
  const int all = spec.TrackedTasks();
  if (tracked.succeeded < all) verdict.message = StrCat(tracked.succeeded, " of ", all, " tracked tasks succeeded");
  int failed = 0;
  for (const auto& [role, of_role] : ends) failed += of_role.failed;
  if (failed > 0) verdict.message += StrCat("; ", failed, failed == 1 ? " task" : " tasks", " failed");
  if (failed > 0 && first) verdict.message += StrCat(failed == 1 ? ": " : ", the first: ", DescribeFailure(*first));
  int unneeded = all - tracked.succeeded - tracked.failed;
  std::vector<std::string> ignored;
  for (const RoleSpec& role : spec.roles) {
    const RoleEnds of_role = EndsOf(ends, role);
    const int more = role.instances - of_role.succeeded - of_role.failed;
    if (role.completion != Completion::kTracked || !left.contains(role.name) || more == 0) continue;
    unneeded -= more;
    ignored.push_back(role.name);
  }
  if (unneeded > 0) verdict.message += StrCat("; ", unneeded, unneeded == 1 ? " was" : " were", " not needed");
  if (!ignored.empty())
    verdict.message += StrCat("; those of ", Join(ignored, ", "), " ran on for too long, and were to be ignored then");
  return verdict;
}

std::string DescribeEnough(const RoleSpec& role, const RoleEnds& ends) {
  return StrCat(ends.succeeded, " of ", role.instances, " tasks of role ", role.name, " have succeeded (",
                role.Key("min-succeeded"), "=", role.min_succeeded, ")");
}

}  // namespace tony::am
