#include "am/application_master.h"

#include <algorithm>
#include <filesystem>
#include <utility>

#include "runtime/base/log.h"
#include "runtime/base/result.h"
#include "runtime/base/strings.h"
#include "runtime/records/kept_outputs.h"

namespace tony::am {
namespace {

constexpr Duration kLookAgain{1000};
constexpr size_t kTellsAtOnce = 64;
constexpr Duration kBetweenReleases{50};
constexpr size_t kMostKeptLogs = 64;  // 32 MiB
// 4 MiB of text, and some seconds of HDFS' time.
constexpr int kMostLogsUnderWay = 8;
// So many seconds another job that is being ended may have the checkpoint folder; the core waits for a minute.
constexpr int kMostFirstLooks = 40;

}  // namespace

ApplicationMaster::ApplicationMaster(ApplicationMasterParts parts)
    : loop_(parts.loop),
      calls_(parts.calls),
      submission_(std::move(parts.submission)),
      token_(std::move(parts.token)),
      tracking_url_(std::move(parts.tracking_url)),
      epoch_(parts.epoch),
      turns_may_be_torn_(parts.turns_may_be_torn),
      patience_(parts.patience),
      job_(std::move(parts.job)),
      journal_(parts.journal),
      parked_(loop_,
              [this] {
                if (IsLeader()) Observe(Looked{});
              }),
      log_relay_(loop_, {[this](const TaskId& task) { AskForLogs(task); },
                         [this](const AttemptId& attempt) { return IsFinal(job_.StateOf(attempt)); }}),
      checkpoint_look_(loop_, std::move(parts.checkpoints), submission_, job_.spec().checkpoint) {
  journal_.TellOfTrouble([this](const std::string& why) { OnJournalTrouble(why); });
}

void ApplicationMaster::Start(Scheduler& scheduler, AmAddresses at, std::function<void()> on_end) {
  scheduler_ = &scheduler;
  on_end_ = std::move(on_end);
  lease_ = {.epoch = epoch_, .am = std::move(at)};
  WriteLease([] {});
  Observe(AmStarted{epoch_, submission_.claim, turns_may_be_torn_, scheduler_->ConfirmsEnds()});
  LookForKills();
}

std::optional<Refusal> ApplicationMaster::Observe(const Observation& observation, Answer answer) {
  Turn turn{TakeTurn(job_, observation, loop_.Now()), std::move(answer)};
  const std::vector<Decision> decisions = std::exchange(turn.result.decisions, {});
  const std::optional<Refusal> refusal = turn.result.refusal;
  // A heartbeat only moves deadlines away; the timer then finds nothing due and is set anew.
  const bool timed =
      std::holds_alternative<TimePassed>(observation) || std::holds_alternative<LeaseRenewed>(observation);
  if (!decisions.empty() || timed) ScheduleTimer();
  // Nothing to write and nobody before us who waits for the disk: answer at once (heartbeats).
  if (decisions.empty() && waiting_.empty()) {
    Finish(turn);
    return refusal;
  }
  if (decisions.empty() && turn.result.actions.empty() && !turn.answer) return refusal;
  turn.changed = !decisions.empty();
  waiting_.push_back(std::move(turn));
  journal_.Append(decisions, [this] {
    // A turn counts as written from then on.
    if (unwritten_) return;
    ++written_;
    FinishWritten();
  });
  if (unwritten_) {
    PassUnwritten();
  } else if (!trouble_.empty()) {
    PerformWhatMayNotWait(waiting_.back());
    MakeRoomForTheEnd();
    LimitWaitForDisk();
  }
  return refusal;
}

void ApplicationMaster::FinishWritten() {
  while (written_ > 0) {
    const Turn turn = std::move(waiting_.front());
    waiting_.pop_front();
    --written_;
    Finish(turn);
    if (turn.changed) StatusChanged();
  }
}

void ApplicationMaster::Finish(const Turn& turn) {
  for (const Action& action : turn.result.actions) Perform(action);
  if (!tells_.empty() && !tell_timer_) TellSome();
  if (turn.answer) turn.answer(turn.result.refusal);
}

// A gang of thousands is told in slices: each START has the whole cluster spec, and heartbeats and the lease do not
// wait for all of them.
void ApplicationMaster::TellSome() {
  tell_timer_.reset();
  for (size_t left = kTellsAtOnce; left > 0 && !tells_.empty() && IsLeader(); --left) {
    Tell(tells_.front());
    tells_.pop_front();
  }
  if (!tells_.empty()) tell_timer_ = loop_.After(IsLeader() ? Duration(0) : kLookAgain, [this] { TellSome(); });
}

void ApplicationMaster::Perform(const Action& action) {
  std::visit(Overloaded{
                 [&](const RequestContainers& a) { scheduler_->Request(a.asks); },
                 [&](const WithdrawRequests& a) { scheduler_->Withdraw(a.attempts); },
                 [&](const LaunchExecutor& a) {
                   scheduler_->Launch(a.container, {a.attempt, job_.spec().FindRole(a.attempt.task.role)->resources});
                 },
                 [&](const StopContainer& a) { scheduler_->Stop(a.container, a.mode); },
                 [&](const TellExecutor& a) { tells_.push_back(a); },
                 [&](const ListCheckpoints&) { ListTheCheckpoints(); },
                 [&](const LookForCheckpoint& a) { LookForNewestCheckpoint(a.restart); },
                 [&](const EndJob&) { End(); },
             },
             action);
}

void ApplicationMaster::OnScheduler(SchedulerEvent event) {
  if (const auto* lost = std::get_if<SchedulerLost>(&event)) {
    LogWarn(StrCat("no longer ruling: ", lost->reason));
    is_leader_ = false;
    deadline_timer_.reset();
    return;
  }
  if (const auto* delayed = std::get_if<ContainersDelayed>(&event)) return SetPendingReason(delayed->reason);
  if (const auto* granted = std::get_if<ContainerGranted>(&event); granted && !granted->log_url.empty())
    log_urls_[granted->attempt.task] = {granted->attempt, granted->log_url};
  const bool resumes = std::holds_alternative<SchedulerReached>(event) && !std::exchange(is_leader_, true);
  Observe(ContainerEvent{std::move(event)});
  if (!resumes) return;
  Renew();
  ReadKills();
}

std::optional<Refusal> ApplicationMaster::RefusalOf(const std::string& token) const {
  if (!Knows(token)) return Refusal{RefusalReason::kBadToken, "not the token of this job"};
  if (!IsLeader()) return Refusal{RefusalReason::kNotRuling, "this application master has lost its arbiter"};
  return std::nullopt;
}

void ApplicationMaster::Register(const Caller& caller, const Registration& what, Reply<Epoch> reply) {
  if (!Admit(caller.token, reply)) return;
  // It would wait unheard, and be repeated; refused so, it goes on with its task and looks for an AM. As long as it is
  // put off so, it is not silent.
  if (!trouble_.empty()) {
    Observe(AwaitCall{caller});
    return reply.Refuse(RefusalReason::kNotRuling, trouble_);
  }
  Observe(RegisterCall{caller, what}, [this, reply](const std::optional<Refusal>& refusal) {
    if (refusal) return reply.Refuse(refusal->reason, refusal->message);
    reply.Success(epoch_);
  });
}

void ApplicationMaster::Await(const Caller& caller, int64_t since, Reply<Command> reply) {
  if (!Admit(caller.token, reply)) return;
  if (!trouble_.empty()) return AwaitInTrouble(caller, since, reply);
  // As it is before later turns change it: those may not be on the disk when this one is answered.
  const TellExecutor now = job_.Tell(caller.attempt);
  Observe(AwaitCall{caller}, [this, since, reply, now](const std::optional<Refusal>& refusal) {
    if (refusal) return reply.Refuse(refusal->reason, refusal->message);
    parked_.ParkAwait(now.attempt, since, reply);
    tells_.push_back(now);  // not if it does not rule by now
    if (!tell_timer_) TellSome();
    AskForLogs(now.attempt.task);
  });
}

// Who is released leaves, and its logs with it.
void ApplicationMaster::Tell(const TellExecutor& order) {
  if (job_.Tell(order.attempt) != order) return;
  const Command command = job_.CommandFor(order.attempt);
  if (command.kind == Command::Kind::kRelease && log_relay_.DelaysRelease(order.attempt)) {
    if (std::ranges::find(delayed_, order) == delayed_.end()) delayed_.push_back(order);
    if (!delay_timer_) delay_timer_ = loop_.After(kBetweenReleases, [this] { TellDelayed(); });
    return;
  }
  parked_.Tell(order.attempt, command);
}

void ApplicationMaster::TellDelayed() {
  delay_timer_.reset();
  for (TellExecutor& order : std::exchange(delayed_, {})) tells_.push_back(std::move(order));
  if (!tell_timer_) TellSome();
}

// Its Await is answered at once if it has one: what is to be told goes before.
void ApplicationMaster::AskForLogs(const TaskId& task) {
  const auto attempt = parked_.WhoAwaits(task);
  std::vector<LogAsk> asks = attempt ? log_relay_.TakeAsks(task) : std::vector<LogAsk>();
  if (!asks.empty()) parked_.AskForLogs(*attempt, std::move(asks));
}

void ApplicationMaster::SendLog(const Caller& caller, int64_t id, std::vector<LogNews> news,
                                Reply<std::monostate> reply) {
  if (!Admit(caller.token, reply)) return;
  log_relay_.Take(caller.attempt.task, id, std::move(news));
  reply.Success({});
}

void ApplicationMaster::ListTheCheckpoints() {
  checkpoint_look_.List([this](const FirstLook& look) {
    const auto* in_use = std::get_if<FolderInUse>(&look);
    const bool free_soon = in_use && in_use->ending && ++first_looks_ < kMostFirstLooks;
    if (!IsLeader() || free_soon) {
      if (free_soon) SetPendingReason(StrCat("waits for job ", in_use->by.value, " to leave the checkpoint folder"));
      look_timer_ = loop_.After(kLookAgain, [this] { ListTheCheckpoints(); });
      return;
    }
    if (first_looks_ > 0) SetPendingReason("");  // else it is the scheduler's
    if (in_use) {
      Observe(CheckpointsThere{{}, in_use->by});
      return;
    }
    const auto& listing = std::get<CheckpointListing>(look);
    if (!listing.unknown.empty()) LogWarn(StrCat("checkpoints: ", listing.unknown));
    Observe(CheckpointsThere{listing, std::nullopt});
  });
}

void ApplicationMaster::LookForNewestCheckpoint(int restart) {
  checkpoint_look_.Begin(job_.listing(), [this, restart](const Result<std::optional<Checkpoint>>& newest) {
    if (!newest.ok()) LogWarn(newest.error().message);
    // This AM may decide nothing now, so the search is repeated later.
    if (!IsLeader()) {
      look_timer_ = loop_.After(kLookAgain, [this, restart] { LookForNewestCheckpoint(restart); });
      return;
    }
    Observe(CheckpointSeen{restart, newest.ok() ? *newest : std::nullopt, newest.ok()});
  });
}

void ApplicationMaster::Heartbeat(const Caller& caller, const Progress& progress, Reply<std::monostate> reply) {
  if (!Admit(caller.token, reply)) return;
  if (!trouble_.empty()) {
    // Its answer promises nothing: whatever it tells, the next one tells again. Unanswered, the executor would leave
    // us.
    Observe(HeartbeatCall{caller, progress});
    return reply.Success({});
  }
  Observe(HeartbeatCall{caller, progress}, [reply](const std::optional<Refusal>& refusal) {
    if (refusal) return reply.Refuse(refusal->reason, refusal->message);
    reply.Success({});
  });
}

void ApplicationMaster::Publish(const Caller& caller, const PublishedValues& values, Reply<std::monostate> reply) {
  if (!Admit(caller.token, reply)) return;
  Observe(PublishCall{caller, values}, [reply](const std::optional<Refusal>& refusal) {
    if (refusal) return reply.Refuse(refusal->reason, refusal->message);
    reply.Success({});
  });
}

// Nobody waits for them but the job's last records, which are written behind them: of many that fail at once those are
// kept that there is room for.
void ApplicationMaster::KeepLogs(const AttemptId& attempt, std::vector<LogExcerpt> logs) {
  if (logs_under_way_ >= kMostLogsUnderWay)
    return LogWarn(StrCat("the logs of ", ToString(attempt), " are not kept: ", logs_under_way_, " are before them"));
  ++logs_under_way_;
  std::optional<AttemptId> oldest;
  kept_logs_.push_back(attempt);
  if (kept_logs_.size() > kMostKeptLogs) oldest = kept_logs_.front();
  if (oldest) kept_logs_.pop_front();
  calls_.Ask(
      [attempt, oldest, logs = std::move(logs)](const JobRecords& records) {
        if (oldest) (void)RemoveKeptLogs(records, *oldest);
        return WriteKeptLogs(records, attempt, logs);
      },
      [this, attempt](const Status& written) {
        --logs_under_way_;
        if (!written.ok()) LogWarn(StrCat("the logs of ", ToString(attempt), ": ", written.error().message));
      });
}

bool ApplicationMaster::IsUnended(const AttemptId& attempt) const {
  const AttemptState state = job_.StateOf(attempt);
  return state != AttemptState::kNew && !IsFinal(state);
}

// Before it is known that the attempt has succeeded: whoever knows that finds them. Where they cannot be written, the
// executor's own copy is what is left.
void ApplicationMaster::KeepOutputs(const AttemptId& attempt, const AttemptReport& report, std::function<void()> then) {
  const bool counts = IsUnended(attempt) && LeavesOutputs(job_.spec(), attempt.task);
  if (!counts || !report.outputs || !report.outcome.Succeeded()) return then();
  calls_.Ask([kept = RecordedOutputs{attempt, *report.outputs}](
                 const JobRecords& records) { return WriteJobOutputs(records, kept); },
             [then = std::move(then)](const Status& written) {
               if (!written.ok()) LogWarn(StrCat("outputs: ", written.error().message));
               then();
             });
}

void ApplicationMaster::ReportOutcome(const Caller& caller, const AttemptReport& report, Reply<std::monostate> reply) {
  if (!Admit(caller.token, reply)) return;
  const bool is_new = IsUnended(caller.attempt);
  KeepOutputs(caller.attempt, report, [this, caller, outcome = report.outcome, logs = report.logs, is_new, reply] {
    if (!Admit(caller.token, reply)) return;
    if (is_new && !logs.empty()) KeepLogs(caller.attempt, logs);
    Observe(OutcomeCall{caller, outcome}, [reply](const std::optional<Refusal>& refusal) {
      if (refusal) return reply.Refuse(refusal->reason, refusal->message);
      reply.Success({});
    });
  });
}

std::optional<AttemptId> ApplicationMaster::UnendedIn(const ContainerId& container) const {
  const auto attempt = job_.AttemptIn(container);
  return attempt && !IsFinal(job_.StateOf(*attempt)) ? attempt : std::nullopt;
}

void ApplicationMaster::ScheduleTimer() {
  deadline_timer_.reset();
  if (!is_leader_) return;
  if (const auto deadline = job_.NextDeadline()) {
    deadline_timer_ = loop_.At(*deadline, [this] { OnDeadline(); });
  }
}

void ApplicationMaster::OnDeadline() {
  if (IsLeader()) {
    if (parked_.AnyWatch()) Observe(Looked{});  // who waits for news is looking all the time
    Observe(TimePassed{});
  } else {
    deadline_timer_ = loop_.After(kLookAgain, [this] { OnDeadline(); });
  }
}

// ---- what clients request, and what they are shown

void ApplicationMaster::GetStatus(const std::string& token, Reply<StatusAnswer> reply) {
  Watch(token, /*since=*/-1, Duration(0), {}, std::move(reply));
}

void ApplicationMaster::Watch(const std::string& token, int64_t since, Duration limit, const WatcherToken& watcher,
                              Reply<StatusAnswer> reply) {
  if (!Admit(token, reply)) return;
  Observe(Looked{watcher});
  const bool news = end_told_ || (job_.seq() > since && !push_timer_);
  if (MayTell() && news) return reply.Success(CurrentStatus());
  // Where an end is about to be written, even a caller who would not wait gets it; that takes one sync.
  const Duration wait = MayTell() ? std::min(limit, LongestWatch()) : LongestWatch();
  parked_.ParkWatch(since, wait, reply, [this] { return CurrentStatus(); });
}

// A plain kill takes effect although it cannot be written: the client stays connected, and repeats it to a later AM.
// An AM that cannot write makes no plan and judges no condition, because no later AM would know of it. The request that
// the client recorded in the folder is settled first: a request that was refused here must not be taken from the folder
// later, when its condition has come true.
void ApplicationMaster::Kill(const std::string& token, const KillRequest& request, Reply<KillReply> reply) {
  if (!Admit(token, reply)) return;
  if (!trouble_.empty() && !request.IsPlain()) return reply.Refuse(RefusalReason::kNotRuling, trouble_);
  LogInfo(StrCat("asked for a kill by ", AskerOf(request), ": ", request.reason));
  if (request.IsPlain()) return Decide(request, reply);
  calls_.Ask([](const JobRecords& records) { return records.ReadKills(); },
             [this, token, request, reply](const auto& recorded) {
               if (!Admit(token, reply)) return;
               if (!trouble_.empty()) return reply.Refuse(RefusalReason::kNotRuling, trouble_);
               TakeKills(recorded);
               Decide(request, reply);
             });
}

void ApplicationMaster::Decide(const KillRequest& request, const Reply<KillReply>& reply) {
  const KillRequest mine = ByClockOf(loop_.Now(), request);
  const KillAnswer answer = job_.AnswerTo(mine, loop_.Now());
  const auto tell = [this, answer, reply](const std::optional<Refusal>&) { reply.Success({answer, CurrentStatus()}); };
  if (trouble_.empty()) return (void)Observe(KillAsked{mine}, tell);
  Observe(KillAsked{mine});
  tell({});
}

void ApplicationMaster::Attach(const std::string& token, const Claim& claim, Reply<AttachReply> reply) {
  if (!Admit(token, reply)) return;
  if (!trouble_.empty()) return reply.Refuse(RefusalReason::kNotRuling, trouble_);
  const bool attached = job_.MayAttach();
  Observe(AttachAsked{claim}, [this, attached, reply](const std::optional<Refusal>&) {
    reply.Success({attached, CurrentStatus()});
  });
}

void ApplicationMaster::ReadLogs(const std::string& token, const LogQuery& query, Reply<LogAnswer> reply) {
  if (!Admit(token, reply)) return;
  for (const LogWant& want : query.wants) {
    const RoleSpec* role = job_.spec().FindRole(want.attempt.task.role);
    if (!role || want.attempt.task.index >= role->instances)
      return reply.Refuse(RefusalReason::kBadRequest, StrCat("there is no task ", ToString(want.attempt.task)));
  }
  log_relay_.Read(query, reply);
}

JobStatus ApplicationMaster::ShowStatus() {
  if (IsLeader()) Observe(Looked{});
  return Snapshot();
}

// While an end cannot be written, a status without it is better than none.
bool ApplicationMaster::MayTell() const { return !job_.Ended() || end_told_ || !trouble_.empty(); }

void ApplicationMaster::AnswerWatches() {
  if (MayTell() && parked_.AnyWatch()) parked_.Tell(CurrentStatus());
}

StatusAnswer ApplicationMaster::CurrentStatus() const {
  return {.seq = job_.seq(), .epoch = epoch_, .ended = end_told_, .status_json = ToJson(Snapshot())};
}

JobStatus ApplicationMaster::JobAndSubmission() const {
  JobStatus status = job_.Snapshot(submission_.user, submission_.time);
  status.request = submission_.request;
  status.number = submission_.number;
  for (TaskStatus& task : status.tasks) {
    // A node shows those of the first attempt of a container.
    const auto url = log_urls_.find(task.id);
    if (url != log_urls_.end() && url->second.first.number == task.attempt) task.log_url = url->second.second;
  }
  return status;
}

JobStatus ApplicationMaster::Snapshot() const {
  JobStatus status = JobAndSubmission();
  status.tracking_url = tracking_url_;
  status.delay = pending_reason_;
  status.trouble = trouble_;
  if (job_.Ended() && !end_told_) {
    status.state = ToString(JobState::kStopping);
    status.verdict.reset();
    status.ended.reset();
  }
  return status;
}

}  // namespace tony::am
