// A master that says nothing: kills that it does not hear, and the limit of its first start. A kill does not wait until
// its silence has lasted for so long that it counts as hung.
#include <algorithm>
#include <utility>

#include "runtime/base/log.h"
#include "runtime/job/startup_limit.h"
#include "runtime/keeper/final_status.h"
#include "runtime/keeper/keeper.h"

namespace tony::keeper {
namespace {

// A master that has no connection to us starts, within some 50 ms, or hangs. One that has connects and hears of a kill
// within a second by itself; it says something each third of its lease.
constexpr Duration kPatienceUnconnected{1500};
constexpr Duration kPatienceConnected{2000};
constexpr Duration kUnheardLook{250};
constexpr Duration kUnheardLookAtConnected{1000};
// A timer later than this means that this process was stopped, or the whole machine.
constexpr Duration kSleptThrough{1000};

}  // namespace

void Keeper::LookForKills() {
  const Instant due = loop_.Now() + (am_peer_ == 0 ? kUnheardLook : kUnheardLookAtConnected);
  unheard_timer_ = loop_.At(due, [this, due] {
    if (phase_ != Phase::kServing) return;
    JudgeUnheardKill(/*overslept=*/loop_.Now() - due > kSleptThrough);
    if (phase_ == Phase::kServing) LookForKills();
  });
}

void Keeper::JudgeUnheardKill(bool overslept) {
  const auto kill = KillOfSilentMaster(records_);
  if (!kill) return unheard_kill_.reset();
  if (am_peer_ != 0) peers_.at(am_peer_)->ReadNow();  // what it may have said while we slept
  const Instant now = loop_.Now();
  if (!unheard_kill_ || overslept) unheard_kill_ = now;
  const Duration patience = am_peer_ == 0 ? kPatienceUnconnected : kPatienceConnected + am_lease_ / 3;
  if (phase_ != Phase::kServing || now - std::max(*unheard_kill_, am_heard_) < patience) return;
  LogWarn("the application master does not hear of the kill");
  auto end = Take(records_, *kill);
  EndWithoutAm(std::move(end.verdict), end.grace < Duration(0) ? grace_ : end.grace);
}

void Keeper::HearAm() {
  am_heard_ = loop_.Now();
  start_timer_.reset();
}

// Only until the first master has said hello, whichever keeper it was to.
void Keeper::LimitStart(Duration limit) {
  const auto lease = records_.ReadLease();
  const auto submission = records_.ReadSubmission();
  if (limit == Duration(0) || !lease.ok() || *lease || !submission.ok()) return;
  const Duration spent = SpentOf(limit, submission->time, RealClock().Now());
  start_timer_ = loop_.After(limit - spent, [this, limit] {
    if (phase_ != Phase::kServing) return;
    Verdict verdict = InfraVerdict(records_, StartedTooLate(limit, limit, ""));
    verdict.cls = OutcomeClass::kTimeout;
    LogError(verdict.message);
    EndWithoutAm(std::move(verdict), Duration(0));
  });
}

}  // namespace tony::keeper
