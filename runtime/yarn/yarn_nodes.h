// An AM's requests to its nodes, which start and stop containers. Loop thread only.
//
//            Start()           call             answer
//   (none) ---------> wanted ---------> asked ----------> started, or refused with a reason
//                        ^                | no answer: the node may have done it
//                        |  not known     v
//                        +------------ doubtful, its status is requested ------> started
//
// All requests to a node from one turn of the loop go into one call. A node has one call at a time. At most
// kMostConnections are open, and idle ones are closed. Calls to a node that does not answer are retried for three
// minutes. Callbacks come from the loop, never from inside a method. The end of a container is reported only by the
// ResourceManager.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "runtime/base/event_loop.h"
#include "runtime/hadoop/yarn_clients.h"
#include "runtime/net/host_resolver.h"

namespace tony {

class YarnNodes {
 public:
  struct Callbacks {
    std::function<void(const hadoop::ContainerId&)> started;
    // Called if the container does not run, or if its node has not answered for too long.
    std::function<void(const hadoop::ContainerId&, const std::string& why)> refused;
    // Called when the node has answered a stop, also if it does not have the container.
    std::function<void(const hadoop::ContainerId&)> stop_answered;
    // Called if the container could not be stopped, because its node does not have it or does not answer.
    std::function<void(const hadoop::ContainerId&)> not_stopped;
  };
  static constexpr int kMostConnections = 64;

  // `loop` and `names` must outlive this object.
  YarnNodes(EventLoop& loop, HostResolver& names, Callbacks callbacks);

  // Sets the newest token for the node that the token names.
  void Use(const hadoop::NodeToken& token);
  void Start(const hadoop::Container& container, hadoop::LaunchContext context);
  // Stops a container. If its start is under way, the stop follows. Returns false if no start was sent; the container
  // then never starts.
  bool Stop(const hadoop::NodeId& node, const hadoop::ContainerId& container);
  void Forget(const hadoop::NodeId& node, const hadoop::ContainerId& container);  // for a container that has ended
  // Forgets a node that was lost with all of its containers.
  void Forget(const hadoop::NodeId& node);
  int connections() const;

 private:
  using Ids = std::vector<hadoop::ContainerId>;
  struct Node {
    hadoop::Token token;
    std::unique_ptr<hadoop::NmClient> client;  // null: no connection
    std::map<hadoop::ContainerId, hadoop::ContainerStart> starts;
    // `doubtful`: containers in `starts` whose start had no answer.
    std::set<hadoop::ContainerId> doubtful, stops;
    std::set<hadoop::ContainerId> asked;  // containers in the current call
    bool is_called = false;
    Instant silent_since{};      // 1970: the last call was answered
    Duration retry{0};           // delay after an unanswered call
    EventLoop::Timer next_call;  // set while no call is open
    bool HasWork() const { return !starts.empty() || !stops.empty(); }
  };

  void CallSoon(const hadoop::NodeId& id);
  void Call(const hadoop::NodeId& id);
  bool Connect(const hadoop::NodeId& id, Node& node);
  static Ids AskFor(Node& node, const std::set<hadoop::ContainerId>& containers);
  void AskForStatuses(const hadoop::NodeId& id, Node& node);
  void AskToStart(const hadoop::NodeId& id, Node& node);
  void AskToStop(const hadoop::NodeId& id, Node& node);
  void TakeStatuses(Node& node, const hadoop::NodeAnswer<hadoop::ContainerStatus>& answer);
  void TakeStarts(Node& node, const hadoop::NodeAnswer<hadoop::ContainerId>& answer);
  void TakeStops(Node& node, const hadoop::NodeAnswer<hadoop::ContainerId>& answer);
  template <class T>
  hadoop::NmClient::Done<T> Then(const hadoop::NodeId& id,
                                 void (YarnNodes::*take)(Node&, const hadoop::NodeAnswer<T>&));
  void OnNoAnswer(Node& node, const Error& error);
  void GiveUp(Node& node, const std::string& why);
  void Started(Node& node, const hadoop::ContainerId& container);
  void Refuse(Node& node, const hadoop::ContainerId& container, const std::string& why);
  void GoOn(const hadoop::NodeId& id, Node& node);
  void CallNextWaitingNode();

  EventLoop& loop_;
  HostResolver& names_;
  const Callbacks callbacks_;
  std::map<hadoop::NodeId, Node> nodes_;
  // Nodes that have work and wait until another node's connection is closed.
  std::set<hadoop::NodeId> without_connection_;
};

}  // namespace tony
