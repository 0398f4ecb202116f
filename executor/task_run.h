// Decides, for the executor, how the attempts of one task run in one container, one after the other. This is the pure
// core: no I/O, no threads, no clock. The states are described in states.h.
#pragma once

#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "executor/events.h"
#include "executor/lease_sight.h"
#include "executor/states.h"
#include "runtime/base/time.h"
#include "runtime/job/executor_protocol.h"
#include "runtime/job/job_spec.h"
#include "runtime/job/outcome.h"

namespace tony::executor {

class TaskRun {
 public:
  // `self` identifies the executor in every call to the AM. The TaskRun updates the generation and the epoch in its
  // copy of `self`. `endpoint` is the task's reserved address. `jitter` in [0, 1) spreads the calls of a job's
  // executors, which may all lose their AM at once. `processes` is the number of processes of each attempt. `pace` says
  // when the lease record is read.
  TaskRun(Caller self, Endpoint endpoint, Timers timers, double jitter, int processes = 1, LeasePace pace = {});

  std::vector<Action> Apply(const Event& event, Instant now);
  // The time when Apply(Tick) is due. nullopt: nothing is due before the next event.
  std::optional<Instant> NextDeadline() const;

  State state() const { return state_; }
  Link link() const { return link_; }
  Phase phase() const;
  const std::optional<Outcome>& outcome() const { return outcome_; }  // set once the attempt has ended

 private:
  // How the executor leaves when the attempt has ended. Without a LeavePlan, the executor stays and reports until the
  // AM releases it.
  struct LeavePlan {
    int exit_code = 0;
    Duration report_limit{0};  // time limit of the final report
  };

  void On(const Begun&);
  void On(const Registered& event);
  void On(const CommandReceived& event);
  void On(const HeartbeatAnswered& event);
  void On(const ValuesAcknowledged& event);
  void On(const OutcomeAcknowledged& event);
  void On(const Refused& event);
  void On(const ConnectionLost& event);
  void On(const LeaseRead& event);
  void On(const LeaseUnreadable&);
  void On(const FolderGone&);
  void On(const AttemptNotBegun&);
  void On(const ProcessStarted& event);
  void On(const ProcessNotStarted& event);
  void On(const ProcessExited& event);
  void On(const TreeGone&);
  void On(const TreeSurvived& event);
  void On(const UsageMeasured& event);
  void On(const ValuesSeen& event);
  void On(const TermSignal&);
  void On(const Tick&);

  // Functions for the link to the AM, defined in task_run_link.cc.
  bool IsCurrent(int64_t link) const;
  void Lose();
  void Search();
  void RequestLeaseRead();
  void ReadLater();
  void Try(const SeenLease& lease);
  void RegisterAgain();
  void HeartbeatNow();
  void Publish();
  void Report();
  void Await();
  void Hear(Instant sent);
  Caller Self() const;
  std::optional<Instant> CutOffDeadline() const;
  std::optional<Instant> OrphanDeadline() const;
  std::optional<Instant> RetryDeadline() const;
  Duration Spread(Duration delay) const;

  // Functions for the processes of the attempt, defined in task_run.cc.
  bool AllReaped() const;
  Outcome Named(Outcome outcome, int process) const;
  void RunOutOfTime();
  void Fail(Outcome outcome);
  // Sends `signal` to the tree, and checks the tree soon afterwards and then at growing intervals.
  void CheckTreeSoon(int signal);
  void LookAgain(int signal);

  // Functions for the task, defined in task_run.cc.
  bool Go(Trigger trigger);
  void ExecuteCommand(const Command& command);
  void Announce(const Command& stop);
  void Stop(Outcome because, Duration grace);
  void BeginNext(int attempt);
  void LeaveAfterStop(Outcome because, LeavePlan how);
  void End(Trigger trigger, Outcome outcome);
  void ReportThenLeave();
  void LeaveWith(int exit_code);

  template <class T>
  void Do(T action) {
    actions_.push_back(std::move(action));
  }

  Caller identity_;  // holds the current attempt
  const Endpoint endpoint_;
  const Timers timers_;
  const double jitter_;
  const int processes_;
  const LeasePace pace_;

  Instant now_;                  // time of the current event
  std::vector<Action> actions_;  // the current event's actions

  State state_ = State::kWaiting;
  // The pid of the first process while it runs, otherwise 0.
  int64_t pid_ = 0;
  // The number of processes whose start was requested, and has neither succeeded nor failed yet.
  int unanswered_ = 0;
  int started_ = 0, reaped_ = 0;  // numbers of processes
  std::optional<Usage> usage_;    // newest usage of the attempt
  // The values that the attempt has published. The first value of each name counts.
  PublishedValues values_;
  // The number of values that the AM has acknowledged, and thus written to its journal.
  size_t values_acknowledged_ = 0;
  // The number of values in the Publish call on this link that the AM has not answered yet; 0: no such call is open.
  size_t values_sent_ = 0;
  // The outcome that the attempt will have when its tree has ended.
  std::optional<Outcome> ending_;
  std::optional<Outcome> outcome_;
  std::optional<LeavePlan> departure_;
  // True if the present or future outcome is due to a SIGTERM whose reason the executor does not know.
  bool is_unexplained_ = false;
  // The time when the execution limit is reached. Set in the state Running.
  std::optional<Instant> limit_at_;
  // The time when the grace period ends. Set in the state Stopping.
  std::optional<Instant> kill_at_;
  // The time of the first SIGKILL to the tree, or of the last warning about the tree.
  std::optional<Instant> killed_since_;
  // The number of warnings about a tree that survives SIGKILL.
  int warnings_ = 0;
  std::optional<Instant> look_at_;  // time of the next tree check
  Duration look_delay_{0};
  // The time when the executor leaves even if its report is unanswered. Set in the state Ended, with a LeavePlan.
  std::optional<Instant> leave_at_;

  Link link_ = Link::kSearching;
  int64_t link_number_ = 0;
  Epoch epoch_;            // newest known epoch
  Generation generation_;  // newest known generation
  int64_t since_ = 0;      // number of the last executed command
  LeaseSight lease_;
  // The lease record that led to the last UseAm, with the epoch of the AM that answered there.
  std::optional<SeenLease> tried_;
  // The sending time of the newest call that an AM has answered.
  Instant heard_at_;
  Instant register_sent_, await_sent_, publish_sent_, report_sent_;
  // The last time when an AM's request queue was full. Such an AM lives, and serves other executors first.
  Instant crowded_at_;
  // The time when the loss of the link was noticed.
  Instant noticed_at_;
  // The time to read the lease record again. Set while the link is Searching or Registering.
  std::optional<Instant> read_at_;
  // The delay between the last read of the lease record and the next one. The delay grows with each read; 0: the next
  // delay is the shortest.
  Duration read_delay_{0};
  // The earliest time to try the same AM again. Used while the link is Searching.
  Instant retry_at_;
  Duration retry_delay_{0};
  // The time of the next heartbeat. Set while the link is Linked. nullopt: the last heartbeat has not been answered
  // yet.
  std::optional<Instant> beat_at_;
};

}  // namespace tony::executor
