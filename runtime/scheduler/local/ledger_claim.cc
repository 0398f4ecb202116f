// The life of a claim; every arrow is a look under the ledger's lock.
//
//   nothing --entered--> waiting --its turn, and free--> admitted --Leave()--> left
//      ^                  |    \--the entry is gone: somebody removed it--> nothing
//      \--- the ledger cannot be used: tried again, with growing delays
#include "runtime/scheduler/local/ledger_claim.h"

#include <algorithm>
#include <optional>
#include <set>

#include "runtime/base/check.h"
#include "runtime/base/log.h"
#include "runtime/base/strings.h"
#include "runtime/scheduler/local/ledger_watch.h"

namespace tony {
namespace {

// Who holds the ledger's lock has it for about a millisecond; who is stopped while he has it, longer.
constexpr Duration kBusyFirst{1}, kBusyMost{50}, kBusyTold{2000};
constexpr Duration kTroubleFirst{500}, kTroubleMost{10'000};
// A lock goes just after the event of its close: looks at growing distances, until long after a busy machine's pause.
constexpr Duration kRecheckFirst{1}, kRecheckLast{1024};
constexpr int kRecheckGrowth = 4;
// Of a job that is not the next one only the text changes, and a hundred of them need not all look at each change.
constexpr Duration kTextAge{1000};
// Where no event comes: limits of the machine changed, or a filled queue of events.
constexpr Duration kUnwatched{1000}, kWatched{15'000};

class FolderClaim : public LedgerClaim {
 public:
  FolderClaim(EventLoop& loop, LedgerFolder folder, LedgerEntry entry, bool runs, Listener listener)
      : loop_(loop), folder_(std::move(folder)), entry_(std::move(entry)), runs_(runs), listener_(std::move(listener)) {
    LookAfter(Duration(0));
  }

  bool admitted() const override { return held_ && held_->entry.admitted; }
  const std::vector<int>& gpus() const override { return held_ ? held_->entry.gpus : entry_.gpus; }
  bool MachineHasGpus() const override { return machine_has_gpus_; }
  int lock() const override { return held_ ? held_->lock.get() : -1; }

  void Leave() override {
    watch_.reset();
    timer_.reset();
    text_timer_.reset();
    if (held_) folder_.Remove(*std::move(held_));
    held_.reset();
  }

 private:
  void LookAfter(Duration delay) {
    timer_ = loop_.After(delay, [this] { Look(); });
  }

  void Look() {
    text_timer_.reset();
    auto why = Proceed();
    if (!why.ok()) return TryAgain(why.error());
    busy_ = trouble_ = Duration(0);
    if (admitted()) {
      watch_.reset();
      timer_.reset();
      const auto on_admitted = listener_.on_admitted;  // it may destroy this claim
      return on_admitted();
    }
    WaitForChange();
    Tell(*why);
  }

  // As far as it gets now. Why it waits, where it does.
  Result<std::string> Proceed() {
    TRY_ASSIGN(LedgerSession session, Open());
    if (!held_) {
      TRY_ASSIGN(held_, session.TakeOver(entry_.job));
    }
    TRY_ASSIGN(LedgerView view, session.Read());
    Warn(view.warnings);
    machine_has_gpus_ = !view.ledger.machine().gpus.empty();
    if (held_ && !IsThere(view.ledger)) held_.reset();
    if (!held_) {
      entry_.number = view.ledger.NextNumber();
      TRY_ASSIGN(held_, session.Add(entry_));
    }
    if (admitted()) return std::string();
    const LedgerEntry& mine = held_->entry;
    if (!runs_ && !view.ledger.MayBeAdmitted(mine)) return view.ledger.WhyItWaits(mine);
    const bool keeps_gpus = runs_ && !mine.gpus.empty();
    TRY(session.Admit(*held_, keeps_gpus ? mine.gpus : view.ledger.GpusFor(mine)));
    return std::string();
  }

  Result<LedgerSession> Open() const {
    auto session = folder_.Lock();
    if (session.ok() || session.error().code != ErrorCode::kNotFound) return session;
    TRY(folder_.Make());
    return folder_.Lock();
  }

  bool IsThere(const Ledger& ledger) const {
    return std::ranges::any_of(ledger.entries(), [&](const LedgerEntry& entry) {
      return entry.number == held_->entry.number && entry.job == entry_.job;
    });
  }

  void WaitForChange() {
    if (!watch_) {
      auto watch = WatchLedger(loop_, folder_.path(), [this](LedgerChange change) { OnChange(change); });
      if (watch.ok()) {
        watch_ = *std::move(watch);
        return LookAfter(Duration(0));  // what changed before it was watched
      }
      Warn({watch.error().message});
    }
    SetTimer();
  }

  void SetTimer() {
    Duration delay = watch_ ? kWatched : kUnwatched;
    if (recheck_ > Duration(0)) {
      delay = recheck_;
      recheck_ = recheck_ < kRecheckLast ? recheck_ * kRecheckGrowth : Duration(0);
    }
    timer_ = loop_.After(delay, [this] { Glance(); });
  }

  void OnChange(LedgerChange change) {
    if (change == LedgerChange::kGone) {
      watch_.reset();
      return LookAfter(Duration(0));
    }
    if (change == LedgerChange::kClosed) recheck_ = kRecheckFirst;
    Glance();
  }

  // Looks if it may be our turn, else later, for the text.
  void Glance() {
    if (!held_ || !folder_.SomebodyWaitsBefore(held_->entry.number)) return Look();
    if (!text_timer_) text_timer_ = loop_.After(kTextAge, [this] { Look(); });
    SetTimer();
  }

  void TryAgain(const Error& error) {
    if (error.code == ErrorCode::kUnavailable) {
      busy_since_ = busy_ == Duration(0) ? loop_.Now() : busy_since_;
      busy_ = std::clamp(busy_ * 2, kBusyFirst, kBusyMost);
      LookAfter(busy_);
      if (loop_.Now() - busy_since_ >= kBusyTold) Tell(StrCat("waits for the ledger: ", error.message));
      return;
    }
    watch_.reset();  // of a folder that may be another one by then
    trouble_ = std::clamp(trouble_ * 2, kTroubleFirst, kTroubleMost);
    LookAfter(trouble_);
    Tell(StrCat("waits for the ledger, which cannot be used: ", error.message));
  }

  void Warn(const std::vector<std::string>& warnings) {
    for (const std::string& warning : warnings) {
      if (warned_.insert(warning).second) LogWarn(warning);
    }
  }

  void Tell(const std::string& why) {
    if (why == told_) return;
    told_ = why;
    const auto on_waiting = listener_.on_waiting;  // it may destroy this claim
    on_waiting(why);
  }

  EventLoop& loop_;
  const LedgerFolder folder_;
  LedgerEntry entry_;  // as it asks
  const bool runs_;
  const Listener listener_;
  std::optional<HeldEntry> held_;  // as it is in the ledger; nothing: it is not
  bool machine_has_gpus_ = false;
  std::string told_;
  std::set<std::string> warned_;
  Duration busy_{0}, trouble_{0}, recheck_{0};  // the next distance; 0: none
  Instant busy_since_{};
  std::unique_ptr<EventLoop::Handle> watch_;
  EventLoop::Timer timer_, text_timer_;
};

}  // namespace

Result<std::unique_ptr<LedgerClaim>> LedgerClaim::Enter(EventLoop& loop, const LedgerFolder& folder, const JobId& job,
                                                        const LedgerAsk& ask, bool runs, Listener listener) {
  LedgerEntry entry{.job = job, .ask = ask, .since = loop.Now()};
  return std::unique_ptr<LedgerClaim>(
      std::make_unique<FolderClaim>(loop, folder, std::move(entry), runs, std::move(listener)));
}

}  // namespace tony
