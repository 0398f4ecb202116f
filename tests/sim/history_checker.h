// Judges a run by its history, as seen from outside, without Job and TaskRun. It checks:
//
// - Each attempt has one outcome. Each of its processes runs at most once. The outcome names the real exit status of a
//   process. It is a success only if all processes have succeeded. No process runs once the executor has reported the
//   end.
// - A task never has two attempts at once, except for the stated overlap after a scheduler's false report.
// - A generation has one cluster spec for each stage. No task of a later stage starts before all values of the earlier
//   stages are in the journal. No process of a generation runs once the next one has formed.
// - A restart follows the rules for scope, budget, charge and back-off. All that it replaces has ended, and the AM
//   knows it. Tasks that can continue in their executor do, if they do not wait there too long. Containers that wait
//   for the rest of their gang are given back after the whole time, not before. The restart resumes from the newest
//   checkpoint of the job, or of all jobs if it asks for that. If restarts do not help, the job ends. A sidecar that
//   outlives a gang's restart gets no message about it, and no task waits for it; all other tasks of the gang get the
//   message.
// - The AM reports only what is in the journal. It gives no executor up too early or while the lease is not renewed. It
//   does not lead without its arbiter, ignores no kill and no time limit, and its clock continues that of the AM
//   before.
// - An AM that a later one has replaced adds nothing to the journal and to the job's records, gives no accepted orders,
//   and serves no calls when it has not heard its arbiter for am_lease.
// - Each granted container is used or returned. A container that is held for a person does not end before its time
//   while the job goes on, and no restart waits for it.
// - The job ends, as its outcomes say, and leaves nothing behind. It ends within a bound from its verdict or a kill, or
//   from the end of all faults: no client and no place in the ledger waits longer.
#pragma once

#include <deque>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "tests/sim/history.h"
#include "tests/sim/job_rules.h"
#include "tests/sim/journal_rules.h"

namespace tony::sim {

class HistoryChecker {
 public:
  // Returns what is wrong with the history of a job that is over; empty if the history is right.
  static std::vector<std::string> Check(const JobSpec& spec, const History& history);

 private:
  // The state of an executor as the history shows it. When the executor begins another attempt, the state moves to that
  // attempt.
  struct Executor {
    ContainerId container;
    bool died = false;
    bool termed = false;
    Epoch bound_to;
    // The time of the last call that certainly reached an AM.
    Instant heard{};
    // The last such call whose answer arrived.
    Instant answered{};
    Instant put_off{};
    Instant stalled_until{}, store_back{};
  };
  // The state of one attempt as the history shows it.
  struct Attempt {
    Executor executor;
    std::set<int> started;  // indexes of started processes
    int runs = 0;           // number of process starts
    Instant last_start{};
    std::map<int, ExitStatus> exits;
    bool signalled = false;
    // The attempt has a good reason to stop.
    bool stops = false;
    // The values that the attempt's process wrote.
    PublishedValues published;
    // An AM told the attempt to stop before that decision was in the journal.
    bool told_unwritten = false;
    // The longest grace with which an AM told the attempt to stop. The journal may lack it.
    Duration told_grace{0};
    // The time at which the attempt was given up while its process ran.
    std::optional<Instant> given_up;
    // The time at which the scheduler reported the container's end although the container still ran.
    std::optional<Instant> told_gone;
    // The times at which the AM received a call of the attempt.
    std::vector<Instant> heard;
  };

  HistoryChecker(const JobSpec& spec, const Bounds& bounds, Duration length);
  void On(const AmBegan& e);
  void On(const AmGone& e);
  void On(const JournalOpened& e);
  void On(const AmStalled& e);
  void On(const LeaseWritten& e);
  void On(const StatusWritten& e);
  void On(const LookFailed&) { look_failed_ = now_; }
  void On(const ArbiterHeard& e);
  void On(const ContainerOffered& e) { offers_[e.container] = {e.epoch, now_}; }
  void On(const KeeperListens& e) { listened_to_ = e.epoch; }
  void On(const Ordered& e);
  void On(const Told& e);
  void On(const AmHeard& e);
  void On(const ValuesAcknowledged& e);
  void On(const OutcomeAcknowledged& e);
  void On(const KillAcknowledged& e);
  void On(const KillWritten& e);
  void On(const ConditionalKillWritten& e) { attention_.OnKillWritten(e.request); }
  void On(const AttachAnswered& e);
  void On(const LookAnswered& e);
  void On(const KeeperBegan&) {}
  void On(const KeeperGone&) {}
  void On(const KeeperGaveUp& e);
  void On(const JobClosed& e);
  // ---- history_checker_journal.cc
  void On(const JournalWritten& e);
  void On(const JournalStuck& e);
  void On(const JournalCutBack& e);
  // ---- history_checker_processes.cc
  void On(const ContainerBegan& e);
  void On(const ContainerGone& e);
  void On(const ContainerToldGone& e);
  void On(const PreemptionTold&) {}
  void On(const AttemptBegun& e);
  void On(const ExecutorTermed& e);
  void On(const ExecutorDied& e);
  void On(const ExecutorHeard& e);
  void On(const ExecutorPutOff& e);
  void On(const ExecutorBound& e);
  void On(const ExecutorObeyed& e);
  void On(const ExecutorStalled& e);
  void On(const StoreCut& e);
  void On(const ProcessStarted& e);
  void On(const ProcessSignalled& e);
  void On(const ProcessEnded& e);
  void On(const CheckpointWritten& e);
  void On(const CheckpointThere& e);
  void On(const ValuesWritten& e) { attempts_[e.attempt].published = e.values; }

