// Values of YARN's protocols: ids, amounts of resources, containers, nodes, diagnostics. Pure.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/base/amount.h"
#include "runtime/base/time.h"
#include "runtime/hadoop/credentials.h"

namespace tony::hadoop {

// An id such as "application_1700000000000_0001". The first number is the time when the ResourceManager started, in
// milliseconds.
struct ApplicationId {
  int64_t cluster_timestamp = 0;
  int32_t number = 0;
  auto operator<=>(const ApplicationId&) const = default;
};
struct AttemptId {  // "appattempt_1700000000000_0001_000001"
  ApplicationId application;
  int32_t number = 0;
  auto operator<=>(const AttemptId&) const = default;
};
// An id such as "container_1700000000000_01_000002", or "container_e03_17..." after restarts of the ResourceManager.
struct ContainerId {
  AttemptId attempt;
  // The lower 40 bits count containers. The upper bits count restarts of the ResourceManager.
  int64_t number = 0;
  auto operator<=>(const ContainerId&) const = default;
};
struct NodeId {
  std::string host;
  // Port of the NodeManager. Two NodeManagers on one host have different ports.
  int port = 0;
  auto operator<=>(const NodeId&) const = default;
};
std::string ToString(const ApplicationId& id);
std::string ToString(const AttemptId& id);
std::string ToString(const ContainerId& id);
std::string ToString(const NodeId& id);  // "host:port"
std::optional<ApplicationId> ParseApplicationId(std::string_view text);
std::optional<ContainerId> ParseContainerId(std::string_view text);  // the form of $CONTAINER_ID

struct Resource {
  int64_t memory_mib = 0;
  int32_t vcores = 0;
  // Amounts of other resources, such as "yarn.io/gpu" -> 2. A ResourceManager reports them in the cluster's own unit.
  // The ResourceManager ignores an unknown name, so check the resource of a granted container.
  std::map<std::string, Amount> others;
  int64_t Other(const std::string& name) const { return others.contains(name) ? others.at(name).value : 0; }
  bool operator==(const Resource&) const = default;
};

struct NodeToken {
  NodeId node;
  Token token;
};

struct Container {
  ContainerId id;
  NodeId node;
  std::string node_http;  // host:port of the node's pages
  Resource resource;
  int32_t priority = 0;
  int64_t request_id = -1;  // request id; -1: none
  // The AM sends this token to the node when it starts the container, which must be within ten minutes.
  Token token;
};

struct ContainerStatus {
  enum class State { kNew, kRunning, kComplete };
  ContainerId id;
  State state = State::kNew;
  // 0 and above: exit status of the process. Other values are from ContainerExitStatus. -1000: not ended yet, or (in
  // kComplete) never ran. -100: lost, released or never started. -101: disks failed. -102: preempted. -103, -104:
  // memory exceeded. -105: stopped by us. -106, -107: stopped by the ResourceManager.
  int exit_status = -1000;
  std::string diagnostics;
};

struct NodeReport {
  enum class State { kNew, kRunning, kUnhealthy, kLost, kDecommissioning, kGone };
  NodeId id;
  State state = State::kNew;
  std::string http_address;
  std::string rack;
  Resource used, capability;
  std::string health;
  std::vector<std::string> labels;
};

struct LocalResource {
  enum class Kind { kFile, kArchive };
  enum class Visibility { kPublic, kPrivate, kApplication };
  std::string scheme;  // "hdfs" or "file"
  // Host, or a name service of HDFS. Empty for "file".
  std::string host;
  int port = -1;  // -1: no port
  std::string path;
  int64_t size = 0;
  // The modification time of the source. It must be exact, because the node refuses the file otherwise.
  Instant modified{};
  Kind kind = Kind::kFile;
  Visibility visibility = Visibility::kApplication;
};

// How a node starts a container. The node writes environment and command between double quotes into a shell script,
// where the shell interprets $, ", \ and `. The node's pages show this script to everybody, so secrets belong into
// `credentials`.
struct LaunchContext {
  std::map<std::string, LocalResource> files;  // key: name in the container's folder
  std::map<std::string, std::string> environment;
  // "<LOG_DIR>" in the command stands for the container's log folder.
  std::string command;
  Credentials credentials;
  // Other users who may view the application and its logs, and who may end or move it. "eve,bob staff" lists users and
  // groups, "*" means every user, and " " means no other user. The owner and the cluster's administrators always have
  // these rights.
  std::string view_acl = " ", modify_acl = " ";
};

// Finds the reason in the diagnostics of a container or an application that has ended. Diagnostics have many lines,
// because each daemon that passes the diagnostics on adds its own lines:
//
//   Application application_1_0001 failed 1 times (global limit =2; local limit is =1) due to AM Container for
//   appattempt_1_0001_000001 exited with  exitCode: 126
//   Failing this attempt.Diagnostics: [2026-11-21 07:44:31.200]Exception from container-launch.
//   Container id: container_1_0001_01_000001
//   Exit code: 126
//   [2026-11-21 07:44:31.250]Container exited with a non-zero exit code 126. Error file: prelaunch.err.
//   Last 4096 bytes of stderr :
//   bash: ./tony-am/loader: Permission denied        <- the reason

// The maximum length in bytes of a reason.
inline constexpr size_t kLongestReason = 300;

// Returns the reason on one line of at most kLongestReason bytes: "exit code 126; bash: ./tony-am/loader: Permission
// denied". The reason has no stack traces, deeper causes of exceptions, lists of processes, times, packages of
// exceptions, fixed texts of the daemons, or repetitions. `all` is a command that shows the whole text. If a reader may
// miss a part that was left out, the command follows: " (yarn application -status ID shows the whole text)". If `all`
// is empty, nothing follows. Returns "" for "" and for "N/A". Pure.
std::string ReasonIn(std::string_view diagnostics, std::string_view all = "");

}  // namespace tony::hadoop
