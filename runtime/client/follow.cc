#include "runtime/client/follow.h"

#include <algorithm>
#include <random>
#include <utility>

#include "runtime/base/strings.h"
#include "runtime/client/job_access.h"
#include "runtime/job/job_spec.h"
#include "runtime/records/last_status.h"

namespace tony {
namespace {

// The shortest and the longest pause between two steps of the search for an AM. A crashed AM is restarted within 50 ms.
// If the keeper (the supervisor of the job) must first kill the AM, the restart takes up to 30 s.
constexpr Duration kFirstPause{20};
constexpr Duration kLongestPause{500};
// The pauses for a store that does not report changes. They are longer, because each step of the search takes several
// calls to other machines, and all clients of a dead AM search at the same time.
constexpr Duration kFirstPauseElsewhere{50};
constexpr Duration kLongestPauseElsewhere{1000};
// The interval at which the job's status file is read in state Reading. It may be long, because the folder is watched,
// and an AM writes the file at most twice a second.
constexpr Duration kReadEvery{500};
// The maximum number of keepers that a follower starts in a row. If each of them exits at once, the follower gives up,
// because it cannot repair the cause.
constexpr int kMostKeepers = 5;
// The interval at which the keeper is checked. A healthy AM restarts its keeper at once. An AM that hangs does not, and
// then only a follower notices that the keeper is missing.
constexpr Duration kKeeperLook{1000};
// The interval at which the keeper's exit is checked. After the verdict the keeper only cleans up, which takes a
// millisecond or two.
constexpr Duration kKeeperPause{2};
constexpr Duration kKeeperLimit{10000};
// The time that a stop may take beyond the tasks' grace before it counts as overdue.
constexpr Duration kBeyondGrace{5000};
// The time for which a kill that could not be recorded waits until an AM leads the job. A leading AM gets the same
// time, beyond the tasks' grace, to end the job. That AM cannot record the end, so the scheduler ends the job after
// this time.
constexpr Duration kUnrecordedPatience{3000};

// Returns a random duration between half of the pause and the whole pause.
Duration WithJitter(Duration pause) {
  static thread_local std::minstd_rand random(std::random_device{}());
  const auto half = static_cast<unsigned>(std::max<int64_t>(1, pause.count() / 2));
  return Duration(half + random() % half);
}

}  // namespace

Follower::Follower(EventLoop& loop, const JobRecords& records, AmLauncher& launcher, FollowSink sink)
    : loop_(loop),
      records_(records),
      launcher_(launcher),
      sink_(std::move(sink)),
      token_pusher_(loop, records, launcher, sink_.on_note),
      pause_(kFirstPause) {}

void Follower::Start(Duration patience, Duration usage_interval) {
  usage_interval_ = usage_interval;
  Watch();
  looked_after_ = loop_.Now();
  SearchAfter(watch_ ? patience : kFirstPause);
  // A timer is used instead of Post(), because a signal may stop the loop first. A posted call would then stay in the
  // loop, and would run when the next follower runs the loop and this follower is already destroyed.
  first_look_ = loop_.After(Duration(0), [this] { OnFolderChange(); });
}

void Follower::Watch() {
  if (watch_) return;
  auto watch = records_.store().Watch(loop_, [this] { OnFolderChange(); });
  if (watch.ok()) {
    watch_ = *std::move(watch);
  } else {
    // The watch may fail, because the number of a user's watches is limited. The job already runs, so the follower does
    // not fail, and relies on its timer alone.
    sink_.on_note(watch.error().message);
  }
}

void Follower::AnnounceWatcher(const WatcherToken& watcher) {
  watcher_ = watcher;
  if (state_ == State::kTalking && !watcher.value.empty()) Reconnect();
}

void Follower::SendKill(const RecordedKill& kill, Duration patience) {
  if (state_ == State::kEnding) return;
  if (kill_ && kill_->request == kill.request && kill_->name.empty()) {
    kill_->name = kill.name;
    return;
  }
  kill_ = kill;
  is_kill_answered_ = false;
  kill_began_ = loop_.Now();
  kill_patience_ = patience;
  // The open connection is used, because a new search would read the store, which may not answer.
  if (state_ == State::kTalking) return conversation_->SendKill(kill.request);
  Reconnect();
}

Duration Follower::Grace() {
  if (!grace_) {
    const auto spec = records_.ReadSpec();
    grace_ = spec.ok() ? spec->timers.grace : Timers().grace;
  }
  return *grace_;
}

void Follower::Reconnect(Duration pause) {
  conversation_.reset();
  talked_to_ = {};
  state_ = State::kSearching;
  SearchAfter(pause);
}

void Follower::OnFolderChange() {
  if (state_ == State::kEnding) return;
  // In state Talking the AM reports the end, so the status file is not read. Reading the long file of a large job at
  // each step would waste time.
  if (state_ != State::kTalking && CheckStatusFile()) return;
  SeeLease();
}

bool Follower::CheckStatusFile() {
  const auto status = records_.ReadStatus();
  if (!status.ok() || !*status) return false;
  token_pusher_.See(**status, /*is_led=*/false);
  if (HasEnded(**status)) {
    End(**status);
    return true;
  }
  if (state_ == State::kReading) {
    ReportFromFile(**status);
    return false;
  }
  // If the job has no AM, the keeper writes into the status file why the job is degraded.
  if (!(*status)->trouble.empty() && (*status)->seq > trouble_told_) {
    trouble_told_ = (*status)->seq;
    // The last status that an AM sent before it died may be newer than the last status that it wrote into the file. The
    // newer status is reported, with the keeper's text.
    JobStatus told = last_ && last_->seq > (*status)->seq ? *last_ : **status;
    told.trouble = (*status)->trouble;
    sink_.on_status(told);
  }
  return false;
}

void Follower::ReportFromFile(const JobStatus& status) {
  const bool news = !last_ || status.seq > last_->seq || UnnumberedNewsOf(status) != UnnumberedNewsOf(*last_);
  if (!news || (last_ && status.seq < last_->seq)) return;
  last_ = status;
  sink_.on_status(status);
}

// Follows the job's files from now on. If the new owner has not been sent yet, the follower fails, because an AM
// accepts a new owner only over its connection.
void Follower::FollowFiles(const Error& why) {
  conversation_.reset();
  if (attach_) return Fail({ErrorCode::kUnavailable, why.message});
  state_ = State::kReading;
  if (!std::exchange(mistrust_told_, true))
    sink_.on_note(StrCat(why.message, "; this command reads the job's files instead"));
  Watch();
  SearchAfter(Duration(0));
}

void Follower::SeeLease() {
  const auto lease = ReadLease();
  if (lease.ok() && *lease && (*lease)->epoch > talked_to_ && (*lease)->epoch >= oldest_epoch_) TalkTo(**lease);
}

// Returns the last lease if the store does not answer.
Result<std::optional<LeaseRecord>> Follower::ReadLease() {
  auto lease = records_.ReadLease();
  const bool is_refused = !lease.ok() && lease.error().code == ErrorCode::kNotPermitted;
  if (is_refused && !is_refusal_told_)
    sink_.on_note(StrCat("job ", records_.job().value,
                         " cannot be followed until its records can be read: ", lease.error().message));
  is_refusal_told_ = is_refused;
  if (!lease.ok() && lease_) return lease_;
  if (lease.ok()) lease_ = *lease;
  return lease;
}

ArbiterView Follower::Look() {
  ArbiterView seen = launcher_.Look(records_);
  oldest_epoch_ = std::max(oldest_epoch_, seen.oldest_epoch);
  return seen;
}

Status Follower::ReadSecrets() {
  if (!token_) {
    TRY_ASSIGN(token_, records_.ReadToken());
  }
  if (!tls_) {
    TRY_ASSIGN(tls_, launcher_.WayToAm(records_));
  }
  return Ok();
}

void Follower::TalkTo(const LeaseRecord& lease) {
  talked_to_ = lease.epoch;
  talk_began_ = loop_.Now();
  if (const Status read = ReadSecrets(); !read.ok()) {
    const bool is_away = !watch_ && read.error().code == ErrorCode::kUnavailable;
    return is_away ? Reconnect(NextPause()) : FollowFiles(read.error());
  }
  state_ = State::kTalking;
  timer_ = loop_.After(kKeeperLook, [this] { CheckKeeper(true); });
  AmConversation::Opening opening = {records_.place(), lease.am.own, *tls_, *token_, attach_};
  if (kill_ && !(is_kill_answered_ && !kill_->request.IsPlain())) opening.kill = kill_->request;
  opening.watcher = watcher_;
  opening.usage_interval = usage_interval_;
  conversation_ = std::make_unique<AmConversation>(loop_, std::move(opening), MakeCallbacks());
}

// Makes the callbacks of a conversation. A request that an AM has answered is in the journal, and the next AM need not
// receive it. A plain kill is sent again, because an AM answers it even if it cannot write its journal.
AmConversation::Sink Follower::MakeCallbacks() {
  return {.on_attached =
              [this](bool attached) {
                attach_.reset();
                sink_.on_attached(attached);
              },
          .on_kill =
              [this](KillAnswer answer) {
                heard_ = loop_.Now();
                is_kill_answered_ = true;
                if (answer != KillAnswer::kTaken && kill_ && !kill_->request.IsPlain()) kill_.reset();
                sink_.on_kill(answer);
              },
          .on_status = [this](const JobStatus& status) { OnStatus(status); },
          .on_lost = [this](const Error& error) { OnLost(error); },
          .on_mistrust = [this](const Error& error) { FollowFiles(error); }};
}

void Follower::CheckKeeper(bool was_there) {
  CheckOverdueEnd();
  if (state_ == State::kEnding) return;
  EndUntakenKill();
  const ArbiterView seen = Look();
  const bool is_there = seen.IsKept();
  const bool missing = !was_there && !seen.WillBeKept();
  // The AM does not lead any more, so its reports are ignored.
  if (talked_to_ < oldest_epoch_ || (missing && seen.kind == ArbiterView::Kind::kLost))
    return OnLost({ErrorCode::kUnavailable, "the application master is no longer the leader of the job"});
  if (missing && keepers_started_++ < kMostKeepers) {
    const auto started = launcher_.Start(records_);
    if (started.ok() && *started)
      sink_.on_note(StrCat("the supervisor (keeper) of job ", records_.job().value, " was restarted"));
  }
  timer_ = loop_.After(kKeeperLook, [this, is_there] { CheckKeeper(is_there); });
}

// Checks whether a job that should end has ended in time. If not, reports what keeps it from ending.
void Follower::CheckOverdueEnd() {
  const Instant now = loop_.Now();
  if (now - looked_after_ < kKeeperLook) return;
  looked_after_ = now;
  const AmLauncher::Pulse pulse = launcher_.LookAfter(records_);
  keeper_is_silent_ = pulse.silent && !pulse.hopeless;
  if (!pulse.note.empty()) sink_.on_note(pulse.note);
  if (pulse.hopeless && kill_ && state_ != State::kEnding)
    return Fail(
        {ErrorCode::kUnavailable, StrCat("the supervisor (keeper) of job ", records_.job().value,
                                         " does not respond, and the kernel cannot end this process; the kill stays "
                                         "recorded for the next supervisor")});
  if (!pulse.silent) ReportWhoDelaysEnd(now);
}

void Follower::ReportWhoDelaysEnd(Instant now) {
  if (state_ != State::kEnding && !kill_ && !(last_ && last_->state == "STOPPING")) return late_at_.reset();
  if (!late_at_) late_at_ = now + kBeyondGrace + (state_ == State::kEnding ? Duration(0) : Grace());
  if (now < *late_at_) return;
  const std::string left = launcher_.DescribeBlocker(records_);
  if (left.empty() || left == left_told_) return;
  left_told_ = left;
  sink_.on_note(StrCat("job ", records_.job().value, " should have ended at ", ToIso8601(*late_at_), ": ", left));
}

void Follower::OnStatus(const JobStatus& status) {
  watcher_ = {};  // the AM now knows this watcher
  heard_ = loop_.Now();
  pause_ = kFirstPause;
  keepers_started_ = 0;
  wait_told_.clear();
  last_ = status;
  token_pusher_.See(status, /*is_led=*/true);
  if (HasEnded(status)) return End(status);
  sink_.on_status(status);
  // The AM reports the end, so the folder need not be watched any more. Closing the watch blocks for 15 ms. The watch
  // is closed here, because closing it after the verdict would delay the exit.
  watch_.reset();
}

void Follower::OnLost(const Error& error) {
  conversation_.reset();
  if (error.code != ErrorCode::kUnavailable) return Fail(error);  // retries would not help
  token_pusher_.OnAmLost();
  state_ = State::kSearching;
  Watch();
  SearchAfter(Duration(0));
}

void Follower::SearchAfter(Duration pause) {
  timer_ = loop_.After(pause, [this] { Search(); });
}

Duration Follower::NextPause() {
  const bool is_far = watch_ == nullptr;
  if (is_far) pause_ = std::max(pause_, kFirstPauseElsewhere);
  const Duration pause = is_far ? WithJitter(pause_) : pause_;
  pause_ = std::min(pause_ * 2, is_far ? kLongestPauseElsewhere : kLongestPause);
  return pause;
}

// Ends the follower with an error if the keeper has refused its kill. If no AM can lead the job, the keeper writes the
// reason into the status, and removes the kills that it refuses.
void Follower::CheckRefusedKill() {
  if (!kill_ || is_kill_answered_ || kill_->name.empty() || kill_->request.IsPlain()) return;
  const auto status = records_.ReadStatus();
  if (!status.ok() || !*status || (*status)->trouble.empty()) return;
  const auto kills = records_.ReadKills();
  if (!kills.ok()) return;
  if (std::ranges::count(*kills, kill_->name, &RecordedKill::name) > 0) return;
  Fail({ErrorCode::kUnavailable,
        StrCat("job ", records_.job().value, " has no application master (", (*status)->trouble,
               "), and only an application master knows the owner and the watchers of the job; to end the job, kill ",
               "it without --if-owner, --if-watcher and --delay")});
}

void Follower::Search() {
  EndUntakenKill();
  if (EndWithoutRecords()) return;
  OnFolderChange();
  if (state_ != State::kEnding) CheckOverdueEnd();
  if (state_ == State::kSearching || state_ == State::kReading) {
    CheckRefusedKill();
    if (kill_ && state_ == State::kSearching) (void)launcher_.EndBeforeFirstAm(records_, kill_->request);
  }
  const ArbiterView seen = Look();
  const bool is_kept = seen.IsKept();
  if (state_ == State::kReading && is_kept) return SearchAfter(kReadEvery);
  if (state_ == State::kReading) state_ = State::kSearching;
  if (state_ != State::kSearching) return;
  const auto lease = ReadLease();
  const bool tried_just_now = loop_.Now() - talk_began_ < pause_;
  if (!is_kept) return ReviveJob();
  keepers_started_ = 0;
  const bool may_lead = lease.ok() && *lease && (*lease)->epoch >= oldest_epoch_;
  if (may_lead && !tried_just_now) return TalkTo(**lease);
  if (lease.ok() && !may_lead) ReportPendingReason(seen.waits);
  if (lease.ok() && !*lease) EndIfStartIsOverdue(seen.waits);
  SearchAfter(NextPause());
}

// Reports the scheduler's reason why the job has no AM. The follower reports the reason, because no process of the job
// runs that could report it.
void Follower::ReportPendingReason(const std::string& why) {
  if (why.empty() || why == wait_told_) return;
  auto stored = StoredStatus(records_);
  if (!stored.ok() || HasEnded(*stored)) return;
  // The last status that the AM sent may be newer than the last status that it wrote.
  JobStatus status = last_ && last_->seq > stored->seq ? *last_ : *std::move(stored);
  wait_told_ = status.delay = why;
  sink_.on_status(status);
}

// Returns whether the kill has waited long enough for an AM that ends the job.
bool Follower::IsKillOverdue() const {
  const Instant now = loop_.Now(), since = std::max(kill_began_, heard_);
  if (!kill_->name.empty()) return state_ == State::kSearching && now - since >= kill_patience_;
  if (state_ != State::kTalking) return now - since >= std::min(kill_patience_, kUnrecordedPatience);
  const Duration asked = kill_->request.grace, grace = asked < Duration(0) ? grace_.value_or(Timers().grace) : asked;
  return now - kill_began_ >= grace + kUnrecordedPatience;
}

// Ends the job in its scheduler if no AM executes the kill. Without an AM, this client judges the conditions of the
// kill, by the owner and the watcher that the last AM has written or sent.
void Follower::EndUntakenKill() {
  if (!kill_ || !IsKillOverdue()) return;
  std::optional<JobStatus> known = last_ ? last_ : known_;
  if (!kill_->name.empty()) {
    const auto stored = LastStatus(records_);
    if (!stored.ok()) return;
    if (!known || stored->seq >= known->seq) known = *stored;
  }
  if (known ? HasEnded(*known) : !kill_->request.IsPlain()) return;
  const JobStatus status = known.value_or(JobStatus());
  const KillAnswer answer =
      JudgeKill(WithDueByReader(kill_began_, kill_->request), status.claim.owner, status.watcher, loop_.Now());
  if (answer == KillAnswer::kFenced) {
    kill_.reset();
    sink_.on_kill(answer);
    return sink_.on_status(status);
  }
  if (answer != KillAnswer::kTaken) return;
  const auto ended = launcher_.EndInScheduler(records_.job(), ReasonWithRequester(kill_->request));
  if (!ended.ok() || !*ended || std::exchange(ends_in_scheduler_, true)) return;
  sink_.on_note(StrCat("no application master executes the kill of job ", records_.job().value,
                       ", so the scheduler ends the job"));
}

// Returns true if the scheduler was asked to end the job, because the job's records cannot be written. In that case no
// record is read, and the follower ends with the verdict of the scheduler, or checks again later.
bool Follower::EndWithoutRecords() {
  if (!ends_in_scheduler_ || !kill_ || !kill_->name.empty()) return false;
  const auto end = launcher_.EndWithoutRecords(records_.job(), kill_->request.reason, Duration(0));
  if (!end.ok() || !*end || !HasEnded(**end)) {
    SearchAfter(NextPause());
    return true;
  }
  sink_.on_note(StrCat("the records of job ", records_.job().value, " cannot be used; the next command that waits for ",
                       "the job, or \"tony recover\", writes the job's verdict"));
  JobStatus status = last_.value_or(**end);
  EndStatus(status, *(*end)->verdict, (*end)->ended.value_or(RealClock().Now()));
  End(status);
  return true;
}

// Ends a job whose first AM starts too late. The follower does this itself, because on a cluster no process of TonY
// runs before the AM.
void Follower::EndIfStartIsOverdue(const std::string& why) {
  if (why.empty()) return;
  if (!start_due_) start_due_ = StartDeadline();
  const Instant now = loop_.Now();
  if (now < *start_due_) return;
  const auto spec = records_.ReadSpec();
  if (!spec.ok()) return;
  const Duration limit = spec->startup_timeout;
  const std::string late = StartTimeoutMessage(limit + (now - *start_due_), limit, why);
  const auto ended = launcher_.EndBeforeFirstAm(records_, {.reason = late});
  if (ended.ok() && *ended && !std::exchange(late_told_, true)) sink_.on_note(late);
}

Instant Follower::StartDeadline() const {
  const auto spec = records_.ReadSpec();
  const auto submission = records_.ReadSubmission();
  if (!spec.ok() || !submission.ok() || spec->startup_timeout == Duration(0)) return Instant::max();
  const Duration limit = spec->startup_timeout;
  return loop_.Now() + limit - ElapsedOfLimit(limit, submission->time, RealClock().Now());
}

void Follower::ReviveJob() {
  // The keeper writes the final status before it exits. The keeper has exited here, so the status is read again before
  // any decision.
  if (CheckStatusFile()) return;
  if (Look().WillBeKept()) return SearchAfter(kLongestPause);
  const Status settled = launcher_.Settle(records_);
  if (CheckStatusFile()) return;
  if (const auto end = launcher_.UnwrittenEnd(records_); end.ok() && *end) return End(**end);
  if (!settled.ok()) return Fail(settled.error());
  if (keepers_started_++ == kMostKeepers)
    return Fail(
        {ErrorCode::kUnavailable, StrCat("the supervisor (keeper) of job ", records_.job().value,
                                         " exits as soon as it is started; ", launcher_.KeeperFailureHint(records_))});
  const auto started = launcher_.Start(records_);
  if (!started.ok()) return Fail(started.error());
  // Another client has started the keeper, or the job has just ended.
  if (!*started) return SearchAfter(kFirstPause);
  sink_.on_note(StrCat("no application master ran for job ", records_.job().value,
                       ", so this command started the job's supervisor (keeper)"));
  // A long pause is enough, because the folder watch notices the new AM's lease at once.
  SearchAfter(kLongestPause);
}

void Follower::End(const JobStatus& status) {
  state_ = State::kEnding;
  conversation_.reset();
  end_ = status;
  sink_.on_status(status);
  looked_after_ = loop_.Now();
  give_up_keeper_ = looked_after_ + kKeeperLimit;
  WaitForKeeperExit();
}

void Follower::WaitForKeeperExit() {
  const ArbiterView seen = launcher_.Look(records_);
  const bool gone = !seen.WillBeKept();
  if (!gone) CheckOverdueEnd();
  // Keeper and AM died before the cleanup. Another keeper is started only for the cleanup.
  if (gone && !seen.swept && !std::exchange(swept_, true)) {
    if (launcher_.Start(records_).ok()) {
      timer_ = loop_.After(kKeeperPause, [this] { WaitForKeeperExit(); });
      return;
    }
  }
  if (gone || (loop_.Now() >= give_up_keeper_ && !keeper_is_silent_)) {
    if (!gone) sink_.on_note(StrCat("the supervisor (keeper) of job ", records_.job().value, " is still cleaning up"));
    timer_ = loop_.After(Duration(0), [this] { sink_.on_end(*end_); });
    return;
  }
  timer_ = loop_.After(kKeeperPause, [this] { WaitForKeeperExit(); });
}

void Follower::Fail(const Error& error) {
  state_ = State::kEnding;
  conversation_.reset();
  timer_ = loop_.After(Duration(0), [this, error] { sink_.on_end(error); });
}

}  // namespace tony
