// Links to the pages on which a NodeManager shows the logs of a container:
// "http://node:8042/node/containerlogs/ID/USER". Pure.
#pragma once

#include <functional>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/base/amount.h"
#include "runtime/hadoop/yarn_clients.h"
#include "runtime/hadoop/yarn_records.h"
#include "runtime/job/outcome.h"
#include "runtime/job/scheduler_events.h"

namespace tony {

// Returns the link to a container's logs. `node_web` is the node's web server, such as "node:8042", and `has_https` its
// protocol. If `node_web` is empty, the node is not known, and the link is empty.
std::string LinkToLogs(bool has_https, const std::string& node_web, const std::string& container,
                       const std::string& user);

struct LogLink {
  std::string node;  // "http://node:8042"; empty: not a log link
  std::string container;
};
LogLink ParseLogLink(const std::string& link);

// Translates how containers and jobs ended between YARN's terms and ours. Pure.

// Returns true if the ResourceManager gave up the container's node, or if the AM released the container, because YARN
// has one code for both.
bool IsNodeLost(const hadoop::ContainerStatus& status);

// Converts YARN's status of a container that has ended. `stopped` is true if we requested the stop and either its node
// has answered the request, or the status is not that of a lost node. YARN's own codes (ContainerExitStatus) are not
// exit statuses of a process. For such a code, `cls` gives the meaning, and `error` quotes the node or the
// ResourceManager.
ContainerExited ExitedOf(const hadoop::ContainerStatus& status, bool stopped);

// Returns true if the node caused the failure of the container. The next container on this node may fail in the same
// way.
bool IsNodeFailure(const hadoop::ContainerStatus& status);

// The reason why a node could not provide a file to a container, if every other node would fail in the same way. A
// retry is then useless. user_config: the file was changed or removed. auth: the user may not read the file.
// LastingCauseIn() returns nullopt if the failure is temporary, or has its cause in the node. `diagnostics`
// are those of a container that never ran.
struct LastingCause {
  OutcomeClass cls;
  std::string why;  // a single line
};
std::optional<LastingCause> LastingCauseIn(std::string_view diagnostics);

hadoop::FinalStatus FinalStatusOf(const Verdict& verdict);
// Returns the application's diagnostics for users: the first cause, the attempt and host where it occurred, the exit
// status, and the last lines of output.
std::string DiagnosticsOf(const Verdict& verdict);
// Returns the reason in the ResourceManager's diagnostics of an application, in the short form of
// hadoop/yarn_records.h.
std::string ReasonOf(const hadoop::ApplicationReport& report);

// Explains to users, from a ResourceManager's report, why an application has no AM now. Pure.

// Returns the reason, such as "queue ml may have 8192 MB and 32 vcores for ..."; empty if the AM runs, or the
// application has ended. Texts of the CapacityScheduler are translated into our terms. Unknown texts are quoted.
// `why_not_granted` is called if the application waits for its AM's container. The function returns the result of
// WhyNotGranted(), another cause, or nullopt if the cause is not known.
using WhyAmNotGranted = std::function<std::optional<std::string>()>;
std::string AmWaitReason(const hadoop::ApplicationReport& report, const WhyAmNotGranted& why_not_granted = {});

// Explains to users why a ResourceManager has not granted a container yet. Pure.

struct PendingRequest {
  hadoop::Resource size;
  std::string label;  // empty: only nodes without a label
};

// The state of the cluster, as far as it is known.
struct ClusterRoom {
  // The ResourceManager's hint of the resources that the job may still get in its queue.
  std::optional<hadoop::Resource> headroom = {};
  std::vector<hadoop::NodeReport> nodes = {};  // running nodes; empty: not known
  std::set<std::string> avoided = {};          // hosts to avoid
  std::string queue = {}, user = {};
  std::optional<hadoop::QueueReport> report = {};  // the job's queue
};

// Returns the requested amount that is missing, and where: "no node has 4 GPUs: the most on one node is 2". nullopt:
// nothing is known to be full. The result completes "waits for a container: ...".
std::optional<std::string> WhyNotGranted(const PendingRequest& request, const ClusterRoom& room);

// Returns the resources of which the nodes have nothing left, e.g. "4 GPUs and 32 vcores"; "" if there are none. If a
// queue has reached its limit of such a resource, the CapacityScheduler grants nothing, not even other resources.
std::string UsedUp(const std::vector<hadoop::NodeReport>& nodes);

// Formats an amount of a resource type of YARN for users, e.g. "512 MB of memory", "4 GPUs", "2 of yarn.io/fpga".
std::string AmountText(const std::string& type, const Amount& amount);

// Explains how an application without a verdict ended, as a single line. Pure.

// Returns how the AMs of an application died, e.g. "the application master died 2 times: signal 9 (SIGKILL)", from the
// diagnostics of an application that has failed. The node's explanation follows, without dumps and stack traces.
std::string MasterFailure(const std::string& diagnostics);
// Returns which user has killed the application, and the reason. If it was the application's own user, only the reason
// is returned, as in the verdict of an AM.
std::string KillInYarn(const hadoop::ApplicationReport& report);

}  // namespace tony
