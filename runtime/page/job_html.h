// The page of one job. Pure functions.
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
  const JobHistory* history = nullptr;  // null: the journal is unreadable
  Instant now;
  // False: the page shows at most a hundred tasks of each role, failed and delayed tasks first.
  bool all_tasks = false;
  // True: the AM serves the page, so the page disappears when the job has ended.
  bool ends_with_job = false;
  // The browser's pause between two requests for news; 0: a request for news waits until there is news.
  Duration pause{0};
  // The relative address of the list of all jobs; empty: the page belongs to no list.
  std::string list{};
};

std::string JobHtml(const JobView& view);
std::string LiveAttributes(const JobStatus& status, Duration pause);  // attributes of <main>, for the script

// Parts that the job's page and the list of logs have in common, and parts of the job's page.
struct RoleTasks {
  std::string role;
  std::vector<const TaskStatus*> shown;
  size_t all = 0;
};
std::vector<RoleTasks> TasksByRole(const JobStatus& status, bool all_tasks);
// Returns the heading of a role. If some tasks of the role are left out, the heading contains the number of shown
// tasks.
std::string RoleHeading(const RoleTasks& tasks);
std::string EndBanner(const JobStatus& status, bool ends_with_job);
std::string TasksHtml(const JobView& view);
std::string RestartsHtml(const JobStatus& status);
std::string TimeBreakdownHtml(const TimeBreakdown& time);
// Returns the sort key of a task in its table. Failed and delayed tasks have the lowest keys and come first.
int Urgency(const TaskStatus& task);
std::string LogFolderLink(const AttemptId& attempt);  // e.g. "logs/worker-3/1/"

// The smaller pages: a log, the list of logs, the configuration. Pure functions.

struct LogView {
  AttemptId attempt;
  std::string stream;
  const LogPiece& piece;
  // True: the newest piece was requested, so the script appends later output to it.
  bool at_end = false;
};
std::string LogHtml(const LogView& view);

struct LogListView {
  const JobStatus& status;
  // Returns the logs of a task's newest attempts, at most `most` of them.
  std::function<std::vector<AttemptLogs>(const TaskStatus&, int most)> logs;
  // True: the logs of all tasks are listed. False: in a role with many tasks, the logs of some tasks are left out;
  // failed and delayed tasks come first.
  bool all_tasks = false;
  bool ends_with_job = false;
  // The browser's pause between two requests for news; 0: a request for news waits until there is news.
  Duration pause{0};
};
std::string LogListHtml(const LogListView& view);

std::string ConfigurationHtml(const Configuration& configuration);

// Returns the page for a job without a running TensorBoard.
std::string NoTensorBoardHtml(const JobStatus& status);

}  // namespace tony
