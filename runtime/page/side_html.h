// The smaller pages: a log, the list of logs, the configuration, the list of jobs. Pure.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "runtime/config/configuration.h"
#include "runtime/job/ids.h"
#include "runtime/job/job_status.h"
#include "runtime/logs/log_list.h"
#include "runtime/logs/log_piece.h"

namespace tony {

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
