// The application master's core: one job's state, what to decide, and what follows from a decision. Pure: no I/O, no
// threads, no clock, no Thrift; unit tests, replay after a crash and the simulator call exactly this.
//
// A turn (TakeTurn) is Decide(), then Evolve() of each decision and of every Consequence(). The shell journals the
// decisions of its turns, and when they are on the disk performs the actions and answers the calls, in order. Replay
// calls Evolve() alone and drops the actions; the AmStarted that follows brings back those still to be done.
#pragma once

#include <array>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "am/core/actions.h"
#include "am/core/attention.h"
#include "am/core/completion_policy.h"
#include "am/core/observations.h"
#include "am/core/restart_policy.h"
#include "am/core/states.h"
#include "runtime/job/cluster_spec.h"
#include "runtime/job/job_spec.h"
#include "runtime/job/job_status.h"
#include "runtime/records/decisions.h"

namespace tony::am {

struct Decided {
  std::vector<DecisionBody> decisions;
  Actions actions;                 // orders given again; they change nothing, so they need no decision
  std::optional<Refusal> refusal;  // the call is refused, with no effect
};

class Job {
 public:
  Job(JobId id, JobSpec spec);

  // All policy is in these two. Decide() changes nothing but who was heard last, and with what usage, and when somebody
  // looked last, which is not journalled: a new AM starts anew. Consequence() is the next decision that the state
  // itself calls for, whatever was seen.
  Decided Decide(const Observation& observation, Instant now);
  std::optional<DecisionBody> Consequence(Instant now) const;
  // All change of state is here; no policy. kInvalid: the decision does not fit the state, so the journal is damaged.
  Result<Actions> Evolve(const Decision& decision);

  // What a KillAsked or AttachAsked that came now would do.
  KillAnswer AnswerTo(const KillRequest& request, Instant now) const;
  bool MayAttach() const;  // it has not ended, and is not being ended but with success

  // When TimePassed has something to decide, at the latest.
  std::optional<Instant> NextDeadline() const;

  // The newest order for an attempt's executor: what its Await is answered with once its number is above `since`.
  Command CommandFor(const AttemptId& attempt) const;
  int64_t CommandNumber(const AttemptId& attempt) const;  // CommandFor().number, without the cluster spec's copy
  TellExecutor Tell(const AttemptId& attempt) const;      // CommandFor() as it is now

  JobState state() const { return state_; }
  Epoch epoch() const { return epoch_; }
  int64_t seq() const { return seq_; }  // grows with every decision that a status shows as news
  bool Ended() const { return IsFinal(state_); }
  double Progress() const;   // which part of its tracked tasks is over: 0 to 1
  bool MayRunTasks() const;  // now or, as no verdict has been decided, later
  const JobSpec& spec() const { return spec_; }
  const std::optional<Verdict>& verdict() const { return verdict_; }  // from JobStopping on
  AttemptState StateOf(const AttemptId& attempt) const;               // kNew if it is not known
  std::optional<AttemptId> AttemptIn(const ContainerId& container) const;
  // What was in the checkpoint directory before the job; of a job that has not listed it, `unknown` says so.
  const CheckpointListing& listing() const;
  JobStatus Snapshot(const std::string& user, Instant submitted) const;
  const Attention& attention() const { return attention_; }

