// What YARN's protocols speak of, as values: ids, amounts, containers, nodes. Pure.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/base/time.h"
#include "runtime/hadoop/credentials.h"

namespace tony::hadoop {

// "application_1700000000000_0001". The first number is when the ResourceManager began, in milliseconds.
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
// "container_1700000000000_0001_01_000002"; behind a restart of the ResourceManager "container_e03_17...".
struct ContainerId {
  AttemptId attempt;
  int64_t number = 0;  // the lower 40 bits count containers, those above restarts
  auto operator<=>(const ContainerId&) const = default;
};
struct NodeId {
  std::string host;
  int port = 0;  // of the NodeManager; two on one host differ in it
  auto operator<=>(const NodeId&) const = default;
};
std::string ToString(const ApplicationId& id);
std::string ToString(const AttemptId& id);
std::string ToString(const ContainerId& id);
std::string ToString(const NodeId& id);  // "host:port"
std::optional<ApplicationId> ParseApplicationId(std::string_view text);
std::optional<ContainerId> ParseContainerId(std::string_view text);  // $CONTAINER_ID

struct Resource {
  int64_t memory_mib = 0;
  int32_t vcores = 0;
  // "yarn.io/gpu" -> 2, in the cluster's own unit. A ResourceManager ignores a name that it does not know, so compare
  // with what was granted.
  std::map<std::string, int64_t> others;
  int64_t Other(const std::string& name) const { return others.contains(name) ? others.at(name) : 0; }
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
  int64_t request_id = -1;  // of the ask; -1: it had none
  Token token;              // who starts it shows this to the node, within ten minutes
};

struct ContainerStatus {
  enum class State { kNew, kRunning, kComplete };
  ContainerId id;
  State state = State::kNew;
  // 0 and above: of the process. -1000: none yet, or it never ran (then kComplete). -100: lost, released or never
  // started; -101 disks; -102 preempted; -103, -104 memory; -105 stopped by us; -106, -107 by the ResourceManager
  // (ContainerExitStatus).
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
  std::string scheme;  // "hdfs", "file"
  std::string host;    // also a name service; empty for "file"
  int port = -1;       // -1: none
  std::string path;
  int64_t size = 0;
  Instant modified{};  // exactly the source's, or the node refuses the file
  Kind kind = Kind::kFile;
  Visibility visibility = Visibility::kApplication;
};

// How a node starts a container. The node writes environment and command between double quotes into a shell script that
// its pages show to everybody: $, ", \ and ` are live there, and secrets belong into `credentials`.
struct LaunchContext {
  std::map<std::string, LocalResource> files;  // by the name in the container's folder
  std::map<std::string, std::string> environment;
  std::string command;  // "<LOG_DIR>" in it is the container's log folder
  Credentials credentials;
  // Who else may see the application with its logs, and who may end or move it: "eve,bob staff" are users and groups,
  // "*" is everybody, " " nobody. Its own user and the cluster's administrators always may.
  std::string view_acl = " ", modify_acl = " ";
};

}  // namespace tony::hadoop
