#include "executor/task_run.h"

#include <algorithm>
#include <csignal>

#include "runtime/base/strings.h"

namespace tony::executor {
namespace {

// The time limit of the report after SIGTERM. The limit is short, because SIGKILL may follow. A NodeManager sends it
// 250 ms later, and a keeper (the supervisor of the job on this machine) a little after that.
constexpr Duration kLastReport{2000};

}  // namespace

TaskRun::TaskRun(Caller self, Endpoint endpoint, Timers timers, double jitter, int processes, LeasePace pace)
    : identity_(std::move(self)),
      endpoint_(std::move(endpoint)),
      timers_(timers),
      jitter_(jitter),
      processes_(processes),
      pace_(pace),
      epoch_(identity_.epoch),
      generation_(identity_.generation),
      lease_(timers.record_fresh) {}

std::vector<Action> TaskRun::Apply(const Event& event, Instant now) {
  now_ = now;
  actions_.clear();
  if (state_ != State::kLeft) std::visit([this](const auto& what) { On(what); }, event);
  return std::exchange(actions_, {});
}

std::optional<Instant> TaskRun::NextDeadline() const {
  if (state_ == State::kLeft) return std::nullopt;
  std::optional<Instant> next;
  for (const auto& deadline : {kill_at_, limit_at_, look_at_, leave_at_, read_at_, beat_at_, CutOffDeadline(),
                               OrphanDeadline(), RetryDeadline()}) {
    if (deadline) next = next ? std::min(*next, *deadline) : *deadline;
  }
  return next;
}

Phase TaskRun::phase() const {
  switch (state_) {
    case State::kWaiting:
    case State::kStarting:
      return Phase::kWaiting;
    case State::kRunning:
      return Phase::kRunning;
    case State::kSweeping:
    case State::kStopping:
    case State::kKilling:
      return Phase::kStopping;
    case State::kEnded:
    case State::kLeft:
      return Phase::kEnded;
  }
  return Phase::kEnded;
}

bool TaskRun::Go(Trigger trigger) {
  const auto to = Next(state_, trigger);
  if (!to) return false;
  state_ = *to;
  limit_at_.reset();
  if (state_ == State::kRunning && timers_.execution_limit > Duration{0}) limit_at_ = now_ + timers_.execution_limit;
  // Reports the states Running and Stopping to the AM at once. Other states need no heartbeat: Sweeping lasts only a
  // moment, and the outcome is a message of its own.
  if (state_ == State::kRunning || state_ == State::kStopping) HeartbeatNow();
  return true;
}

void TaskRun::ExecuteCommand(const Command& command) {
  switch (command.kind) {
    case Command::Kind::kNone:
      return;
    case Command::Kind::kStart:
      generation_ = std::max(generation_, command.generation);
      if (!Go(Trigger::kStart)) return;
      unanswered_ = processes_;
      Do(StartProcesses{command.generation, command.cluster_spec, command.resume_from});
      return;
    case Command::Kind::kStop:
      Announce(command);
      Stop({OutcomeClass::kKilled, std::nullopt, "stopped by the application master", ""}, command.grace);
      return;
    case Command::Kind::kRelease:
      LeaveAfterStop({OutcomeClass::kKilled, std::nullopt, "released by the application master", ""}, {kLeftReleased});
      return;
    case Command::Kind::kNext:
      if (!departure_ && command.attempt > identity_.attempt.number && Go(Trigger::kNext)) BeginNext(command.attempt);
      return;
  }
}

// Nothing is left of the previous attempt. The AM regards the next attempt as another caller, so all open calls of the
// previous attempt are void.
void TaskRun::BeginNext(int attempt) {
  identity_.attempt.number = attempt;
  pid_ = 0;
  started_ = 0;
  reaped_ = 0;
  usage_.reset();
  values_.clear();
  values_acknowledged_ = 0;
  ending_.reset();
  killed_since_.reset();
  warnings_ = 0;
  outcome_.reset();
  since_ = 0;
  Do(BeginAttempt{identity_.attempt});
  RegisterAgain();
}

void TaskRun::On(const AttemptNotBegun&) {
  End(Trigger::kStop,
      {OutcomeClass::kInfra, std::nullopt,
       "the executor could not lock the attempt's folder or reserve its port; executor.log names the cause", ""});
}

// Gives notice to the program if the stop has a reason. A stop has a reason only if it concerns this task alone. When
// the whole job ends, the program has nothing to prepare for.
void TaskRun::Announce(const Command& stop) {
  const bool has_process = state_ == State::kStarting || state_ == State::kRunning || state_ == State::kStopping;
  if (stop.reason.empty() || !has_process) return;
  const Instant deadline = now_ + stop.grace;
  Do(GiveNotice{stop.reason, kill_at_ ? std::min(*kill_at_, deadline) : deadline});
}

void TaskRun::Stop(Outcome because, Duration grace) {
  switch (state_) {
    case State::kWaiting:
      End(Trigger::kStop, std::move(because));
      return;
    case State::kStarting:
    case State::kRunning:
      ending_ = std::move(because);
      kill_at_ = now_ + grace;
      Do(SignalTree{SIGTERM});
      Go(Trigger::kStop);
      return;
    case State::kStopping:
      kill_at_ = std::min(*kill_at_, now_ + grace);
      return;
    case State::kSweeping:
    case State::kKilling:
    case State::kEnded:
    case State::kLeft:
      return;
  }
}

void TaskRun::LeaveAfterStop(Outcome because, LeavePlan how) {
  if (!departure_ || how.report_limit < departure_->report_limit) departure_ = how;
  if (state_ == State::kEnded) {
    ReportThenLeave();
  } else {
    Stop(std::move(because), timers_.grace);
  }
}

void TaskRun::On(const UsageMeasured& event) { usage_ = event.usage; }

void TaskRun::On(const ValuesSeen& event) {
  if (state_ == State::kWaiting || state_ == State::kEnded) return;
  values_.insert(event.values.begin(), event.values.end());
  Publish();
}

// The scheduler knows the reason of a SIGTERM, e.g. a memory limit, and reports it to the AM when the container has
// exited. The executor does not report an outcome that the SIGTERM caused, because that report would arrive first and
// lack the reason.
void TaskRun::On(const TermSignal&) {
  is_unexplained_ = is_unexplained_ || (!ending_ && !outcome_);
  LeaveAfterStop({OutcomeClass::kInfra, std::nullopt, "the task's executor received SIGTERM", ""},
                 {kLeftTerminated, kLastReport});
}

void TaskRun::On(const Tick&) {
  const auto due = [this](const std::optional<Instant>& deadline) { return deadline && *deadline <= now_; };
  if (due(kill_at_)) {
    kill_at_.reset();
    Go(Trigger::kGraceOver);
    CheckTreeSoon(SIGKILL);
  }
  if (due(limit_at_)) RunOutOfTime();
  if (due(look_at_)) LookAgain(state_ == State::kStopping ? 0 : SIGKILL);
  if (due(leave_at_)) LeaveWith(departure_->exit_code);
  if (due(CutOffDeadline()))
    Stop({OutcomeClass::kNodeLost, std::nullopt,
          "the task's executor could not reach the application master within tony.task.cutoff-after-ms", ""},
         timers_.grace);
  if (due(OrphanDeadline()))
    LeaveAfterStop({OutcomeClass::kInfra, std::nullopt,
                    "the task's executor could not reach an application master within tony.task.orphan-timeout-ms", ""},
                   {kLeftOrphaned});
  if (due(beat_at_)) HeartbeatNow();
  if (due(RetryDeadline())) Try(SeenLease(*tried_));
  if (due(read_at_)) RequestLeaseRead();
}

void TaskRun::End(Trigger trigger, Outcome outcome) {
  if (!Go(trigger)) return;
  outcome_ = std::move(outcome);
  outcome_->usage = usage_;
  kill_at_.reset();
  look_at_.reset();
  Do(KeepOutcome{*outcome_});
  if (departure_) {
    ReportThenLeave();
  } else {
    Report();
  }
}

void TaskRun::ReportThenLeave() {
  if (is_unexplained_ || departure_->report_limit == Duration{0}) {
    LeaveWith(departure_->exit_code);
    return;
  }
  const Instant leave_at = now_ + departure_->report_limit;
  leave_at_ = leave_at_ ? std::min(*leave_at_, leave_at) : leave_at;
  Report();
}

void TaskRun::LeaveWith(int exit_code) {
  if (Go(Trigger::kLeave)) Do(Leave{exit_code});
}

// The functions below handle the processes of an attempt and their process tree. All processes of an attempt are
// started together and ended together.

namespace {

// The first and the longest delay between checks of the tree. Most trees end a moment after their process. Other trees
// may hang in the kernel for minutes.
constexpr Duration kFirstLook{5};
constexpr Duration kLongestLook{250};
// The time after which SIGKILL counts as without effect. A tree that survives repeated SIGKILL for this long will not
// end by a further SIGKILL. The keeper waits equally long for its own kills at the end of a job.
constexpr Duration kLongestKilling{30'000};
// The number of warnings about a tree that is blocked in the kernel. The kernel may release a process soon, e.g. when a
// file server answers again. After this many warnings the tree is left to the keeper, which ends the job and keeps the
// job's resources reserved.
constexpr int kMostWarningsOfKernel = 10;

}  // namespace

bool TaskRun::AllReaped() const { return unanswered_ == 0 && reaped_ == started_; }

// The outcome names the process only if the attempt has several processes.
Outcome TaskRun::Named(Outcome outcome, int process) const {
  if (processes_ > 1 && !outcome.Succeeded()) outcome.process = process;
  return outcome;
}

// Stops the other processes after one process has failed, in the same way as a stop by the AM. The outcome is that of
// the first failure, because later failures may be caused by it.
void TaskRun::Fail(Outcome outcome) {
  ending_ = std::move(outcome);
  kill_at_ = now_ + timers_.grace;
  Do(SignalTree{SIGTERM});
  Go(Trigger::kFailed);
}

// Stops an attempt that has reached its execution limit. The program receives a notice with the reason, because it may
// still save what it has.
void TaskRun::RunOutOfTime() {
  const std::string why = StrCat("ran longer than ", Seconds(timers_.execution_limit), " (", kExecutionLimitKey, ")");
  Do(GiveNotice{why, now_ + timers_.grace});
  Stop({OutcomeClass::kTimeout, std::nullopt, why, ""}, timers_.grace);
}

void TaskRun::On(const ProcessStarted& event) {
  if (event.process == 0) pid_ = event.pid;
  --unanswered_;
  ++started_;
  if (unanswered_ > 0) return;
  // If the stop came before all processes were started, the last ones have not received the signal yet.
  if (state_ == State::kStopping) Do(SignalTree{SIGTERM});
  if (state_ == State::kKilling) LookAgain(SIGKILL);
  Go(Trigger::kStarted);
}

void TaskRun::On(const ProcessNotStarted& event) {
  unanswered_ = 0;
  if (started_ == 0) {
    End(Trigger::kNotStarted, ending_ ? *ending_ : event.outcome);
  } else if (state_ == State::kStarting) {
    Fail(Named(event.outcome, event.process));
  } else {
    // Processes that were started after the stop have not received the signal yet.
    CheckTreeSoon(state_ == State::kStopping ? SIGTERM : SIGKILL);
  }
}

void TaskRun::On(const ProcessExited& event) {
  if (event.process == 0) pid_ = 0;
  ++reaped_;
  const OutcomeClass cls = ClassOf(event.exit);
  Outcome own{cls, event.exit, "", cls == OutcomeClass::kSuccess ? "" : event.stderr_tail};
  if (event.judged) own = *event.judged;
  own = Named(std::move(own), event.process);
  if (state_ == State::kRunning) {
    if (!AllReaped() && own.Succeeded()) return;
    if (!AllReaped()) return Fail(std::move(own));
    ending_ = std::move(own);
    Go(Trigger::kExited);
    CheckTreeSoon(SIGKILL);
  } else if (ending_) {
    // If a process failed, the outcome keeps the exit status of that process. If the attempt was stopped, the outcome
    // gets the exit status of the first process that ended.
    if (!ending_->exit && !ending_->process) ending_->exit = event.exit;
    // The last output of a process that ran too long shows where it hung.
    if (ending_->cls == OutcomeClass::kTimeout && ending_->stderr_tail.empty())
      ending_->stderr_tail = event.stderr_tail;
    if (AllReaped()) CheckTreeSoon(state_ == State::kStopping ? 0 : SIGKILL);
  }
}

void TaskRun::On(const TreeGone&) {
  if (ending_ && AllReaped()) End(Trigger::kTreeGone, *ending_);
}

// An attempt has not ended as long as any of its processes lives. If its tree survives for too long, the executor
// leaves. The keeper, which has the container's cgroup, then ends the processes that can still be ended. The outcome
// stays on disk until no process is left.
void TaskRun::On(const TreeSurvived& event) {
  const bool ending = state_ == State::kSweeping || state_ == State::kKilling;
  if (!ending || !killed_since_ || now_ < *killed_since_ + kLongestKilling) return;
  const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(kLongestKilling).count();
  const std::string what = StrCat(event.what, ", still alive ", seconds * (warnings_ + 1), " s after SIGKILL");
  Do(WarnOfTree{what});
  killed_since_ = now_;
  if (++warnings_ < kMostWarningsOfKernel && event.uninterruptible) return;
  outcome_ = *ending_;
  outcome_->usage = usage_;
  if (outcome_->cls != OutcomeClass::kSuccess) outcome_->message += (outcome_->message.empty() ? "" : "; ") + what;
  // If a main process still lives, its outcome is unknown, and no outcome is written.
  if (AllReaped()) Do(KeepOutcome{*outcome_});
  if (Go(Trigger::kGiveUp)) Do(Leave{kLeftTreeAlive});
}

void TaskRun::CheckTreeSoon(int signal) {
  look_delay_ = kFirstLook;
  LookAgain(signal);
}

void TaskRun::LookAgain(int signal) {
  if (signal == SIGKILL && !killed_since_) killed_since_ = now_;
  Do(SignalTree{signal});
  look_at_ = now_ + look_delay_;
  look_delay_ = std::min(look_delay_ * 2, kLongestLook);
}

}  // namespace tony::executor
