#include "tests/sim/job_rules.h"

#include <algorithm>
#include <limits>

#include "runtime/base/strings.h"

namespace tony::sim {
namespace {

using Until = Dependency::Until;

const RoleSpec& RoleIn(const JobSpec& spec, const std::string& name) {
  return *std::ranges::find(spec.roles, name, &RoleSpec::name);
}

}  // namespace

int StageRule(const JobSpec& spec, const std::string& role) {
  if (spec.framework != FrameworkKind::kStaged || spec.mode == DistributedMode::kFcfs || role == "driver") return 0;
  return role == "ps" ? 1 : 2;
}

bool IsReadyFor(const JobSpec& spec, const std::string& publisher, const std::string& role) {
  const auto& all = RoleIn(spec, role).depends_on;
  return std::ranges::count(all, Dependency{publisher, Until::kReady}) > 0;
}

bool WaitsForReady(const JobSpec& spec, const std::string& role) {
  return std::ranges::count(RoleIn(spec, role).depends_on, Until::kReady, &Dependency::until) > 0;
}

bool MustPublish(const JobSpec& spec, const std::string& role) {
  const bool is_early = spec.framework == FrameworkKind::kStaged && (role == "driver" || role == "ps");
  return std::ranges::any_of(spec.roles, [&](const RoleSpec& other) {
    return (is_early && StageRule(spec, other.name) > StageRule(spec, role)) || IsReadyFor(spec, role, other.name);
  });
}

std::string PublishedBy(const JobSpec& spec, const std::string&) {
  return spec.framework == FrameworkKind::kStaged ? "ADDRESS" : "READY";
}

std::set<std::string> PreparersOf(const JobSpec& spec, const std::string& role) {
  std::set<std::string> all;
  for (const Dependency& dependency : RoleIn(spec, role).depends_on) {
    if (dependency.until == Until::kSucceeded) all.insert(dependency.role);
    all.merge(PreparersOf(spec, dependency.role));
  }
  return all;
}

bool Prepares(const JobSpec& spec, const std::string& role) {
  return std::ranges::any_of(spec.roles,
                             [&](const RoleSpec& other) { return PreparersOf(spec, other.name).contains(role); });
}

int WaveRule(const JobSpec& spec, const std::string& role) {
  int wave = 0;
  for (const std::string& before : PreparersOf(spec, role)) wave = std::max(wave, 1 + WaveRule(spec, before));
  return wave;
}

namespace {

int GoodOf(const RoleSpec& role, const EndsSeen& ends) {
  const auto good = ends.good.find(role.name);
  return good == ends.good.end() ? 0 : good->second;
}

int BadOf(const RoleSpec& role, const EndsSeen& ends) {
  return static_cast<int>(
      std::ranges::count_if(ends.bad, [&](const AttemptId& id) { return id.task.role == role.name; }));
}

// Returns how many tasks of the role may fail.
int Spare(const RoleSpec& role) {
  constexpr int kAll = std::numeric_limits<int>::max();
  if (role.min_failed) return *role.min_failed == 0 ? kAll : *role.min_failed - 1;
  if (role.min_succeeded > 0) return role.instances - role.min_succeeded;
  return role.completion == Completion::kSidecar ? kAll : 0;
}

bool Leads(const JobSpec& spec, const TaskId& task) {
  const bool chief = std::ranges::any_of(spec.roles, [](const RoleSpec& role) { return role.name == "chief"; });
  return task == (chief ? TaskId{"chief", 0} : TaskId{"worker", 0});
}

}  // namespace

bool IsIgnored(const RoleSpec& role) {
  return role.completion == Completion::kSidecar && role.min_failed.value_or(0) == 0;
}

std::optional<AttemptId> FailureNamed(const JobSpec& spec, const EndsSeen& before, const AttemptId& failed) {
  const RoleSpec& role = *spec.FindRole(failed.task.role);
  if (IsIgnored(role)) return std::nullopt;
  if (MustPublish(spec, role.name)) return failed;
  if (BadOf(role, before) + 1 > Spare(role)) {
    const auto first = std::ranges::find_if(before.bad, [&](const AttemptId& id) { return id.task.role == role.name; });
    return first == before.bad.end() ? failed : *first;
  }
  if (spec.completion_rule != CompletionRule::kTony) return std::nullopt;
  if (Leads(spec, failed.task)) return failed;
  for (const RoleSpec& other : spec.roles) {
    const int mine = other.name == role.name ? 1 : 0;
    if (other.completion == Completion::kTracked && BadOf(other, before) + mine < other.instances) return std::nullopt;
  }
  return before.bad.empty() ? failed : before.bad.front();
}

bool IsSatisfied(const RoleSpec& role, const EndsSeen& ends) {
  return role.min_succeeded > 0 && GoodOf(role, ends) >= role.min_succeeded;
}

int LeftOf(const RoleSpec& role, const EndsSeen& ends) {
  return role.instances - GoodOf(role, ends) - BadOf(role, ends);
}

bool IsOver(const JobSpec& spec, const EndsSeen& ends) {
  return std::ranges::all_of(spec.roles, [&](const RoleSpec& role) {
    const bool counts = role.completion == Completion::kTracked && !ends.left.contains(role.name);
    return !counts || IsSatisfied(role, ends) || LeftOf(role, ends) == 0;
  });
}

namespace {

// kNone: a failure that is never restarted
enum class Price { kNone, kLost, kUsers };

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

// True if the other tasks compute on while the task is replaced.
bool StandsAlone(const JobSpec& spec, const RoleSpec& role, bool same_address) {
  if (role.completion == Completion::kSidecar || spec.mode == DistributedMode::kFcfs) return true;
  if (MustPublish(spec, role.name)) return false;
  if (spec.framework == FrameworkKind::kStandalone) return true;
  if (spec.framework == FrameworkKind::kStaged) return same_address;
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

// Returns the back-off: none for the first restart, `backoff` for the second, then twice as long each time.
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
    // only single tasks restart in a role whose tasks do not run together
    if (role.max_parallel > 0 && scope > RestartScope::kTask) break;
    if (spec.HasMaxParallel() && scope > RestartScope::kRole) break;
    // an ignored task disturbs no other role
    if (ignored && scope > RestartScope::kRole && scope != smallest) break;
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

void AttentionRules::Read(const Decision& decision) {
  std::visit([&](const auto& body) { On(body); }, decision.body);
}

void AttentionRules::Reread(const std::vector<Decision>& decisions) {
  claim_ = {};
  watcher_ = {};
  plans_.clear();
  claims_.clear();
  watchers_.clear();
  for (Asked& asked : asked_) asked.planned = false;
  for (const Decision& decision : decisions) Read(decision);
  for (Asked& asked : asked_) asked.steady = false;
  // Complaints about these decisions were reported before.
  complaints_.clear();
}

void AttentionRules::On(const OwnerChanged& d) {
  claim_ = d.claim;
  claims_.push_back(d.claim);
  StateChanged();
}

void AttentionRules::On(const WatcherChanged& d) {
  watcher_ = d.watcher;
  watchers_.insert(d.watcher);
  StateChanged();
}

void AttentionRules::On(const KillPlanned& d) {
  if (!Holds(d.request)) complaints_.push_back(StrCat("kill ", d.number, " is planned against its condition"));
  bool asked_for = false;
  for (Asked& asked : asked_) {
    if (asked.request != d.request) continue;
    asked.planned = asked_for = true;
  }
  if (!asked_for) complaints_.push_back(StrCat("kill ", d.number, " is planned, and nobody asked for it"));
  plans_[d.number] = {d.request};
}

void AttentionRules::On(const KillVoided& d) {
  const auto plan = plans_.find(d.number);
  if (plan == plans_.end()) return complaints_.push_back(StrCat("kill ", d.number, " is voided and was not planned"));
  const bool replaced = std::ranges::any_of(asked_, [&](const Asked& asked) {
    const KillRequest &a = asked.request, &b = plan->second.request;
    return a != b && a.due <= b.due && a.if_owner == b.if_owner && a.if_watcher == b.if_watcher;
  });
  if (plan->second.lives && !replaced) complaints_.push_back(StrCat("kill ", d.number, " is voided for nothing"));
  plans_.erase(plan);
}

void AttentionRules::StateChanged() {
  for (auto& [number, plan] : plans_) plan.lives &= Holds(plan.request);
  for (Asked& asked : asked_) asked.steady &= Holds(asked.request);
}

bool AttentionRules::Holds(const KillRequest& request) const {
  const bool owner = request.if_owner.value.empty() || request.if_owner == claim_.owner;
  return owner && (request.if_watcher.value.empty() || request.if_watcher == watcher_);
}

void AttentionRules::OnKillWritten(const KillRequest& request) {
  asked_.push_back({.request = request, .steady = Holds(request)});
}

void AttentionRules::OnAttached(const Claim& claim) {
  if (claim != Claim() && std::ranges::find(claims_, claim) == claims_.end())
    complaints_.push_back(StrCat("attached ", claim.owner.value, ", which is not in the journal"));
}

void AttentionRules::OnClientSeen(const WatcherToken& watcher) {
  if (!watcher.value.empty() && !watchers_.contains(watcher))
    complaints_.push_back(StrCat("answered ", watcher.value, ", which is not in the journal"));
}

bool AttentionRules::MayKill(Instant time) const {
  const bool planned = std::ranges::any_of(
      plans_, [&](const auto& entry) { return entry.second.lives && entry.second.request.due <= time + skew_; });
  const bool at_once = std::ranges::any_of(asked_, [&](const Asked& asked) {
    return !asked.planned && Holds(asked.request) && asked.request.due <= time + skew_;
  });
  return planned || at_once;
}

bool AttentionRules::MustHaveKilled(Instant time, Duration by) const {
  return std::ranges::any_of(
      plans_, [&](const auto& entry) { return entry.second.lives && entry.second.request.due + by < time; });
}

bool AttentionRules::HasSteadyRequest() const {
  return std::ranges::any_of(asked_, [](const Asked& asked) { return asked.steady && asked.request.due == Instant{}; });
}

}  // namespace tony::sim
