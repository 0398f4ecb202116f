// Starts that come later than the gang's: roles that wait for the success of others (LateRoles), and attempts that wait
// for what others publish (Stages). Part of Job, and as pure.
//
//   unopened --ContainersRequested--> an opening: its tasks start together, for the first time, in the generation that
//       runs, when all of them have registered. A task that ends before that is replaced, or ends the job.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "am/core/tasks.h"
#include "runtime/job/ids.h"
#include "runtime/job/job_spec.h"

namespace tony::am {

struct Opening {
  // `missing` have not registered.
  std::set<TaskId> tasks, missing;
  // How many have a container, and how many were requested and have none.
  int placed = 0, unplaced = 0;
};

class LateRoles {
 public:
  explicit LateRoles(const JobSpec& spec);

  // Roles for whose success others wait.
  const std::set<std::string>& awaited() const { return awaited_; }
  bool IsAwaited(const std::string& role) const { return awaited_.contains(role); }
  // Roles of which nothing was requested yet.
  const std::set<std::string>& unopened() const { return unopened_; }
  bool IsUnopened(const std::string& role) const { return unopened_.contains(role); }
  void Open(const std::string& role) { unopened_.erase(role); }

  // Null: the attempt's task started with the job, or its opening is over.
  const Opening* Find(const Attempt& attempt) const;
  Opening* Find(const Attempt& attempt);
  // The tasks start together. Returns the number of their opening, which their attempts carry; 0: there are none.
  int Begin(std::set<TaskId> tasks);
  // A restart of the gang takes over all openings.
  void Clear() { openings_.clear(); }
  // The attempt has registered or ended: the tasks that may start now.
  std::set<TaskId> Arrive(const Attempt& attempt);
  // An opening of which some tasks hold containers while others wait for theirs.
  const Opening* Stuck() const;

  void CheckInvariants(const Tasks& tasks) const;

 private:
  std::set<std::string> awaited_, unopened_;
  // By number: 1, 2, ...
  std::map<int, Opening> openings_;
  int newest_ = 0;
};

class Stages {
 public:
  // (stage, task): others wait for its values.
  const std::set<std::pair<int, TaskId>>& unpublished() const { return unpublished_; }
  // (stage, attempt): it has an address, and waits for its stage or role to open.
  const std::set<std::pair<int, AttemptId>>& held() const { return held_; }
  bool IsHeld(const JobSpec& spec, const AttemptId& id) const;

  void AwaitValues(const JobSpec& spec, const TaskId& id);
  void Published(const JobSpec& spec, const TaskId& id);
  void Hold(const JobSpec& spec, const AttemptId& id);
  void Release(const JobSpec& spec, const AttemptId& id);
  // The attempts of a stage, or of one role of it ("": all), if any wait there.
  std::vector<AttemptId> HeldIn(int stage, const std::string& role) const;

  void CheckInvariants(const JobSpec& spec, const Tasks& tasks) const;

 private:
  std::set<std::pair<int, TaskId>> unpublished_;
  std::set<std::pair<int, AttemptId>> held_;
};

// The attempt has published all values for which others wait.
bool HasPublished(const JobSpec& spec, const Attempt& attempt);

}  // namespace tony::am
