// The life of a reservation. Every arrow is a read of the ledger, with the ledger's lock if that is available.
//
//   no entry --added--> deferred or queued --first in the queue, and resources free--> admitted --Leave()--> left
//      ^                  |    \--the entry was removed by someone--> no entry
//      \--- the ledger cannot be used: retry, with growing delays
#include "runtime/ledger/ledger_reservation.h"

#include <sys/inotify.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <optional>
#include <random>

#include "runtime/base/log.h"
#include "runtime/base/strings.h"
#include "runtime/base/unique_fd.h"
#include "runtime/os/file_lock.h"
#include "runtime/os/users.h"

namespace tony {

namespace {

using Steady = std::chrono::steady_clock;

// The delays between attempts to get the ledger's lock. A process holds the lock for about a millisecond, or longer if
// the process is stopped meanwhile.
constexpr Duration kBusyFirst{1}, kBusyMost{50};
// The limits of the random delay after a withdrawn admission. Two jobs that were admitted at the same time and withdrew
// retry after different delays.
constexpr Duration kMetFirst{4}, kMetMost{256};
constexpr Duration kTroubleFirst{500}, kTroubleMost{10'000};
// The intervals at which the ledger is read again after a close event, because the kernel releases the lock shortly
// after the event. The intervals grow, and the last one is longer than the pauses of a busy machine.
constexpr Duration kRecheckFirst{1}, kRecheckLast{1024};
constexpr int kRecheckGrowth = 4;
// The interval at which a job that is not next reads the ledger after changes. Such a read only updates the text of the
// job, so a hundred waiting jobs need not all read the ledger after each change.
constexpr Duration kTextAge{1000};
// The greatest number of steps in a row. A step that changes the ledger is followed by the next step at once, and other
// processes may keep changing the ledger.
constexpr int kMostSteps = 4;
// After a read, events are ignored for this many times the duration of the read. Therefore a user who creates
// thousands of files or events costs each waiting job at most a fifth of a core.
constexpr int kQuiet = 4;
// The intervals of reads without a folder watch and with one. Even with a watch some changes cause no event: the
// machine's limits changed, or the event queue overflowed.
constexpr Duration kUnwatched{1000}, kWatched{15'000};

// Wakes waiting jobs when the ledger changes (inotify).

enum class LedgerChange {
  kEntries,  // an entry was added, admitted, removed
  // The last descriptor of an entry was closed. The kernel releases the lock just *after* this event.
  kClosed,
  // The folder was removed or renamed; no further events follow.
  kGone,
};

constexpr uint32_t kGoneEvents = IN_DELETE_SELF | IN_MOVE_SELF | IN_IGNORED | IN_UNMOUNT;
// Readers open files for reading only, so their close does not cause IN_CLOSE_WRITE.
constexpr uint32_t kEvents = IN_CLOSE_WRITE | IN_DELETE | IN_MOVED_TO | IN_DELETE_SELF | IN_MOVE_SELF;

LedgerChange ChangeOf(uint32_t mask) {
  if (mask & kGoneEvents) return LedgerChange::kGone;
  // An overflow of the event queue counts as a close, because a close event may have been dropped.
  return mask & (IN_CLOSE_WRITE | IN_Q_OVERFLOW) ? LedgerChange::kClosed : LedgerChange::kEntries;
}

// Watches the ledger's folder and calls `on_change` on the loop. A process that only reads entries causes no call. The
// watch ends with the handle. kUnavailable: the user's limit of inotify instances is reached.
Result<std::unique_ptr<EventLoop::Handle>> WatchLedger(EventLoop& loop, const std::filesystem::path& folder,
                                                       std::function<void(LedgerChange)> on_change) {
  return WatchFolderEvents(loop, folder, kEvents, [on_change = std::move(on_change)](uint32_t shown, uint32_t hidden) {
    on_change(ChangeOf(shown | hidden));
  });
}

constexpr size_t kMostNamed = 3;  // entries in a text, at most

// Returns the text that follows the pending reason of `job`. The text names the jobs that hold resources, the jobs that
// were skipped, and the rejected entries. Each part begins with "; ". The result may be empty.
std::string TextBesides(const LedgerView& view, const std::vector<LedgerEntry>& passed, const JobId& job) {
  std::string text = WhoHolds(view.ledger, job);
  if (!text.empty()) text.insert(0, "; ");
  for (size_t i = 0; i < std::min(passed.size(), kMostNamed); ++i)
    text += StrCat("; ", UserName(passed[i].user), "'s job ", passed[i].job.value, " could start but has not started");
  for (size_t i = 0; i < std::min(view.doubts.size(), kMostNamed); ++i) {
    const Doubt& doubt = view.doubts[i];
    text += StrCat("; the ledger entry ", doubt.name, " of ", UserName(doubt.user), " is rejected: ", doubt.why);
  }
  if (view.doubts.size() > kMostNamed)
    text +=
        StrCat("; ", view.doubts.size() - kMostNamed, " more entries are rejected; \"tony list --queue\" shows them");
  return text;
}

class FolderClaim : public LedgerReservation {
 public:
  FolderClaim(EventLoop& loop, LedgerFolder folder, LedgerEntry entry, bool runs, Listener listener)
      : loop_(loop), folder_(std::move(folder)), entry_(std::move(entry)), runs_(runs), listener_(std::move(listener)) {
    LookAfter(Duration(0));
  }

  bool admitted() const override { return held_ && held_->entry.admitted() && !unproven_; }
  const std::vector<int>& gpus() const override { return held_ ? held_->entry.gpus : entry_.gpus; }
  Instant admitted_at() const override { return held_ ? held_->entry.admitted_at : Instant(); }
  bool MachineHasGpus() const override { return machine_has_gpus_; }
  const std::map<int, std::string>& ShownGpuNames() const override { return shown_gpu_names_; }
  int lock() const override { return held_ ? held_->lock.get() : -1; }

  void Leave() override {
    watch_.reset();
    timer_.reset();
    text_timer_.reset();
    patience_timer_.reset();
    if (held_) folder_.Remove(*std::move(held_));
    held_.reset();
  }

 private:
  void LookAfter(Duration delay) {
    timer_ = loop_.After(delay, [this] { Look(); });
  }

  void Look() {
    text_timer_.reset();
    patience_timer_.reset();
    const Steady::time_point begun = Steady::now();
    auto why = Proceed();
    quiet_until_ = Steady::now() + kQuiet * (Steady::now() - begun);
    if (!why.ok()) return TryAgain(why.error());
    busy_ = trouble_ = Duration(0);
    if (admitted()) {
      watch_.reset();
      timer_.reset();
      patience_timer_.reset();
      // The callback is copied, because the call may destroy this object.
      const auto on_admitted = listener_.on_admitted;
      return on_admitted();
    }
    WaitForChange();
    Tell(*why, besides_);
  }

  // Takes as many steps as possible now. Returns the pending reason; empty if the job is admitted.
  Result<std::string> Proceed() {
    TRY_ASSIGN(LedgerSession session, Open());
    if (!held_) {
      TRY_ASSIGN(held_, session.TakeOver(entry_.job));
    }
    std::string why;
    for (int steps = 0; steps < kMostSteps; ++steps) {
      if (held_) session.RemoveOtherNames(*held_);
      TRY_ASSIGN(LedgerView view, session.Read());
      Warn(view.warnings);
      machine_has_gpus_ = !view.ledger.machine().gpus.empty();
      if (view.ledger.machine().shows_gpu_names) shown_gpu_names_ = view.ledger.machine().gpu_names;
      FollowEntry(view.ledger);
      if (!held_) TRY(Add(session, view));
      if (unproven_) TRY(Prove(session));
      if (!admitted() && runs_) {
        const LedgerEntry& mine = held_->entry;
        TRY(session.Admit(*held_, mine.gpus.empty() ? view.ledger.GpusFor(mine) : mine.gpus, loop_.Now()));
      }
      if (admitted()) return std::string();
      const QueueAction step = turn_.Next(view.ledger, held_->entry, loop_.Now());
      waits_for_ = step.waits_for;
      patience_timer_ = step.look_again ? loop_.At(*step.look_again, [this] { Look(); }) : nullptr;
      TRY_ASSIGN(const bool go_on, Take(session, step));
      if (admitted()) return std::string();
      why = step.why.empty() ? "waits for its turn" : step.why;
      besides_ = TextBesides(view, turn_.Passed(), entry_.job);
      if (without_lock_)
        besides_ += StrCat("; the ledger's lock is held by ", DescribeHolders(LockHolders(folder_.path())),
                           "; the keeper continues without the lock");
      if (!go_on) break;
    }
    return why;
  }

  // Updates `held_` from the ledger, because other keepers of the same user may have moved or removed this job's entry.
  // If the entry still waits, `held_` gets the entry's new place and number. Otherwise `held_` is cleared, so that a
  // new entry is added.
  void FollowEntry(const Ledger& ledger) {
    if (!held_ || folder_.IsUnchanged(held_->entry)) return;
    const LedgerEntry* now = ledger.Find(entry_.job, held_->entry.user);
    if (now && !now->admitted()) {
      held_->entry.place = now->place;
      held_->entry.number = now->number;
    } else {
      held_.reset();
      turn_.Forget();
      unproven_ = false;
    }
  }

  Status Add(LedgerSession& session, LedgerView& view) {
    LedgerEntry entry = entry_;
    entry.number = view.ledger.NextNumber();
    entry.user = geteuid();
    entry.place = Place::kDeferred;
    const QueueAction step = turn_.Next(view.ledger, entry, loop_.Now());
    if (runs_ || (step.kind == QueueAction::Kind::kJoin && !step.displaced)) entry.place = Place::kQueued;
    TRY_ASSIGN(held_, session.Add(entry));
    std::vector<LedgerEntry> entries = view.ledger.entries();
    entries.push_back(held_->entry);
    view.ledger = Ledger(view.ledger.machine(), std::move(entries));
    return Ok();
  }

  // Executes a step. Returns true if another step can follow at once.
  Result<bool> Take(LedgerSession& session, const QueueAction& step) {
    switch (step.kind) {
      case QueueAction::Kind::kWait:
        return false;
      case QueueAction::Kind::kJoin:
        if (step.displaced && !session.MoveAside(*step.displaced).ok()) return true;
        return GoOnAfter(session.Move(*held_, Place::kQueued, step.number));
      case QueueAction::Kind::kDefer:
        return GoOnAfter(session.Move(*held_, Place::kDeferred, held_->entry.number));
      case QueueAction::Kind::kAdmit:
        break;
    }
    const Status admitted = session.Admit(*held_, step.gpus, loop_.Now());
    if (!admitted.ok()) return GoOnAfter(admitted);
    unproven_ = true;
    TRY(Prove(session));
    return false;
  }

  // Returns the error of a failed move, except if another keeper of the same user moved the entry meanwhile. In that
  // case the next read shows the new place.
  Result<bool> GoOnAfter(const Status& moved) const {
    if (!moved.ok() && folder_.IsUnchanged(held_->entry)) return moved.error();
    return true;
  }

  Status Prove(LedgerSession& session) {
    TRY_ASSIGN(const bool stands, session.ConfirmAdmission(*held_));
    unproven_ = false;
    if (stands) return Ok();
    met_ = std::clamp(met_ * 2, kMetFirst, kMetMost);
    recheck_ = Duration(1 + static_cast<int64_t>(random_() % static_cast<uint64_t>(met_.count())));
    return Ok();
  }

  Result<LedgerSession> Open() {
    auto session = folder_.Lock();
    if (!session.ok() && session.error().code == ErrorCode::kNotFound) {
      TRY(folder_.Make());
      session = folder_.Lock();
    }
    without_lock_ = false;
    if (session.ok()) locked_out_since_.reset();
    if (session.ok() || session.error().code != ErrorCode::kUnavailable) return session;
    if (!locked_out_since_) locked_out_since_ = loop_.Now();
    if (loop_.Now() - *locked_out_since_ < kLockPatience) return session;
    without_lock_ = true;
    return folder_.GoWithoutLock();
  }

  void WaitForChange() {
    if (!watch_) {
      auto watch = WatchLedger(loop_, folder_.path(), [this](LedgerChange change) { OnChange(change); });
      if (watch.ok()) {
        watch_ = *std::move(watch);
        // The ledger may have changed before the watch began, so it is read again.
        return LookAfter(Duration(0));
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

  // Reads the ledger now if the job may be next. Otherwise a later read updates the text.
  void Glance() {
    const auto quiet = quiet_until_ - Steady::now();
    if (quiet > Steady::duration(0)) {
      timer_ = loop_.After(std::chrono::ceil<Duration>(quiet), [this] { Glance(); });
      return;
    }
    const auto is_still = [&](const LedgerEntry& entry) { return folder_.IsUnchanged(entry); };
    const bool is_the_same = held_ && is_still(held_->entry) && std::ranges::any_of(waits_for_, is_still);
    if (!is_the_same) return Look();
    if (!text_timer_) text_timer_ = loop_.After(kTextAge, [this] { Look(); });
    SetTimer();
  }

  void TryAgain(const Error& error) {
    if (error.code == ErrorCode::kUnavailable) {
      busy_ = std::clamp(busy_ * 2, kBusyFirst, kBusyMost);
      return LookAfter(busy_);
    }
    // The watch is dropped, because the folder may have been replaced by the time of the retry.
    watch_.reset();
    trouble_ = std::clamp(trouble_ * 2, kTroubleFirst, kTroubleMost);
    LookAfter(trouble_);
    Tell(StrCat("waits for the ledger, which cannot be used: ", error.message));
  }

  void Warn(const std::vector<std::string>& warnings) {
    for (const std::string& warning : warnings)
      if (news_.IsNew(warning)) LogWarn(warning);
  }

  void Tell(const std::string& why, const std::string& besides = "") {
    if (!news_.IsNew(why, besides, loop_.Now())) return;
    // The callback is copied, because the call may destroy this object.
    const auto on_waiting = listener_.on_waiting;
    on_waiting(why + besides);
  }

  EventLoop& loop_;
  const LedgerFolder folder_;
  LedgerEntry entry_;  // the entry as first requested
  const bool runs_;
  const Listener listener_;
  // The entry as it is in the ledger; nullopt: the ledger has no entry of this job.
  std::optional<HeldEntry> held_;
  // True after an admission that was not yet confirmed by a second read.
  bool unproven_ = false;
  LedgerQueueStep turn_;
  // Entries that block this one. Nothing changes for this job while one of them keeps its queue position.
  std::vector<LedgerEntry> waits_for_;
  bool machine_has_gpus_ = false;
  std::map<int, std::string> shown_gpu_names_;
  std::string besides_;  // text after the pending reason
  LedgerNews news_;
  Duration busy_{0}, trouble_{0}, recheck_{0};  // the next delay; 0: none
  // The time since which this process waits for the ledger's lock; nullopt: it does not wait.
  std::optional<Instant> locked_out_since_;
  // True if the last read was made without the lock.
  bool without_lock_ = false;
  Duration met_{0};
  std::minstd_rand random_{std::random_device{}()};
  Steady::time_point quiet_until_{};
  std::unique_ptr<EventLoop::Handle> watch_;
  EventLoop::Timer timer_, text_timer_, patience_timer_;
};

}  // namespace

Result<std::unique_ptr<LedgerReservation>> LedgerReservation::Enter(EventLoop& loop, const LedgerFolder& folder,
                                                                    const JobId& job, const LedgerRequest& ask,
                                                                    bool runs, Listener listener, int64_t priority) {
  LedgerEntry entry{.job = job, .ask = ask, .since = loop.Now(), .priority = priority};
  return std::unique_ptr<LedgerReservation>(
      std::make_unique<FolderClaim>(loop, folder, std::move(entry), runs, std::move(listener)));
}

namespace {

constexpr Duration kBesidesAge{10'000};
constexpr size_t kMostKept = 200;

std::string Holding(const LedgerEntry& entry) {
  const std::string gpus =
      entry.ask.gpus == 0 ? "" : StrCat(" and ", entry.ask.gpus, entry.ask.gpus == 1 ? " GPU" : " GPUs");
  const std::string process = entry.keeper.pid == 0 ? "" : StrCat(" (process ", entry.keeper.pid, ")");
  return StrCat(UserName(entry.user), " holds ", entry.ask.memory_mb, " MB", gpus, " with ", entry.job.value, process);
}

}  // namespace

std::string WhoHolds(const Ledger& ledger, const JobId& job) {
  std::vector<LedgerEntry> holders;
  for (const LedgerEntry& entry : ledger.entries())
    if (entry.admitted() && entry.job != job) holders.push_back(entry);
  std::ranges::stable_sort(holders, std::ranges::greater(), [](const LedgerEntry& e) { return e.ask.memory_mb; });
  std::vector<std::string> texts;
  for (const LedgerEntry& entry : holders)
    if (texts.size() < kMostNamed) texts.push_back(Holding(entry));
  return Join(texts, ", ");
}

std::string LockWarning(const LedgerView& view) {
  if (!view.went_without_lock) return "";
  return StrCat("the ledger's lock is held by ", DescribeHolders(view.lock_holders),
                " for unusually long (a millisecond is usual), so jobs continue without the lock; if that process "
                "hangs, end it");
}

bool LedgerNews::IsNew(const std::string& why, const std::string& besides, Instant now) {
  if (why == why_ && (besides == besides_ || now - told_ < kBesidesAge)) return false;
  why_ = why;
  besides_ = besides;
  told_ = now;
  return true;
}

bool LedgerNews::IsNew(const std::string& warning) {
  return warnings_.size() < kMostKept && warnings_.insert(warning).second;
}

}  // namespace tony
