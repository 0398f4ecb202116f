// Judges a run by what was seen of it from outside. Knows neither Job nor TaskRun.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "tests/sim/history.h"
#include "tests/sim/journal_rules.h"

namespace tony::sim {

class HistoryChecker {
 public:
  // What is wrong with the history of a job that is over; none: all is as it should be.
  static std::vector<std::string> Check(const JobSpec& spec, const History& history);

 private:
  // What is known of one attempt.
  struct Attempt {
    std::optional<ProcessStarted> process;  // the newest
    bool runs = false;
    bool signalled = false;
    bool stops = false;  // for a good reason
    std::optional<ExitStatus> exit;
    std::set<Generation> started;
    bool in_container = false;
    bool executor_died = false;
    bool executor_termed = false;
    Epoch bound_to;
    Instant heard, put_off;
    Instant stalled_until, store_back;
  };

  explicit HistoryChecker(const JobSpec& spec) : spec_(spec), rules_(spec) {}
  void On(const AmBegan& e);
  void On(const AmGone& e);
  void On(const JournalOpened& e);
  void On(const JournalWritten& e);
  void On(const LeaseWritten& e);
  void On(const StatusWritten& e);
  void On(const Ordered& e);
  void On(const Told& e);
  void On(const OutcomeAcknowledged& e);
  void On(const KillAcknowledged& e);
  void On(const KillWritten& e);
  void On(const ContainerBegan& e);
  void On(const ContainerGone& e);
  void On(const ExecutorTermed& e);
  void On(const ExecutorDied& e);
  void On(const JobClosed& e);
  void On(const ExecutorHeard& e);
  void On(const ExecutorPutOff& e);
  void On(const ExecutorBound& e);
  void On(const ExecutorObeyed& e);
  void On(const ExecutorStalled& e);
  void On(const StoreCut& e);
  void On(const ProcessStarted& e);
  void On(const ProcessSignalled& e);
  void On(const ProcessEnded& e);

  void Expect(bool so, const std::string& otherwise);
  void ExpectRules(Epoch epoch, const std::string& what);  // this AM is the newest, and lives
  void ReadNewDecisions();
  bool HasReasonToStop(const AttemptId& attempt) const;
  bool IsCutOff(const Attempt& attempt) const;
  void CheckOutcome(const AttemptId& id, const Outcome& outcome);
  void CheckEnd(const History& history);

  const JobSpec& spec_;
  JournalRules rules_;
  std::vector<std::string> complaints_;
  Instant now_;
  std::string file_;  // the journal
  size_t read_ = 0;   // so much of it is whole decisions
  std::map<AttemptId, Attempt> attempts_;
  std::map<ContainerId, AttemptId> containers_;  // with an executor in it
  Epoch newest_;
  bool am_lives_ = false;
  std::optional<Instant> kill_written_, lease_written_;
  int renewals_since_kill_ = 0;  // by one AM
  std::optional<Verdict> status_;
  bool closed_ = false;
};

}  // namespace tony::sim
