// How a connection's bytes go through its socket: as they are, or through TLS (runtime/net/tls.h).
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

// Owns its socket: non-blocking, close-on-exec, connected or with its connect() still under way. No method blocks, none
// calls back. Loop thread only.
class Channel {
 public:
  // What came of one try to move bytes.
  struct Step {
    enum class Kind { kMoved, kWaitsToRead, kWaitsToWrite, kEnded };
    Kind kind = Kind::kMoved;
    size_t bytes = 0;  // kMoved: at least 1
    Error why = {};    // kEnded; kNotPermitted: the peer is not who it should be, and was sent nothing
  };
  virtual ~Channel() = default;
  virtual int socket() const = 0;  // to wait for what a step waits for
  virtual Step Read(char* to, size_t most) = 0;
  virtual Step Write(std::string_view bytes) = 0;  // after a wait: the same bytes again, and perhaps more behind them
  virtual bool HasMore() const = 0;                // Read() moves bytes although the socket may not be readable
  virtual void ShutDown() = 0;                     // both ways; the socket is readable then
};

std::unique_ptr<Channel> MakePlainChannel(UniqueFd socket);

// Of one side of TLS: for sockets that it has accepted, or with which it connects.
using MakeChannel = std::function<Result<std::unique_ptr<Channel>>(UniqueFd socket)>;

// Cuts a byte stream into frames: four bytes of length, most significant first, then so many bytes. Pure.
//
// Holds what has come and no more: an announced length allocates nothing.

inline constexpr size_t kFrameLengthSize = 4;

class FrameCutter {
 public:
  explicit FrameCutter(uint32_t max_frame) : max_frame_(max_frame) {}

  void Allow(uint32_t max_frame) { max_frame_ = max_frame; }  // from the next frame on

  void Add(std::string_view bytes);
  // The next whole frame without its length, valid until the next call of Add or Next; nothing if more bytes are
  // needed. kInvalid for a length of zero or above the maximum: there is no next frame in this stream any more.
  Result<std::optional<std::string_view>> Next();
  size_t capacity() const { return buffer_.capacity(); }

 private:
  uint32_t max_frame_;
  std::string buffer_;
  size_t begin_ = 0;  // of what has not been handed out
};

// One framed connection, driven by readiness. Both ends use it: the server for accepted sockets, the client also
// for a socket whose connect() is still under way. Loop thread only.

// Kept by shared_ptr so that a callback may let go of it. Reads all the time, so that a vanished peer is seen at once.
// Neither callback runs inside one of the methods. After Close() no callback runs.
class FrameConnection : public std::enable_shared_from_this<FrameConnection> {
 public:
  // Bytes that connections may hold together of frames that have not come whole. Outlives the connections.
  struct ReadBudget {
    size_t left = 0;
  };
  struct Limits {
    uint32_t max_frame = 0;
    size_t max_unsent = 0;         // a peer that leaves more than this unread is dropped
    ReadBudget* budget = nullptr;  // null: the frame's limit is enough
  };
  struct Callbacks {
    std::function<void(std::string_view frame)> on_frame;
    std::function<void(const std::string& reason)> on_closed;  // once, last
  };

  FrameConnection(EventLoop& loop, std::unique_ptr<Channel> channel, Limits limits, Callbacks callbacks);
  ~FrameConnection() { Close(); }

  void Allow(uint32_t max_frame, size_t max_unsent);  // from now on

  void Send(std::string bytes);           // whole frames with their lengths
  void Abort(const std::string& reason);  // on_closed(reason) soon; what is unsent is lost
  void Finish();                          // no more frames in; on_closed soon after what is unsent has been sent
  void Close();                           // now, without on_closed
  size_t unsent() const { return out_.size() - sent_; }
  bool mistrusted() const { return mistrusted_; }  // it ends because the peer is not who it should be

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
  size_t sent_ = 0;     // of out_
  size_t charged_ = 0;  // of the budget
  std::string ending_;  // the reason, once Abort() has been called
  bool finishing_ = false;
  bool mistrusted_ = false;
  bool read_waits_ = false;      // for the socket to be writable
  EventLoop::FdWatch readable_;  // after channel_: released before it closes
  EventLoop::FdWatch writable_;  // only while there is something to write
};

}  // namespace tony
