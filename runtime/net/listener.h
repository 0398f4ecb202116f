// A listening socket on the loop. Loop thread only.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "runtime/base/event_loop.h"
#include "runtime/base/result.h"
#include "runtime/base/unique_fd.h"

namespace tony {

// Accepts until it is destroyed. The last descriptors that this process may open are not for newcomers: files must be
// written and others reached whoever connects. Then somebody has to make room, or the newcomer is closed. With none
// left at all it pauses for a moment, and newcomers wait in the kernel's queue.
class Listener {
 public:
  using OnAccept = std::function<void(UniqueFd socket)>;  // configured; must not destroy the listener
  // Closes a connection that matters less than a new one; false: there is none.
  using MakeRoom = std::function<bool()>;
  // Whether a newcomer would be served now; false: it waits in the kernel's queue, and is asked about again soon.
  using MayAccept = std::function<bool()>;

  // `host` is a numeric IPv4 address. kUnavailable if the address cannot be bound.
  static Result<std::unique_ptr<Listener>> Open(EventLoop& loop, const std::string& host, int port, OnAccept on_accept);
  Listener(EventLoop& loop, UniqueFd socket, int port, OnAccept on_accept);
  int port() const { return port_; }
  void WhenShort(MakeRoom make_room) { make_room_ = std::move(make_room); }
  void While(MayAccept may_accept) { may_accept_ = std::move(may_accept); }

 private:
  void Resume();
  void Pause();
  void AcceptSome();

  EventLoop& loop_;
  UniqueFd socket_;
  int port_;
  OnAccept on_accept_;
  MakeRoom make_room_ = [] { return false; };
  MayAccept may_accept_ = [] { return true; };
  bool starved_ = false;  // said so already
  EventLoop::Timer pause_;
  EventLoop::FdWatch readable_;
};

}  // namespace tony
