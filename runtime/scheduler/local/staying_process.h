// Words for a process that keeps others waiting: which one, whose, in what state, and what can be done.
#pragma once

#include <sys/types.h>

#include <string>

#include "runtime/store/job_records.h"

namespace tony {

// "process 1234 (python3) of alice, stopped (state T)"; "": there is none.
std::string DescribeWithState(pid_t pid);

// Why SIGKILL by this user does not end it: it is another user's, or the kernel holds it. "": neither, or it is gone.
std::string WhyItStays(pid_t pid);

// Of the job's processes the one that is most likely to keep who waits waiting, except keeper and master in good order:
// "process 1234 (sleep) of root cannot be ended by alice: ...". "": none of the job is to be seen. Reads all of /proc.
std::string WhoKeepsWaiting(const JobRecords& records);

}  // namespace tony
