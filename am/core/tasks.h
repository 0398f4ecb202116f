// The tasks of a job and their attempts, with sums over them, so that no step of a job of 10,000 tasks walks through
// all. Part of Job, and as pure.
#pragma once

#include <array>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "am/core/states.h"
#include "runtime/base/endpoint.h"
#include "runtime/base/time.h"
#include "runtime/job/cluster_spec.h"
#include "runtime/job/ids.h"
#include "runtime/job/job_spec.h"
#include "runtime/job/outcome.h"

namespace tony::am {

// JSON, built once for all attempts that get it.
using ClusterSpecText = std::shared_ptr<const std::string>;

struct Attempt {
  AttemptId id;
  AttemptState state = AttemptState::kNew;
  // Empty until one is granted.
  ContainerId container;
  std::string host;
  // Set when it registers.
  std::optional<Endpoint> endpoint;
  NamedPorts ports;
  PublishedValues values;
  int64_t pid = 0;
  bool suspect = false;
  std::optional<Outcome> outcome;
  std::optional<Instant> started, ended;
  // The generation that it was told to run in, and the cluster spec of that; 0 until then.
  Generation generation;
  ClusterSpecText cluster_spec;
  // The restart that made it; 0: the start of its role.
  int restart = 0;
  // The opening (late_roles.h) that its task belongs to; 0: its role started with the job.
  int opening = 0;
  // It runs in the container and executor of the attempt before.
  bool renewed = false;
  // Its executor has reported its end, and waits for the next command.
  bool reported = false;
  // It failed, and the job goes on without its task.
  bool tolerated = false;
  // The reason for which it alone was told to stop.
  std::optional<Outcome> because;
  // How often it was told to stop, each time with less grace.
  int stops = 0;
  Duration stop_grace{0};
  // The limits of Deadlines: zero until they are set. A limit that is over or met keeps its time.
  Instant allocate_by{}, register_by{}, publish_by{}, stop_by{}, give_up_at{};
  // `register_by` counts from the start of its container.
  bool since_launch = false;
  // Not journalled: when it was heard last, and its newest usage.
  Instant last_heard{};
  std::optional<Usage> usage;
};

struct Task {
  TaskState state = TaskState::kWaiting;
  // The number of the open restart that it waits for; 0: none.
  int restart = 0;
  // Attempt n is at n - 1; the last one counts.
  std::vector<Attempt> attempts;

  Attempt* newest() { return attempts.empty() ? nullptr : &attempts.back(); }
  const Attempt* newest() const { return attempts.empty() ? nullptr : &attempts.back(); }
};

// The attempt ended because of its executor, container or node, not because of its program. A signal that somebody sent
// to the program alone leaves its executor as it was.
bool WasTakenAway(const Outcome& outcome);

class Tasks {
 public:
  explicit Tasks(const JobSpec& spec);

  const std::map<TaskId, Task>& all() const { return tasks_; }
  std::map<TaskId, Task>& all() { return tasks_; }
  const Task& at(const TaskId& id) const { return tasks_.at(id); }
  Task& at(const TaskId& id) { return tasks_.at(id); }
  // Null for an attempt that was never made.
  const Attempt* Find(const AttemptId& id) const;
  Attempt* Find(const AttemptId& id);

  // How many newest attempts are in this state: of all tasks, and of those that take part in forming the gang.
  int Count(AttemptState state) const { return counts_[static_cast<size_t>(state)]; }
  int CountInGang(AttemptState state) const;
  // Each task of the role has ended, and none is to start again.
  bool IsOver(const RoleSpec& role) const;
  // The newest end of an attempt of the role, and the newest time at which one was made or began to run.
  Instant LastEnd(const std::string& role) const { return by_role_.at(role).last_end; }
  Instant LastBegin(const std::string& role) const { return by_role_.at(role).last_begin; }

  // The only ways in which a state changes. kInvalid: the transition tables have no such row.
  Result<Attempt*> Step(const AttemptId& id, AttemptStep step);
  Status Step(const TaskId& id, TaskStep step);
  // Makes the next attempt of a task, which is requested or renewed (`how`).
  Result<Attempt*> Add(const AttemptId& id, AttemptStep how, Instant time);
  void Start(Attempt& attempt, int64_t pid, Instant time);
  void End(Attempt& attempt, const Outcome& outcome, bool reported, Instant time);

  // Persistent sidecars outlive a restart of the gang, because they have been in it once: it forms again without them.
  const std::set<TaskId>& persistent() const { return persistent_; }
  void Persist(const TaskId& id) { persistent_.insert(id); }
  void RejoinGang(const TaskId& id) { persistent_.erase(id); }

  // Ends the process if two of these members contradict each other.
  void CheckInvariants(const JobSpec& spec) const;

 private:
  struct OfRole {
    int done = 0;
    Instant last_end{}, last_begin{};
  };
  static void CheckTask(const TaskId& id, const Task& task);
  static void CheckAttempt(const Attempt& attempt);

  std::map<TaskId, Task> tasks_;
  std::array<int, static_cast<size_t>(AttemptState::kLost) + 1> counts_{};
  std::map<std::string, OfRole> by_role_;
  std::set<TaskId> persistent_;
};

}  // namespace tony::am
