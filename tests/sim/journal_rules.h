// What any journal of a job must look like, read decision by decision. Says the AM's rules again in its own way, from
// the design and not from am/: whoever changes one of the two has to change the other.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "runtime/job/job_spec.h"
#include "runtime/records/decisions.h"
#include "tests/sim/job_rules.h"

namespace tony::sim {

class JournalRules {
 public:
  // Times of two AMs may differ by `skew`, because each has its own clock.
  JournalRules(const JobSpec& spec, Duration skew) : spec_(&spec), skew_(skew) {}

  void Read(const Decision& decision);
  std::vector<std::string> TakeComplaints() { return std::exchange(complaints_, {}); }

  // What the decisions read so far say.
  bool IsAssigned(const ContainerId& container) const { return containers_.contains(container); }
  bool IsKillOrdered(const ContainerId& container) const { return kill_ordered_.contains(container); }
  std::optional<AttemptId> AttemptIn(const ContainerId& container) const;
  const Outcome* OutcomeOf(const AttemptId& attempt) const;
  bool IsToStop(const AttemptId& attempt) const { return stopping_.contains(attempt); }  // alone or for a restart
  bool IsRenewed(const AttemptId& attempt, const ContainerId& container) const;
  bool IsOverdue(Instant time, Duration by = Duration(0)) const;  // it has to stop for a time limit
  Instant waits_since() const { return waits_since_; }  // that containers were asked for, one came, or an AM began
  // A gang that waits for more containers since then has some, and should have given them back.
  bool HoldsInVain(Instant since, Instant time, Duration by = Duration(0)) const;
  Generation generation() const { return generation_; }
  // What tasks of this role are told, of a generation, as it changed.
  const std::set<std::string>& cluster_specs(const std::string& role, Generation generation);
  // Of a sidecar that lives on while the gang begins the next one: it may belong to this one still.
  bool MayBelongTo(Generation generation, const AttemptId& attempt) const;
  bool MayStart(const AttemptId& attempt) const;  // its stage was opened to it; of the first stage: always
  const PublishedValues& ValuesOf(const AttemptId& attempt) const;
  const std::vector<std::string>& checkpoints() const { return checkpoints_; }             // noted, in this order
  const std::optional<Checkpoint>& first_checkpoint() const { return first_checkpoint_; }  // of first attempts
  bool is_listing_known() const { return listing_known_; }
  size_t CheckpointsBefore(const AttemptId& attempt) const;           // how many had been noted when it was made
  const std::optional<Verdict>& verdict() const { return verdict_; }  // from JobStopping on
  Duration LongestGrace(const AttemptId& attempt) const;  // that it may have had: a kill or a notice may bring more
  bool job_ended() const { return job_ended_; }
  const std::map<AttemptId, Outcome>& outcomes() const { return outcomes_; }
  bool WasMade(const AttemptId& attempt) const { return made_.contains(attempt); }
  std::optional<AttemptId> NewestOf(const TaskId& task) const;
  bool IsLeft(const std::string& role) const { return left_.contains(role); }  // it is not waited for any more
  EndsSeen Ends() const;                                                       // of tasks that are not restarting
  bool IsFinished(const std::string& role) const { return finished_.contains(role); }  // what was left of it stops

 private:
  struct Made {             // an attempt
    ContainerId container;  // empty: none yet
    size_t checkpoints = 0;
    Instant time;
    std::optional<Instant> placed;    // in its container
    std::optional<Instant> launched;  // that was started
    std::optional<Endpoint> endpoint;
    NamedPorts ports;
    std::optional<Instant> registered;
    Generation since;  // in which it registered
    PublishedValues values;
    bool opened = false;  // its stage, to it
    bool reported = false;
    Duration notice{0};   // it alone was told to stop, in so long
    bool let_go = false;  // its executor does not wait for another attempt: a sidecar that ended by itself
    std::optional<Instant> ran, ended;
  };
  struct Restart {
    RestartScope scope = RestartScope::kTask;
    AttemptId cause;
    Instant not_before;
    std::set<TaskId> tasks;
    bool keeps = false;  // executors that could go on
    bool sought = false, noted = false;
  };

