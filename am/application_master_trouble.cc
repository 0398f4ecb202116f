// While the journal cannot be written.
//
// Launches, the forming of a gang, releases and answers wait: nothing is promised that the next AM would not know of.
// Stopping does not wait, where the job fails or is killed: what still runs of it is told to stop at once, and again
// in its turn. That is safe, because an AM that takes over without those decisions finds attempts that ended "killed",
// or hears again of the failure that nobody has been released from; either way it ends the job as not succeeded. All
// else that stops something does wait: after a success, or for a restart, such an AM would take the attempts that it
// finds stopped for failures; and an executor whose attempt has ended may hold the only copy of an outcome.
//
// The end of a job does not wait for ever: its executors, its place on the machine and everybody who waits for either
// would wait, too. When the verdict is known and nothing could be written for `patience`, the turns that wait are
// performed as if they had been written, and the arbiter gets the verdict to keep. No other AM comes after that. Only
// where this one dies on its way, within a second of its end or the grace of a kill, and the disk is well again for the
// next one, does that find attempts that have been stopped without a reason, as after a death of all processes.
//
// Executors go on working. Heartbeats are answered; the lease record gets stale, so that an executor that lost the
// connection meanwhile does not think itself cut off; and while it is not renewed nobody is judged by silence.
#include <algorithm>
#include <utility>

#include "am/application_master.h"
#include "runtime/base/log.h"
#include "runtime/base/strings.h"

namespace tony::am {
namespace {

constexpr Duration kLongestWatch{60000};
// Trouble and delay are no decisions and have no number, so a client that asks just when they come or go would miss it.
constexpr Duration kWatchTheUnnumbered{1000};
constexpr Duration kUnversionedIsNews{5000};

}  // namespace

void ApplicationMaster::OnJournalTrouble(const std::string& why) {
  if (why.empty()) return SetDegraded("");
  SetDegraded(StrCat("journal: ", why, ", new launches wait"));
  for (const Turn& turn : waiting_) PerformWhatMayNotWait(turn);
  MakeRoomForTheEnd();
}

// The tasks that filled the disk are over, and nothing but the job's own last records will be written.
void ApplicationMaster::MakeRoomForTheEnd() {
  if (job_.MayRunTasks() || std::exchange(room_made_, true)) return;
  calls_.Ask(
      [](const JobRecords& records) {
        records.GiveUpReserve();
        return true;
      },
      [](bool) {});
}

void ApplicationMaster::LimitWaitForDisk() {
  const auto& verdict = job_.verdict();
  if (unwritten_) return;
  if (trouble_.empty()) return disk_timer_.reset();
  if (disk_timer_ || !patience_ || !verdict) return;
  const bool killed = verdict->state == FinalState::kKilled;
  disk_timer_ = loop_.After(killed ? patience_->killed : patience_->otherwise, [this] { GoOnUnwritten(); });
}

void ApplicationMaster::GoOnUnwritten() {
  LogError(StrCat(trouble_, ": the job ends without a record of it"));
  unwritten_ = true;
  PassUnwritten();
}

void ApplicationMaster::PassUnwritten() {
  disk_timer_ = loop_.After(Duration(0), [this] {
    written_ = waiting_.size();
    FinishWritten();
  });
}

void ApplicationMaster::SetDegraded(const std::string& trouble) {
  if (trouble == trouble_) return;
  if (trouble.empty()) LogInfo(StrCat("over: ", trouble_));
  if (!trouble.empty()) LogWarn(trouble);
  trouble_ = trouble;
  PushUnversionedStatus();
  LimitWaitForDisk();
}

void ApplicationMaster::SetPendingReason(const std::string& reason) {
  if (reason == pending_reason_) return;
  LogInfo(reason.empty() ? "no longer delayed" : StrCat("delayed: ", reason));
  pending_reason_ = reason;
  StatusChanged();
  PushUnversionedStatus();
}

void ApplicationMaster::PushUnversionedStatus() {
  unversioned_changed_ = loop_.Now();
  if (MayTell() && parked_.AnyWatch()) parked_.TellAll(CurrentStatus());
}

template <class Match>
bool ApplicationMaster::Waits(Match match) const {
  return std::ranges::any_of(waiting_,
                             [&](const Turn& turn) { return std::ranges::any_of(turn.result.actions, match); });
}

bool ApplicationMaster::MayNotWait(const Action& action) const {
  const auto& verdict = job_.verdict();
  if (!verdict || verdict->state == FinalState::kSucceeded) return false;
  if (const auto* tell = std::get_if<TellExecutor>(&action)) {
    return job_.CommandFor(tell->attempt).kind == Command::Kind::kStop;
  }
  const auto* stop = std::get_if<StopContainer>(&action);
  const auto attempt = stop ? job_.AttemptIn(stop->container) : std::nullopt;
  if (!attempt || IsFinal(job_.StateOf(*attempt))) return false;
  // A stop that overtakes the launch would be forgotten when that comes.
  return !Waits([&](const Action& waiting) {
    const auto* launch = std::get_if<LaunchExecutor>(&waiting);
    return launch && launch->container == stop->container;
  });
}

void ApplicationMaster::PerformWhatMayNotWait(const Turn& turn) {
  for (const Action& action : turn.result.actions) {
    if (MayNotWait(action)) Perform(action);
  }
  if (!tells_.empty() && !tell_timer_) TellSome();
}

// Parked at once, so that a stop reaches it. Its command is told if it is on the disk: if no turn that waits changes
// it. Who asks as an earlier attempt of the task would hear of the newest, too.
void ApplicationMaster::AwaitInTrouble(const Caller& caller, int64_t since, const Reply<Command>& reply) {
  if (Observe(AwaitCall{caller})) return reply.Refuse(RefusalReason::kNotRuling, trouble_);
  parked_.ParkAwait(caller.attempt, since, reply);
  const TellExecutor now = job_.Tell(caller.attempt);
  const bool unwritten = Waits([&](const Action& waiting) {
    const auto* tell = std::get_if<TellExecutor>(&waiting);
    return tell && tell->attempt.task == caller.attempt.task;
  });
  if (!unwritten || MayNotWait(now)) Tell(now);
  AskForLogs(caller.attempt.task);
}

Duration ApplicationMaster::LongestWatch() const {
  const bool is_news = !trouble_.empty() || loop_.Now() - unversioned_changed_ < kUnversionedIsNews;
  return is_news ? kWatchTheUnnumbered : kLongestWatch;
}

}  // namespace tony::am
