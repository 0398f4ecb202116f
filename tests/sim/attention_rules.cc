#include "tests/sim/attention_rules.h"

#include <algorithm>

#include "runtime/base/strings.h"

namespace tony::sim {

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
  complaints_.clear();  // they were made before
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
    return a.due < b.due && a.if_owner == b.if_owner && a.if_watcher == b.if_watcher;
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

void AttentionRules::OnLooked(const WatcherToken& watcher) {
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
