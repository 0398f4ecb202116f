// The work of the application master while the journal cannot be written.
//
// Launches, the forming of a gang, releases and answers wait, because the AM promises nothing that the next AM would
// not know. Stopping does not wait if the job fails or is killed: tasks that still run get STOP at once, and get it
// again when the step is written. This is safe even if the decisions to stop never reach the journal. The next AM then
// finds attempts that ended "killed", or receives the failure again, because the failed executor was not released. In
// both cases the next AM ends the job without success.
//
// All other stops wait. If tasks were stopped after a success or for a restart, the next AM would count their ends as
// failures. The executor of an attempt that has ended may hold the only copy of the outcome, so its container is not
// stopped.
//
// The end of a job does not wait for ever, because its executors, its reservation on the machine and all waiting
// clients would wait with it. Once the verdict is known, the AM waits for the disk at most for the time `patience`.
// Then it performs the waiting steps as if they had been written, and the arbiter receives and keeps the verdict. No
// other AM starts after that. A gap remains, because this AM may die within a second of the job's end, or within the
// grace of a kill. If the disk works again for the next AM, the next AM finds attempts that were stopped without a
// reason, as after the death of all processes.
//
// Executors continue to work. Heartbeats are answered. The AM does not renew the lease record, because an executor that
// loses its connection considers itself cut off only while the record is fresh. While the lease is not renewed, no
// executor is judged by its silence.
#include <algorithm>
#include <utility>

#include "am/application_master.h"
#include "runtime/base/log.h"
#include "runtime/base/strings.h"

namespace tony::am {
namespace {

constexpr Duration kLongestWatch{60000};
// The degraded reason and the pending reason are not decisions and have no sequence number. A client that calls just
// when one of them changes would miss the change, so its Watch is answered after this time.
constexpr Duration kWatchTheUnnumbered{1000};
constexpr Duration kUnversionedIsNews{5000};

}  // namespace

void ApplicationMaster::OnJournalTrouble(const std::string& why) {
  if (why.empty()) return SetDegraded("");
  SetDegraded(StrCat("cannot write the journal: ", why, "; new tasks start when the journal can be written again"));
  for (const Turn& turn : waiting_) PerformUrgentActions(turn);
  MakeRoomForTheEnd();
}

// Deletes the disk reserve. All tasks have ended, so only the job's own last records use the room.
void ApplicationMaster::MakeRoomForTheEnd() {
  if (job_.MayRunTasks() || std::exchange(room_made_, true)) return;
  calls_.Ask(
      [](const JobRecords& records) {
        records.FreeReserve();
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
  disk_timer_ = loop_.After(killed ? patience_->killed : patience_->otherwise, [this] { EndWithoutJournal(); });
}

void ApplicationMaster::EndWithoutJournal() {
  LogError(StrCat("the job ends without a record of its end: ", trouble_));
  unwritten_ = true;
  FinishUnwritten();
}

void ApplicationMaster::FinishUnwritten() {
  disk_timer_ = loop_.After(Duration(0), [this] {
    written_ = waiting_.size();
    FinishWritten();
  });
}

void ApplicationMaster::SetDegraded(const std::string& trouble) {
  if (trouble == trouble_) return;
  if (trouble.empty()) LogInfo(StrCat("the job is no longer degraded; the cause was: ", trouble_));
  if (!trouble.empty()) LogWarn(trouble);
  trouble_ = trouble;
  PushUnversionedStatus();
  LimitWaitForDisk();
}

void ApplicationMaster::SetPendingReason(const std::string& reason) {
  if (reason == pending_reason_) return;
  LogInfo(reason.empty() ? "the job no longer waits for containers or checkpoints" : StrCat("the job ", reason));
  pending_reason_ = reason;
  StatusChanged();
  PushUnversionedStatus();
}

void ApplicationMaster::PushUnversionedStatus() {
  unversioned_changed_ = loop_.Now();
  if (MayShowStatus() && parked_.AnyWatch()) parked_.TellAll(CurrentStatus());
}

template <class Match>
bool ApplicationMaster::Waits(Match match) const {
  return std::ranges::any_of(waiting_,
                             [&](const Turn& turn) { return std::ranges::any_of(turn.result.actions, match); });
}

bool ApplicationMaster::IsUrgent(const Action& action) const {
  const auto& verdict = job_.verdict();
  if (!verdict || verdict->state == FinalState::kSucceeded) return false;
  if (const auto* tell = std::get_if<SendCommand>(&action)) {
    return job_.CommandFor(tell->attempt).kind == Command::Kind::kStop;
  }
  const auto* stop = std::get_if<StopContainer>(&action);
  const auto attempt = stop ? job_.AttemptIn(stop->container) : std::nullopt;
  if (!attempt || IsFinal(job_.StateOf(*attempt))) return false;
  // A stop must not be sent before the launch of its container, because the scheduler would forget the stop when the
  // launch arrives.
  return !Waits([&](const Action& waiting) {
    const auto* launch = std::get_if<LaunchExecutor>(&waiting);
    return launch && launch->container == stop->container;
  });
}

void ApplicationMaster::PerformUrgentActions(const Turn& turn) {
  for (const Action& action : turn.result.actions) {
    if (IsUrgent(action)) Perform(action);
  }
  if (!tells_.empty() && !tell_timer_) SendQueuedCommands();
}

// The Await call is parked at once, so that a STOP command can be sent as its answer. The newest command is sent only
// if no step that waits for the journal changes it. A waiting command for any attempt of the task counts as such a
// change, because an executor that calls for an earlier attempt also receives the newest command. RELEASE waits for all
// steps, because a step may release an executor without a command, for example if its container is gone or preempted.
void ApplicationMaster::AwaitWhileDegraded(const Caller& caller, int64_t since, const Reply<Command>& reply) {
  if (Observe(AwaitCall{caller})) return reply.Refuse(RefusalReason::kNotLeader, trouble_);
  parked_.ParkAwait(caller.attempt, since, reply);
  const SendCommand now = job_.Tell(caller.attempt);
  const bool is_release = job_.CommandFor(now.attempt).kind == Command::Kind::kRelease;
  const bool unwritten = (is_release && !waiting_.empty()) || Waits([&](const Action& waiting) {
    const auto* tell = std::get_if<SendCommand>(&waiting);
    return tell && tell->attempt.task == caller.attempt.task;
  });
  if (!unwritten || IsUrgent(now)) Tell(now);
  AskForLogs(caller.attempt.task);
  SendTokensIfOlder(caller.attempt, caller.tokens);
}

Duration ApplicationMaster::LongestWatch() const {
  const bool is_news = !trouble_.empty() || loop_.Now() - unversioned_changed_ < kUnversionedIsNews;
  return is_news ? kWatchTheUnnumbered : kLongestWatch;
}

}  // namespace tony::am
