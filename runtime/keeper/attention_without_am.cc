#include "runtime/keeper/attention_without_am.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "runtime/job/claim.h"

namespace tony::keeper {
namespace {

// Whoever lost the AM leaves a sign within half a second, and may void a kill that has become due meanwhile.
constexpr Duration kToComeBack{2000};
// Signs are left every two seconds, and looked for a few times a second.
constexpr Duration kLateSign{5000};
// Between two looks: this process stood still.
constexpr Duration kGap{5000};

}  // namespace

void AttentionWithoutAm::Know(const ClaimRecord& told, Instant now) {
  told_ = told;
  for (const KillRequest& plan : told.planned) plans_.push_back({"", plan});
  StartAnew(now);
}

void AttentionWithoutAm::StartAnew(Instant now) {
  last_look_ = now;
  earliest_kill_ = now + kToComeBack;
}

void AttentionWithoutAm::Wake(Instant now) {
  if (now - woken_ > kGap) StartAnew(now);
  woken_ = now;
}

void AttentionWithoutAm::Look(const WatcherToken& watcher, Instant now) {
  last_look_ = std::max(last_look_, now);
  if (!told_ || watcher.value.empty()) return;
  told_->watcher = watcher;
  const auto holds = [&](const Plan& plan) { return Holds(plan.request, told_->claim.owner, watcher); };
  const auto failed = std::stable_partition(plans_.begin(), plans_.end(), holds);
  for (auto plan = failed; plan != plans_.end(); ++plan) was_void_.insert(plan->name);
  void_.insert(void_.end(), std::make_move_iterator(failed), std::make_move_iterator(plans_.end()));
  plans_.erase(failed, plans_.end());
}

std::optional<KillAnswer> AttentionWithoutAm::Hear(const std::string& name, const KillRequest& request, Instant now) {
  if (!told_) return std::nullopt;
  if (std::ranges::count(plans_, name, &Plan::name) > 0) return KillAnswer::kPlanned;
  if (was_void_.contains(name) || !Holds(request, told_->claim.owner, told_->watcher)) return KillAnswer::kFenced;
  if (request.due <= now) return KillAnswer::kTaken;
  plans_.push_back({name, request});
  return KillAnswer::kPlanned;
}

std::vector<AttentionWithoutAm::Plan> AttentionWithoutAm::TakeVoid() { return std::exchange(void_, {}); }

std::optional<AttentionWithoutAm::Plan> AttentionWithoutAm::Due(Instant now) const {
  const auto first = std::ranges::min_element(plans_, {}, [](const Plan& plan) { return plan.request.due; });
  if (first == plans_.end() || first->request.due > now || earliest_kill_ > now) return std::nullopt;
  return *first;
}

std::optional<Duration> AttentionWithoutAm::AbandonedFor(Instant now) const {
  if (!told_ || told_->claim.watch_timeout <= Duration(0)) return std::nullopt;
  if (now - last_look_ < told_->claim.watch_timeout + kLateSign) return std::nullopt;
  return told_->claim.watch_timeout;
}

}  // namespace tony::keeper
