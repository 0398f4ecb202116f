// Sections of the job's page that show many tasks at once: the course of the job as bars over time, and the tasks as a
// grid. Pure functions.
#pragma once

#include <string>

#include "runtime/page/job_html.h"

namespace tony {

// Returns bars of equal length from the job's submission to its end, or to now: a bar with the job's phases, and a bar
// for each of the tasks with the most attempts, failed tasks first. An attempt that another attempt replaced is marked
// as thrown away. Empty without a history.
std::string TimelineHtml(const JobView& view);

// Returns a small cell for each task, failed and delayed tasks first. Empty for a job with few tasks.
std::string TaskGridHtml(const JobView& view);

}  // namespace tony
