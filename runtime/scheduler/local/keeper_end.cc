// The keeper's part after the AM's: how a job ends, with an AM and without one.
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <iterator>
#include <utility>

#include "runtime/base/log.h"
#include "runtime/base/strings.h"
#include "runtime/history/ended_log.h"
#include "runtime/history/history_files.h"
#include "runtime/process/process_tree.h"
#include "runtime/scheduler/local/final_status.h"
#include "runtime/scheduler/local/keeper.h"
#include "runtime/scheduler/local/keeper_socket.h"
#include "runtime/store/files.h"

namespace tony::keeper {
namespace {

// A full disk may pass; until then the job is not over.
constexpr Duration kBetweenTries{1000};
constexpr Duration kBetweenSweeps{5};
// What is not dead this long after SIGKILL is in the kernel's hands and will die when those let go.
constexpr Duration kLongestSweep{30000};
// Between looks at tasks that run out and at whether somebody wants them killed.
constexpr Duration kBetweenLooks{500};
// For an executor to sweep up after its task's grace, before we do.
constexpr Duration kExecutorMargin{2000};

Verdict Killed(const std::string& reason) {
  Verdict verdict;
  verdict.state = FinalState::kKilled;
  verdict.cls = OutcomeClass::kKilled;
  verdict.message = reason;
  return verdict;
}

Duration GraceOf(const JobFolder& folder) {
  const auto spec = folder.ReadSpec();
  return spec.ok() ? spec->timers.grace : Duration(0);
}

}  // namespace

void Keeper::Finish() {
  folder_.GiveUpReserve();
  // Before `finished`: without that a job whose keeper dies now gets another one, which comes here too. No job fails
  // for the sake of its line.
  if (const Status logged = RecordEnd(folder_); !logged.ok()) LogWarn(logged.error().message);
  const Status recorded = WriteFileByRename(folder_.finished(), "", /*durable=*/false);
  if (!recorded.ok()) return TryAgain(&Keeper::Finish, recorded.error());
  LogInfo("the job is finished");
  phase_ = Phase::kFinishing;
  Report(JobFinished{});
  containers_.KillAll();
  am_.Retire();
  Proceed();
}

void Keeper::GiveUp(const std::string& reason) {
  LogError(reason);
  verdict_ = InfraVerdict(folder_, reason);
  EndTasks(GraceOf(folder_));
}

void Keeper::RunOut(const std::string& reason) {
  LogError(StrCat("no application master can rule this job; its tasks go on: ", reason));
  verdict_ = InfraVerdict(folder_, reason);
  phase_ = Phase::kRunningOut;
  Proceed();
  if (phase_ == Phase::kRunningOut) SayTrouble();
  LookAtTasks();
}

void Keeper::SayTrouble() {
  running_told_ = containers_.Running();
  const auto status = TroubledStatus(folder_, verdict_.message);
  const Status written = status.ok() ? folder_.WriteStatus(*status, /*durable=*/false) : Status(status.error());
  if (!written.ok()) LogWarn(written.error().message);
}

void Keeper::LookAtTasks() {
  if (phase_ != Phase::kRunningOut) return;
  timer_ = loop_.After(kBetweenLooks, [this] {
    const auto request = folder_.ReadKillRequest();
    if (request.ok() && *request) {
      verdict_ = Killed((*request)->reason);
      return EndTasks((*request)->grace < Duration(0) ? GraceOf(folder_) : (*request)->grace);
    }
    // An executor whose task has ended, or was never told to start, would wait for an AM.
    containers_.StopIdle();
    if (containers_.Running() != running_told_) SayTrouble();
    LookAtTasks();
  });
}

void Keeper::EndTasks(Duration grace) {
  phase_ = Phase::kEndingTasks;
  containers_.StopAll();
  if (grace == Duration(0)) containers_.KillAll();
  timer_ = loop_.After(grace + kExecutorMargin, [this] { containers_.KillAll(); });
  Proceed();
}

// The next step of an end, once what it waits for is gone.
void Keeper::Proceed() {
  if (!am_.Gone() || containers_.AnyLeft()) return;
  switch (phase_) {
    case Phase::kFinishing:
      return SweepJob();
    case Phase::kRunningOut:
    case Phase::kEndingTasks:
      return WriteVerdict();
    case Phase::kServing:
    case Phase::kSweeping:
    case Phase::kDone:
      return;
  }
}

void Keeper::WriteVerdict() {
  phase_ = Phase::kEndingTasks;
  folder_.GiveUpReserve();
  const auto status = EndedStatus(folder_, verdict_, loop_.Now());
  if (!status.ok()) LogError(status.error().message);
  const Status written = status.ok() ? folder_.WriteStatus(*status, /*durable=*/true) : Ok();
  if (!written.ok()) return TryAgain(&Keeper::WriteVerdict, written.error());
  Finish();
}

void Keeper::SweepJob() {
  if (phase_ != Phase::kSweeping) sweep_end_ = loop_.Now() + kLongestSweep;
  phase_ = Phase::kSweeping;
  auto left = FindAllOfJob(ListProcesses(), containers_.Scope());
  std::ranges::copy(containers_.InCgroups(), std::back_inserter(left));
  SignalAll(left, SIGKILL);
  if (!left.empty() && loop_.Now() < sweep_end_) {
    timer_ = loop_.After(kBetweenSweeps, [this] { SweepJob(); });
    return;
  }
  if (!left.empty()) LogError(StrCat(left.size(), " processes do not die, process ", left[0], " for one"));
  containers_.RemoveCgroups();
  LeaveLedger();
  // Last of all, as its folder may be on a file server that does not answer. `tony history --export` mends what this
  // does not get done.
  if (const Status kept = FinishHistory(folder_); !kept.ok()) LogWarn(kept.error().message);
  LogInfo("nothing is left");
  phase_ = Phase::kDone;
  RemoveKeeperSocket(folder_);
  on_done_();
}

void Keeper::TryAgain(void (Keeper::*step)(), const Error& error) {
  LogWarn(error.message);
  timer_ = loop_.After(kBetweenTries, [this, step] { (this->*step)(); });
}

}  // namespace tony::keeper
