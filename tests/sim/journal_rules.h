// What any journal of a job must look like, read decision by decision. Says the AM's rules again in its own way, from
// the design and not from am/: whoever changes one of the two has to change the other.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "am/decisions.h"
#include "runtime/job/job_spec.h"

namespace tony::sim {

class JournalRules {
 public:
  explicit JournalRules(const JobSpec& spec) : spec_(spec) {}

  void Read(const am::Decision& decision);
  std::vector<std::string> TakeComplaints() { return std::exchange(complaints_, {}); }

  // What the decisions read so far say.
  bool IsAssigned(const ContainerId& container) const { return assigned_.contains(container); }
  bool IsKillOrdered(const ContainerId& container) const { return kill_ordered_.contains(container); }
  const Outcome* OutcomeOf(const AttemptId& attempt) const;
  Generation generation() const { return generation_; }
  const std::optional<Verdict>& verdict() const { return verdict_; }  // from JobStopping on
  bool job_ended() const { return job_ended_; }
  const std::set<AttemptId>& attempts() const { return attempts_; }
  const std::map<AttemptId, Outcome>& outcomes() const { return outcomes_; }

 private:
  void On(const am::EpochBegan& d, Instant);
  void On(const am::JobAccepted& d, Instant time);
  void On(const am::ContainersRequested& d, Instant);
  void On(const am::ContainerAssigned& d, Instant);
  void On(const am::GenerationFormed& d, Instant);
  void On(const am::AttemptEnded& d, Instant);
  void On(const am::ContainerKillOrdered& d, Instant);
  void On(const am::ContainerEnded& d, Instant);
  void On(const am::JobStopping& d, Instant time);
  void On(const am::JobEnded& d, Instant);
  template <class Other>
  void On(const Other&, Instant) {}  // changes nothing that is judged here

  void Complain(const std::string& text) { complaints_.push_back("journal: " + text); }
  void Judge(const AttemptId& attempt, const Outcome& outcome);
  bool IsOverdue(Instant time) const;
  int TrackedSuccesses() const;

  const JobSpec& spec_;
  std::vector<std::string> complaints_;
  Epoch epoch_;
  std::optional<Instant> accepted_;
  std::set<AttemptId> attempts_;
  std::map<ContainerId, AttemptId> assigned_;
  std::set<ContainerId> kill_ordered_, gone_;
  std::map<AttemptId, Outcome> outcomes_;
  Generation generation_;
  std::optional<AttemptId> culprit_;  // whose end must fail the job
  std::optional<Verdict> verdict_;
  bool job_ended_ = false;
};

}  // namespace tony::sim
