// `RmClient` sends a client's requests to the ResourceManager (ApplicationClientProtocol). Loop thread only.
//
// Nothing is retried. Every call except ReserveApplicationId() may be repeated after kUnavailable. Errors name the
// call, the server and the first line of the exception. kNotFound: unknown application. kInvalid: the request can never
// be granted. kNotPermitted: access is denied. Each callback is called once, and never from inside a method. A callback
// may destroy the client.
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
  // Id that the ResourceManager reserves for a later Submit().
  ApplicationId id;
  Resource maximum;  // largest size of one container
};

struct Submission {
  ApplicationId id;
  std::string name;
  std::string queue = "default";
  std::string type = "TONY";  // YARN keeps at most 20 bytes
  // At most 10 tags, each of up to 100 printable ASCII characters.
  std::set<std::string> tags;
  int priority = 0;
  // The maximum number of AM attempts. If it is 0 or above the cluster's limit, the cluster's limit applies.
  int max_attempts = 0;
  // The time for which a failure of an AM counts towards `max_attempts`. nullopt: forever.
  std::optional<Duration> failure_validity;
  // True: when an AM ends, its containers keep running for the next attempt.
  bool keep_containers = false;
  // True: other programs use the tokens, so the ResourceManager does not cancel them when the application has ended.
  bool shares_tokens = false;
  Resource am_resource;
  // Label of the AM's node. Empty: the queue's default label.
  std::string am_label;
  // Node label for requests without their own label, including the AM's. Empty: the queue's default label.
  std::string label;
  // The time that the application may run after it was accepted, in whole seconds. The ResourceManager then kills the
  // application. nullopt: the queue's limit applies.
  std::optional<Duration> lifetime;
  LaunchContext am;
  // True ("unmanaged"): YARN starts no AM, and waits until an AM that was started elsewhere registers.
  bool is_unmanaged = false;
};

enum class ApplicationState { kNew, kSubmitted, kAccepted, kRunning, kFinished, kFailed, kKilled };
enum class FinalStatus { kUndefined, kSucceeded, kFailed, kKilled };
std::string ToString(ApplicationState state);  // e.g. "accepted"
std::string ToString(FinalStatus status);      // e.g. "succeeded"

struct ApplicationReport {
  ApplicationId id;
  ApplicationState state = ApplicationState::kNew;
  FinalStatus final_status = FinalStatus::kUndefined;
  std::string user, queue, name;
  // Host that the AM registered. "N/A" before an AM has registered.
  std::string host;
  int rpc_port = -1;
  std::string tracking_url;
  std::string diagnostics;
  int attempt = 0;  // current attempt; 0: none yet
  float progress = 0;
  Instant started{}, finished{};  // 1970: not yet
  int priority = 0;
  // `used` is allocated now. `needed` also includes open requests. Both are 0 if this user may not view the
  // application.
  Resource used, needed;
};

struct ClusterMetrics {
  int nodes = 0, active = 0, lost = 0, unhealthy = 0;
};

// A queue and the queues below it. Shares are fractions of the resources of the requested queue's parent, e.g. of the
// whole cluster if the parent is "root".
struct QueueReport {
  // The path, e.g. "root.team.ml". It begins with the name that the answer gives to the requested queue.
  std::string path;
  bool running = false;  // true: accepts applications
  double guaranteed = 0, most = 0, used = 0;
  // True: the FairScheduler answered. It reports no maximum (`most` is 1), and may create a queue that a job names.
  bool is_fair = false;
  std::set<std::string> labels;
  std::vector<QueueReport> children;
};

class RmClient {
 public:
  template <class T>
  using Done = std::function<void(Result<T>)>;

  // `rms` are the addresses of all ResourceManagers of the cluster, of which one is active. `loop` and `names` must
  // outlive this object.
  RmClient(EventLoop& loop, HostResolver& names, std::vector<Endpoint> rms, RpcIdentity identity,
           RpcLimits limits = {});

  // Uses `token` from the next connection on.
  void Use(const Token& token) { connection_.Use(token); }
  void ReserveApplicationId(Done<NewApplication> done);
  // Submits an application. `done` receives true once the ResourceManager has accepted the application. The queue may
  // still reject it, so read the report. kNotPermitted: the queue's ACL does not admit the user.
  void Submit(const Submission& submission, Done<bool> done);
  // Returns a new token for this client. Only a client with a Kerberos ticket gets one. `renewer` is the principal that
  // may renew the token.
  void NewToken(const std::string& renewer, Done<Token> done);
  void Report(const ApplicationId& id, Done<ApplicationReport> done);
  // Returns every application of any user, except applications that have ended. If an application is hidden from this
  // user, only user, queue, state and start time are set.
  void Applications(Done<std::vector<ApplicationReport>> done);
  // `done` receives false while the kill is in progress: call again.
  void Kill(const ApplicationId& id, const std::string& reason, Done<bool> done);
  void Metrics(Done<ClusterMetrics> done);
  void RunningNodes(Done<std::vector<NodeReport>> done);
  // Returns the node labels of the cluster; empty if it has no labels.
  void NodeLabels(Done<std::vector<std::string>> done);
  // Returns the queue with all queues below it. kNotFound: no queue has this path, or several queues have this name.
  void Queue(const std::string& name, Done<QueueReport> done);
  // Returns the queues to which the user may submit, such as "root.ml", whether they run or not. Even if the cluster
  // does not enforce queue ACLs (yarn.acl.enable), only queues whose ACLs admit the user are returned.
  void QueuesOfUser(Done<std::vector<std::string>> done);

 private:
  RpcConnection connection_;
};

// `NmClient` sends an AM's requests to one NodeManager (ContainerManagementProtocol). Loop thread only.
//
// Keep the client of a node only while it is needed, because its connection is an open socket. Each callback is called
// once, and never from inside a method. A callback may destroy the client. A call can succeed although some of its
// containers fail: each answer lists the failures. After kUnavailable the node may have executed the call. Query the
// status of a container before giving it up.

struct ContainerStart {
  Token container_token;  // token of the granted Container
  LaunchContext context;
};

struct ContainerFailure {
  ContainerId id;
  std::string exception;  // Java class name without its package
  std::string message;    // all lines joined to one
  // Returns true if the node already has this container, because an earlier call started it.
  bool IsAlreadyStarted() const;
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

  // `loop` and `names` must outlive this object.
  NmClient(EventLoop& loop, HostResolver& names, const NodeToken& token, RpcLimits limits = {});

  // Uses `token` from the next connection on.
  void Use(const Token& token) { connection_.Use(token); }
  void Start(const std::vector<ContainerStart>& starts, Done<ContainerId> done);
  // Stops containers: SIGTERM, then SIGKILL after 250 ms (yarn.nodemanager.sleep-delay-before-sigkill.ms). Their exit
  // status is -105.
  void Stop(const std::vector<ContainerId>& ids, Done<ContainerId> done);
  void Statuses(const std::vector<ContainerId>& ids, Done<ContainerStatus> done);

 private:
  RpcConnection connection_;
};

}  // namespace tony::hadoop
