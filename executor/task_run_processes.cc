// The processes of an attempt, and what is left of their tree: started together, ended together.
#include <algorithm>
#include <csignal>
#include <utility>

#include "executor/task_run.h"
#include "runtime/base/seconds.h"
#include "runtime/base/strings.h"

namespace tony::executor {
namespace {

// Most trees are gone a moment after their process; one that is not may hang in the kernel for minutes.
constexpr Duration kFirstLook{5};
constexpr Duration kLongestLook{250};
// What lives so long under one SIGKILL after the other does not die of the next one either. As long as the keeper's own
// sweep at the end of a job.
constexpr Duration kLongestKilling{30'000};
// The kernel may let go of a process soon, as when a server of files answers again. After so many warnings the process
// is left to the keeper, which ends the job and keeps its place.
constexpr int kMostWarningsOfKernel = 10;

}  // namespace

bool TaskRun::AllReaped() const { return unanswered_ == 0 && reaped_ == started_; }

// Where there is one process, nobody asks which.
Outcome TaskRun::Named(Outcome outcome, int process) const {
  if (processes_ > 1 && !outcome.Succeeded()) outcome.process = process;
  return outcome;
}

// One process has failed and others are left: they end as if they had been told to stop. What fails after it may have
// failed because of it.
void TaskRun::Fail(Outcome outcome) {
  ending_ = std::move(outcome);
  kill_at_ = now_ + timers_.grace;
  Do(SignalTree{SIGTERM});
  Go(Trigger::kFailed);
}

// Told why, as by a stop of the application master's: the program may still keep what it has.
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
  if (state_ == State::kStopping) Do(SignalTree{SIGTERM});  // the stop came first
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
    LookAnew(state_ == State::kStopping ? SIGTERM : SIGKILL);  // the stop came before those that were started
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
    LookAnew(SIGKILL);
  } else if (ending_) {
    // A failure has its own exit; a stop, that of the first process which it ended.
    if (!ending_->exit && !ending_->process) ending_->exit = event.exit;
    // What it said last tells where it hung.
    if (ending_->cls == OutcomeClass::kTimeout && ending_->stderr_tail.empty())
      ending_->stderr_tail = event.stderr_tail;
    if (AllReaped()) LookAnew(state_ == State::kStopping ? 0 : SIGKILL);
  }
}

void TaskRun::On(const TreeGone&) {
  if (ending_ && AllReaped()) End(Trigger::kTreeGone, *ending_);
}

// The attempt has not ended, and does not as long as anything of it lives. Whoever can still be ended is left to the
// keeper, which has the container's cgroup; the outcome waits on the disk until nothing is left.
void TaskRun::On(const TreeLives& event) {
  const bool ending = state_ == State::kSweeping || state_ == State::kKilling;
  if (!ending || !killed_since_ || now_ < *killed_since_ + kLongestKilling) return;
  const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(kLongestKilling).count();
  const std::string what = StrCat(event.what, ", not ended by SIGKILL for ", seconds * (warnings_ + 1), " s");
  Do(WarnOfTree{what});
  killed_since_ = now_;
  if (++warnings_ < kMostWarningsOfKernel && event.in_kernel) return;
  outcome_ = *ending_;
  outcome_->usage = usage_;
  if (outcome_->cls != OutcomeClass::kSuccess) outcome_->message += (outcome_->message.empty() ? "" : "; ") + what;
  if (AllReaped()) Do(KeepOutcome{*outcome_});  // else a process itself lives, and nobody knows yet how it ends
  if (Go(Trigger::kGiveUp)) Do(Leave{kLeftTreeAlive});
}

void TaskRun::LookAnew(int signal) {
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
