// The tasks of a job and their attempts, with counts over them, so that no step of a job of 10,000 tasks walks through
// all tasks. Part of Job: no I/O, no threads, no clock.
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

// The cluster spec as JSON, built once for all attempts that receive it.
using ClusterSpecText = std::shared_ptr<const std::string>;

struct Attempt {
  AttemptId id;
  AttemptState state = AttemptState::kNew;
  // The container, its host, and the page with its logs are empty until a container is granted.
  ContainerId container;
  std::string host;
  std::string log_url;
  // The address and the ports are set when the executor registers.
  std::optional<Endpoint> endpoint;
  NamedPorts ports;
  PublishedValues values;
  int64_t pid = 0;
  bool suspect = false;
  std::optional<Outcome> outcome;
  std::optional<Instant> started, ended;
  // The generation in which the attempt was ordered to run, and the cluster spec of that generation; 0 and null before
  // START.
  Generation generation;
  ClusterSpecText cluster_spec;
  // The number of the restart that made this attempt; 0 for the first start of the role.
  int restart = 0;
  // The number of the late start (Opening in late_roles.h) that the task belongs to; 0 if its role started with the
  // job.
  int opening = 0;
  // True if the attempt runs in the container and executor of the previous attempt.
  bool renewed = false;
  // True if the executor has reported the end of the attempt, and waits for its next command.
  bool reported = false;
  // True if the attempt failed, and the job continues without its task.
  bool tolerated = false;
  // The time until which the container of the failed attempt is kept for a person (JobSpec::hold); zero: it is not kept.
  Instant held_until{};
  // The reason for stopping the attempt while the job runs, e.g. preemption or a finished role.
  std::optional<Outcome> because;
  // The number of STOP commands so far. Each further command has a shorter grace.
  int stops = 0;
  Duration stop_grace{0};
  // The due times of the limits that Deadlines watches; zero until they are set. A limit that has expired or was met
  // keeps its time.
  Instant allocate_by{}, register_by{}, publish_by{}, stop_by{}, give_up_at{};
  // True if `register_by` counts from the start of the container.
  bool since_launch = false;
  // The time of the executor's last call, and the newest usage of the attempt that it reported. Not journalled.
  Instant last_heard{};
  std::optional<Usage> usage;
};

struct Task {
  TaskState state = TaskState::kWaiting;
  // The number of the open restart that the task waits for; 0: none.
  int restart = 0;
  // Attempt n has index n - 1. The last attempt is the current one.
  std::vector<Attempt> attempts;

  Attempt* newest() { return attempts.empty() ? nullptr : &attempts.back(); }
  const Attempt* newest() const { return attempts.empty() ? nullptr : &attempts.back(); }
};

// Returns true if the attempt ended because of its executor, container or node, and not because of its program. A
// signal that was sent only to the program does not count, because the executor still works.
bool WasTakenAway(const Outcome& outcome);

class Tasks {
 public:
  explicit Tasks(const JobSpec& spec);

  const std::map<TaskId, Task>& all() const { return tasks_; }
  std::map<TaskId, Task>& all() { return tasks_; }
  const Task& at(const TaskId& id) const { return tasks_.at(id); }
  Task& at(const TaskId& id) { return tasks_.at(id); }
  // Returns null for an attempt that was never made.
  const Attempt* Find(const AttemptId& id) const;
  Attempt* Find(const AttemptId& id);

  // The number of tasks whose newest attempt is in `state`: among all tasks, and among the tasks that take part in
  // forming the gang.
  int Count(AttemptState state) const { return counts_[static_cast<size_t>(state)]; }
  int CountInGang(AttemptState state) const;
  // True if each task of the role has ended and will not start again.
  bool IsOver(const RoleSpec& role) const;
  // LastEnd() returns when an attempt of the role ended last. LastBegin() returns when an attempt of the role was made
  // or began to run last.
  Instant LastEnd(const std::string& role) const { return by_role_.at(role).last_end; }
  Instant LastBegin(const std::string& role) const { return by_role_.at(role).last_begin; }

  // Only these two functions change a state. They return kInvalid if the transition tables do not allow the step.
  Result<Attempt*> Step(const AttemptId& id, AttemptStep step);
  Status Step(const TaskId& id, TaskStep step);
  // Makes the next attempt of a task. `how` is kRequest or kRenew.
  Result<Attempt*> Add(const AttemptId& id, AttemptStep how, Instant time);
  void Start(Attempt& attempt, int64_t pid, Instant time);
  void End(Attempt& attempt, const Outcome& outcome, bool reported, Instant time);

  // Persistent sidecars continue to run while the gang restarts. The restarted gang does not wait for a sidecar that
  // has been part of a gang before.
  const std::set<TaskId>& persistent() const { return persistent_; }
  void Persist(const TaskId& id) { persistent_.insert(id); }
  void RejoinGang(const TaskId& id) { persistent_.erase(id); }

  // Ends the process if two of the private members contradict each other.
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
