// How YARN says that a container or a job has ended, and how we do. Pure.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "runtime/hadoop/rm_client.h"
#include "runtime/hadoop/yarn_records.h"
#include "runtime/job/outcome.h"
#include "runtime/job/scheduler_events.h"

namespace tony {

// `stopped`: we asked for its end. YARN's own codes (ContainerExitStatus) are no exit status of a process: `cls` says
// what they mean, and `error` what the node or the ResourceManager wrote about it.
ContainerExited ExitedOf(const hadoop::ContainerStatus& status, bool stopped);

// Whether a container ended so for a reason of its node's, which the next one there may meet as well.
bool IsOfNode(const hadoop::ContainerStatus& status);

// What a node said of files that it could not bring to a container, where every node would say the same of this job, so
// that nothing is to be tried again: somebody changed or removed one (user_config), or the user may not read it (auth).
// Nothing: it may pass, or be the node's own trouble. From the diagnostics of a container that never ran.
struct LastingCause {
  OutcomeClass cls;
  std::string why;  // one line
};
std::optional<LastingCause> LastingCauseIn(std::string_view diagnostics);

hadoop::FinalStatus FinalStatusOf(const Verdict& verdict);
// The first cause, where it ran, how it ended and its last lines: what a person reads as the application's diagnostics.
std::string DiagnosticsOf(const Verdict& verdict);

}  // namespace tony
