// How YARN says that a container or a job has ended, and how we do. Pure.
#pragma once

#include <string>

#include "runtime/hadoop/rm_client.h"
#include "runtime/hadoop/yarn_records.h"
#include "runtime/job/outcome.h"
#include "runtime/scheduler/scheduler.h"

namespace tony {

// `stopped`: we asked for its end. YARN's own codes (ContainerExitStatus) are no exit status of a process: `cls` says
// what they mean, and `error` what the node or the ResourceManager wrote about it.
ContainerExited ExitedOf(const hadoop::ContainerStatus& status, bool stopped);

hadoop::FinalStatus FinalStatusOf(const Verdict& verdict);
// The first cause, where it ran, how it ended and its last lines: what a person reads as the application's diagnostics.
std::string DiagnosticsOf(const Verdict& verdict);

}  // namespace tony
