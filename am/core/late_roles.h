// LateRoles and Stages hold the tasks that start later than the gang. LateRoles holds the roles that wait for the
// success of other roles. An opening is the common start of the tasks of such roles. Stages holds the attempts that
// wait for values that others publish. Part of Job: no I/O, no threads, no clock.
//
//   unopened --ContainersRequested--> opening --all tasks have registered--> the tasks join the running generation
//
// While the opening waits, a task that ends is replaced, or its end stops the job.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "am/core/containers.h"
#include "am/core/tasks.h"
#include "runtime/job/ids.h"
#include "runtime/job/job_spec.h"

namespace tony::am {

struct Opening {
  // `tasks` start together. `missing` holds the tasks that have not registered yet.
  std::set<TaskId> tasks, missing;
};

class LateRoles {
 public:
  explicit LateRoles(const JobSpec& spec);

  // Roles whose success other roles wait for.
  const std::set<std::string>& awaited() const { return awaited_; }
  bool IsAwaited(const std::string& role) const { return awaited_.contains(role); }
  // The roles with tasks that have never had an attempt, each with the index of the first such task. Most roles open
  // all their tasks together; a role with RoleSpec::max_parallel opens them in the order of their indexes.
  const std::map<std::string, int>& unopened() const { return unopened_; }
  bool IsUnopened(const std::string& role) const {
    const auto found = unopened_.find(role);
    return found != unopened_.end() && found->second == 0;
  }
  bool HasUnopened(const std::string& role) const { return unopened_.contains(role); }
  void Open(const RoleSpec& role, const TaskId& task);

  // The tasks that may hold a place of a role with RoleSpec::max_parallel. A restart takes the place of its task again.
  // Returns the number of places that are held. DropFree() forgets the tasks that hold none, which changes no result.
  int PlacesHeld(const std::string& role, const Tasks& tasks, const Containers& containers) const;
  void DropFree(const std::string& role, const Tasks& tasks, const Containers& containers);
  void TakePlace(const RoleSpec& role, const TaskId& task);

  // Returns null if the attempt's task started with the job, or if its opening is over.
  const Opening* Find(const Attempt& attempt) const;
  // Makes an opening for `tasks`, which start together. Returns the number of the opening, which the caller stores in
  // each attempt; 0 if `tasks` is empty.
  int Begin(std::set<TaskId> tasks);
  // Drops all openings, because a restart of the gang takes over their tasks.
  void Clear() { openings_.clear(); }
  // Notes that the attempt has registered or ended. Returns the tasks that may start now.
  std::set<TaskId> Arrive(const Attempt& attempt);
  // Returns an opening in which some tasks hold containers while other tasks still wait for one; null if no opening is
  // in this state. A container whose attempt is being stopped is given back anyway, so it does not count.
  const Opening* Stuck(const Tasks& tasks) const;

  void CheckInvariants(const JobSpec& spec, const Tasks& tasks) const;

 private:
  static bool HoldsPlace(const Task& task, const Containers& containers);

  std::set<std::string> awaited_;
  std::map<std::string, int> unopened_;
  std::map<std::string, std::set<TaskId>> places_;
  // Openings by number, counted from 1.
  std::map<int, Opening> openings_;
  int newest_ = 0;
};

class Stages {
 public:
  // The tasks that have not published all values that others wait for, each with its stage.
  const std::set<std::pair<int, TaskId>>& unpublished() const { return unpublished_; }
  // The attempts that have registered and wait for their stage or role to open, each with its stage.
  const std::set<std::pair<int, AttemptId>>& held() const { return held_; }
  bool IsHeld(const JobSpec& spec, const AttemptId& id) const;

  void AwaitValues(const JobSpec& spec, const TaskId& id);
  void Published(const JobSpec& spec, const TaskId& id);
  void Hold(const JobSpec& spec, const AttemptId& id);
  void Release(const JobSpec& spec, const AttemptId& id);
  // Returns the waiting attempts of `stage`, or of one role of that stage (empty: all roles).
  std::vector<AttemptId> HeldIn(int stage, const std::string& role) const;

  void CheckInvariants(const JobSpec& spec, const Tasks& tasks) const;

 private:
  std::set<std::pair<int, TaskId>> unpublished_;
  std::set<std::pair<int, AttemptId>> held_;
};

// Returns true if the attempt has published all values that others wait for.
bool HasPublished(const JobSpec& spec, const Attempt& attempt);

}  // namespace tony::am
