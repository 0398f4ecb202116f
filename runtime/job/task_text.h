// Short words for what a task does and uses, for tables.
#pragma once

#include <string>

#include "runtime/base/time.h"
#include "runtime/job/job_status.h"

namespace tony {

// "running", "silent", "backoff", ...: what the task does now, in one word.
std::string StateWord(const TaskStatus& task);

// Of a task that runs what it uses now and the most it has used, "312/340 MB"; of another the most.
std::string MemoryText(const TaskStatus& task);
// For terminals: of a task that runs what it uses now, of another the most, and of its limit if that is known (0: not):
// "312/2048 MB", "312 MB".
std::string MemoryOfLimit(const TaskStatus& task, int64_t limit_bytes);
std::string PeakMemoryText(const TaskStatus& task);  // the most it has used: "340 MB"
// Of one core, as top says: "98%", "1600%". Of a task that runs, now; of another, on average.
std::string CpuText(const TaskStatus& task);
// As of one task: the sum over the tasks that run, or over all of a job that has ended.
TaskStatus UsedTogether(const JobStatus& status);

std::string ClockText(Duration length);  // "0:07", "12:30", "2:05:00", "3d 04h"

}  // namespace tony
