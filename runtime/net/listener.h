// A listening TCP socket on the loop. Loop thread only.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "runtime/base/event_loop.h"
#include "runtime/base/result.h"
#include "runtime/base/unique_fd.h"

namespace tony {

// Accepts until it is destroyed. Without descriptors to spare it pauses for a moment, and newcomers wait in the
// kernel's queue.
class Listener {
 public:
  using OnAccept = std::function<void(UniqueFd socket)>;  // configured; must not destroy the listener

  // `host` is a numeric IPv4 address. kUnavailable if the address cannot be bound.
  static Result<std::unique_ptr<Listener>> Open(EventLoop& loop, const std::string& host, int port, OnAccept on_accept);
  Listener(EventLoop& loop, UniqueFd socket, int port, OnAccept on_accept);
  int port() const { return port_; }

 private:
  void Resume();
  void Pause();
  void AcceptSome();

  EventLoop& loop_;
  UniqueFd socket_;
  int port_;
  OnAccept on_accept_;
  bool starved_ = false;  // said so already
  EventLoop::Timer pause_;
  EventLoop::FdWatch readable_;
};

}  // namespace tony
