// Connections that carry frames. A Channel moves bytes through a socket, either directly or by TLS (runtime/net/tls.h).
// A FrameCutter cuts the bytes into frames. A FrameConnection combines both on the event loop.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "runtime/base/event_loop.h"
#include "runtime/base/result.h"
#include "runtime/base/unique_fd.h"

namespace tony {

// Owns a socket that is non-blocking, close-on-exec, and connected or still connecting. No method blocks, and none
// calls back. Loop thread only.
class Channel {
 public:
  // The result of one attempt to move bytes.
  struct Step {
    enum class Kind { kMoved, kWaitsToRead, kWaitsToWrite, kEnded };
    Kind kind = Kind::kMoved;
    size_t bytes = 0;  // kMoved: at least 1
    // Set for kEnded. kNotPermitted: the peer does not have the expected identity, and nothing was sent to it.
    Error why = {};
  };
  virtual ~Channel() = default;
  // The socket to watch when a step has to wait.
  virtual int socket() const = 0;
  virtual Step Read(char* to, size_t most) = 0;
  // If a write has to wait, the next call must pass the same bytes again, possibly followed by more.
  virtual Step Write(std::string_view bytes) = 0;
  // Returns whether Read() can move bytes even if the socket itself is not readable.
  virtual bool HasMore() const = 0;
  // Shuts both directions down, which makes the socket readable.
  virtual void ShutDown() = 0;
};

std::unique_ptr<Channel> MakePlainChannel(UniqueFd socket);

// A function that makes a TLS channel for a socket. It serves either accepted sockets, or sockets that connect.
using MakeChannel = std::function<Result<std::unique_ptr<Channel>>(UniqueFd socket)>;

inline constexpr size_t kFrameLengthSize = 4;

// Cuts a byte stream into frames: four bytes of length, most significant first, followed by that many bytes. Pure.
//
// A FrameCutter holds only bytes that have been received, so a peer that announces a large length causes no allocation.
class FrameCutter {
 public:
  explicit FrameCutter(uint32_t max_frame) : max_frame_(max_frame) {}

  void Allow(uint32_t max_frame) { max_frame_ = max_frame; }  // applies from the next frame on

  void Add(std::string_view bytes);
  // Returns the next whole frame without its length, valid until the next call of Add or Next. nullopt: more bytes are
  // needed. kInvalid: the length is zero or above the maximum, so no further frame can be read from this stream.
  Result<std::optional<std::string_view>> Next();
  size_t capacity() const { return buffer_.capacity(); }

 private:
  uint32_t max_frame_;
  std::string buffer_;
  size_t begin_ = 0;  // start of the unreturned bytes
};

// A connection that carries frames, driven by the readiness of its socket. Servers use this class for accepted sockets,
// and clients for sockets that may still be connecting. Loop thread only.
//
// The connection is held by shared_ptr, so that a callback may drop it. The connection reads all the time, so that a
// vanished peer is noticed at once. No callback runs inside a method of the connection, or after Close().
class FrameConnection : public std::enable_shared_from_this<FrameConnection> {
 public:
  // A limit for the bytes of incomplete frames, which all connections share. The budget must outlive the connections.
  struct ReadBudget {
    size_t left = 0;
  };
  struct Limits {
    uint32_t max_frame = 0;
    // A peer that leaves more bytes than this unread is dropped.
    size_t max_unsent = 0;
    ReadBudget* budget = nullptr;  // null: no common limit
  };
  struct Callbacks {
    std::function<void(std::string_view frame)> on_frame;
    std::function<void(const std::string& reason)> on_closed;  // called once, as the last callback
  };

  FrameConnection(EventLoop& loop, std::unique_ptr<Channel> channel, Limits limits, Callbacks callbacks);
  ~FrameConnection() { Close(); }

  void Allow(uint32_t max_frame, size_t max_unsent);  // sets new limits from now on

  void Send(std::string bytes);  // `bytes`: whole frames with their lengths
  // Ends the connection. on_closed(reason) is called soon, and unsent bytes are lost.
  void Abort(const std::string& reason);
  // Ignores all further frames. on_closed is called soon after the unsent bytes have been sent.
  void Finish();
  // Closes the connection at once, without calling on_closed.
  void Close();
  size_t unsent() const { return out_.size() - sent_; }
  // Returns whether the peer has closed the connection, even if the loop has not noticed that yet.
  bool IsClosedByPeer() const;
  // Returns whether the connection ends because the peer does not have the expected identity.
  bool untrusted_listener() const { return mistrusted_; }

 private:
  bool running() const { return channel_ && ending_.empty() && !finishing_; }
  void OnReadable();
  void OnWritable();
  void WaitToWrite();
  void ReadSome();
  void CutFrames();
  bool Charge();
  void Flush();
  void End(const std::string& reason);

  EventLoop& loop_;
  std::unique_ptr<Channel> channel_;  // null: closed
  Limits limits_;
  Callbacks callbacks_;
  FrameCutter cutter_;
  std::string out_;
  size_t sent_ = 0;     // sent bytes of out_
  size_t charged_ = 0;  // bytes charged to the budget
  std::string ending_;  // reason given to Abort(), otherwise empty
  bool finishing_ = false;
  bool mistrusted_ = false;
  // True if reading has to wait until the socket is writable.
  bool read_waits_ = false;
  EventLoop::FdWatch readable_;  // declared after channel_: destroyed first
  EventLoop::FdWatch writable_;  // set only while bytes are unsent
};

}  // namespace tony
