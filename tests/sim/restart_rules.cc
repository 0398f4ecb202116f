#include "tests/sim/restart_rules.h"

#include <algorithm>

#include "tests/sim/stage_rules.h"

namespace tony::sim {
namespace {

enum class Price { kNone, kLost, kUsers };  // none: it is not for sale

Price PriceOf(const FailureSeen& failure) {
  using enum OutcomeClass;
  if (failure.advice == Advice::kPermanent) return Price::kNone;
  if (failure.advice == Advice::kTransient) return Price::kLost;
  switch (failure.cls) {
    case kNodeLost:
    case kPreempted:
    case kInfra:
      return Price::kLost;
    case kUserError:
    case kHung:
    case kTimeout:
      return Price::kUsers;
    case kSuccess:
    case kUserConfig:
    case kOom:
    case kKilled:
    case kAbandoned:
    case kSpecInvalid:
    case kAuth:
    case kQuota:
      return Price::kNone;
  }
  return Price::kNone;
}

bool HasRole(const JobSpec& spec, const std::string& name) {
  return std::ranges::any_of(spec.roles, [&](const RoleSpec& role) { return role.name == name; });
}

// Whether the others compute on while it is replaced.
bool StandsAlone(const JobSpec& spec, const RoleSpec& role, bool same_address) {
  if (role.completion == Completion::kSidecar || spec.framework == FrameworkKind::kStandalone) return true;
  if (spec.mode == DistributedMode::kFcfs) return true;
  if (spec.framework == FrameworkKind::kStaged) return same_address && !MustPublish(spec, role.name);
  if (spec.framework != FrameworkKind::kTensorflow) return role.completion != Completion::kTracked && same_address;
  if (role.name == "evaluator") return true;
  return HasRole(spec, "ps") && role.name != "ps" && role.name != "chief" && same_address;
}

RestartScope SmallestFor(const JobSpec& spec, const RoleSpec& role, const FailureSeen& failure) {
  if (!failure.together) return RestartScope::kTask;
  if (role.outlives_restarts && role.restart_scope)
    return *role.restart_scope == RestartScope::kTask ? RestartScope::kTask : RestartScope::kRole;
  if (role.restart_scope) return *role.restart_scope;
  return StandsAlone(spec, role, failure.same_address) ? RestartScope::kTask : RestartScope::kGang;
}

// The first at once, the second after `backoff`, then twice as long each time.
Duration Delay(const RestartRules& rules, int earlier) {
  if (earlier == 0) return Duration(0);
  int64_t delay = rules.backoff.count();
  for (int i = 1; i < earlier; ++i) delay = std::min(delay * 2, rules.longest_backoff.count());
  return Duration(std::min(delay, rules.longest_backoff.count()));
}

template <class Match>
int CountOf(const std::vector<RestartSeen>& past, Duration window, Instant now, Match match) {
  return static_cast<int>(std::ranges::count_if(past, [&](const RestartSeen& restart) {
    const bool too_old = window.count() > 0 && now - restart.time >= window;
    return !too_old && match(restart);
  }));
}

}  // namespace

std::optional<RestartDue> RestartAfter(const JobSpec& spec, const FailureSeen& failure,
                                       const std::vector<RestartSeen>& past, Instant now) {
  const Price price = PriceOf(failure);
  if (price == Price::kNone) return std::nullopt;
  const RoleSpec& role = *spec.FindRole(failure.task.role);
  const RestartScope smallest = SmallestFor(spec, role, failure);
  const RestartBudget& lost = spec.restart.lost;
  const auto is_free = [](const RestartSeen& restart) { return !restart.charged && !restart.gives_back; };
  if (price == Price::kLost && CountOf(past, lost.window, now, is_free) < lost.most) {
    const int of_task =
        CountOf(past, lost.window, now, [&](const RestartSeen& r) { return is_free(r) && r.cause == failure.task; });
    return RestartDue{smallest, false, Delay(spec.restart, of_task)};
  }
  const bool ignored = role.completion == Completion::kSidecar && failure.together;
  for (auto level = static_cast<size_t>(smallest); level < kRestartScopes; ++level) {
    const auto scope = static_cast<RestartScope>(level);
    if (ignored && scope > RestartScope::kRole && scope != smallest) break;  // it disturbs nobody
    const bool own = scope == smallest && role.restarts;
    const int most = own ? *role.restarts : spec.restart.levels[level].most;
    const int used = CountOf(past, spec.restart.levels[level].window, now, [&](const RestartSeen& r) {
      if (!r.charged || r.scope != scope) return false;
      if (scope == RestartScope::kTask) return r.cause == failure.task;
      return (scope != RestartScope::kRole && !own) || r.cause.role == failure.task.role;
    });
    if (used < most) return RestartDue{scope, true, Delay(spec.restart, used)};
  }
  return std::nullopt;
}

}  // namespace tony::sim
