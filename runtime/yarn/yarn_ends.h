// Links to the pages where a NodeManager shows the logs of a container, "http://node:8042/node/containerlogs/ID/USER".
// Pure.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "runtime/hadoop/yarn_clients.h"
#include "runtime/hadoop/yarn_records.h"
#include "runtime/job/outcome.h"
#include "runtime/job/scheduler_events.h"

namespace tony {

// `node_http`: "node:8042"; empty: not known, and there is no link.
std::string LinkToLogs(const std::string& node_http, const std::string& container, const std::string& user);

struct LogLink {
  std::string node;  // "http://node:8042"; empty: it was no such link
  std::string container;
};
LogLink ParseLogLink(const std::string& link);

// How YARN says that a container or a job has ended, and how we do. Pure.

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

// Why an application has no master yet, of a ResourceManager's report on it, for people. Pure.

// "waits for its master: queue ml has no more room for masters, ..."; empty: its master runs, or it has ended. The
// words are the CapacityScheduler's in our terms; what is not known of them is told as it stands.
std::string WhyMasterWaits(const hadoop::ApplicationReport& report);

}  // namespace tony
