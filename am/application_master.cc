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
constexpr size_t kMostKeptLogs = 64;  // 32 MiB of logs
// The logs of at most this many attempts are written at the same time. Each log has up to 512 KiB, so together they
// have up to 4 MiB of text, which HDFS stores within a few seconds.
constexpr int kMostLogsUnderWay = 8;
// While another job that is about to end holds the checkpoint folder, this AM tries again once a second, and at most
// this many times. The tries must end before the core gives up the listing after a minute (kLookLimit).
constexpr int kMostFirstLooks = 40;

}  // namespace

ApplicationMaster::ApplicationMaster(ApplicationMasterParts parts)
    : loop_(parts.loop),
      calls_(parts.calls),
      submission_(std::move(parts.submission)),
      token_(std::move(parts.token)),
      tracking_url_(std::move(parts.tracking_url)),
      epoch_(parts.epoch),
      turns_may_be_torn_(parts.steps_may_be_torn),
      patience_(parts.patience),
      job_(std::move(parts.job)),
      journal_(parts.journal),
      parked_(loop_,
              [this] {
                if (IsLeader()) Observe(ClientSeen{});
              }),
      log_relay_(loop_, {[this](const TaskId& task) { AskForLogs(task); },
                         [this](const AttemptId& attempt) { return IsFinal(job_.StateOf(attempt)); }}),
      checkpoint_reader_(loop_, std::move(parts.checkpoints), submission_, job_.spec().checkpoint),
      tokens_(std::move(parts.tokens)),
      store_tokens_(std::move(parts.store_tokens)) {
  journal_.SetFailureCallback([this](const std::string& why) { OnJournalTrouble(why); });
  ExpectTokens();
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
  Turn turn{RunCoreStep(job_, observation, loop_.Now()), std::move(answer)};
  const std::vector<Decision> decisions = std::exchange(turn.result.decisions, {});
  const std::optional<Refusal> refusal = turn.result.refusal;
  // A heartbeat does not set the timer, because it only moves deadlines to a later time. If the timer fires before any
  // deadline, the TimePassed step sets it again.
  const bool timed =
      std::holds_alternative<TimePassed>(observation) || std::holds_alternative<LeaseRenewed>(observation);
  if (!decisions.empty() || timed) ScheduleTimer();
  // A step without decisions is finished at once if no earlier step waits for the disk. Most heartbeats are such steps.
  if (decisions.empty() && waiting_.empty()) {
    Finish(turn);
    return refusal;
  }
  if (decisions.empty() && turn.result.actions.empty() && !turn.answer) return refusal;
  turn.changed = !decisions.empty();
  waiting_.push_back(std::move(turn));
  journal_.Append(decisions, [this] {
    // Once `unwritten_` is set, FinishUnwritten() counts the steps as written.
    if (unwritten_) return;
    ++written_;
    FinishWritten();
  });
  if (unwritten_) {
    FinishUnwritten();
  } else if (!trouble_.empty()) {
    PerformUrgentActions(waiting_.back());
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
  if (!tells_.empty() && !tell_timer_) SendQueuedCommands();
  if (turn.answer) turn.answer(turn.result.refusal);
}

// A gang of thousands of tasks gets its commands in slices. Each START contains the whole cluster spec, and heartbeats
// and the lease must not wait until all commands have been sent.
void ApplicationMaster::SendQueuedCommands() {
  tell_timer_.reset();
  for (size_t left = kTellsAtOnce; left > 0 && !tells_.empty() && IsLeader(); --left) {
    Tell(tells_.front());
    tells_.pop_front();
  }
  if (!tells_.empty())
    tell_timer_ = loop_.After(IsLeader() ? Duration(0) : kLookAgain, [this] { SendQueuedCommands(); });
}

void ApplicationMaster::Perform(const Action& action) {
  std::visit(Overloaded{
                 [&](const RequestContainers& a) { scheduler_->Request(a.asks); },
                 [&](const WithdrawRequests& a) { scheduler_->Withdraw(a.attempts); },
                 [&](const LaunchExecutor& a) {
                   scheduler_->Launch(a.container, {a.attempt, job_.spec().FindRole(a.attempt.task.role)->resources});
                 },
                 [&](const StopContainer& a) { scheduler_->Stop(a.container, a.mode); },
                 [&](const SendCommand& a) { tells_.push_back(a); },
                 [&](const ListCheckpoints&) { ListTheCheckpoints(); },
                 [&](const SearchCheckpoint& a) { LookForNewestCheckpoint(a.restart); },
                 [&](const EndJob&) { End(); },
             },
             action);
}

void ApplicationMaster::OnScheduler(SchedulerEvent event) {
  if (const auto* lost = std::get_if<SchedulerLost>(&event)) {
    LogWarn(StrCat("the application master is no longer the leader: ", lost->reason));
    is_leader_ = false;
    deadline_timer_.reset();
    return;
  }
  if (const auto* delayed = std::get_if<ContainersPending>(&event)) return SetPendingReason(delayed->reason);
  const bool resumes = std::holds_alternative<SchedulerReached>(event) && !std::exchange(is_leader_, true);
  Observe(ContainerEvent{std::move(event)});
  if (!resumes) return;
  Renew();
  ReadKills();
}

std::optional<Refusal> ApplicationMaster::RefusalOf(const std::string& token) const {
  if (!Knows(token)) return Refusal{RefusalReason::kBadToken, "the token does not belong to this job"};
  if (!IsLeader())
    return Refusal{RefusalReason::kNotLeader,
                   "this application master is not the leader now, because its scheduler does not answer"};
  return std::nullopt;
}

void ApplicationMaster::Register(const Caller& caller, const Registration& what, Reply<Epoch> reply) {
  if (!Admit(caller.token, reply)) return;
  // The answer does not wait for a journal that cannot be written, because the executor would repeat the call until it
  // considers itself cut off and stops its task. The answer promises nothing, because the executor registers again with
  // the next AM. A refusal may come from a decision that is not in the journal yet, so the executor only searches
  // again.
  if (!trouble_.empty()) {
    if (Observe(RegisterCall{caller, what})) return reply.Refuse(RefusalReason::kNotLeader, trouble_);
    return reply.Success(epoch_);
  }
  Observe(RegisterCall{caller, what}, [this, reply](const std::optional<Refusal>& refusal) {
    if (refusal) return reply.Refuse(refusal->reason, refusal->message);
    reply.Success(epoch_);
  });
}

void ApplicationMaster::Await(const Caller& caller, int64_t since, Reply<Command> reply) {
  if (!Admit(caller.token, reply)) return;
  if (!trouble_.empty()) return AwaitWhileDegraded(caller, since, reply);
  // The command is read now, before later steps change it, because the decisions of later steps may not be on disk when
  // this call is answered.
  const SendCommand now = job_.Tell(caller.attempt);
  Observe(AwaitCall{caller}, [this, since, reply, now, tokens = caller.tokens](const std::optional<Refusal>& refusal) {
    if (refusal) return reply.Refuse(refusal->reason, refusal->message);
    parked_.ParkAwait(now.attempt, since, reply);
    // SendQueuedCommands() sends the command only while this AM is the leader.
    tells_.push_back(now);
    if (!tell_timer_) SendQueuedCommands();
    AskForLogs(now.attempt.task);
    SendTokensIfOlder(now.attempt, tokens);
  });
}

// Sends a command. A release is delayed while a client reads the executor's logs, because the logs are out of reach
// after the executor has exited.
void ApplicationMaster::Tell(const SendCommand& order) {
  if (job_.Tell(order.attempt) != order) return;
  const Command command = job_.CommandFor(order.attempt);
  if (command.kind == Command::Kind::kRelease && log_relay_.DelaysRelease(order.attempt)) {
    if (std::ranges::find(delayed_, order) == delayed_.end()) delayed_.push_back(order);
    if (!delay_timer_) delay_timer_ = loop_.After(kBetweenReleases, [this] { SendDelayedReleases(); });
    return;
  }
  parked_.Tell(order.attempt, command);
}

void ApplicationMaster::SendDelayedReleases() {
  delay_timer_.reset();
  for (SendCommand& order : std::exchange(delayed_, {})) tells_.push_back(std::move(order));
  if (!tell_timer_) SendQueuedCommands();
}

// Answers the executor's parked Await call with log requests. Does nothing if a command has just answered that call,
// because an Await call gets only one answer.
void ApplicationMaster::AskForLogs(const TaskId& task) {
  const auto attempt = parked_.AttemptAwaiting(task);
  std::vector<LogAsk> asks = attempt ? log_relay_.TakeAsks(task) : std::vector<LogAsk>();
  if (!asks.empty()) parked_.AskForLogs(*attempt, std::move(asks));
}

// Answers the executor's parked Await call with the newest tokens of the cluster, if the executor has older ones. Does
// nothing if that call has just been answered, because the executor names its tokens again in its next call.
void ApplicationMaster::SendTokensIfOlder(const AttemptId& attempt, int64_t number) {
  if (number < tokens_.number) parked_.SendTokens(attempt, tokens_);
}

// A push is taken even while this AM cannot write its journal or is not the leader, because the lack of valid tokens
// may be the cause.
void ApplicationMaster::PushTokens(const std::string& token, const ClusterTokens& tokens, Reply<TokensReply> reply) {
  if (!Knows(token)) return reply.Refuse(RefusalReason::kBadToken, "the token does not belong to this job");
  if (tokens_.number == 0)
    return reply.Refuse(RefusalReason::kBadRequest, "the job uses no tokens, because its cluster has no Kerberos");
  const Status taken = TakeTokens(tokens);
  if (!taken.ok()) return reply.Refuse(RefusalReason::kBadRequest, taken.error().message);
  reply.Success({.taken = tokens.number == tokens_.number, .until = tokens_.until});
}

Status ApplicationMaster::TakeTokens(const ClusterTokens& tokens) {
  if (tokens.number <= tokens_.number) return Ok();
  TRY(store_tokens_(tokens));
  tokens_ = tokens;
  ExpectTokens();
  LogInfo(StrCat("a client has pushed tokens of the cluster, which are valid until ", ToIso8601(tokens.until)));
  parked_.SendTokensToAll(tokens_);
  PushUnversionedStatus();
  StatusChanged();
  return Ok();
}

// A client that follows the job pushes tokens after a quarter of their life. After half of it, no client follows the
// job, or its pushes fail.
void ApplicationMaster::ExpectTokens() {
  tokens_are_overdue_ = false;
  if (tokens_.number == 0) return;
  const Duration pause = tokens_.until - tokens_.Life() / 2 - RealClock().Now();
  tokens_timer_ = loop_.After(std::max(pause, Duration(0)), [this] {
    tokens_are_overdue_ = true;
    LogWarn(StrCat("no client has pushed fresh tokens, so the job can use the cluster only until ",
                   ToIso8601(tokens_.until), "; run: tony credentials push ", submission_.job.value));
    StatusChanged();
    PushUnversionedStatus();
  });
}

void ApplicationMaster::SendLog(const Caller& caller, int64_t id, std::vector<LogNews> news,
                                Reply<std::monostate> reply) {
  if (!Admit(caller.token, reply)) return;
  log_relay_.Take(caller.attempt.task, id, std::move(news));
  reply.Success({});
}

void ApplicationMaster::ListTheCheckpoints() {
  checkpoint_reader_.List([this](const FirstLook& look) {
    const auto* in_use = std::get_if<FolderInUse>(&look);
    const bool free_soon = in_use && in_use->ending && ++first_looks_ < kMostFirstLooks;
    if (!IsLeader() || free_soon) {
      if (free_soon)
        SetPendingReason(StrCat("waits until job ", in_use->by.value, ", which uses the checkpoint folder, has ended"));
      look_timer_ = loop_.After(kLookAgain, [this] { ListTheCheckpoints(); });
      return;
    }
    // If the folder was in use, the pending reason was set above and is removed now. Otherwise any pending reason comes
    // from the scheduler and stays.
    if (first_looks_ > 0) SetPendingReason("");
    if (in_use) {
      Observe(CheckpointsFound{{}, in_use->by});
      return;
    }
    const auto& listing = std::get<CheckpointListing>(look);
    if (!listing.unknown.empty()) LogWarn(StrCat("checkpoints: ", listing.unknown));
    Observe(CheckpointsFound{listing, std::nullopt});
  });
}

void ApplicationMaster::LookForNewestCheckpoint(int restart) {
  checkpoint_reader_.Begin(job_.listing(), [this, restart](const Result<std::optional<Checkpoint>>& newest) {
    if (!newest.ok()) LogWarn(newest.error().message);
    // An AM that is not the leader may decide nothing, so the search is repeated later.
    if (!IsLeader()) {
      look_timer_ = loop_.After(kLookAgain, [this, restart] { LookForNewestCheckpoint(restart); });
      return;
    }
    Observe(CheckpointSearched{restart, newest.ok() ? *newest : std::nullopt, newest.ok()});
  });
}

void ApplicationMaster::Heartbeat(const Caller& caller, const Progress& progress, Reply<std::monostate> reply) {
  if (!Admit(caller.token, reply)) return;
  if (!trouble_.empty()) {
    // The heartbeat is answered although nothing can be written, because the executor would leave this AM without an
    // answer. No information is lost, because the next heartbeat repeats everything that this one reports.
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

// Writes the logs of an attempt. Only the job's last records wait for these writes. If many tasks fail at once, the
// number of writes is limited, and further logs are dropped.
void ApplicationMaster::KeepLogs(const AttemptId& attempt, std::vector<LogExcerpt> logs) {
  if (logs_under_way_ >= kMostLogsUnderWay)
    return LogWarn(StrCat("the logs of ", ToString(attempt), " are not stored, because ", logs_under_way_,
                          " other writes of logs are still running"));
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
        if (!written.ok())
          LogWarn(StrCat("cannot store the logs of ", ToString(attempt), ": ", written.error().message));
      });
}

bool ApplicationMaster::IsUnended(const AttemptId& attempt) const {
  const AttemptState state = job_.StateOf(attempt);
  return state != AttemptState::kNew && !IsFinal(state);
}

// Outputs are written before the attempt's success is known, so that a client that knows of the success finds the
// outputs. If the outputs cannot be written, only the executor's own copy is left.
void ApplicationMaster::KeepOutputs(const AttemptId& attempt, const AttemptReport& report, std::function<void()> then) {
  const bool counts = IsUnended(attempt) && IsOutputTask(job_.spec(), attempt.task);
  if (!counts || !report.outputs || !report.outcome.Succeeded()) return then();
  calls_.Ask([kept = RecordedOutputs{attempt, *report.outputs}](
                 const JobRecords& records) { return WriteJobOutputs(records, kept); },
             [then = std::move(then)](const Status& written) {
               if (!written.ok()) LogWarn(StrCat("cannot store the outputs: ", written.error().message));
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
    // A client with a parked Watch call counts as active all the time.
    if (parked_.AnyWatch()) Observe(ClientSeen{});
    Observe(TimePassed{});
  } else {
    deadline_timer_ = loop_.After(kLookAgain, [this] { OnDeadline(); });
  }
}

// ---- calls of clients, and the status that they receive

void ApplicationMaster::GetStatus(const std::string& token, Reply<StatusAnswer> reply) {
  Watch(token, /*since=*/-1, Duration(0), {}, std::move(reply));
}

void ApplicationMaster::Watch(const std::string& token, int64_t since, Duration limit, const WatcherToken& watcher,
                              Reply<StatusAnswer> reply) {
  if (!Admit(token, reply)) return;
  Observe(ClientSeen{watcher});
  const bool news = end_told_ || (job_.seq() > since && !push_timer_);
  if (MayShowStatus() && news) return reply.Success(CurrentStatus());
  // While the end of the job is being written, no status may be sent. Therefore even a GetStatus call waits until the
  // end is on disk, which takes one sync.
  const Duration wait = MayShowStatus() ? std::min(limit, LongestWatch()) : LongestWatch();
  parked_.ParkWatch(since, wait, reply, [this] { return CurrentStatus(); });
}

// A kill without a condition takes effect even if it cannot be written, because the client stays connected and repeats
// the kill to a later AM. A kill with a condition or a plan is refused while nothing can be written, because no later
// AM would know it.
//
// Before a kill with a condition is decided, the kill requests in the job's folder are decided. Otherwise a kill that
// is refused here might be accepted later from a file in this folder, when its condition has become true.
void ApplicationMaster::Kill(const std::string& token, const KillRequest& request, Reply<KillReply> reply) {
  if (!Admit(token, reply)) return;
  if (!trouble_.empty() && !request.IsPlain()) return reply.Refuse(RefusalReason::kNotLeader, trouble_);
  LogInfo(StrCat("a kill was requested by ", RequesterOf(request), ": ", request.reason));
  if (request.IsPlain()) return Decide(request, reply);
  calls_.Ask([](const JobRecords& records) { return records.ReadKills(); },
             [this, token, request, reply](const auto& recorded) {
               if (!Admit(token, reply)) return;
               if (!trouble_.empty()) return reply.Refuse(RefusalReason::kNotLeader, trouble_);
               TakeKills(recorded);
               Decide(request, reply);
             });
}

void ApplicationMaster::Decide(const KillRequest& request, const Reply<KillReply>& reply) {
  const KillRequest mine = WithDueByReader(loop_.Now(), request);
  const KillAnswer answer = job_.AnswerTo(mine, loop_.Now());
  const auto tell = [this, answer, reply](const std::optional<Refusal>&) { reply.Success({answer, CurrentStatus()}); };
  if (trouble_.empty()) return (void)Observe(KillRequested{mine}, tell);
  Observe(KillRequested{mine});
  tell({});
}

void ApplicationMaster::Attach(const std::string& token, const Claim& claim, Reply<AttachReply> reply) {
  if (!Admit(token, reply)) return;
  if (!trouble_.empty()) return reply.Refuse(RefusalReason::kNotLeader, trouble_);
  const bool attached = job_.MayAttach();
  Observe(AttachRequested{claim}, [this, attached, reply](const std::optional<Refusal>&) {
    reply.Success({attached, CurrentStatus()});
  });
}

void ApplicationMaster::ReadLogs(const std::string& token, const LogQuery& query, Reply<LogAnswer> reply) {
  if (!Admit(token, reply)) return;
  for (const LogWant& want : query.wants) {
    const RoleSpec* role = job_.spec().FindRole(want.attempt.task.role);
    if (!role || want.attempt.task.index >= role->instances)
      return reply.Refuse(RefusalReason::kBadRequest, StrCat("the job has no task ", ToString(want.attempt.task)));
  }
  log_relay_.Read(query, reply);
}

JobStatus ApplicationMaster::ShowStatus() {
  if (IsLeader()) Observe(ClientSeen{});
  return Snapshot();
}

// While the end of the job cannot be written, clients get a status without the end, which is better than no answer.
bool ApplicationMaster::MayShowStatus() const { return !job_.Ended() || end_told_ || !trouble_.empty(); }

void ApplicationMaster::AnswerWatches() {
  if (MayShowStatus() && parked_.AnyWatch()) parked_.Tell(CurrentStatus());
}

StatusAnswer ApplicationMaster::CurrentStatus() const {
  return {.seq = job_.seq(), .epoch = epoch_, .ended = end_told_, .status_json = ToJson(Snapshot())};
}

JobStatus ApplicationMaster::JobAndSubmission() const {
  JobStatus status = job_.Snapshot(submission_.user, submission_.time);
  status.request = submission_.request;
  status.number = submission_.number;
  // The portal's page stays when the job has ended, so the final status has this address as well.
  const std::string& portal = job_.spec().page_url;
  if (!portal.empty()) status.tracking_url = StrCat(portal, "/jobs/", submission_.job.value, "/");
  return status;
}

JobStatus ApplicationMaster::Snapshot() const {
  JobStatus status = JobAndSubmission();
  if (status.tracking_url.empty()) status.tracking_url = tracking_url_;
  status.delay = pending_reason_;
  status.trouble = trouble_;
  if (tokens_.number > 0) {
    status.tokens_until = tokens_.until;
    status.tokens_issued = FromMillis(tokens_.number);
  }
  status.tokens_are_overdue = tokens_are_overdue_;
  if (job_.Ended() && !end_told_) {
    status.state = ToString(JobState::kStopping);
    status.verdict.reset();
    status.ended.reset();
  }
  return status;
}

}  // namespace tony::am
