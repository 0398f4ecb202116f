#include "tests/unit/am/gang_run.h"

#include <algorithm>

#include "runtime/base/check.h"

namespace tony::am {
namespace {

const JobId kGangJob{"job-1"};
constexpr int kMostTurns = 20000;
constexpr Duration kBeat{1000};

}  // namespace

GangRun::GangRun(Script script)
    : script_(std::move(script)), world_(kGangJob, script_.plan, script_.seed), job_(Replayed()) {}

void GangRun::ToTheEnd() {
  BeginMaster();
  for (int turn = 0; !world_.job_ended() && turn < kMostTurns; ++turn) {
    now_ += Duration(world_.Uniform(20));
    if (script_.kill_in == job_->state() && !killed_) {
      killed_ = true;
      Observe(KillRequested{{.reason = "a person asked"}});
    } else if (job_->NextDeadline() && *job_->NextDeadline() <= now_) {
      Observe(TimePassed{});
    } else if (const auto next = world_.Next(*job_)) {
      Observe(*next);
    } else {
      PassTime();
    }
  }
}

std::unique_ptr<Job> GangRun::Replayed() const {
  auto job = std::make_unique<Job>(kGangJob, script_.spec);
  for (const Decision& decision : journal_) CHECK(job->Evolve(decision).ok());
  return job;
}

// Starts a master as ApplicationMaster does: it becomes leader, reaches its scheduler, and finds a kill request.
void GangRun::BeginMaster() {
  epoch_ = epoch_.Next();
  const Epoch mine = epoch_;
  ordered_again_.emplace_back();
  Observe(AmStarted{mine, {}, /*turns_may_be_torn=*/true});
  if (epoch_ == mine) Observe(ContainerEvent{SchedulerReached{world_.Running()}});
  if (epoch_ == mine && killed_) Observe(KillRequested{{.reason = "a person asked"}});
}

void GangRun::Observe(const Observation& observation) {
  const CoreStepResult turn = RunCoreStep(*job_, observation, now_);
  job_->CheckInvariants();
  journal_.insert(journal_.end(), turn.decisions.begin(), turn.decisions.end());
  if (std::holds_alternative<AmStarted>(observation)) ordered_again_.back() = turn.actions;
  if (script_.look) script_.look(*job_, now_);
  const bool dies = DiesNow();
  if (dies && !script_.deaths.front().after_acting) return Die();
  world_.Perform(turn.actions);
  world_.Answer(*job_, observation, turn.refusal);
  if (dies) Die();
}

bool GangRun::DiesNow() const { return !script_.deaths.empty() && journal_.size() >= script_.deaths.front().decisions; }

void GangRun::Die() {
  const Death death = script_.deaths.front();
  script_.deaths.erase(script_.deaths.begin());
  if (!death.after_acting) journal_.resize(std::min(journal_.size(), death.decisions));
  world_.MasterDied();
  job_ = Replayed();
  now_ += Duration(world_.Uniform(3000));
  BeginMaster();
}

// Lets time pass. Only heartbeats of the executors, the renewal of the lease and the job's own timer happen.
void GangRun::PassTime() {
  now_ += kBeat;
  Observe(LeaseRenewed{});
  for (const HeartbeatCall& call : world_.Heartbeats(*job_)) {
    const Epoch before = epoch_;
    Observe(call);
    if (epoch_ != before) return;
  }
}

}  // namespace tony::am
