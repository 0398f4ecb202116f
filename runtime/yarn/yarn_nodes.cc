#include "runtime/yarn/yarn_nodes.h"

#include <algorithm>
#include <utility>

#include "runtime/base/log.h"
#include "runtime/base/strings.h"

namespace tony {
namespace {

// Limit of containers in a call. A node starts 8 containers of a call in 40 ms. If a node cannot start all containers
// within the call's limit, the others are requested again.
constexpr size_t kMostInCall = 100;
constexpr hadoop::RpcLimits kLimits{.establish = std::chrono::seconds(10), .call = std::chrono::seconds(30)};
constexpr Duration kFirstNodeRetry{200}, kLongestNodeRetry{10'000};
// The time for which calls to a silent node are retried: the default of yarn.client.nodemanager-connect.max-wait-ms. A
// NodeManager that restarts is back by then.
constexpr Duration kGiveUpAfter = std::chrono::minutes(3);
constexpr Duration kIdle = std::chrono::seconds(10);  // ipc.client.connection.maxidletime

}  // namespace

YarnNodes::YarnNodes(EventLoop& loop, HostResolver& names, Callbacks callbacks)
    : loop_(loop), names_(names), callbacks_(std::move(callbacks)) {}

void YarnNodes::Use(const hadoop::NodeToken& token) {
  Node& node = nodes_[token.node];
  node.token = token.token;
  if (node.client) node.client->Use(token.token);
}

void YarnNodes::Start(const hadoop::Container& container, hadoop::LaunchContext context) {
  nodes_[container.node].starts[container.id] = {container.token, std::move(context)};
  CallSoon(container.node);
}

bool YarnNodes::Stop(const hadoop::NodeId& id, const hadoop::ContainerId& container) {
  Node& node = nodes_[id];
  const bool may_run =
      !node.starts.contains(container) || node.asked.contains(container) || node.doubtful.contains(container);
  if (!may_run) {
    node.starts.erase(container);
    return false;
  }
  node.stops.insert(container);
  CallSoon(id);
  return true;
}

void YarnNodes::Forget(const hadoop::NodeId& id, const hadoop::ContainerId& container) {
  const auto node = nodes_.find(id);
  if (node == nodes_.end()) return;
  node->second.starts.erase(container);
  node->second.doubtful.erase(container);
  node->second.stops.erase(container);
}

void YarnNodes::Forget(const hadoop::NodeId& id) {
  nodes_.erase(id);
  without_connection_.erase(id);
  CallNextWaitingNode();
}

int YarnNodes::connections() const {
  return static_cast<int>(
      std::ranges::count_if(nodes_, [](const auto& node) { return node.second.client != nullptr; }));
}

// Schedules a call, unless a call is under way or a retry is due later.
void YarnNodes::CallSoon(const hadoop::NodeId& id) {
  Node& node = nodes_[id];
  if (node.is_called || (node.next_call && node.retry > Duration(0))) return;
  node.next_call = loop_.After(Duration(0), [this, id] { Call(id); });
}

void YarnNodes::Call(const hadoop::NodeId& id) {
  Node& node = nodes_.at(id);
  node.next_call.reset();
  if (!node.HasWork()) return CallNextWaitingNode();
  if (!Connect(id, node)) return;
  node.is_called = true;
  if (!node.doubtful.empty()) {
    AskForStatuses(id, node);
  } else if (!node.starts.empty()) {
    AskToStart(id, node);
  } else {
    AskToStop(id, node);
  }
}

bool YarnNodes::Connect(const hadoop::NodeId& id, Node& node) {
  if (node.client) return true;
  if (connections() >= kMostConnections) {
    const auto idle = std::ranges::find_if(nodes_, [](const auto& other) {
      return other.second.client && !other.second.is_called && !other.second.HasWork();
    });
    if (idle == nodes_.end()) {
      without_connection_.insert(id);
      return false;
    }
    idle->second.client.reset();
  }
  node.client = std::make_unique<hadoop::NmClient>(loop_, names_, hadoop::NodeToken{id, node.token}, kLimits);
  return true;
}

YarnNodes::Ids YarnNodes::AskFor(Node& node, const std::set<hadoop::ContainerId>& containers) {
  Ids first;
  for (const hadoop::ContainerId& container : containers) {
    if (first.size() < kMostInCall) first.push_back(container);
  }
  node.asked.insert(first.begin(), first.end());
  return first;
}

void YarnNodes::AskForStatuses(const hadoop::NodeId& id, Node& node) {
  node.client->Statuses(AskFor(node, node.doubtful), Then<hadoop::ContainerStatus>(id, &YarnNodes::TakeStatuses));
}

void YarnNodes::AskToStart(const hadoop::NodeId& id, Node& node) {
  std::vector<hadoop::ContainerStart> starts;
  for (const auto& [container, start] : node.starts) {
    if (starts.size() == kMostInCall) break;
    starts.push_back(start);
    node.asked.insert(container);
  }
  node.client->Start(starts, Then<hadoop::ContainerId>(id, &YarnNodes::TakeStarts));
}

void YarnNodes::AskToStop(const hadoop::NodeId& id, Node& node) {
  node.client->Stop(AskFor(node, node.stops), Then<hadoop::ContainerId>(id, &YarnNodes::TakeStops));
}

template <class T>
hadoop::NmClient::Done<T> YarnNodes::Then(const hadoop::NodeId& id,
                                          void (YarnNodes::*take)(Node&, const hadoop::NodeAnswer<T>&)) {
  return [this, id, take](const Result<hadoop::NodeAnswer<T>>& answer) {
    // The node exists, because a forgotten node has no client that could answer.
    Node& node = nodes_.at(id);
    node.is_called = false;
    if (answer.ok()) {
      node.silent_since = Instant();
      node.retry = Duration(0);
      (this->*take)(node, *answer);
    } else {
      OnNoAnswer(node, answer.error());
    }
    node.asked.clear();
    GoOn(id, node);
  };
}

void YarnNodes::TakeStarts(Node& node, const hadoop::NodeAnswer<hadoop::ContainerId>& answer) {
  for (const hadoop::ContainerId& container : answer.done) Started(node, container);
  for (const hadoop::ContainerFailure& failure : answer.failed) {
    if (failure.IsAlreadyStarted()) {
      Started(node, failure.id);
    } else {
      Refuse(node, failure.id, failure.message);
    }
  }
  for (const hadoop::ContainerId& container : node.asked)
    Refuse(node, container, "the node's answer does not name the container");
}

// Handles the statuses of doubtful containers. Every container that the node knows was started, even if it has ended.
// Containers that the node does not know must be started.
void YarnNodes::TakeStatuses(Node& node, const hadoop::NodeAnswer<hadoop::ContainerStatus>& answer) {
  for (const hadoop::ContainerStatus& status : answer.done) Started(node, status.id);
  for (const hadoop::ContainerId& container : node.asked) {
    node.doubtful.erase(container);
    if (node.stops.contains(container)) Refuse(node, container, "the container was stopped before it was started");
  }
}

void YarnNodes::TakeStops(Node& node, const hadoop::NodeAnswer<hadoop::ContainerId>& answer) {
  for (const hadoop::ContainerId& container : node.asked) callbacks_.stop_answered(container);
  for (const hadoop::ContainerId& container : answer.done) node.stops.erase(container);
  for (const hadoop::ContainerId& container : node.asked) {
    if (node.stops.erase(container) > 0) callbacks_.not_stopped(container);
  }
}

void YarnNodes::OnNoAnswer(Node& node, const Error& error) {
  if (error.code != ErrorCode::kUnavailable) return GiveUp(node, error.message);
  const Instant now = loop_.Now();
  if (node.silent_since == Instant()) node.silent_since = now;
  if (now - node.silent_since >= kGiveUpAfter) return GiveUp(node, error.message);
  for (const hadoop::ContainerId& container : node.asked) {
    if (node.starts.contains(container)) node.doubtful.insert(container);
  }
  if (node.retry == Duration(0)) LogWarn(StrCat(error.message, "; retrying"));
  node.retry = std::clamp(node.retry * 2, kFirstNodeRetry, kLongestNodeRetry);
  node.client.reset();  // other nodes may need the connection
}

void YarnNodes::GiveUp(Node& node, const std::string& why) {
  node.silent_since = Instant();
  node.retry = Duration(0);
  const auto starts = node.starts;
  for (const auto& [container, start] : starts) Refuse(node, container, why);
  for (const hadoop::ContainerId& container : std::exchange(node.stops, {})) callbacks_.not_stopped(container);
}

void YarnNodes::Started(Node& node, const hadoop::ContainerId& container) {
  node.doubtful.erase(container);
  if (node.starts.erase(container) > 0) callbacks_.started(container);
}

void YarnNodes::Refuse(Node& node, const hadoop::ContainerId& container, const std::string& why) {
  if (node.starts.erase(container) == 0) return;
  node.doubtful.erase(container);
  node.stops.erase(container);
  callbacks_.refused(container, why);
}

void YarnNodes::GoOn(const hadoop::NodeId& id, Node& node) {
  if (node.HasWork()) {
    node.next_call = loop_.After(node.retry, [this, id] { Call(id); });
  } else if (node.client) {
    node.next_call = loop_.After(kIdle, [this, id] { nodes_.at(id).client.reset(); });
  }
  if (!node.client || !node.HasWork()) CallNextWaitingNode();
}

void YarnNodes::CallNextWaitingNode() {
  if (without_connection_.empty()) return;
  CallSoon(without_connection_.extract(without_connection_.begin()).value());
}

}  // namespace tony
