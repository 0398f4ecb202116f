// The rules for any journal of a job, read decision by decision. They restate the AM's rules from the design and not
// from am/. If you change one of the two, change the other.
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
  // `skew` is the largest difference between the times of two AMs, because each has its own clock.
  JournalRules(const JobSpec& spec, Duration skew) : spec_(&spec), skew_(skew) {}

  void Read(const Decision& decision);
  std::vector<std::string> TakeComplaints() { return std::exchange(complaints_, {}); }

  // ---- state after the decisions read so far
  bool IsAssigned(const ContainerId& container) const { return containers_.contains(container); }
  bool IsKillOrdered(const ContainerId& container) const { return kill_ordered_.contains(container); }
  std::optional<AttemptId> AttemptIn(const ContainerId& container) const;
  const Outcome* OutcomeOf(const AttemptId& attempt) const;
  // True if the attempt must stop, alone or for a restart.
  bool IsToStop(const AttemptId& attempt) const { return stopping_.contains(attempt); }
  bool IsRenewed(const AttemptId& attempt, const ContainerId& container) const;
  // True if the job must stop because a time limit has passed.
  bool IsOverdue(Instant time, Duration by = Duration(0)) const;
  // Returns the latest of three times: containers were requested, a container was assigned, an AM began.
  Instant waits_since() const { return waits_since_; }
  // True if a gang has held some containers since `since`, still waits for others, and should have given them back.
  bool HoldsInVain(Instant since, Instant time, Duration by = Duration(0)) const;
  Generation generation() const { return generation_; }
  // Returns each cluster spec that tasks of this role may get in this generation, in the versions that it had.
  const std::set<std::string>& cluster_specs(const std::string& role, Generation generation);
  // True for a persistent sidecar that may still belong to `generation` while the gang begins the next one.
  bool MayBelongTo(Generation generation, const AttemptId& attempt) const;
  // True if the attempt's stage was opened to it; always true for the first stage.
  bool MayStart(const AttemptId& attempt) const;
  const PublishedValues& ValuesOf(const AttemptId& attempt) const;
  const std::vector<std::string>& checkpoints() const { return checkpoints_; }  // noted checkpoints, in order
  // The checkpoint from which first attempts resume.
  const std::optional<Checkpoint>& first_checkpoint() const { return first_checkpoint_; }
  bool is_listing_known() const { return listing_known_; }
  // Returns how many checkpoints were noted before the attempt was made.
  size_t CheckpointsBefore(const AttemptId& attempt) const;
  const std::optional<Verdict>& verdict() const { return verdict_; }  // set from JobStopping on
  // Returns the longest grace period that the attempt may have had; a kill or a notice may have extended it.
  Duration LongestGrace(const AttemptId& attempt) const;
  bool job_ended() const { return job_ended_; }
  // True if the container of a failed attempt was ever kept for a person.
  bool had_hold() const { return hold_.has_value(); }
  const std::map<AttemptId, Outcome>& outcomes() const { return outcomes_; }
  bool WasMade(const AttemptId& attempt) const { return made_.contains(attempt); }
  std::optional<AttemptId> NewestOf(const TaskId& task) const;
  // True if the job no longer waits for the role.
  bool IsLeft(const std::string& role) const { return left_.contains(role); }
  // Returns the ends of tasks that are not restarting.
  EndsSeen Ends() const;
  // True if the role is complete and its remaining tasks are being stopped.
  bool IsFinished(const std::string& role) const { return finished_.contains(role); }

 private:
  // An attempt as the journal shows it.
  struct Made {
    ContainerId container;  // empty: none yet
    size_t checkpoints = 0;
    Instant time;
    // The time at which the attempt was assigned to its container.
    std::optional<Instant> placed;
    // The time of the order to launch the attempt.
    std::optional<Instant> launched;
    std::optional<Endpoint> endpoint;
    NamedPorts ports;
    std::optional<Instant> registered;
    // The generation in which the attempt registered.
    Generation since;
    PublishedValues values;
    // The attempt's stage was opened to it.
    bool opened = false;
    bool reported = false;
    // The grace period of an order to stop this attempt alone.
    Duration notice{0};
    // The executor does not wait for another attempt: the attempt is a sidecar's, and it ended by itself.
    bool let_go = false;
    std::optional<Instant> ran, ended;
  };
  struct Restart {
    RestartScope scope = RestartScope::kTask;
    AttemptId cause;
    Instant not_before;
    std::set<TaskId> tasks;
    // The restart keeps executors that can run the next attempt.
    bool keeps = false;
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
  void On(const FailureTolerated& d, Instant time);
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
  // Other decisions change nothing that is judged here.
  void On(const Other&, Instant) {}

  void Complain(const std::string& text) { complaints_.push_back("journal: " + text); }
  void Make(const AttemptId& attempt, Instant time);
  bool MayComeBetween(const Decision& decision) const;
  Outcome WhatCounts(const AttemptId& ended) const;
  bool HadSignalsBefore(const AttemptId& ended) const;
  std::optional<RestartDue> DueRestart(Instant now) const;
  void ExpectGivenBack(const RestartDecided& d, Instant time);
  // Returns how long a container may be held without a process; 0: no limit.
  Duration ContainerHoldLimit() const;
  // Returns the attempt that the verdict must name if the end that is not judged yet is not restarted; nullopt if the
  // job continues.
  std::optional<AttemptId> FailsJob() const;
  // True if the job continues without the attempt whose end is not judged yet, and has to note that.
  bool MustTolerate() const;
  void ExpectDue(const Decision& decision);
  const RoleSpec* RoleToFinish() const;
  void ExpectFailed(const Verdict& verdict, const AttemptId& cause);
  bool CouldGoOn(const AttemptId& ended) const;
  bool IsRestarting(const TaskId& task) const;
  bool IsPresumedGone(const AttemptId& attempt, Instant time) const;
  // Notes the failed attempt whose container is kept for a person. At most one is kept at a time.
  void NoteHold(const AttemptId& failed, Instant time);
  void ExpectReady(const Restart& restart, Instant time, const std::string& what);
  std::set<TaskId> TasksIn(RestartScope scope, const TaskId& cause) const;
  bool IsTracked(const TaskId& task) const;
  bool ConcernsTracked(const Restart& restart) const;
  void NoteJoined();
  // Notes the cluster spec of each role that waits for no published value.
  void NoteClusterSpecs();
  void NoteClusterSpec(const RoleSpec& role);
  void AskFor(const ContainersRequested& d);
  // True if containers were requested for the role.
  int PlacesTaken(const RoleSpec& role) const;
  bool IsOpen(const std::string& role) const;
  // True if other roles waited for the success of this role, and it has succeeded.
  bool IsSettled(const std::string& role) const;
  bool HasSucceeded(const std::string& role) const;
  std::set<TaskId> AskedWith(const AttemptId& cause) const;
  bool HasFormed(const TaskId& task) const { return (together_ || apart_.contains(task)) && !joining_.contains(task); }
  // True if the attempt has published what other roles wait for.
  bool Publishes(const AttemptId& attempt) const;
  // True if the role still runs although its group ended long ago: its rules name the longest time; `by` is added to
  // it.
  bool OutlivesTooLong(const RoleSpec& role, Instant time, Duration by, bool ignored) const;
  // True if some task has not published in time.
  bool IsSilent(Instant time) const;

  const JobSpec* spec_;  // never null; a pointer allows assignment
  Duration skew_;
  std::vector<std::string> complaints_;
  Epoch epoch_;
  std::optional<Instant> accepted_;
  std::map<AttemptId, Made> made_;
  std::map<ContainerId, AttemptId> containers_;  // the newest attempt in each container
  std::map<ContainerId, Instant> kill_ordered_;
  std::set<ContainerId> gone_;
  std::map<AttemptId, Outcome> outcomes_;
  std::set<AttemptId> stopping_;
  Generation generation_;
  // The gang has formed and is not being restarted.
  bool together_ = false;
  // Persistent sidecars that do not take part when the gang forms again.
  std::set<TaskId> apart_;
  std::set<std::string> left_;
  // Tasks that were requested after the gang had formed and start together; some have not registered yet.
  std::set<TaskId> joining_;
  std::map<std::pair<Generation, std::string>, std::set<std::string>> cluster_specs_;  // by generation and role
  // The attempt whose end has not been judged yet.
  std::optional<AttemptId> pending_;
  // The time of its judgement: in the step that saw the end, or when the next AM begins.
  Instant judged_at_{};
  std::vector<AttemptId> tolerated_;
  std::set<std::string> finished_;  // names of roles
  // The newest attempt whose container was kept for a person.
  struct Hold {
    AttemptId attempt;
    ContainerId container;
    Instant until;
  };
  std::optional<Hold> hold_;
  std::map<int, Restart> restarts_;  // decided restarts that have not begun
  Instant waits_since_{};
  std::vector<RestartSeen> past_;
  std::vector<std::string> checkpoints_;
  bool listing_sought_ = false, listed_ = false, listing_known_ = false;
  std::optional<Checkpoint> first_checkpoint_;
  // The newest checkpoint that was noted for tracked tasks.
  std::optional<Checkpoint> progress_;
  bool looked_ = false;
  int fruitless_ = 0;
  // The attempt for which the job has to stop.
  std::optional<AttemptId> fruitless_cause_;
  std::optional<Verdict> verdict_;
  Duration stop_grace_{0};
  bool job_ended_ = false;
};

}  // namespace tony::sim
