// keeper.sock in a job's folder: the keeper (supervisor) listens there, and the AM connects.
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

// Listens on the socket and replaces the one that an earlier keeper left. The caller holds keeper.lock.
Result<UniqueFd> ListenAsKeeper(const JobRecords& records);
// Connects without blocking. kUnavailable: no process listens. If the keeper lives and its queue is full, ReachKeeper()
// returns nullopt and ConnectToKeeper() kUnavailable.
Result<std::optional<UniqueFd>> ReachKeeper(const JobRecords& records);
Result<UniqueFd> ConnectToKeeper(const JobRecords& records);
void RemoveKeeperSocket(const JobRecords& records);

// A MessageChannel sends and receives whole messages over a connected SOCK_SEQPACKET socket.

// A channel is used on the loop thread only. The owner may destroy the channel in any callback. Messages that the peer
// does not read are queued without a limit, because the job's containers bound the number of messages between AM and
// keeper.
class MessageChannel {
 public:
  using OnMessage = std::function<void(std::string_view)>;
  // The loop calls `on_closed` once, when the peer has closed the connection or has sent a message that is too long.
  // `on_closed` is never called from inside a call of this class.
  MessageChannel(EventLoop& loop, UniqueFd socket, OnMessage on_message, EventLoop::Callback on_closed);
  ~MessageChannel() { *alive_ = false; }

  void Send(std::string message, UniqueFd with = {});  // `with`: a descriptor to pass along
  // Returns the descriptor that came with the message; invalid: none came, or it was already taken. Call this in
  // `on_message` only; the call is optional.
  UniqueFd TakeDescriptor() { return std::move(received_); }
  void ReadNow();             // delivers received messages at once
  pid_t PeerProcess() const;  // pid of the connected process
  bool PeerIsOurUser() const;

 private:
  struct Outgoing {
    std::string message;
    UniqueFd with;
  };
  bool SendNow(const Outgoing& outgoing) const;  // false: try again later
  void SendQueued();
  bool ReadOne();  // false: no further message

  EventLoop& loop_;
  UniqueFd socket_;
  OnMessage on_message_;
  EventLoop::Callback on_closed_;
  std::string buffer_;
  UniqueFd received_;
  std::deque<Outgoing> queue_;
  std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);  // false once closed or destroyed
  EventLoop::FdWatch readable_, writable_;                      // declared last, so destroyed first
};

}  // namespace tony
