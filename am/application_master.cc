#include "am/application_master.h"

#include <algorithm>
#include <filesystem>
#include <utility>

#include "runtime/base/log.h"
#include "runtime/base/overloaded.h"
#include "runtime/base/strings.h"

namespace tony::am {
namespace {

// Clients see changes at most this often: a thousand tasks that start together are a few documents, not thousands.
constexpr Duration kPushInterval{20};
constexpr Duration kStatusFileInterval{500};
// A timer and not inotify: closing that costs an AM 15 ms at the end of every job.
constexpr Duration kKillRequestInterval{1000};
constexpr Duration kLongestWatch{60000};

// Takes the same time wherever the first difference is.
bool SameSecret(const std::string& a, const std::string& b) {
  if (a.size() != b.size()) return false;
  unsigned char difference = 0;
  for (size_t i = 0; i < a.size(); ++i) difference |= static_cast<unsigned char>(a[i] ^ b[i]);
  return difference == 0;
}

void LogDecision(const Decision& decision) {
  // The journal's own words; the outcome's stderr tail would be most of the line.
  std::string json = ToJson(decision);
  constexpr size_t kLongest = 400;
  if (json.size() > kLongest) json = json.substr(0, kLongest) + "...";
  LogInfo(json);
}

}  // namespace

ApplicationMaster::ApplicationMaster(ApplicationMasterParts parts)
    : loop_(parts.loop),
      folder_(std::move(parts.folder)),
      submission_(std::move(parts.submission)),
      executor_program_(std::move(parts.executor_program)),
      token_(std::move(parts.token)),
      epoch_(parts.epoch),
      job_(std::move(parts.job)),
      journal_(parts.journal),
      parked_(loop_) {}

Status ApplicationMaster::Start(Scheduler& scheduler, int server_port, std::function<void(Status)> on_end) {
  scheduler_ = &scheduler;
  on_end_ = std::move(on_end);
  lease_ = {.epoch = epoch_, .host = "127.0.0.1", .port = server_port};
  TRY(folder_.WriteLease(lease_));
  lease_timer_ = loop_.After(job_.spec().timers.record_fresh / 3, [this] { RenewLease(); });
  Observe(AmStarted{epoch_});
  LookForKillRequest();
  return Ok();
}

void ApplicationMaster::Observe(const Observation& observation, Answer answer) {
  TurnResult turn = TakeTurn(job_, observation, loop_.Now());
  // A heartbeat only moves deadlines away; the timer then finds nothing due and is set anew.
  const bool timed =
      std::holds_alternative<TimePassed>(observation) || std::holds_alternative<LeaseRenewed>(observation);
  if (!turn.decisions.empty() || timed) ScheduleTimer();
  // Nothing to write and nobody before us who waits for the disk: answer at once (heartbeats).
  if (turn.decisions.empty() && turns_in_journal_ == 0) return Finish(turn, answer, Ok());
  for (const Decision& decision : turn.decisions) LogDecision(decision);
  const bool durable = std::ranges::any_of(turn.decisions, MustBeDurable);
  const std::vector<Decision> decisions = std::exchange(turn.decisions, {});
  const bool changed = !decisions.empty();
  ++turns_in_journal_;
  journal_.Append(decisions, durable,
                  [this, changed, turn = std::move(turn), answer = std::move(answer)](const Status& written) {
                    --turns_in_journal_;
                    Finish(turn, answer, written);
                    if (changed) StatusChanged();
                  });
}

void ApplicationMaster::Finish(const TurnResult& turn, const Answer& answer, const Status& written) {
  if (!written.ok()) return Fail(written.error());
  for (const Action& action : turn.actions) Perform(action);
  if (answer) answer(turn.refusal);
}

void ApplicationMaster::Perform(const Action& action) {
  std::visit(Overloaded{
                 [&](const RequestContainers& a) { scheduler_->Request(a.asks); },
                 [&](const LaunchExecutor& a) { scheduler_->Launch(a.container, ExecutorFor(a.attempt, a.container)); },
                 [&](const StopContainer& a) { scheduler_->Stop(a.container, a.mode); },
                 [&](const TellExecutor& a) { Tell(a); },
                 [&](const EndJob&) { End(); },
             },
             action);
}

void ApplicationMaster::End() {
  const Status written = folder_.WriteStatus(Snapshot(), /*durable=*/true);
  if (!written.ok()) return Fail(written.error());
  status_timer_.reset();
  LogInfo(StrCat("job ", ToString(job_.state()), ": ", job_.verdict()->message));
  end_told_ = true;
  AnswerWatches();
  scheduler_->Finish([this] {
    if (auto on_end = std::exchange(on_end_, nullptr)) on_end(Ok());
  });
}

// Without a journal this AM can promise nothing. Its arbiter starts another one, and gives up after a few.
void ApplicationMaster::Fail(const Error& error) {
  LogError(error.message);
  if (auto on_end = std::exchange(on_end_, nullptr)) on_end(error);
}

void ApplicationMaster::OnScheduler(SchedulerEvent event) {
  if (const auto* lost = std::get_if<SchedulerLost>(&event)) {
    LogWarn(StrCat("no longer ruling: ", lost->reason));
    ruling_ = false;
    deadline_timer_.reset();
    return;
  }
  const bool resumes = std::holds_alternative<SchedulerReached>(event) && !std::exchange(ruling_, true);
  std::optional<Outcome> kept = KeptOutcome(event);
  Observe(ContainerEvent{std::move(event), std::move(kept)});
  if (!resumes) return;
  Renew();
  ReadKillRequest();
}

template <class T>
bool ApplicationMaster::Admit(const std::string& token, const Reply<T>& reply) const {
  if (!SameSecret(token, token_)) {
    reply.Refuse(RefusalReason::kBadToken, "not the token of this job");
    return false;
  }
  if (!ruling_) {
    reply.Refuse(RefusalReason::kNotRuling, "this application master has lost its arbiter");
    return false;
  }
  return true;
}

void ApplicationMaster::Register(const Caller& caller, const Registration& what, Reply<Epoch> reply) {
  if (!Admit(caller.token, reply)) return;
  Observe(RegisterCall{caller, what}, [this, reply](const std::optional<Refusal>& refusal) {
    if (refusal) return reply.Refuse(refusal->reason, refusal->message);
    reply.Success(epoch_);
  });
}

void ApplicationMaster::Await(const Caller& caller, int64_t since, Reply<Command> reply) {
  if (!Admit(caller.token, reply)) return;
  // As it is before later turns change it: those may not be on the disk when this one is answered.
  const TellExecutor now{caller.attempt, job_.CommandNumber(caller.attempt)};
  Observe(AwaitCall{caller}, [this, since, reply, now](const std::optional<Refusal>& refusal) {
    if (refusal) return reply.Refuse(refusal->reason, refusal->message);
    parked_.ParkAwait(now.attempt, since, reply);
    Tell(now);
  });
}

void ApplicationMaster::Tell(const TellExecutor& order) {
  if (job_.CommandNumber(order.attempt) == order.number) parked_.Tell(order.attempt, job_.CommandFor(order.attempt));
}

void ApplicationMaster::Heartbeat(const Caller& caller, const Progress& progress, Reply<std::monostate> reply) {
  if (!Admit(caller.token, reply)) return;
  Observe(HeartbeatCall{caller, progress}, [reply](const std::optional<Refusal>& refusal) {
    if (refusal) return reply.Refuse(refusal->reason, refusal->message);
    reply.Success({});
  });
}

void ApplicationMaster::ReportOutcome(const Caller& caller, const Outcome& outcome, Reply<std::monostate> reply) {
  if (!Admit(caller.token, reply)) return;
  Observe(OutcomeCall{caller, outcome}, [reply](const std::optional<Refusal>& refusal) {
    if (refusal) return reply.Refuse(refusal->reason, refusal->message);
    reply.Success({});
  });
}

void ApplicationMaster::GetStatus(const std::string& token, Reply<StatusAnswer> reply) {
  Watch(token, /*since=*/-1, Duration(0), std::move(reply));
}

void ApplicationMaster::Watch(const std::string& token, int64_t since, Duration limit, Reply<StatusAnswer> reply) {
  if (!Admit(token, reply)) return;
  const bool news = job_.Ended() || (job_.seq() > since && !push_timer_);
  if (MayTell() && news) return reply.Success(CurrentStatus());
  // Where an end is about to be written, even a caller who would not wait gets it; that takes one sync.
  const Duration wait = MayTell() ? std::min(limit, kLongestWatch) : kLongestWatch;
  parked_.ParkWatch(since, wait, reply, [this] { return CurrentStatus(); });
}

void ApplicationMaster::Kill(const std::string& token, const std::string& reason, Duration grace,
                             Reply<StatusAnswer> reply) {
  if (!Admit(token, reply)) return;
  Observe(KillAsked{reason, grace}, [this, token, reply](const std::optional<Refusal>&) { GetStatus(token, reply); });
}

bool ApplicationMaster::MayTell() const { return !job_.Ended() || end_told_; }

void ApplicationMaster::AnswerWatches() {
  if (MayTell() && parked_.AnyWatch()) parked_.Tell(CurrentStatus());
}

StatusAnswer ApplicationMaster::CurrentStatus() const {
  return {.seq = job_.seq(), .epoch = epoch_, .ended = end_told_, .status_json = ToJson(Snapshot())};
}

JobStatus ApplicationMaster::Snapshot() const { return job_.Snapshot(submission_.user, submission_.time); }

LaunchSpec ApplicationMaster::ExecutorFor(const AttemptId& attempt, const ContainerId& container) const {
  LaunchSpec launch;
  launch.argv = {executor_program_, folder_.path().string(), ToString(attempt.task), StrCat(attempt.number),
                 container.value};
  const std::filesystem::path logs = folder_.LogFolder(attempt);
  std::error_code ignored;  // the executor says it better when it cannot write there
  std::filesystem::create_directories(logs, ignored);
  launch.log_file = (logs / "executor.log").string();
  return launch;
}

std::optional<Outcome> ApplicationMaster::KeptOutcome(const SchedulerEvent& event) const {
  const auto* exited = std::get_if<ContainerExited>(&event);
  if (!exited) return std::nullopt;
  const auto attempt = job_.AttemptIn(exited->container);
  if (!attempt || IsFinal(job_.StateOf(*attempt))) return std::nullopt;
  auto kept = folder_.ReadOutcome(*attempt);
  if (kept.ok()) return *std::move(kept);
  LogWarn(kept.error().message);
  return std::nullopt;
}

// An AM that cannot renew goes on ruling; executors that still reach it do not look at the record.
void ApplicationMaster::Renew() {
  ++lease_.renewal;
  if (const Status written = folder_.WriteLease(lease_); !written.ok()) return LogWarn(written.error().message);
  Observe(LeaseRenewed{});
}

void ApplicationMaster::RenewLease() {
  if (ruling_) Renew();  // the record of an AM that does not rule gets stale: nobody is to think itself cut off
  lease_timer_ = loop_.After(job_.spec().timers.record_fresh / 3, [this] { RenewLease(); });
}

// Who asks for a kill calls, too; the file alone is left where the asker died in between, and by the keeper.
void ApplicationMaster::LookForKillRequest() {
  ReadKillRequest();
  kill_timer_ = loop_.After(kKillRequestInterval, [this] { LookForKillRequest(); });
}

void ApplicationMaster::ReadKillRequest() {
  if (!ruling_) return;
  const auto request = folder_.ReadKillRequest();
  if (!request.ok()) return LogWarn(request.error().message);
  if (*request) Observe(KillAsked{(*request)->reason, (*request)->grace});
}

void ApplicationMaster::ScheduleTimer() {
  deadline_timer_.reset();
  if (!ruling_) return;
  if (const auto deadline = job_.NextDeadline()) {
    deadline_timer_ = loop_.At(*deadline, [this] { Observe(TimePassed{}); });
  }
}

void ApplicationMaster::StatusChanged() {
  if (!push_timer_) {
    AnswerWatches();
    push_timer_ = loop_.After(kPushInterval, [this] {
      push_timer_.reset();
      AnswerWatches();
    });
  }
  if (status_timer_ || end_told_) return;
  status_timer_ = loop_.After(kStatusFileInterval, [this] {
    status_timer_.reset();
    if (job_.Ended()) return;  // End() writes the last one
    if (const Status written = folder_.WriteStatus(Snapshot(), /*durable=*/false); !written.ok())
      LogWarn(written.error().message);
  });
}

}  // namespace tony::am
