// The policy of stages: tasks that start when those before them have published what they are to know.
#include <algorithm>

#include "am/job.h"
#include "runtime/base/strings.h"
#include "runtime/framework/framework.h"

namespace tony::am {

std::optional<DecisionBody> Job::NextStage() const {
  if (state_ != JobState::kRunning || held_.empty()) return std::nullopt;
  const int stage = held_.begin()->first;
  if (!unpublished_.empty() && unpublished_.begin()->first < stage) return std::nullopt;
  return StageOpened{stage};
}

bool Job::HasPublished(const Attempt& attempt) const {
  return std::ranges::all_of(AwaitedValues(spec_, attempt.id.task),
                             [&](const std::string& name) { return attempt.values.contains(name); });
}

Decided Job::OnPublish(const PublishCall& call, Instant now) {
  Decided out = Hear(call.caller, now);
  if (out.refusal) return out;
  const Attempt& attempt = *Find(call.caller.attempt);
  if (IsFinal(attempt.state)) return out;  // too late to count, and the executor need not ask again
  if (attempt.generation.value == 0) return {.refusal = Refusal{RefusalReason::kBadRequest, "not told to start"}};
  ValuesPublished fresh{.attempt = attempt.id};
  for (const std::string& name : ValueNames(spec_, attempt.id.task)) {
    const auto value = call.values.find(name);
    if (value != call.values.end() && !attempt.values.contains(name)) fresh.values.insert(*value);
  }
  if (!fresh.values.empty()) out.decisions.push_back(std::move(fresh));
  return out;
}

// A success that leaves others waiting for ever is none.
Outcome Job::WithoutValues(const Attempt& attempt, Outcome outcome, OutcomeClass if_missing) const {
  const bool counts =
      !verdict_ && attempt.generation.value > 0 && tasks_.at(attempt.id.task).state == TaskState::kActive;
  if (!counts || !outcome.Succeeded() || HasPublished(attempt)) return outcome;
  outcome.cls = if_missing;
  outcome.message = StrCat("it ended without having published ", Join(AwaitedValues(spec_, attempt.id.task), ", "),
                           ", for which others wait");
  return outcome;
}

std::string Job::MissingValues() const {
  std::vector<std::string> missing;
  for (const auto& [by, id] : publishing_)
    missing.push_back(StrCat(ToString(id.task), " (", Join(AwaitedValues(spec_, id.task), ", "), ")"));
  return Join(missing, ", ");
}

}  // namespace tony::am
