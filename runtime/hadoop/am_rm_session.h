// `AmRmSession` is an AM's session with the ResourceManager (ApplicationMasterProtocol). Loop thread only.
//
//    Register() --> Allocate() again and again --> Finish() until the AM is unregistered
//         ^              | NotRegistered: the ResourceManager has restarted
//         +--------------+ send again every open request, and every release that no status has confirmed
//
// The session keeps the number of the last response, and the newest token for the next connection. It retries only an
// Allocate() that was refused for its response number. The caller makes one call at a time. Each callback is called
// once, and never from inside a method. A callback may destroy the session.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "runtime/base/placement_constraint.h"
#include "runtime/base/result.h"
#include "runtime/hadoop/rpc_connection.h"
#include "runtime/hadoop/yarn_clients.h"
#include "runtime/hadoop/yarn_records.h"

namespace tony::hadoop {

// The ResourceManager does not know this AM: call Register() again.
struct NotRegistered {};
// Another attempt is running, or the application has been killed, or the ResourceManager refuses this AM whatever it
// requests (IsFinal). The AM must exit without calling Finish().
struct AttemptOver {
  std::string reason;
};
// The result of a call. An Error kUnavailable is temporary: send the request again. An Error kInvalid is final: the
// request will never be granted.
template <class T>
using MasterReply = std::variant<T, NotRegistered, AttemptOver, Error>;

struct MasterAddress {
  std::string host;
  int rpc_port = -1;         // -1: no port
  std::string tracking_url;  // empty: no page
};

struct Registration {
  // True if the answer to an earlier Register() was lost. The fields below are then unknown.
  bool was_registered = false;
  Resource maximum;  // largest size of one container
  std::string queue;
  // Types of resources that the cluster knows, such as "yarn.io/gpu".
  std::vector<std::string> resource_types;
  // Running containers of earlier attempts. Containers on a lost node come later, in Allocation::kept.
  std::vector<Container> kept;
  std::vector<NodeToken> node_tokens;
};

// A row in the table of requested containers. `count` is the total that is still wanted, not a change. The key of a row
// is priority, request id and place. Rows with equal priority and request id must have equal resources. Rows for hosts
// and racks grant nothing without a row for "*".
struct ContainerRequest {
  // Requests with a lower priority number are served first. The AM's own container has priority 0.
  int32_t priority = 0;
  int64_t request_id = -1;  // -1: no id
  std::string place = "*";  // a host, a rack, or "*"
  Resource resource;
  int32_t count = 0;  // 0 removes the row
  // YARN's relaxLocality: containers elsewhere may be granted after a delay.
  bool relax = true;
  // Node label, allowed only in a row for "*". Empty: no label.
  std::string label;
};

// Requests containers with tags, at places that a constraint allows. Hadoop calls it SchedulingRequest. No
// ContainerRequest may have the same priority and id. In a later request with this priority and id only `count` may
// differ.
//
// The cluster's setting yarn.resourcemanager.placement-constraints.handler decides what `count` means. "scheduler": the
// total that is still wanted. "placement-processor": each request adds `count` containers. "disabled": the call is
// refused.
struct ConstrainedRequest {
  int32_t priority = 0;
  int64_t request_id = 0;
  std::vector<std::string> tags;
  Resource resource;
  int32_t count = 0;
  std::optional<PlacementConstraint> constraint;
};

struct Asked {
  std::vector<ContainerRequest> asks;  // rows that changed
  std::vector<ConstrainedRequest> constrained = {};
  std::vector<ContainerId> release;
  std::vector<std::string> avoid, no_longer_avoid;  // host names
  float progress = 0;                               // 0 to 1
};

struct Allocation {
  // Tokens for the nodes of the containers below. Store the tokens before you use the containers.
  std::vector<NodeToken> node_tokens;
  // New containers. The ResourceManager may grant more than were requested, and the caller releases the surplus.
  std::vector<Container> granted;
  std::vector<ContainerStatus> ended;
  // The ids of ConstrainedRequests that the ResourceManager has dropped because it found no place.
  std::vector<int64_t> rejected = {};
  std::vector<Container> kept;    // containers of earlier attempts
  std::vector<NodeReport> nodes;  // nodes whose state changed
  // YARN will preempt these containers unless the AM releases others.
  std::vector<ContainerId> wanted;
  // YARN will preempt these containers in any case.
  std::vector<ContainerId> doomed;
  Resource headroom;  // a hint of free resources
  // Number of nodes in the cluster. It is 0 after a restart of the ResourceManager: wait until nodes have registered.
  int cluster_nodes = 0;
  // A new token of the AM, which the session already uses. Keep it for a process that takes over this attempt, because
  // the first token will soon be refused.
  std::optional<Token> renewed_token;
  // True if the previous call got no answer, or if an earlier process of the attempt may have made it. This answer may
  // then belong to the previous call, and the ResourceManager may have ignored the requests of this call. Send them once
  // more.
  bool may_be_repeated = false;
};

class AmRmSession {
 public:
  template <class T>
  using Done = std::function<void(MasterReply<T>)>;

  // `schedulers` are the addresses of all ResourceManagers of the cluster, of which one is active. `token` is the
  // YARN_AM_RM_TOKEN that the AM finds in its container. `proxy` is the AMRMProxy of the AM's node (AmRmProxyOf). The
  // ResourceManagers are called instead if the proxy does not know the token, because a node of a federation leaves
  // alone the AM of an application that no router has submitted. `loop` and `names` must outlive this object.
  AmRmSession(EventLoop& loop, HostResolver& names, std::vector<Endpoint> schedulers, Token token,
              RpcLimits limits = {}, std::optional<Endpoint> proxy = std::nullopt);

  // Returns the ResourceManager of the newest call, or the next one to try.
  const Endpoint& resource_manager() const { return connection_.address(); }
  void Register(const MasterAddress& address, Done<Registration> done);
  void Allocate(const Asked& asked, Done<Allocation> done);
  // Unregisters the AM. `done` receives false if this is not finished: call again after 100 ms, as Hadoop's own client
  // does (AMRMClientImpl).
  void Finish(FinalStatus status, const std::string& diagnostics, const std::string& tracking_url, Done<bool> done);

 private:
  void Allocate(const Asked& asked, bool may_renumber, Done<Allocation> done);

  RpcConnection connection_;
  // The ResourceManagers, as long as only the proxy was called; else empty.
  std::vector<Endpoint> behind_proxy_;
  int32_t last_response_ = 0;
  // True if the last Allocate() got no answer.
  bool unanswered_ = false;
};

// Returns the response number that the ResourceManager expected, read from the text of a refused Allocate():
// "... expect responseId to be 5, but get 3". nullopt if the text names no number. Pure.
std::optional<int32_t> ExpectedResponse(std::string_view refusal);

}  // namespace tony::hadoop
