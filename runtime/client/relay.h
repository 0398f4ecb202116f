// Relays TCP connections from a port of this machine's loopback device to a server that only this process may be able
// to reach, e.g. a notebook on a node of a cluster. The bytes pass unchanged, so websockets work. Loop thread only.
//
//   browser --- 127.0.0.1:port [Relay] --- connection ---> target
//
// Each direction holds at most one piece of data, so a slow reader slows down its writer. The end of one direction is
// passed on, and the other direction continues.
#pragma once

#include <map>
#include <memory>

#include "runtime/base/endpoint.h"
#include "runtime/base/event_loop.h"
#include "runtime/base/result.h"
#include "runtime/net/sockets.h"

namespace tony {

class Relay {
 public:
  // Port 0 is any free port. kUnavailable: the port cannot be bound.
  static Result<std::unique_ptr<Relay>> Open(EventLoop& loop, int port);
  ~Relay();
  Relay(const Relay&) = delete;

  int port() const { return listener_->port(); }
  // Sets the target of new connections, a numeric address. Before the first call, connections are closed at once.
  void LeadTo(Endpoint target) { target_ = std::move(target); }

 private:
  class Connection;
  explicit Relay(EventLoop& loop);
  void OnAccept(UniqueFd browser);

  EventLoop& loop_;
  Endpoint target_;
  std::map<Connection*, std::unique_ptr<Connection>> connections_;
  std::unique_ptr<Listener> listener_;
};

}  // namespace tony
