// The page of one job. Pure.
#pragma once

#include <string>
#include <vector>

#include "runtime/job/job_status.h"
#include "runtime/records/history.h"

namespace tony {

struct JobView {
  const JobStatus& status;
  const JobHistory* history = nullptr;  // null: the journal cannot be read (yet)
  Instant now;
  bool all_tasks = false;      // else the first hundred of each role, those in trouble before others
  bool ends_with_job = false;  // served by the application master
  Duration pause{0};           // between two looks of a browser's for news; 0: it waits for it
};

std::string JobHtml(const JobView& view);
std::string LiveAttributes(const JobStatus& status, Duration pause);  // of <main>, for the script

// Parts of it, and of the list of logs.
struct RoleTasks {
  std::string role;
  std::vector<const TaskStatus*> shown;
  size_t all = 0;
};
std::vector<RoleTasks> TasksByRole(const JobStatus& status, bool all_tasks);
std::string RoleHeading(const RoleTasks& tasks);  // and, where not all are shown, how many are
std::string EndBanner(const JobStatus& status, bool ends_with_job);
std::string TasksHtml(const JobView& view);
std::string RestartsHtml(const JobStatus& status);
std::string TimeLedgerHtml(const TimeLedger& time);
std::string LogFolderLink(const AttemptId& attempt);  // "logs/worker-3/1/"

}  // namespace tony
