#include "am/core/ownership.h"

#include <algorithm>

#include "am/core/states.h"
#include "runtime/base/check.h"
#include "runtime/base/strings.h"
#include "runtime/job/claim.h"

namespace tony::am {
namespace {

// After a time in which clients could not reach an AM, no planned kill takes effect for this long. A client that lost
// its connection retries within this time, and may void a kill that became due in the meantime.
constexpr Duration kToComeBack{1000};

bool SameCondition(const KillRequest& a, const KillRequest& b) {
  return a.if_owner == b.if_owner && a.if_watcher == b.if_watcher;
}

}  // namespace

std::vector<DecisionBody> Ownership::DecideAttach(const Claim& claim) const {
  if (claim == claim_) return {};
  std::vector<DecisionBody> decisions = {OwnerChanged{claim}};
  const std::string reason = StrCat("owner ", claim.owner.value, " has attached");
  for (auto& voided : Void(reason, claim, watcher_)) decisions.push_back(std::move(voided));
  return decisions;
}

// Activity of a client without a name keeps the job from being abandoned, and does not change the watcher.
std::vector<DecisionBody> Ownership::DecideClientSeen(const WatcherToken& watcher, Instant now) {
  last_look_ = std::max(last_look_.value_or(now), now);
  if (watcher.value.empty() || watcher == watcher_) return {};
  std::vector<DecisionBody> decisions = {WatcherChanged{watcher}};
  for (auto& voided : Void(StrCat("watcher ", watcher.value, " is the newest watcher"), claim_, watcher))
    decisions.push_back(std::move(voided));
  return decisions;
}

KillAnswer Ownership::Judge(const KillRequest& request, Instant now) const {
  return JudgeKill(request, claim_.owner, watcher_, now);
}

// The condition of a kill names the owner, the watcher, both or neither. Only the earliest kill with each condition is
// kept, so never more than four kills are planned.
std::vector<DecisionBody> Ownership::DecidePlan(const KillRequest& request) const {
  const KillPlanned planned{newest_plan_ + 1, request};
  std::vector<DecisionBody> decisions;
  for (const auto& [number, plan] : plans_) {
    if (!SameCondition(plan, request)) continue;
    // The journal notes the record of this kill, too, so that no later AM plans the kill.
    if (plan.due <= request.due && !request.record.empty())
      return {planned, KillVoided{planned.number, "an earlier kill is planned"}};
    if (plan.due <= request.due) return {};
    decisions.push_back(KillVoided{number, "an earlier kill was requested"});
  }
  decisions.push_back(planned);
  return decisions;
}

bool Ownership::WasPlanned(const KillRequest& request) const { return planned_records_.contains(request.record); }

void Ownership::RestartWatchTimeout(Instant now) {
  last_look_ = now;
  earliest_kill_ = now + kToComeBack;
}

std::vector<DecisionBody> Ownership::DecideVoid() const {
  return Void("the kill's condition no longer holds", claim_, watcher_);
}

std::optional<KillRequest> Ownership::DueKill(Instant now) const {
  auto next = NextPlanned();
  if (!next || earliest_kill_ > now || Judge(*next, now) != KillAnswer::kTaken) return std::nullopt;
  return next;
}

bool Ownership::IsAbandoned(Instant now) const {
  return claim_.watch_timeout > Duration(0) && last_look_ && now - *last_look_ >= claim_.watch_timeout;
}

std::optional<Instant> Ownership::NextDeadline() const {
  std::optional<Instant> next;
  if (const auto planned = NextPlanned()) next = std::max(planned->due, earliest_kill_);
  if (claim_.watch_timeout > Duration(0) && last_look_) {
    const Instant abandoned = *last_look_ + claim_.watch_timeout;
    next = next ? std::min(*next, abandoned) : abandoned;
  }
  return next;
}

Status Ownership::Apply(const OwnerChanged& d) {
  claimed_ = true;
  claim_ = d.claim;
  return Ok();
}

Status Ownership::Apply(const WatcherChanged& d) {
  if (d.watcher.value.empty()) return Misfit("a watcher without a name");
  watcher_ = d.watcher;
  return Ok();
}

Status Ownership::Apply(const KillPlanned& d) {
  if (d.number != newest_plan_ + 1) return Misfit(StrCat("kill ", d.number, " is planned after kill ", newest_plan_));
  newest_plan_ = d.number;
  plans_[d.number] = d.request;
  if (!d.request.record.empty()) planned_records_.insert(d.request.record);
  return Ok();
}

Status Ownership::Apply(const KillVoided& d) {
  if (plans_.erase(d.number) == 0) return Misfit(StrCat("kill ", d.number, " is not planned"));
  return Ok();
}

std::optional<KillRequest> Ownership::NextPlanned() const {
  const auto first = std::ranges::min_element(plans_, {}, [](const auto& plan) { return plan.second.due; });
  if (first == plans_.end()) return std::nullopt;
  return first->second;
}

std::vector<DecisionBody> Ownership::Void(const std::string& reason, const Claim& claim,
                                          const WatcherToken& watcher) const {
  std::vector<DecisionBody> decisions;
  for (const auto& [number, plan] : plans_)
    if (!Holds(plan, claim.owner, watcher)) decisions.push_back(KillVoided{number, reason});
  return decisions;
}

}  // namespace tony::am
