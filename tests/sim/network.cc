#include "tests/sim/network.h"

#include <algorithm>

namespace tony::sim {
namespace {

// An Await may take this much longer than the limit of a call (runtime/rpc/am_connection.h).
constexpr Duration kAwaitsMore{60'000};

constexpr Duration kLateDuplicate{2'000};
// The time from a process's exit until its connections are reset.
constexpr Duration kLocalReset{50};

}  // namespace

void Network::StopListening(const Address& am) {
  listeners_.erase(am);
  for (auto& [id, connection] : connections_) {
    if (connection.am == am) Break(id, kLocalReset);
  }
}

int64_t Network::Open(AskingEnd& client, const ContainerId& place, int64_t link, const Address& am) {
  connections_.emplace(++last_connection_, Connection{.client = &client, .place = place, .link = link, .am = am});
  return last_connection_;
}

void Network::Close(int64_t connection) {
  const auto found = connections_.find(connection);
  if (found == connections_.end() || !found->second.open) return;
  found->second.open = false;
  Disconnect(connection, Duration(0));
  Abandon(connection);
}

void Network::Ask(int64_t id, const Question& question) {
  Connection& connection = connections_.at(id);
  const CallId call{id, ++last_call_};
  connection.unanswered.emplace(call.call, std::pair(question, stage_.time.now()));
  const Duration more = std::holds_alternative<AwaitQuestion>(question) ? kAwaitsMore : Duration(0);
  stage_.time.After(CallTimeout(stage_.plan.spec.timers) + more, [this, call] {
    const Connection& c = connections_.at(call.connection);
    if (c.unanswered.contains(call.call)) Disconnect(call.connection, Duration(0));
  });
  if (!connection.open) return Disconnect(id, Duration(1));
  if (IsCutThere(connection)) return;
  if (IsLost()) return Break(id, CallTimeout(stage_.plan.spec.timers));
  const Instant arrival = ArrivalAfter(connection.last_there);
  stage_.time.At(arrival, [this, call, question] { Arrive(call, question); });
  if (stage_.MayFail() && random_.Chance(stage_.plan.network.duplicates)) {
    stage_.time.At(arrival + random_.Between(Duration(0), kLateDuplicate),
                   [this, call, question] { Arrive(call, question); });
  }
}

void Network::Arrive(const CallId& call, const Question& question) {
  const Connection& connection = connections_.at(call.connection);
  if (IsCutThere(connection)) return;
  const auto listener = listeners_.find(connection.am);
  if (listener == listeners_.end()) return Break(call.connection, kLocalReset);
  listener->second->Asked(call, question);
}

void Network::Answer(const CallId& call, const Reply& reply) {
  Connection& connection = connections_.at(call.connection);
  if (IsCutBack(connection)) return;
  if (IsLost()) return Break(call.connection, CallTimeout(stage_.plan.spec.timers));
  stage_.time.At(ArrivalAfter(connection.last_back), [this, call, reply] { Return(call, reply); });
}

// The answer also goes to a client that has given up the connection; the client ignores it if it does not want it.
void Network::Return(const CallId& call, const Reply& reply) {
  Connection& connection = connections_.at(call.connection);
  if (IsCutBack(connection)) return;
  const auto asked = connection.unanswered.extract(call.call);
  if (asked.empty()) return;
  const auto& [question, when] = asked.mapped();
  connection.client->Answered(connection.link, question, when, reply);
}

// Both ends notice the break, each in its own time. A client that is cut off notices it only by the limits of its
// calls.
void Network::Break(int64_t id, Duration longest) {
  Connection& connection = connections_.at(id);
  if (!connection.open) return;
  connection.open = false;
  if (!IsCutBack(connection)) Disconnect(id, random_.Between(Duration(0), longest));
  Abandon(id);
}

void Network::Disconnect(int64_t id, Duration delay) {
  stage_.time.After(delay, [this, id] {
    const Connection& connection = connections_.at(id);
    if (!connection.unanswered.empty()) connection.client->Disconnected(connection.link);
  });
}

void Network::Abandon(int64_t id) {
  stage_.time.After(random_.Between(Duration(0), kLocalReset), [this, id] {
    const auto listener = listeners_.find(connections_.at(id).am);
    if (listener != listeners_.end()) listener->second->Abandoned(id);
  });
}

Instant Network::ArrivalAfter(Instant& last) {
  const NetworkPlan& plan = stage_.plan.network;
  const Instant arrival = stage_.time.now() + random_.Between(plan.shortest, plan.longest);
  if (plan.reorders) return arrival;
  last = std::max(last, arrival);
  return last;
}

void Network::Cut(const ContainerId& place, Duration length, CutNetwork::Direction direction) {
  const Instant until = stage_.time.now() + length;
  Cuts& cuts = cuts_[place];
  if (direction != CutNetwork::Direction::kAnswers) cuts.there = until;
  if (direction != CutNetwork::Direction::kRequests) cuts.back = until;
}

bool Network::IsCut(const Connection& connection, Instant Cuts::*way) const {
  const auto found = cuts_.find(connection.place);
  return found != cuts_.end() && stage_.time.now() < found->second.*way;
}

}  // namespace tony::sim
