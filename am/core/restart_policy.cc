#include <algorithm>

#include "am/core/restarts.h"
#include "runtime/base/check.h"
#include "runtime/base/strings.h"
#include "runtime/framework/framework.h"

namespace tony::am {
namespace {

class Planner {
 public:
  Planner(const JobSpec& spec, const FailedTask& failed, std::span<const PastRestart> past, Instant now)
      : spec_(spec), failed_(failed), role_(*spec.FindRole(failed.ended.attempt.task.role)), past_(past), now_(now) {}

  std::variant<RestartPlan, NoRestart> Plan() const {
    switch (ChargeOf(*failed_.ended.outcome)) {
      case Charge::kNever:
        return NoRestart{};
      case Charge::kFree:
        if (const int used = CountFree(spec_.restart.lost.window); used < spec_.restart.lost.most) {
          return RestartPlan{Smallest(), false, BackOff(CountFreeOfTask())};
        }
        return Charged();
      case Charge::kCharged:
        return Charged();
    }
    CHECK(false);
  }

 private:
  std::variant<RestartPlan, NoRestart> Charged() const {
    std::string used_up;
    for (int level = static_cast<int>(Smallest()); level <= static_cast<int>(Largest()); ++level) {
      const auto scope = static_cast<RestartScope>(level);
      const RestartBudget budget = BudgetOf(scope);
      const int used = CountCharged(scope, budget.window);
      if (used < budget.most) return RestartPlan{scope, true, BackOff(used)};
      if (budget.most > 0)
        used_up += StrCat(used_up.empty() ? "" : ", ", ToString(scope), " ", used, " of ", budget.most);
    }
    if (used_up.empty()) return NoRestart{};
    return NoRestart{StrCat("restart budget used up: ", used_up)};
  }

  RestartScope Smallest() const {
    if (!failed_.gang_has_formed) return RestartScope::kTask;
    return SmallestRestart(spec_, role_, failed_.same_address);
  }

  // An ignored failure of a sidecar must not restart tasks that compute, so the largest scope is the sidecar's role.
  // Only single tasks restart in a role with max_parallel, because its ended tasks have given up their places.
  RestartScope Largest() const {
    if (role_.max_parallel != 0) return RestartScope::kTask;
    if (spec_.HasMaxParallel()) return RestartScope::kRole;
    const bool is_ignored = role_.completion == Completion::kSidecar && failed_.gang_has_formed;
    return is_ignored ? std::max(Smallest(), RestartScope::kRole) : RestartScope::kJob;
  }

  RestartBudget BudgetOf(RestartScope scope) const {
    RestartBudget budget = spec_.restart.levels[static_cast<size_t>(scope)];
    if (HasOwn(scope)) budget.most = *role_.restarts;
    return budget;
  }

  // Returns true if the role has its own budget for this scope. A role's own budget applies to the smallest scope in
  // which the role can restart. It replaces the job's budget for this scope, and counts only restarts that the role's
  // tasks caused.
  bool HasOwn(RestartScope scope) const { return role_.restarts && scope == Smallest(); }

  bool Counts(const PastRestart& restart, Duration window) const {
    return window == Duration(0) || now_ - restart.time < window;
  }

  int CountCharged(RestartScope scope, Duration window) const {
    const TaskId& task = failed_.ended.attempt.task;
    return static_cast<int>(std::ranges::count_if(past_, [&](const PastRestart& restart) {
      if (!restart.charged || restart.scope != scope || !Counts(restart, window)) return false;
      if (scope == RestartScope::kTask) return restart.cause == task;
      if (scope == RestartScope::kRole || HasOwn(scope)) return restart.cause.role == task.role;
      return true;
    }));
  }

  static bool IsFree(const PastRestart& restart) { return !restart.charged && !restart.gives_back; }

  int CountFree(Duration window) const {
    return static_cast<int>(std::ranges::count_if(
        past_, [&](const PastRestart& restart) { return IsFree(restart) && Counts(restart, window); }));
  }

  int CountFreeOfTask() const {
    return static_cast<int>(std::ranges::count_if(past_, [&](const PastRestart& restart) {
      return IsFree(restart) && restart.cause == failed_.ended.attempt.task &&
             Counts(restart, spec_.restart.lost.window);
    }));
  }

  Duration BackOff(int earlier) const {
    if (earlier == 0) return Duration(0);
    Duration delay = spec_.restart.backoff;
    for (int i = 1; i < earlier; ++i) delay = std::min(delay * 2, spec_.restart.longest_backoff);
    return std::min(delay, spec_.restart.longest_backoff);
  }

  const JobSpec& spec_;
  const FailedTask& failed_;
  const RoleSpec& role_;
  const std::span<const PastRestart> past_;
  const Instant now_;
};

}  // namespace

RestartScope SmallestRestart(const JobSpec& spec, const RoleSpec& role, bool same_address) {
  if (role.max_parallel != 0) return RestartScope::kTask;
  const RestartScope scope = role.restart_scope.value_or(SmallestScope(spec, role, same_address));
  return role.outlives_restarts ? std::min(scope, RestartScope::kRole) : scope;
}

std::variant<RestartPlan, NoRestart> PlanRestart(const JobSpec& spec, const FailedTask& failed,
                                                 std::span<const PastRestart> past, Instant now) {
  return Planner(spec, failed, past, now).Plan();
}

}  // namespace tony::am
