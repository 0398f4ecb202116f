// The keeper's part in the machine's ledger: the job is entered as it begins, and leaves when nothing of it is left.
#include <unistd.h>

#include <algorithm>
#include <utility>

#include "runtime/base/log.h"
#include "runtime/base/strings.h"
#include "runtime/job/environment.h"
#include "runtime/keeper/keeper.h"
#include "runtime/ledger/ledger_folder.h"
#include "runtime/os/users.h"

namespace tony::keeper {
namespace {

// A ledger that cannot be used may be again: a disk that was full, a folder that somebody repairs. Until then the job
// says what it waits for, and may be killed.
constexpr Duration kBetweenLimitLooks{60'000};
// A turn that comes within it was not waited for.
constexpr Duration kNestedPatience{5000};

}  // namespace

void Keeper::EnterLedger() {
  if (phase_ != Phase::kServing && phase_ != Phase::kRunningOut) return;
  const Status entered = TryToEnterLedger();
  if (entered.ok()) return;
  SayTurn(JobQueued{StrCat("waits for the ledger, which cannot be used: ", entered.error().message)});
  claim_timer_ = loop_.After(kBetweenTries, [this] { EnterLedger(); });
}

Status Keeper::TryToEnterLedger() {
  TRY_ASSIGN(const JobSpec spec, records_.ReadSpec());
  TRY_ASSIGN(const LedgerFolder ledger, LedgerFolder::FindFor(records_));
  TRY_ASSIGN(const auto environment, records_.ReadEnvironment());
  if (const auto mark = VariableOf(environment, kJobMark); mark && *mark != records_.job().value) above_ = JobId{*mark};
  const bool runs = containers_.Running() > 0;
  TRY_ASSIGN(claim_, LedgerClaim::Enter(loop_, ledger, records_.job(), AskOf(spec, environment), runs,
                                        {[this] { OnAdmitted(); }, [this](const std::string& why) { OnQueued(why); }},
                                        spec.priority));
  ledger_ = ledger;
  return Ok();
}

void Keeper::OnQueued(const std::string& why) {
  SayTurn(JobQueued{why});
  if (above_ && !nested_timer_) nested_timer_ = loop_.After(kNestedPatience, [this] { EndIfNested(); });
}

// A job that a task of another job has submitted does not wait, because that task may wait for it and keep what it
// waits for. Its submit has looked already; somebody else was quicker then.
void Keeper::EndIfNested() {
  nested_timer_ = loop_.After(kNestedPatience, [this] { EndIfNested(); });
  const auto* queued = turn_ ? std::get_if<JobQueued>(&*turn_) : nullptr;
  const auto view = ledger_->Read();
  if (!queued || !view.ok()) return;
  const LedgerEntry* above = view->ledger.Find(*above_, geteuid());
  if (!above || !above->admitted()) return;
  nested_timer_.reset();
  EndBecause(WhyNestedCannotWait(*above_, queued->why));
}

void Keeper::OnAdmitted() {
  nested_timer_.reset();
  SayTurn(JobAdmitted{});
  containers_.Admit({claim_->lock(), claim_->gpus(), claim_->MachineHasGpus()});
  WatchRunTime();
}

// The limit is read again and again: the owner of the machine may have raised it, or set one.
void Keeper::WatchRunTime() {
  if (!claim_ || claim_->admitted_at() == Instant()) return;
  const auto minutes = ledger_ ? ledger_->ReadMachine().LimitsOf(geteuid()).run_minutes : std::nullopt;
  const Instant now = loop_.Now();
  Instant next = now + kBetweenLimitLooks;
  if (minutes) {
    const Instant end = claim_->admitted_at() + std::chrono::minutes(*minutes);
    if (end <= now) return EndAtRunLimit(*minutes);
    next = std::min(next, end);
  }
  run_timer_ = loop_.At(next, [this] { WatchRunTime(); });
}

void Keeper::EndAtRunLimit(int64_t minutes) {
  const std::string reason =
      StrCat("the job has run for ", minutes, minutes == 1 ? " minute" : " minutes",
             ", all that machine.json lets a job of ", UserName(geteuid()), " run here (run_minutes)");
  EndBecause(reason);
}

void Keeper::EndBecause(const std::string& reason) {
  LogInfo(reason);
  const Status written = records_.WriteKillRequest({reason});
  if (written.ok()) return;
  LogError(written.error().message);
  EndUnasked(reason);
}

void Keeper::SayTurn(KeeperReport turn) {
  const auto* queued = std::get_if<JobQueued>(&turn);
  const auto* before = turn_ ? std::get_if<JobQueued>(&*turn_) : nullptr;
  if (queued && before && queued->why == before->why) return;
  LogInfo(queued ? StrCat("the job ", queued->why) : "the job is admitted");
  turn_ = std::move(turn);
  Report(*turn_);
}

void Keeper::LeaveLedger() {
  claim_timer_.reset();
  run_timer_.reset();
  nested_timer_.reset();
  if (claim_) claim_->Leave();
  claim_.reset();
}

}  // namespace tony::keeper
