// Whole messages over a connected SOCK_SEQPACKET socket.
#pragma once

#include <sys/types.h>

#include <deque>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "runtime/base/event_loop.h"
#include "runtime/base/unique_fd.h"

namespace tony {

// Loop thread only. The owner may destroy it in any callback. Messages that the peer does not read are queued without
// a bound: both ends of ours are bounded by the number of a job's containers.
class MessageChannel {
 public:
  using OnMessage = std::function<void(std::string_view)>;
  // `on_closed`: the peer has gone or sent what is too long. Called once, never from inside a call.
  MessageChannel(EventLoop& loop, UniqueFd socket, OnMessage on_message, EventLoop::Callback on_closed);
  ~MessageChannel() { *alive_ = false; }

  void Send(std::string message);
  void ReadNow();             // delivers what has arrived, without waiting for the loop to see it
  pid_t PeerProcess() const;  // who connected, or listened
  bool PeerIsOurUser() const;

 private:
  bool SendNow(const std::string& message);  // false: later
  void SendQueued();
  bool ReadOne();  // false: nothing more now, or ever

  EventLoop& loop_;
  UniqueFd socket_;
  OnMessage on_message_;
  EventLoop::Callback on_closed_;
  std::string buffer_;
  std::deque<std::string> queue_;
  std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);  // false once closed or destroyed
  EventLoop::FdWatch readable_, writable_;                      // last: end before what they watch
};

}  // namespace tony
