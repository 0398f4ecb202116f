// Judges a run by what was seen of it from outside. Knows neither Job nor TaskRun.
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
  // What is wrong with the history of a job that is over; none: all is as it should be.
  static std::vector<std::string> Check(const JobSpec& spec, const History& history);

 private:
  // What is known of the executor that runs an attempt. Handed on to the next one that it runs.
  struct Executor {
    ContainerId container;
    bool died = false;
    bool termed = false;
    Epoch bound_to;
    Instant heard{};     // an AM heard it, for sure
    Instant answered{};  // and that came back
    Instant put_off{};
    Instant stalled_until{}, store_back{};
  };
  // And of the attempt.
  struct Attempt {
    Executor executor;
    std::set<int> started;  // processes, by their index
    int runs = 0;           // of these
    Instant last_start{};
    std::map<int, ExitStatus> exits;
    bool signalled = false;
    bool stops = false;                // for a good reason
    PublishedValues published;         // by its process
    bool told_unwritten = false;       // to stop, and that was not in the journal yet
    std::optional<Instant> given_up;   // while its process ran
    std::optional<Instant> told_gone;  // its container was said to be, and was not
    std::vector<Instant> heard;        // by the AM, when
  };

  HistoryChecker(const JobSpec& spec, const Bounds& bounds, Duration length);
  void On(const AmBegan& e);
  void On(const AmGone& e);
  void On(const AmWoke&) { am_woke_ = now_; }
  void On(const LeaseWritten& e);
  void On(const StatusWritten& e);
  void On(const LookFailed&) { look_failed_ = now_; }
  void On(const ArbiterHeard& e);
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
  void On(const JournalOpened& e);
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
  void ExpectRules(Epoch epoch, const std::string& what);    // this AM is the newest, and lives
  void ExpectInTouch(Epoch epoch, const std::string& what);  // it has not lost its arbiter for longer than am_lease
  void ExpectNothingRuns(const std::string& what);
  void ReadNewDecisions();
  void Read(const Decision& decision);
  void CheckSilence(const AttemptId& id, Instant time);  // of the decision, by the clock of its AM
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
  bool AllEnded(const AttemptId& id) const;  // its processes, of which it had all
  bool AnyFailed(const AttemptId& id) const;
  bool AllSucceeded(const AttemptId& id) const { return AllEnded(id) && !AnyFailed(id); }
  void CheckSuccess();
  void CheckEnd(const History& history);
  // By some clock so much time may have passed in `real`, or `own` in so much real time.
  Duration Slower(Duration real) const { return real - real * drift_ / 1'000'000; }
  Duration Faster(Duration real) const { return real + real * drift_ / 1'000'000; }

  const JobSpec& spec_;
  const int64_t drift_;
  const Instant faults_over_;
  const Duration longest_end_;
  const Duration overlap_;
  const Duration skew_;  // between the clocks of two processes
  JournalRules rules_;
  Instant newest_decision_{};
  AttentionRules attention_;
  std::vector<std::string> complaints_;
  Instant now_{};
  std::string file_;  // the journal
  size_t read_ = 0;   // so much of it is whole decisions
  std::map<AttemptId, Attempt> attempts_;
  std::map<ContainerId, AttemptId> containers_;  // with an executor in it, and what it runs
  std::map<ContainerId, Instant> told_gone_;     // also before its executor began
  Epoch newest_;
  Epoch listened_to_;  // by the keeper, as far as it has heard
  bool am_lives_ = false;
  Instant am_began_{}, am_woke_{};
  Instant am_contact_{}, am_back_{};  // with its arbiter, and since when again
  bool stuck_ = false;                // its journal is
  Instant written_again_{};
  Epoch died_with_unwritten_;  // the AM, and orders that were not in the journal yet
  std::deque<Instant> am_ends_;
  std::optional<Instant> kill_written_, lease_written_;
  int renewals_since_kill_ = 0;                                  // by one AM
  std::vector<Checkpoint> checkpoints_;                          // from which the job may go on
  std::vector<std::pair<Instant, Checkpoint>> overwritten_;      // of these, and when
  std::map<int, std::optional<Checkpoint>> newest_when_sought_;  // by the number of the restart
  std::map<int, Instant> sought_;                                // by the clock of the AM
  Instant listing_sought_{};
  Instant look_failed_{};
  std::vector<Instant> looks_;      // of engines, and what counts as one; when they were asked for
  Instant looked_{};                // when the last of them was answered
  Instant unruled_{};               // the lease was last written too late, and the AM counts waits anew
  int renewals_since_request_ = 0;  // since a conditional kill has held
  std::optional<Verdict> status_;
  bool gave_up_ = false;
  bool closed_ = false;
  std::optional<Instant> to_end_since_;  // somebody waits for its end, and others for its place
};

}  // namespace tony::sim
