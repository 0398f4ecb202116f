// What a client asks the ResourceManager: ApplicationClientProtocol. Loop thread only.
//
// Nothing is tried twice; all but NewApplication may be repeated after kUnavailable. Errors name call, server and the
// exception's first line: kNotFound for an unknown application, kInvalid for what can never be granted, kNotPermitted.
// Callbacks come as RpcConnection's do.
#pragma once

#include <functional>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "runtime/base/result.h"
#include "runtime/hadoop/rpc_connection.h"
#include "runtime/hadoop/yarn_records.h"

namespace tony::hadoop {

struct NewApplication {
  ApplicationId id;  // kept by the ResourceManager for whoever submits it
  Resource maximum;  // of one container
};

struct Submission {
  ApplicationId id;
  std::string name;
  std::string queue = "default";
  std::string type = "TONY";   // at most 20 bytes are kept
  std::set<std::string> tags;  // at most 10, of up to 100 printable ASCII characters
  int priority = 0;
  int max_attempts = 0;                      // of the master; 0, or more than the cluster's: the cluster's
  std::optional<Duration> failure_validity;  // a master's failure counts for so long; nothing: for ever
  bool keep_containers = false;              // for the next attempt, when a master ends
  Resource am_resource;
  std::string am_label;  // of the master's node; empty: that of the queue
  std::string label;     // of nodes for what asks for none by itself, the master's included; empty: that of the queue
  // From its acceptance on, in whole seconds; then the ResourceManager kills it. Nothing: the queue's own.
  std::optional<Duration> lifetime;
  LaunchContext am;
  bool without_master = false;  // "unmanaged": YARN starts none, and waits for one that comes by itself
};

enum class ApplicationState { kNew, kSubmitted, kAccepted, kRunning, kFinished, kFailed, kKilled };
enum class FinalStatus { kUndefined, kSucceeded, kFailed, kKilled };
std::string ToString(ApplicationState state);  // "accepted"
std::string ToString(FinalStatus status);      // "succeeded"

struct ApplicationReport {
  ApplicationId id;
  ApplicationState state = ApplicationState::kNew;
  FinalStatus final_status = FinalStatus::kUndefined;
  std::string user, queue, name;
  std::string host;  // that the master registered with; "N/A" while there is none
  int rpc_port = -1;
  std::string tracking_url;
  std::string diagnostics;
  int attempt = 0;  // the current one; 0: none yet
  float progress = 0;
  Instant started{}, finished{};  // 1970: not yet
  int priority = 0;
  Resource used, needed;  // now, and with what it asks for; 0 of an application that this user may not see
};

struct ClusterMetrics {
  int nodes = 0, active = 0, lost = 0, unhealthy = 0;
};

struct QueueReport {
  std::string name;
  bool running = false;                                 // it takes applications
  double capacity = 0, maximum_capacity = 0, used = 0;  // shares: 1 is all
  std::set<std::string> labels;
  std::vector<std::string> children;
};

class RmClient {
 public:
  template <class T>
  using Done = std::function<void(Result<T>)>;

  RmClient(EventLoop& loop, HostResolver& names, Endpoint rm, RpcIdentity identity, RpcLimits limits = {});

  void MakeApplication(Done<NewApplication> done);
  // Accepted by the ResourceManager when it answers, not yet by its queue: read the report. kNotPermitted: the queue's
  // rules do not let the user.
  void Submit(const Submission& submission, Done<bool> done);  // true
  void Report(const ApplicationId& id, Done<ApplicationReport> done);
  // All that have not ended, of all users. Of those that this user may not see, user, queue, state and start are told.
  void Applications(Done<std::vector<ApplicationReport>> done);
  void Kill(const ApplicationId& id, const std::string& reason, Done<bool> done);  // false: under way; ask again
  void Metrics(Done<ClusterMetrics> done);
  void RunningNodes(Done<std::vector<NodeReport>> done);
  void NodeLabels(Done<std::vector<std::string>> done);         // that the cluster knows; none: it has no labels
  void Queue(const std::string& name, Done<QueueReport> done);  // kNotFound: there is none
  // Those whose rules let the user submit, "root.ml", whether they run or not. A cluster that does not ask its rules
  // (yarn.acl.enable) tells of them as if it did.
  void QueuesOfUser(Done<std::vector<std::string>> done);

 private:
  RpcConnection connection_;
};

// What a master asks one NodeManager: ContainerManagementProtocol. Loop thread only.
//
// One for each node that is spoken to, for as long as it is: a connection is an open socket. Callbacks come as
// RpcConnection's do. A call can succeed while containers in it fail: each answer says which. After kUnavailable the
// node may have done what was asked: before a container is given up, ask for its status.

struct ContainerStart {
  Token container_token;  // of the Container that was granted
  LaunchContext context;
};

struct ContainerFailure {
  ContainerId id;
  std::string exception;  // of Java, without its package
  std::string message;    // in one line
  // The node has this container already, so that an earlier call did start it.
  bool StartedBefore() const;
};

template <class T>
struct NodeAnswer {
  std::vector<T> done;
  std::vector<ContainerFailure> failed;
};

class NmClient {
 public:
  template <class T>
  using Done = std::function<void(Result<NodeAnswer<T>>)>;

  // `loop` and `names` outlive this.
  NmClient(EventLoop& loop, HostResolver& names, const NodeToken& token, RpcLimits limits = {});

  void Use(const Token& token) { connection_.Use(token); }  // from the next connection on
  void Start(const std::vector<ContainerStart>& starts, Done<ContainerId> done);
  // SIGTERM, and SIGKILL after 250 ms (yarn.nodemanager.sleep-delay-before-sigkill.ms); exit status -105.
  void Stop(const std::vector<ContainerId>& ids, Done<ContainerId> done);
  void Statuses(const std::vector<ContainerId>& ids, Done<ContainerStatus> done);

 private:
  RpcConnection connection_;
};

}  // namespace tony::hadoop
