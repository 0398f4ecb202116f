// Words for a process that keeps others waiting: which one, whose, in what state, and what can be done.
#pragma once

#include <sys/types.h>

#include <string>

#include "runtime/records/job_records.h"

namespace tony {

// "process 1234 (python3) of alice, stopped (state T)"; "": there is none.
std::string DescribeWithState(pid_t pid);

// The reason why SIGKILL by this user does not end the process: it is another user's, or the kernel holds it. "":
// neither, or it is gone.
std::string WhyItStays(pid_t pid);

// Names the process of the job that most likely keeps a client waiting, except keeper and master in good order:
// "process 1234 (sleep) of root cannot be ended by alice: ...". "": no process of the job can be seen. Reads all of
// /proc.
std::string WhoKeepsWaiting(const JobRecords& records);

}  // namespace tony