 private:
  using ClusterSpecText = std::shared_ptr<const std::string>;  // JSON, built once for all who get it
  struct Attempt {
    AttemptId id;
    AttemptState state = AttemptState::kNew;
    ContainerId container;  // empty: none yet
    std::string host;
    std::optional<Endpoint> endpoint;  // since it registered
    NamedPorts ports;                  // the same
    PublishedValues values;
    Instant publish_by{};  // when it has been told to start and others wait for its values
    int64_t pid = 0;
    bool suspect = false;
    std::optional<Outcome> outcome;
    std::optional<Instant> started, ended;
    Generation generation;           // what it was told to run in; 0: nothing yet
    ClusterSpecText cluster_spec;    // as the generation was formed, or this attempt joined it
    int restart = 0;                 // which one made it; 0: the job's start
    int opening = 0;                 // which one its task is of; 0: of none that may still be under way
    bool renewed = false;            // in the container and executor of the attempt before
    bool reported = false;           // its executor told its end, and waits for what comes
    bool tolerated = false;          // it failed, and the job goes on without its task
    std::optional<Outcome> because;  // why it alone was told to stop
    int stops = 0;                   // how often it was told to stop, each time with less grace
    Duration stop_grace{0};
    Instant stop_by{};          // its executor is killed if it has not reported by then
    Instant allocate_by{};      // by when it should have a container
    Instant register_by{};      // set when it has one
    bool since_launch = false;  // that is the limit from its container's start, the nearer one
    Instant give_up_at{};       // its executor has been silent for too long
    // Volatile.
    Instant last_heard{};
    std::optional<Usage> usage;  // newest heard
  };
  struct Task {
    TaskState state = TaskState::kWaiting;
    int restart = 0;                // the number of the open restart that it waits for; 0: none
    std::vector<Attempt> attempts;  // number n is at n - 1; the last one counts
    Attempt* newest() { return attempts.empty() ? nullptr : &attempts.back(); }
    const Attempt* newest() const { return attempts.empty() ? nullptr : &attempts.back(); }
  };
  enum class ContainerState { kHeld, kKilling, kGone };
  struct Container {
    AttemptId attempt;
    ContainerState state = ContainerState::kHeld;
    Instant leave_by{};  // set when its attempt ends and it is not kept: its executor should be gone by then
  };
  // Decided, and not begun: its tasks are in Backoff.
  struct Restart {
    int number = 0;
    RestartScope scope = RestartScope::kTask;
    AttemptId cause;
    Instant not_before{};
    bool keeps = false;  // executors that could run the next attempt
    std::set<TaskId> tasks;
    std::set<TaskId> ending;            // their attempts have not ended yet
    std::set<ContainerId> unconfirmed;  // of ended attempts; gone only when the scheduler says so
    Instant confirm_by{};               // not waited for longer
    std::optional<Instant> sought;      // when the look for a checkpoint began
    bool noted = false;                 // and what it found
  };
  // The new tasks of a restart within a running generation: they start together, when all of them have an address.
  struct Joining {
    std::set<TaskId> missing;
    std::vector<AttemptId> attempts;
  };

  // The tasks of roles whose dependencies have succeeded: they start together, for the first time, in the generation
  // that runs. One that ends before is replaced, or ends the job.
  struct Opening {
    std::set<TaskId> tasks, missing;  // these have not registered
    int placed = 0, unplaced = 0;     // have a container; were asked for and have none
  };

  // ---- job_decide.cc: policy
  Decided OnStarted(const AmStarted& seen, Instant now);
  Decided OnKill(const KillRequest& request, Instant now) const;
  JobStopping StopFor(const KillRequest& request) const;
  Decided OnAttach(const AttachAsked& seen, Instant now);
  Decided OnLooked(const Looked& seen, Instant now);
  Decided OnRegister(const RegisterCall& call, Instant now);
  Decided OnAwait(const AwaitCall& call, Instant now);
  Decided OnHeartbeat(const HeartbeatCall& call, Instant now);
  Decided OnOutcome(const OutcomeCall& call, Instant now);
  Decided OnListing(const CheckpointsThere& seen) const;
  Decided OnCheckpoint(const CheckpointSeen& seen) const;
  Decided OnContainer(const ContainerEvent& seen);
  Decided OnGranted(const ContainerGranted& granted) const;
  Decided OnStartedContainer(const ContainerStarted& started) const;
  Decided OnExited(const ContainerExited& exited) const;
  std::string OverItsMemory(const AttemptId& attempt, const std::string& error) const;
  Decided OnPreempting(const ContainerPreempting& notice);
  Decided OnReached(const SchedulerReached& reached) const;
  std::optional<Refusal> CheckCaller(const Caller& caller) const;
  Decided Hear(const Caller& caller, Instant now);  // checks the caller and notes that it was heard
  Outcome Explained(const Attempt& attempt, Outcome outcome) const;

  // ---- job_deadlines.cc: policy
  Decided OnRenewed(Instant now);
  Decided OnTime(Instant now);
  std::optional<DecisionBody> WhatIsOverdue(Instant now) const;
  std::string LateRegistration(const AttemptId& id) const;
  std::optional<DecisionBody> WhatAttentionSays(Instant now) const;
  std::vector<DecisionBody> WhoIsSilent(Instant now) const;
  std::optional<Instant> NextSilence() const;
  std::optional<Instant> TimeLimit() const;  // of the whole job, while it may still be reached
  Outcome Silence(const std::string& more = "") const;
  std::string Missing(bool container) const;  // tasks that have no container, or have not registered, for a message

