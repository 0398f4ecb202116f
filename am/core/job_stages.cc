// The policy of stages: tasks that start when those before them have published what they are to know.
#include <algorithm>
#include <climits>

#include "am/core/job.h"
#include "runtime/base/strings.h"
#include "runtime/framework/framework.h"
#include "runtime/job/dependencies.h"

namespace tony::am {

std::optional<DecisionBody> Job::NextStage() const {
  if (state_ != JobState::kRunning || held_.empty()) return std::nullopt;
  const int stage = held_.begin()->first;
  if (stage > 0) {
    if (!unpublished_.empty() && unpublished_.begin()->first < stage) return std::nullopt;
    return StageOpened{.stage = stage};
  }
  for (auto held = held_.begin(); held != held_.end();) {
    const std::string& role = held->second.task.role;
    if (IsReady(*spec_.FindRole(role))) return StageOpened{.role = role};
    held = held_.upper_bound({stage, AttemptId{{role, INT_MAX}, INT_MAX}});
  }
  return std::nullopt;
}

bool Job::IsReady(const RoleSpec& role) const {
  return std::ranges::none_of(role.depends_on, [&](const Dependency& dependency) {
    return std::ranges::any_of(unpublished_, [&](const auto& by) { return by.second.role == dependency.role; });
  });
}

bool Job::HasSucceeded(const std::string& role) const {
  const RoleEnds ends = EndsOf(ends_, *spec_.FindRole(role));
  return finished_.contains(role) || ends.succeeded + ends.failed == spec_.FindRole(role)->instances;
}

// Who only waits for others to be ready has its container as early as they.
std::vector<AttemptId> Job::MayOpen() const {
  std::vector<AttemptId> attempts;
  for (const std::string& name : closed_) {
    const bool waits = std::ranges::any_of(
        prepares_, [&](const std::string& other) { return !HasSucceeded(other) && IsBefore(spec_, other, name); });
    if (waits) continue;
    for (int index = 0; index < spec_.FindRole(name)->instances; ++index) attempts.push_back({{name, index}, 1});
  }
  return attempts;
}

std::optional<DecisionBody> Job::NextRoles() const {
  if (closed_.empty()) return std::nullopt;
  std::vector<AttemptId> attempts = MayOpen();
  if (attempts.empty()) return std::nullopt;
  return ContainersRequested{std::move(attempts)};
}

int Job::GangSize() const {
  int size = static_cast<int>(tasks_.size());
  for (const std::string& role : closed_) size -= spec_.FindRole(role)->instances;
  for (const std::string& role : prepares_)
    if (IsSettled(role)) size -= spec_.FindRole(role)->instances;
  return size;
}

bool Job::HasFormed(const Attempt& attempt) const {
  return IsFormed(attempt.id.task) && !openings_.contains(attempt.opening);
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
