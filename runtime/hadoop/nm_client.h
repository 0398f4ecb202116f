// What a master asks one NodeManager: ContainerManagementProtocol. Loop thread only.
//
// One for each node that is spoken to, for as long as it is: a connection is an open socket. Callbacks come as
// RpcConnection's do. A call can succeed while containers in it fail: each answer says which. After kUnavailable the
// node may have done what was asked: before a container is given up, ask for its status.
#pragma once

#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "runtime/base/result.h"
#include "runtime/hadoop/rpc_connection.h"
#include "runtime/hadoop/yarn_records.h"

namespace tony::hadoop {

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
