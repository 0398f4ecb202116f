// One framed connection, driven by readiness. Both ends use it: the server for accepted sockets, the client also
// for a socket whose connect() is still under way. Loop thread only.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "runtime/base/event_loop.h"
#include "runtime/net/channel.h"
#include "runtime/net/frame_cutter.h"

namespace tony {

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
