// The page of one job. Pure.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "runtime/config/configuration.h"
#include "runtime/job/ids.h"
#include "runtime/job/job_status.h"
#include "runtime/logs/log_source.h"
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

// The smaller pages: a log, the list of logs, the configuration, the list of jobs. Pure.

struct LogView {
  AttemptId attempt;
  std::string stream;
  const LogPiece& piece;
  bool at_end = false;  // the newest piece was asked for: the script goes on from there
};
std::string LogHtml(const LogView& view);

struct LogListView {
  const JobStatus& status;
  std::function<std::vector<AttemptLogs>(const TaskStatus&, int most)> logs;  // of a task's newest attempts
  bool all_tasks = false;                                                     // else those that the job's page shows
  bool ends_with_job = false;
  Duration pause{0};  // JobView
};
std::string LogListHtml(const LogListView& view);

std::string ConfigurationHtml(const Configuration& configuration);

// Where TensorBoard is not: the job has none, or not now.
std::string NoTensorBoardHtml(const JobStatus& status);

struct ListedJob {
  JobId job;
  std::string name, user, state, cause;
  Instant submitted;
  std::optional<Instant> ended;
  bool kept = true;  // its folder is still there
};
// `more`: there are jobs that are not listed.
std::string JobListHtml(const std::vector<ListedJob>& jobs, bool more);

}  // namespace tony
