// The application master's core: one job's state, what to decide, and what follows from a decision. Pure: no I/O, no
// threads, no clock, no Thrift; unit tests, replay after a crash and the simulator call exactly this.
//
// A turn (TakeTurn) is Decide(), then Evolve() of each decision and of every Consequence(). The shell journals the
// decisions of its turns, and when they are on the disk performs the actions and answers the calls, in order. Replay
// calls Evolve() alone and drops the actions; the AmStarted that follows brings back those still to be done.
#pragma once

#include <array>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "am/actions.h"
#include "am/decisions.h"
#include "am/observations.h"
#include "am/states.h"
#include "runtime/job/job_spec.h"
#include "runtime/job/job_status.h"

namespace tony::am {

struct Decided {
  std::vector<DecisionBody> decisions;
  Actions actions;                 // orders given again; they change nothing, so they need no decision
  std::optional<Refusal> refusal;  // the call is refused, with no effect
};

class Job {
 public:
  Job(JobId id, JobSpec spec);

  // All policy is in these two. Decide() changes nothing but who was heard last, which is not journalled: a new AM
  // starts counting anew. Consequence() is the next decision that the state itself calls for, whatever was seen.
  Decided Decide(const Observation& observation, Instant now);
  std::optional<DecisionBody> Consequence() const;
  // All change of state is here; no policy. kInvalid: the decision does not fit the state, so the journal is damaged.
  Result<Actions> Evolve(const Decision& decision);

  // When TimePassed has something to decide, at the latest.
  std::optional<Instant> NextDeadline() const;

  // The newest order for an attempt's executor: what its Await is answered with once its number is above `since`.
  Command CommandFor(const AttemptId& attempt) const;
  int64_t CommandNumber(const AttemptId& attempt) const;  // CommandFor().number, without the cluster spec's copy

  JobState state() const { return state_; }
  Epoch epoch() const { return epoch_; }
  int64_t seq() const { return seq_; }  // grows with every decision
  bool Ended() const { return IsFinal(state_); }
  const JobSpec& spec() const { return spec_; }
  const std::optional<Verdict>& verdict() const { return verdict_; }  // from JobStopping on
  AttemptState StateOf(const AttemptId& attempt) const;               // kNew if it is not known
  std::optional<AttemptId> AttemptIn(const ContainerId& container) const;
  JobStatus Snapshot(const std::string& user, Instant submitted) const;

 private:
  struct Attempt {
    AttemptId id;
    AttemptState state = AttemptState::kNew;
    ContainerId container;  // empty: none yet
    std::string host;
    std::optional<Endpoint> endpoint;  // since it registered
    int64_t pid = 0;
    bool suspect = false;
    std::optional<Outcome> outcome;
    std::optional<Instant> started, ended;
    Instant last_heard{};  // volatile
  };
  struct Task {
    TaskState state = TaskState::kWaiting;
    std::vector<Attempt> attempts;  // number n is at n - 1; the last one counts
    Attempt* newest() { return attempts.empty() ? nullptr : &attempts.back(); }
    const Attempt* newest() const { return attempts.empty() ? nullptr : &attempts.back(); }
  };
  enum class ContainerState { kHeld, kKilling, kGone };
  struct Container {
    AttemptId attempt;
    ContainerState state = ContainerState::kHeld;
    Instant leave_by{};  // set when its attempt ends: its executor should be gone by then
  };

  // ---- job_decide.cc: policy
  Decided OnStarted(const AmStarted& seen) const;
  Decided OnRenewed(Instant now);
  Decided OnTime(Instant now);
  Decided OnKill(const KillAsked& seen) const;
  Decided OnRegister(const RegisterCall& call, Instant now);
  Decided OnAwait(const AwaitCall& call, Instant now);
  Decided OnHeartbeat(const HeartbeatCall& call, Instant now);
  Decided OnOutcome(const OutcomeCall& call, Instant now);
  Decided OnContainer(const ContainerEvent& seen) const;
  Decided OnGranted(const ContainerGranted& granted) const;
  Decided OnStartedContainer(const ContainerStarted& started) const;
  Decided OnExited(const ContainerExited& exited, const std::optional<Outcome>& kept) const;
  Decided OnReached(const SchedulerReached& reached) const;
  std::optional<Refusal> CheckCaller(const Caller& caller) const;
  Decided Hear(const Caller& caller, Instant now);  // checks the caller and notes that it was heard
  std::vector<DecisionBody> WhoIsSilent(Instant now) const;
  std::optional<Instant> NextSilence() const;
  std::optional<DecisionBody> WhatIsOverdue(Instant now) const;
  std::optional<DecisionBody> JudgeLast() const;
  std::optional<DecisionBody> NextOfStopping() const;
  std::string Missing() const;  // tasks that have not registered, for a message