  // ---- job_stages.cc: policy
  Decided OnPublish(const PublishCall& call, Instant now);
  std::optional<DecisionBody> NextStage() const;
  std::vector<AttemptId> MayOpen() const;  // first attempts of the roles that wait for no other's success any more
  std::optional<DecisionBody> NextRoles() const;
  bool IsReady(const RoleSpec& role) const;         // every task that it waits for has published READY
  bool HasPublished(const Attempt& attempt) const;  // all that others wait for
  Outcome WithoutValues(const Attempt& attempt, Outcome outcome, OutcomeClass if_missing) const;
  std::string MissingValues() const;

  // ---- job_outliving.cc: policy
  struct Outlived {
    Instant due;
    const RoleSpec* role;
    const Outliving* rule;
  };
  std::optional<Outlived> NextOutlived() const;  // a role that runs on after a group, and until when it may
  DecisionBody EndOf(const Outlived& outlived, Instant now) const;
  bool IsOver(const std::string& role) const;  // each task has ended, and none is to start again

  // ---- first_cause.cc: policy
  std::optional<DecisionBody> Judge(Instant now) const;
  std::optional<Instant> NextJudgement() const;  // of a failure that waits for a better cause
  void ForEachUnsettled(const std::function<void(const AttemptId&, std::optional<Instant>)>& visit) const;
  std::optional<Instant> SettlesAt(const AttemptId& id) const;
  AttemptId FirstCauseOf(const AttemptId& id) const;
  bool EndsItself(const Attempt& attempt) const;
  std::string SilentTasks(const Attempt& failed) const;
  std::string ProbableCause(const Attempt& failed) const;
  std::string TasksBeside(const Attempt& failed) const;

  // ---- job_completion.cc: policy
  EndedTask EndedAs(const AttemptId& id) const;
  EarlierFailures EarlierThan(const AttemptId& id) const;
  std::optional<Verdict> VerdictOn(const EndedTask& failed) const;
  std::optional<DecisionBody> WhatIsOver() const;

  // ---- silence.cc: policy
  std::string WhoWasSilent(Instant now) const;

  // ---- job_restart.cc: policy
  std::optional<DecisionBody> JudgeEndOf(const AttemptId& id, Instant now) const;
  std::optional<DecisionBody> RestartOrStop(const EndedTask& ended, std::optional<Verdict> verdict, Instant now) const;
  RestartDecided Decide(const RestartPlan& plan, const EndedTask& cause, Instant now) const;
  std::vector<TaskId> TasksIn(RestartScope scope, const TaskId& cause) const;
  std::optional<DecisionBody> NextOfRestarts(Instant now) const;
  std::optional<DecisionBody> NextOf(const Restart& restart, Instant now) const;
  bool MustList() const { return !spec_.checkpoint.directory.empty() && generation_.value == 0 && !listing_; }
  std::optional<DecisionBody> NextOfListing(Instant now) const;
  bool AwaitsListing() const { return listing_sought_ && !listing_ && !verdict_; }
  std::optional<Instant> ListingDue() const;
  std::optional<Instant> GivesBackAt() const;
  RestartDecided GiveBack(Instant now) const;
  RestartBegan Begin(const Restart& restart) const;
  Verdict Fruitless(const Restart& restart) const;
  std::optional<Instant> NextRestart() const;

