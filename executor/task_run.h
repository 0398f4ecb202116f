// The attempts at running one task in one container, one after the other, from the executor's side. The pure core: no
// I/O, no threads, no clock. See states.h.
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
  // `self` is who we are in every call; its generation and epoch are kept up to date here. `endpoint` is the task's
  // reserved address. `jitter` in [0, 1) spreads the executors of a job when they all lose their AM at once.
  // `processes`: of each attempt.
  TaskRun(Caller self, Endpoint endpoint, Timers timers, double jitter, int processes = 1);

  std::vector<Action> Apply(const Event& event, Instant now);
  std::optional<Instant> NextDeadline() const;  // when to Apply(Tick); nothing: not before the next event

  State state() const { return state_; }
  Link link() const { return link_; }
  Phase phase() const;
  const std::optional<Outcome>& outcome() const { return outcome_; }  // set once Ended

 private:
  // What happens once the attempt has ended, if not to stay and report until released.
  struct Departure {
    int exit_code = 0;
    Duration report_limit{0};  // how long to try to report before leaving
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
  void On(const TreeLives& event);
  void On(const UsageMeasured& event);
  void On(const ValuesSeen& event);
  void On(const TermSignal&);
  void On(const Tick&);

  // The link to the AM: task_run_link.cc.
  bool IsCurrent(int64_t link) const;
  void Lose();
  void Search();
  void AskLease();
  void Try(const SeenLease& lease);
  void Rejoin();
  void Beat();
  void Publish();
  void Report();
  void Await();
  void Hear(Instant sent);
  Caller Self() const;
  std::optional<Instant> CutOffAt() const;
  std::optional<Instant> OrphanedAt() const;
  Duration Spread(Duration delay) const;

  // Its processes: task_run.cc.
  bool AllReaped() const;
  Outcome Named(Outcome outcome, int process) const;
  void RunOutOfTime();
  void Fail(Outcome outcome);
  void LookAnew(int signal);  // soon after this signal, then ever less often
  void LookAgain(int signal);

  // The task: task_run.cc.
  bool Go(Trigger trigger);
  void Obey(const Command& command);
  void Announce(const Command& stop);
  void Stop(Outcome because, Duration grace);
  void BeginNext(int attempt);
  void Depart(Outcome because, Departure how);
  void End(Trigger trigger, Outcome outcome);
  void ReportThenLeave();
  void LeaveWith(int exit_code);

  template <class T>
  void Do(T action) {
    actions_.push_back(std::move(action));
  }

  Caller identity_;  // its attempt is the one at hand
  const Endpoint endpoint_;
  const Timers timers_;
  const double jitter_;
  const int processes_;

  Instant now_;                  // of the event at hand
  std::vector<Action> actions_;  // of the event at hand

  State state_ = State::kWaiting;
  int64_t pid_ = 0;                 // of the first process while it is there
  int unanswered_ = 0;              // processes that are to be started: nobody has said yet whether they were
  int started_ = 0, reaped_ = 0;    // processes
  std::optional<Usage> usage_;      // of the attempt, newest
  PublishedValues values_;          // of the attempt: the first of each name
  size_t values_acknowledged_ = 0;  // so many of them are in the journal
  size_t values_sent_ = 0;          // on this link, and not answered yet; 0: none
  std::optional<Outcome> ending_;   // the outcome to be, once everything is gone
  std::optional<Outcome> outcome_;
  std::optional<Departure> departure_;
  bool is_unexplained_ = false;          // the outcome to be, or that is: we were told to end, and not why
  std::optional<Instant> limit_at_;      // Running: when its processes have had their time
  std::optional<Instant> kill_at_;       // Stopping: when the grace is over
  std::optional<Instant> killed_since_;  // when the tree was first sent SIGKILL, or was last warned of
  int warnings_ = 0;                     // of a tree that outlives SIGKILL
  std::optional<Instant> look_at_;       // when to look at the tree again
  Duration look_delay_{0};
  std::optional<Instant> leave_at_;  // Ended, with a departure: the limit for the report

  Link link_ = Link::kSearching;
  int64_t link_number_ = 0;
  Epoch epoch_;            // newest known
  Generation generation_;  // newest known
  int64_t since_ = 0;      // number of the last command carried out
  LeaseSight lease_;
  std::optional<SeenLease> tried_;  // what the last UseAm came from
  Instant heard_at_;                // when the newest call was sent that an AM has answered
  Instant register_sent_, await_sent_, publish_sent_, report_sent_;
  Instant crowded_at_;              // when an AM's queue was last full: it is there, and hears others first
  Instant noticed_at_;              // when the loss of the link was noticed
  std::optional<Instant> read_at_;  // Searching, Registering: when to read the record again
  Instant retry_at_;                // Searching: the AM that was tried is not tried again before
  Duration retry_delay_{0};
  std::optional<Instant> beat_at_;  // Linked: the next heartbeat; nothing: one has not been answered yet
};

}  // namespace tony::executor