  // ---- job_evolve.cc: state
  Result<Actions> Apply(const EpochBegan& d, Instant time);
  Result<Actions> Apply(const JobAccepted& d, Instant time);
  Result<Actions> Apply(const ContainersRequested& d, Instant time);
  Result<Actions> Apply(const ContainerAssigned& d, Instant time);
  Result<Actions> Apply(const GangAllocated& d, Instant time);
  Result<Actions> Apply(const AttemptLaunched& d, Instant time);
  Result<Actions> Apply(const AttemptRegistered& d, Instant time);
  Result<Actions> Apply(const GenerationFormed& d, Instant time);
  Result<Actions> Apply(const AttemptRan& d, Instant time);
  Result<Actions> Apply(const AttemptSuspected& d, Instant time);
  Result<Actions> Apply(const AttemptHeard& d, Instant time);
  Result<Actions> Apply(const AttemptEnded& d, Instant time);
  Result<Actions> Apply(const ContainerKillOrdered& d, Instant time);
  Result<Actions> Apply(const ContainerEnded& d, Instant time);
  Result<Actions> Apply(const JobStopping& d, Instant time);
  Result<Actions> Apply(const StopHurried& d, Instant time);
  Result<Actions> Apply(const JobEnded& d, Instant time);
  Result<Attempt*> Step(const AttemptId& id, AttemptStep step);
  Status Step(JobStep step);
  void StopAttempt(Attempt& attempt, Actions& actions);
  Actions PendingActions() const;  // what an AM that starts anew has to order again
  Actions TellAll() const;
  TellExecutor Tell(const AttemptId& id) const { return {id, CommandNumber(id)}; }
  void StopWatching(const ContainerId& id);
  ContainerAsk AskFor(const AttemptId& id) const;
  bool IsWatched(const Attempt& attempt) const;  // its executor owes heartbeats
  bool AnyWatched() const { return Count(AttemptState::kRegistered) + Count(AttemptState::kRunning) > 0; }
  bool CanRun(const Attempt& attempt) const;     // has been told to start, and nobody has heard that it did
  bool MayReport(const Attempt& attempt) const;  // has registered, or was told to stop before it could
  Attempt* Find(const AttemptId& id);
  const Attempt* Find(const AttemptId& id) const;
  void Move(Attempt& attempt, AttemptState to);  // the only way a state changes: keeps the counts
  int Count(AttemptState state) const { return counts_[static_cast<size_t>(state)]; }

  const JobId id_;
  const JobSpec spec_;
  JobState state_ = JobState::kAccepted;
  Epoch epoch_;
  int64_t seq_ = 0;
  Generation generation_;
  std::string cluster_spec_;  // JSON of the generation, built once
  std::map<TaskId, Task> tasks_;
  std::map<ContainerId, Container> containers_;
  std::optional<Verdict> verdict_;
  Instant accepted_at_{};
  // Sums over the tasks, so that no turn of a job of 10,000 walks through all of them.
  std::array<int, static_cast<size_t>(AttemptState::kLost) + 1> counts_{};  // newest attempts by state
  int tracked_successes_ = 0;
  int containers_left_ = 0;
  std::set<AttemptId> unplaced_;                       // asked for, and no container yet
  std::set<ContainerId> stopping_held_;                // their attempts have been told to stop
  std::set<std::pair<Instant, ContainerId>> leaving_;  // by when their executors should be gone
  std::optional<AttemptId> last_ended_;
  Duration stop_grace_{0};
  Instant stop_by_{};  // while Stopping: executors that have not reported by then are killed
  int hurried_ = 0;    // how often the grace was shortened
  std::optional<Instant> ended_at_;
  // Volatile. Silence counts only while executors can see that this AM rules.
  Instant renewed_at_{};
  std::optional<Instant> silence_check_;  // nobody's silence is due before; nothing: look again after a renewal
};

// One turn of the core: its decisions with their time, and what to do once they are journalled.
struct TurnResult {
  std::vector<Decision> decisions;
  Actions actions;
  std::optional<Refusal> refusal;
};
TurnResult TakeTurn(Job& job, const Observation& observation, Instant now);

}  // namespace tony::am