  void Expect(bool so, const std::string& otherwise);
  // Expects that this AM is alive, and that no later one has begun.
  void ExpectRules(Epoch epoch, const std::string& what);
  // Expects that this AM is alive and, if a later one has begun, has heard its arbiter within am_lease.
  void ExpectMayAnswer(Epoch epoch, const std::string& what);
  // Expects that the AM has not been without its arbiter for longer than am_lease.
  void ExpectInTouch(Epoch epoch, const std::string& what);
  void ExpectNothingRuns(const std::string& what);
  void ReadNewDecisions();
  void Read(const Decision& decision);
  // Checks a decision that an attempt is silent. `time` is the decision's, by the clock of its AM.
  void CheckSilence(const AttemptId& id, Instant time);
  void CheckKilled(const Verdict& verdict, Instant time);
  void CheckAttention(bool settled);
  void CheckListed(const CheckpointListing& listing, Instant time);
  void CheckNoted(const CheckpointNoted& noted, Instant time);
  void CheckPublished(const ValuesPublished& published);
  void CheckEnvironment(const ProcessStarted& e);
  void CheckAlone(const ProcessStarted& e);
  bool HasReasonToStop(const AttemptId& attempt) const;
  bool IsCutOff(const Executor& executor) const;
  bool HasRunItsTime(const AttemptId& attempt) const;
  void CheckRanNoLonger(const AttemptId& id, const Attempt& attempt);
  void CheckOutcome(const AttemptId& id, const Outcome& outcome);
  void CheckExit(const AttemptId& id, const Outcome& outcome);
  // True if all processes of the attempt were started and have ended.
  bool AllEnded(const AttemptId& id) const;
  bool AnyFailed(const AttemptId& id) const;
  bool AllSucceeded(const AttemptId& id) const { return AllEnded(id) && !AnyFailed(id); }
  void CheckSuccess();
  void CheckEnd(const History& history);
  // Slower: the shortest time that some clock may show in `real`. Faster: the longest.
  Duration Slower(Duration real) const { return real - real * drift_ / 1'000'000; }
  Duration Faster(Duration real) const { return real + real * drift_ / 1'000'000; }

  const JobSpec& spec_;
  const int64_t drift_;
  const Instant faults_over_;
  const Duration longest_end_;
  const Duration overlap_, late_read_;
  const bool two_ams_;
  // The largest difference between the clocks of two processes.
  const Duration skew_;
  JournalRules rules_;
  Instant newest_decision_{};
  AttentionRules attention_;
  std::vector<std::string> complaints_;
  Instant now_{};
  std::string file_;  // the journal file's bytes
  size_t read_ = 0;   // bytes already read as whole decisions
  std::map<AttemptId, Attempt> attempts_;
  // Containers with an executor, and the attempt that it runs.
  std::map<ContainerId, AttemptId> containers_;
  // Containers that the scheduler reported as ended, also before their executor began.
  std::map<ContainerId, Instant> told_gone_;
  Epoch newest_;
  // The newest AM from which the keeper takes orders.
  Epoch listened_to_;
  bool am_lives_ = false;
  // An AM that lives on after a later one has begun.
  struct Replaced {
    Instant contact;
    bool stuck;  // The AM cannot write its journal.
  };
  std::map<Epoch, Replaced> replaced_;
  // The AM whose order to finish the job has arrived.
  Epoch finished_by_;
  // Containers that were granted to an AM, and neither used nor returned.
  std::map<ContainerId, std::pair<Epoch, Instant>> offers_;
  Instant am_began_{}, am_wakes_{};
  // The last contact of the AM with its arbiter, and the time at which contact was restored.
  Instant am_contact_{}, am_back_{};
  bool stuck_ = false;  // The AM cannot write its journal.
  Instant written_again_{};
  // The AM that died with an order sent whose decision was not in the journal yet.
  Epoch died_with_unwritten_;
  std::deque<Instant> am_ends_;
  std::optional<Instant> kill_written_, lease_written_;
  int renewals_since_kill_ = 0;  // lease renewals of one AM
  // Checkpoints from which the job may resume.
  std::vector<Checkpoint> checkpoints_;
  // Such checkpoints that were overwritten, and when.
  std::vector<std::pair<Instant, Checkpoint>> overwritten_;
  std::map<int, std::optional<Checkpoint>> newest_when_sought_;  // Keyed by the restart's number.
  std::map<int, Instant> sought_;                                // times by the AM's clock
  Instant listing_sought_{};
  Instant look_failed_{};
  // The times at which engines sent requests that count as client activity.
  std::vector<Instant> looks_;
  // The time at which the last of these requests was answered.
  Instant looked_{};
  // The last time that the lease was written too late. The AM restarts its waiting times there.
  Instant unruled_{};
  // Renewals since a conditional kill request has held.
  int renewals_since_request_ = 0;
  std::optional<Verdict> status_;
  bool gave_up_ = false;
  bool closed_ = false;
  // Since when the job has to end: one party waits for its end, and others wait for its resources.
  std::optional<Instant> to_end_since_;
};

}  // namespace tony::sim