  // ---- job_evolve.cc, job_evolve_restart.cc, job_evolve_stages.cc, job_evolve_stop.cc: state
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
  Result<Actions> Apply(const RestartDecided& d, Instant time);
  Result<Actions> Apply(const ListingSought& d, Instant time);
  Result<Actions> Apply(const CheckpointsListed& d, Instant time);
  Result<Actions> Apply(const CheckpointSought& d, Instant time);
  Result<Actions> Apply(const CheckpointNoted& d, Instant time);
  Result<Actions> Apply(const RestartBegan& d, Instant time);
  Result<Actions> Apply(const AttemptStopping& d, Instant time);
  Result<Actions> Apply(const OwnerChanged& d, Instant time);
  Result<Actions> Apply(const WatcherChanged& d, Instant time);
  Result<Actions> Apply(const KillPlanned& d, Instant time);
  Result<Actions> Apply(const KillVoided& d, Instant time);
  Result<Actions> Apply(const ValuesPublished& d, Instant time);
  Result<Actions> Apply(const StageOpened& d, Instant time);
  Result<Actions> Apply(const RoleLeft& d, Instant time);
  Result<Actions> Apply(const FailureTolerated& d, Instant time);
  Result<Actions> Apply(const RoleFinished& d, Instant time);
  Result<Attempt*> Step(const AttemptId& id, AttemptStep step);
  Status Step(JobStep step);
  Result<Attempt*> MakeAttempt(const AttemptId& id, AttemptStep how, Instant time);
  Status Renew(const RenewedAttempt& renewed, Instant time, Actions& actions);
  Status Replace(const AttemptId& id, Instant time, Actions& actions);
  void StopAttempt(Attempt& attempt, Duration grace, Instant time, Actions& actions);
  void WatchStop(Attempt& attempt, Instant stop_by);
  void Hurry(Attempt& attempt, Duration grace, Instant time, Actions& actions);
  void LetGo(const Attempt& attempt, Instant leave_by, Actions& actions);
  Status TakeOver(Restart& restart, const TaskId& id, Duration grace, Instant time, Actions& actions);
  void GiveUp(Attempt& attempt, Instant time);
  void GiveUpLater(Attempt& attempt, Instant heard);
  void AwaitGone(Restart& restart, const Attempt& ended, Instant time);
  void AbandonRestarts(Instant time, Actions& actions);
  void AbandonRestartOf(const TaskId& id, Instant time, Actions& actions);
  Status StepTask(const TaskId& id, TaskStep step);
  Restart* FindRestart(int number);
  Restart* RestartOf(const TaskId& id);
  bool IsTracked(const TaskId& id) const;
  bool HasSucceeded(const std::string& role) const;  // as much of it as is needed; nothing of it will run
  // It has succeeded, and others were not to start before: it does not start again, whatever becomes of them.
  bool IsSettled(const std::string& role) const { return prepares_.contains(role) && HasSucceeded(role); }
  int GangSize() const;                          // tasks that are or were asked for, without those of settled roles
  bool HasFormed(const Attempt& attempt) const;  // the gang, or opening, that it started with
  Opening* OpeningOf(const Attempt& attempt);    // that is under way
  const Opening* HeldInVain() const;             // one whose containers wait for others
  void ArriveFirst(const Attempt& attempt, Instant time, Actions& actions);
  bool ConcernsTracked(const Restart& restart) const;
  bool CanRenew(const Attempt& ended) const;  // its executor could run the next attempt
  int NextIn(const Attempt& ended) const;     // number of the attempt that its executor runs next; 0: none
  bool IsHeld(const Attempt& ended) const;    // its executor is neither released nor told to go on
  bool IsFormed(const TaskId& id) const;      // what its task would start in
  int CountInGang(AttemptState state) const;  // of the newest attempts of those who take part in forming it
  bool HasPlaces() const { return CountInGang(AttemptState::kRequested) == 0; }
  bool HasGathered() const;  // everybody who takes part in forming the gang waits for it
  bool IsFcfs() const { return spec_.mode == DistributedMode::kFcfs; }
  // As it is told to tasks of this stage, or of a role that waited for others to be ready.
  ClusterSpecText MakeClusterSpec(int stage = 0, const std::string& role = "") const;
  void AddTo(ClusterSpec& cluster, const TaskId& id, bool with_address, bool with_values) const;
  bool StartOrHold(Attempt& attempt, const ClusterSpecText& cluster, Instant time);  // whether it may start
  void TakeIn(Attempt& attempt, const ClusterSpecText& cluster, Instant time);       // into the generation
  void AwaitValues(const AttemptId& id);
  void StopAwaiting(const Attempt& attempt);
  void Arrive(const Attempt& attempt, Instant time, Actions& actions);
  void Note(const RestartDecided& d, Instant time);
  CheckpointStatus SnapshotOfCheckpoints() const;
  std::string WhatWaits(const RoleSpec& role, const Task& task) const;
  std::string TensorBoardUrl() const;
  std::optional<Checkpoint> ResumeOf(const AttemptId& id) const;  // what its task goes on from
  Actions PendingActions() const;                                 // what an AM that starts anew has to order again
  Actions TellAll() const;
  void StopWatching(const ContainerId& id);
  ContainerAsk AskFor(const AttemptId& id) const;
  bool IsWatched(const Attempt& attempt) const;  // its executor owes heartbeats
  bool AnyWatched() const {
    return Count(AttemptState::kLaunching) + Count(AttemptState::kRegistered) + Count(AttemptState::kRunning) > 0;
  }
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
  std::map<TaskId, Task> tasks_;
  std::map<ContainerId, Container> containers_;
  std::optional<Verdict> verdict_;
  Instant accepted_at_{};
  // Sums over the tasks, so that no turn of a job of 10,000 walks through all of them.
  std::array<int, static_cast<size_t>(AttemptState::kLost) + 1> counts_{};  // newest attempts by state
  // They outlive a restart of the gang, since they have been in it once: it forms anew without them.
  std::set<TaskId> beside_;
  Ends ends_;
  std::set<std::string> prepares_;                        // roles for whose success others wait
  std::set<std::string> closed_;                          // roles of which nothing was asked for yet
  std::map<std::string, int> done_;                       // tasks that are, by role
  std::map<std::string, Instant> last_end_, last_begin_;  // of an attempt, by role; it begins as it is made or runs
  LeftRoles left_;                                        // roles that the job does not wait for any more
  int containers_left_ = 0;
  std::set<AttemptId> unplaced_;                         // asked for, and no container yet
  Instant unplaced_since_{};                             // newest of: something was asked for, some of it came
  std::set<AttemptId> withdrawn_;                        // told to stop before they had a container
  std::set<std::pair<Instant, AttemptId>> allocating_;   // by when they should have a container
  std::set<std::pair<int, TaskId>> unpublished_;         // by stage: others wait for their values
  std::set<std::pair<int, AttemptId>> held_;             // by stage: they wait for it to open
  std::set<std::pair<Instant, AttemptId>> publishing_;   // by when they should have published
  std::set<std::pair<Instant, AttemptId>> registering_;  // by when they should have registered
  std::set<std::pair<Instant, ContainerId>> stopping_;   // by when their attempts should have ended
  std::set<std::pair<Instant, AttemptId>> silent_;       // their containers are being ended: given up by then
  std::set<std::pair<Instant, ContainerId>> leaving_;    // by when their executors should be gone
  bool ends_are_confirmed_ = false;                      // AmStarted
  std::optional<AttemptId> last_ended_;                  // in this turn
  std::set<std::pair<Instant, AttemptId>> failed_;       // ended so, and neither restarted nor the job's end
  std::vector<AttemptId> tolerated_;                     // failed so, and the job goes on; in the order of decisions
  std::set<std::string, std::less<>> finished_;  // roles of which enough have succeeded, and the rest is stopped
  std::map<int, Restart> restarts_;              // the open ones, by number
  std::map<int, Joining> joining_;               // by number of the restart
  std::map<int, Opening> openings_;              // those under way, by number: 1, 2, ...
  int last_opening_ = 0;
  std::vector<PastRestart> past_restarts_;    // all that were decided
  std::vector<RestartStatus> restart_list_;   // the newest of them, for people
  std::optional<Instant> listing_sought_;     // when the listing of the checkpoint directory began
  std::optional<CheckpointListing> listing_;  // and what it says
  std::optional<Checkpoint> checkpoint_;      // the newest that was noted
  std::optional<Checkpoint> resumed_from_;    // what the newest attempt was told
  // Of the looks for restarts that concern tracked tasks: others do not set the job back.
  bool looked_ = false;                 // at least once
  std::optional<Checkpoint> progress_;  // the newest that was found
  int fruitless_ = 0;                   // in a row that found nothing newer
  Attention attention_;
  Duration stop_grace_{0};  // of the job
  std::optional<Instant> ended_at_;
  // Volatile. Silence counts only while executors can see that this AM rules.
  std::set<ContainerId> doomed_;  // the scheduler takes them away
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
