// What a master asks of its nodes: to start containers and to stop them. Loop thread only.
//
//            Start()           call             answer
//   (none) ---------> wanted ---------> asked ----------> started, or refused with a reason
//                        ^                | no answer: the node may have done it
//                        |  not known     v
//                        +------------ doubtful, its status is asked for ------> started
//
// What is asked of a node in one turn of the loop goes in one call, and a node has one call at a time. At most
// kMostConnections are open, idle ones are closed. A node that does not answer is asked again for three minutes.
// Callbacks come from the loop, never from inside a method. How a container ends, the ResourceManager alone says.
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
    // It does not run, or the node was not heard of again.
    std::function<void(const hadoop::ContainerId&, const std::string& why)> refused;
    std::function<void(const hadoop::ContainerId&)> not_stopped;  // the node does not have it, or does not answer
  };
  static constexpr int kMostConnections = 64;

  // `loop` and `names` outlive this.
  YarnNodes(EventLoop& loop, HostResolver& names, Callbacks callbacks);

  void Use(const hadoop::NodeToken& token);  // the newest of its node
  void Start(const hadoop::Container& container, hadoop::LaunchContext context);
  // Also while it is being started: after that. False: it had not been asked for, and never starts.
  bool Stop(const hadoop::NodeId& node, const hadoop::ContainerId& container);
  void Forget(const hadoop::NodeId& node, const hadoop::ContainerId& container);  // it has ended
  void Forget(const hadoop::NodeId& node);                                        // it is lost, with all it had
  int connections() const;

 private:
  using Ids = std::vector<hadoop::ContainerId>;
  struct Node {
    hadoop::Token token;
    std::unique_ptr<hadoop::NmClient> client;  // none: no connection
    std::map<hadoop::ContainerId, hadoop::ContainerStart> starts;
    std::set<hadoop::ContainerId> doubtful, stops;  // doubtful: of `starts`
    std::set<hadoop::ContainerId> asked;            // in the call that is under way
    bool is_called = false;
    Instant silent_since{};      // 1970: it answered last
    Duration retry{0};           // after the last call without an answer
    EventLoop::Timer next_call;  // while it is not called
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
  void CallOneThatWaits();

  EventLoop& loop_;
  HostResolver& names_;
  const Callbacks callbacks_;
  std::map<hadoop::NodeId, Node> nodes_;
  std::set<hadoop::NodeId> without_connection_;  // have work, and wait until another node's is closed
};

}  // namespace tony
