#include <map>
#include <set>
#include <utility>

#include "runtime/history/jhist.h"
#include "runtime/records/describe.h"

namespace tony {
namespace {

std::vector<JhistMetric> Metrics(const std::optional<Usage>& usage) {
  std::vector<JhistMetric> metrics;
  if (!usage) return metrics;
  metrics.push_back({"MAX_MEMORY_BYTES", static_cast<double>(usage->most_memory_bytes)});
  metrics.push_back({"AVG_MEMORY_BYTES", static_cast<double>(usage->mean_memory_bytes)});
  if (!usage->gpu) return metrics;
  metrics.push_back({"MAX_GPU_UTILIZATION", static_cast<double>(usage->gpu->most_percent)});
  metrics.push_back({"AVG_GPU_UTILIZATION", static_cast<double>(usage->gpu->mean_percent)});
  return metrics;
}

// TonY's words: what it stopped itself has neither succeeded nor failed.
std::string StatusWord(const Outcome& outcome) {
  if (outcome.Succeeded()) return "SUCCEEDED";
  return outcome.cls == OutcomeClass::kKilled ? "FINISHED" : "FAILED";
}

class Teller {
 public:
  explicit Teller(const JhistJob& job) {
    events_.push_back({job.submitted, JhistApplicationInited{job.application, job.tasks, job.host}});
  }

  void Tell(const Decision& decision) {
    std::visit([&](const auto& body) { On(body, decision.time); }, decision.body);
  }

  // A task that the journal does not let end, as nobody was there to see it, ended with its job.
  std::vector<JhistEvent> Finish(const JhistJob& job, const std::optional<JobStatus>& end) && {
    if (!end || !end->verdict || !end->ended) return std::move(events_);
    JhistApplicationFinished finished{job.application};
    for (const TaskStatus& task : end->tasks) {
      if (!task.outcome) continue;
      if (Starts({task.id, task.attempt}) && !ended_.contains({task.id, task.attempt}))
        End({task.id, task.attempt}, *task.outcome, *end->ended);
      ++finished.finished_tasks;
      if (StatusWord(*task.outcome) == "FAILED") ++finished.failed_tasks;
    }
    events_.push_back({*end->ended, finished});
    return std::move(events_);
  }

 private:
  void On(const ContainerAssigned& d, Instant) {
    containers_[d.attempt] = d.container;
    hosts_[d.container] = d.host;
  }
  void On(const AttemptLaunched& d, Instant time) { Start(d.attempt, time); }
  // An executor may be heard before the one who started it.
  void On(const AttemptRegistered& d, Instant time) { Start(d.attempt, time); }
  // In the executor of the attempt before: it is not launched.
  void On(const RestartBegan& d, Instant time) {
    for (const RenewedAttempt& renewed : d.renewed) {
      containers_[renewed.attempt] = renewed.container;
      Start(renewed.attempt, time);
    }
  }
  void On(const AttemptEnded& d, Instant time) {
    if (Starts(d.attempt) && !ended_.contains(d.attempt)) End(d.attempt, d.outcome, time);
  }
  template <class Other>
  void On(const Other&, Instant) {}  // TonY had no event for it

  bool Starts(const AttemptId& attempt) const { return started_.contains(attempt); }
  void Start(const AttemptId& attempt, Instant time) {
    if (!started_.insert(attempt).second) return;
    const ContainerId& container = containers_[attempt];
    events_.push_back({time, JhistTaskStarted{attempt.task, hosts_[container], container.value}});
  }
  // Only what has started: Dr. Elephant would take the other for a task that ran since 1970.
  void End(const AttemptId& attempt, const Outcome& outcome, Instant time) {
    ended_.insert(attempt);
    events_.push_back({time, JhistTaskFinished{attempt.task, StatusWord(outcome), Metrics(outcome.usage),
                                               outcome.Succeeded() ? "NA" : Describe(outcome)}});
  }

  std::vector<JhistEvent> events_;
  std::map<AttemptId, ContainerId> containers_;
  std::map<ContainerId, std::string> hosts_;
  std::set<AttemptId> started_, ended_;
};

}  // namespace

std::vector<JhistEvent> JhistEvents(const JhistJob& job, const std::vector<Decision>& decisions,
                                    const std::optional<JobStatus>& end) {
  Teller teller(job);
  for (const Decision& decision : decisions) teller.Tell(decision);
  return std::move(teller).Finish(job, end);
}

}  // namespace tony
