// keeper.sock in a job's folder: where the keeper listens and the AM connects.
#pragma once

#include <sys/types.h>

#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "runtime/base/event_loop.h"
#include "runtime/base/result.h"
#include "runtime/base/unique_fd.h"
#include "runtime/records/job_records.h"

namespace tony {

// A name left by an earlier keeper is replaced: the caller holds keeper.lock.
Result<UniqueFd> ListenAsKeeper(const JobRecords& records);
// Never block. kUnavailable: nobody listens. Nothing, or kUnavailable as well: the keeper lives, and its queue is full.
Result<std::optional<UniqueFd>> ReachKeeper(const JobRecords& records);
Result<UniqueFd> ConnectToKeeper(const JobRecords& records);
void RemoveKeeperSocket(const JobRecords& records);

// Whole messages over a connected SOCK_SEQPACKET socket.

// Loop thread only. The owner may destroy it in any callback. Messages that the peer does not read are queued without
// a bound: both ends of ours are bounded by the number of a job's containers.
class MessageChannel {
 public:
  using OnMessage = std::function<void(std::string_view)>;
  // `on_closed`: the peer has gone or sent what is too long. Called once, never from inside a call.
  MessageChannel(EventLoop& loop, UniqueFd socket, OnMessage on_message, EventLoop::Callback on_closed);
  ~MessageChannel() { *alive_ = false; }

  void Send(std::string message, UniqueFd with = {});  // `with`: a descriptor that the peer gets, too
  // In `on_message`: the descriptor that came with the message, once; not valid: none did. Nobody need take it.
  UniqueFd TakeDescriptor() { return std::move(received_); }
  void ReadNow();             // delivers what has arrived, without waiting for the loop to see it
  pid_t PeerProcess() const;  // who connected, or listened
  bool PeerIsOurUser() const;

 private:
  struct Outgoing {
    std::string message;
    UniqueFd with;
  };
  bool SendNow(const Outgoing& outgoing) const;  // false: later
  void SendQueued();
  bool ReadOne();  // false: nothing more now, or ever

  EventLoop& loop_;
  UniqueFd socket_;
  OnMessage on_message_;
  EventLoop::Callback on_closed_;
  std::string buffer_;
  UniqueFd received_;
  std::deque<Outgoing> queue_;
  std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);  // false once closed or destroyed
  EventLoop::FdWatch readable_, writable_;                      // last: end before what they watch
};

}  // namespace tony
