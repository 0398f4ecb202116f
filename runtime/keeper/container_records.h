// What the keeper writes down of each container, so that a keeper that comes after it knows them: containers/<id>.
#pragma once

#include <sys/types.h>

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "runtime/base/result.h"
#include "runtime/job/scheduler_events.h"
#include "runtime/records/job_records.h"

namespace tony::keeper {

struct ContainerRecord {
  ContainerId id;
  pid_t pid = 0;                 // of the executor; 0: the keeper died between fork and writing it down
  std::string start_time;        // of that process
  std::vector<int> gpus;         // that it was given
  std::filesystem::path cgroup;  // that was made for it, or was about to be; empty: none
  std::optional<ContainerExited> exited;
};

// Lines are appended, never synced: after a power cut there is nothing to adopt. A torn last line is ignored.
class ContainerRecords {
 public:
  explicit ContainerRecords(const JobRecords& records) : folder_(records.place() / "containers") {}

  // Before the fork, and before the cgroup is made.
  Status Launching(const ContainerId& id, const std::vector<int>& gpus, const std::filesystem::path& cgroup) const;
  Status Started(const ContainerId& id, pid_t pid, const std::string& start_time) const;
  Status Exited(const ContainerExited& exited) const;
  Result<std::vector<ContainerRecord>> ReadAll() const;

 private:
  Status Append(const ContainerId& id, const std::string& line) const;
  std::filesystem::path folder_;
};

// Whether it may be the name of a file here: an id comes from the AM.
bool IsContainerName(const ContainerId& id);

}  // namespace tony::keeper