  void On(const EpochBegan& d, Instant time);
  void On(const JobAccepted& d, Instant time);
  void On(const ContainersRequested& d, Instant time);
  void On(const ContainerAssigned& d, Instant time);
  void On(const AttemptLaunched& d, Instant time);
  void On(const AttemptRegistered& d, Instant time);
  void On(const AttemptRan& d, Instant time) { made_[d.attempt].ran = time; }
  void On(const GenerationFormed& d, Instant);
  void On(const ValuesPublished& d, Instant);
  void On(const StageOpened& d, Instant);
  void On(const RoleDetached& d, Instant time);
  void On(const AttemptEnded& d, Instant time);
  void On(const FailureTolerated& d, Instant);
  void On(const RoleFinished& d, Instant);
  void On(const ContainerKillOrdered& d, Instant time);
  void On(const ContainerEnded& d, Instant);
  void On(const JobStopping& d, Instant time);
  void On(const JobEnded& d, Instant);
  // ---- journal_rules_restart.cc
  void On(const RestartDecided& d, Instant time);
  void On(const ListingStarted& d, Instant);
  void On(const CheckpointsListed& d, Instant);
  void On(const CheckpointSearchStarted& d, Instant time);
  void On(const CheckpointNoted& d, Instant);
  void On(const RestartBegan& d, Instant time);
  void On(const AttemptStopping& d, Instant);
  template <class Other>
  void On(const Other&, Instant) {}  // changes nothing that is judged here

  void Complain(const std::string& text) { complaints_.push_back("journal: " + text); }
  void Make(const AttemptId& attempt, Instant time);
  bool MayComeBetween(const Decision& decision) const;
  Outcome WhatCounts(const AttemptId& ended) const;
  bool HadSignalsBefore(const AttemptId& ended) const;
  std::optional<RestartDue> DueRestart(Instant now) const;
  void ExpectGivenBack(const RestartDecided& d, Instant time);
  Duration ContainerHoldLimit() const;        // of a container in which nothing runs; 0: no limit
  std::optional<AttemptId> FailsJob() const;  // the pending end does, if nothing starts again: who is named
  bool MustTolerate() const;                  // the job goes on without the pending one, and says so
  void ExpectDue(const Decision& decision);
  const RoleSpec* RoleToFinish() const;
  void ExpectFailed(const Verdict& verdict, const AttemptId& cause);
  bool CouldGoOn(const AttemptId& ended) const;
  bool IsRestarting(const TaskId& task) const;
  bool IsPresumedGone(const AttemptId& attempt, Instant time) const;
  void ExpectReady(const Restart& restart, Instant time, const std::string& what);
  std::set<TaskId> TasksIn(RestartScope scope, const TaskId& cause) const;
  bool IsTracked(const TaskId& task) const;
  bool ConcernsTracked(const Restart& restart) const;
  void NoteJoined();
  void NoteClusterSpecs();  // of roles that do not wait for what others publish
  void NoteClusterSpec(const RoleSpec& role);
  void AskFor(const ContainersRequested& d);
  bool IsOpen(const std::string& role) const;     // was asked for
  bool IsSettled(const std::string& role) const;  // it prepared, and has succeeded
  bool HasSucceeded(const std::string& role) const;
  std::set<TaskId> AskedWith(const AttemptId& cause) const;
  bool HasFormed(const TaskId& task) const { return (together_ || apart_.contains(task)) && !joining_.contains(task); }
  bool Publishes(const AttemptId& attempt) const;  // what others wait for, and has
  // Its rules of groups that say so; `by`: so much later than that.
  bool OutlivesTooLong(const RoleSpec& role, Instant time, Duration by, bool ignored) const;
  bool IsSilent(Instant time) const;  // some task has not published in time

  const JobSpec* spec_;  // never null; it can be assigned
  Duration skew_;
  std::vector<std::string> complaints_;
  Epoch epoch_;
  std::optional<Instant> accepted_;
  std::map<AttemptId, Made> made_;
  std::map<ContainerId, AttemptId> containers_;  // the newest attempt in each
  std::map<ContainerId, Instant> kill_ordered_;
  std::set<ContainerId> gone_;
  std::map<AttemptId, Outcome> outcomes_;
  std::set<AttemptId> stopping_;
  Generation generation_;
  bool together_ = false;   // the gang has formed, and is not being restarted
  std::set<TaskId> apart_;  // sidecars that a gang which forms anew does without
  std::set<std::string> left_;
  std::set<TaskId> joining_;  // asked for since, and to start together: not all have registered
  std::map<std::pair<Generation, std::string>, std::set<std::string>> cluster_specs_;  // by role
  std::optional<AttemptId> pending_;  // its end has not been judged yet
  Instant judged_at_{};               // when it was or will be: in the turn of its end, or of the next AM's begin
  std::vector<AttemptId> tolerated_;
  std::set<std::string> finished_;   // roles
  std::map<int, Restart> restarts_;  // decided, and not begun
  Instant waits_since_{};
  std::vector<RestartSeen> past_;
  std::vector<std::string> checkpoints_;
  bool listing_sought_ = false, listed_ = false, listing_known_ = false;
  std::optional<Checkpoint> first_checkpoint_;
  std::optional<Checkpoint> progress_;  // the newest that was noted for tracked tasks
  bool looked_ = false;
  int fruitless_ = 0;
  std::optional<AttemptId> fruitless_cause_;  // the job has to stop for it
  std::optional<Verdict> verdict_;
  Duration stop_grace_{0};
  bool job_ended_ = false;
};

}  // namespace tony::sim
