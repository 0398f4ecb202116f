#include "runtime/job/job_spec.h"

#include <algorithm>

#include "runtime/base/check.h"
#include "runtime/base/strings.h"

namespace tony {

std::string_view ToString(FrameworkKind kind) {
  switch (kind) {
    case FrameworkKind::kStandalone:
      return "standalone";
    case FrameworkKind::kTensorflow:
      return "tensorflow";
    case FrameworkKind::kPytorch:
      return "pytorch";
    case FrameworkKind::kJax:
      return "jax";
    case FrameworkKind::kLightgbm:
      return "lightgbm";
    case FrameworkKind::kXgboost:
      return "xgboost";
    case FrameworkKind::kStaged:
      return "staged";
  }
  CHECK(false);
}

std::string_view ToString(Completion completion) {
  switch (completion) {
    case Completion::kTracked:
      return "tracked";
    case Completion::kUntracked:
      return "untracked";
    case Completion::kSidecar:
      return "sidecar";
  }
  CHECK(false);
}

std::string_view ToString(CompletionRule rule) {
  switch (rule) {
    case CompletionRule::kStrict:
      return "strict";
    case CompletionRule::kTony:
      return "tony";
  }
  CHECK(false);
}

std::optional<CompletionRule> CompletionRuleFromString(std::string_view text) {
  for (const auto rule : {CompletionRule::kStrict, CompletionRule::kTony}) {
    if (ToString(rule) == text) return rule;
  }
  return std::nullopt;
}

std::string_view ToString(Background background) {
  switch (background) {
    case Background::kAuto:
      return "auto";
    case Background::kEnd:
      return "end";
    case Background::kWait:
      return "wait";
    case Background::kFail:
      return "fail";
  }
  CHECK(false);
}

std::optional<Background> BackgroundFromString(std::string_view text) {
  for (const auto background : {Background::kAuto, Background::kEnd, Background::kWait, Background::kFail}) {
    if (ToString(background) == text) return background;
  }
  return std::nullopt;
}

std::string_view ToString(DistributedMode mode) {
  switch (mode) {
    case DistributedMode::kGang:
      return "GANG";
    case DistributedMode::kFcfs:
      return "FCFS";
  }
  CHECK(false);
}

std::optional<DistributedMode> DistributedModeFromString(std::string_view text) {
  using enum DistributedMode;
  for (const auto mode : {kGang, kFcfs}) {
    if (ToLower(ToString(mode)) == ToLower(text)) return mode;
  }
  return std::nullopt;
}

bool IsFileName(std::string_view name) {
  return !name.empty() && name != "." && name != ".." && name.find('/') == std::string_view::npos &&
         name.find('\0') == std::string_view::npos;
}

bool IsTonysOwnFile(std::string_view name) {
  return name == "tony-error.json" || name == "tony-hostfile" || name == "tony-output.json";
}

std::string_view ToString(RestartScope scope) {
  switch (scope) {
    case RestartScope::kTask:
      return "task";
    case RestartScope::kRole:
      return "role";
    case RestartScope::kGang:
      return "gang";
    case RestartScope::kJob:
      return "job";
  }
  CHECK(false);
}

std::optional<RestartScope> RestartScopeFromString(std::string_view text) {
  using enum RestartScope;
  for (const auto scope : {kTask, kRole, kGang, kJob}) {
    if (ToString(scope) == text) return scope;
  }
  return std::nullopt;
}

std::optional<FrameworkKind> FrameworkKindFromString(std::string_view text) {
  using enum FrameworkKind;
  for (const auto kind : {kStandalone, kTensorflow, kPytorch, kJax, kLightgbm, kXgboost, kStaged}) {
    if (ToString(kind) == text) return kind;
  }
  return std::nullopt;
}

std::string_view ToString(Placement placement) {
  switch (placement) {
    case Placement::kPack:
      return "pack";
    case Placement::kSpread:
      return "spread";
  }
  CHECK(false);
}

std::optional<Placement> PlacementFromString(std::string_view text) {
  for (const auto placement : {Placement::kPack, Placement::kSpread}) {
    if (ToString(placement) == text) return placement;
  }
  return std::nullopt;
}

std::string_view ToString(Dependency::Until until) {
  switch (until) {
    case Dependency::Until::kSucceeded:
      return "succeeded";
    case Dependency::Until::kReady:
      return "ready";
  }
  CHECK(false);
}

std::optional<Dependency::Until> UntilFromString(std::string_view text) {
  for (const auto until : {Dependency::Until::kSucceeded, Dependency::Until::kReady}) {
    if (ToString(until) == text) return until;
  }
  return std::nullopt;
}

std::optional<Completion> CompletionFromString(std::string_view text) {
  using enum Completion;
  for (const auto completion : {kTracked, kUntracked, kSidecar}) {
    if (ToString(completion) == text) return completion;
  }
  return std::nullopt;
}

Duration CallLimit(const Timers& timers) { return std::min(Duration(5000), timers.record_fresh); }

std::string RoleSpec::Key(std::string_view what) const {
  return StrCat(key_prefix.empty() ? StrCat("tony.", name) : key_prefix, ".", what);
}

std::string Outliving::Key(std::string_view role) const {
  return StrCat("tony.application.dependency.", role, ".timeout.after.", group);
}

int RoleSpec::FailsAt() const {
  if (min_failed) return *min_failed;
  if (min_succeeded > 0) return instances - min_succeeded + 1;
  return completion == Completion::kSidecar ? 0 : 1;
}

const RoleSpec* JobSpec::FindRole(std::string_view role) const {
  for (const auto& candidate : roles) {
    if (candidate.name == role) return &candidate;
  }
  return nullptr;
}

bool JobSpec::AsksForGpus() const {
  return std::ranges::any_of(roles, [](const RoleSpec& role) { return role.resources.gpus > 0; });
}

// Elsewhere a job has all it needs from its beginning to its end.
Duration JobSpec::LongestHold() const { return scheduler == kYarnScheduler ? yarn.gang_hold : Duration(0); }

int JobSpec::ProcessesOf(std::string_view role) const {
  const RoleSpec* found = FindRole(role);
  return found ? found->processes : 1;
}

int JobSpec::TotalTasks() const {
  int total = 0;
  for (const auto& role : roles) total += role.instances;
  return total;
}

int JobSpec::TrackedTasks() const {
  int total = 0;
  for (const auto& role : roles) {
    if (role.completion == Completion::kTracked) total += role.instances;
  }
  return total;
}

bool JobSpec::IsChief(const TaskId& task) const {
  if (task.index != 0) return false;
  return task.role == (FindRole("chief") ? "chief" : "worker") && FindRole(task.role);
}

}  // namespace tony
