#include "runtime/net/frame_connection.h"

#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <utility>

#include "runtime/base/strings.h"

namespace tony {
namespace {

constexpr size_t kChunk = 64 << 10;
constexpr size_t kUncharged = 4096;  // what an idle connection keeps

bool MustWait(int error) { return error == EAGAIN || error == EWOULDBLOCK || error == EINTR; }

// Closing a socket with unread bytes resets the connection, and what we have sent would be lost on its way.
void DiscardUnread(int socket) {
  constexpr int kMostChunks = 64;  // a peer that never stops sending is reset
  std::array<char, kChunk> chunk;
  ssize_t got = 1;
  for (int i = 0; i < kMostChunks && got > 0; ++i) got = ::recv(socket, chunk.data(), chunk.size(), 0);
}

}  // namespace

FrameConnection::FrameConnection(EventLoop& loop, UniqueFd socket, Limits limits, Callbacks callbacks)
    : loop_(loop),
      socket_(std::move(socket)),
      limits_(limits),
      callbacks_(std::move(callbacks)),
      cutter_(limits.max_frame),
      readable_(loop.WhenReadable(socket_.get(), [this] { OnReadable(); })) {}

void FrameConnection::Allow(uint32_t max_frame, size_t max_unsent) {
  cutter_.Allow(limits_.max_frame = max_frame);
  limits_.max_unsent = max_unsent;
}

void FrameConnection::Send(std::string bytes) {
  if (!running()) return;
  if (unsent() + bytes.size() > limits_.max_unsent) return Abort("too many unsent bytes");
  if (unsent() == 0) {
    out_ = std::move(bytes);
    sent_ = 0;
  } else {
    out_.append(bytes);
  }
  if (!writable_) Flush();
}

// A shut-down socket is readable: OnReadable() ends it, outside of whatever called this.
void FrameConnection::Abort(const std::string& reason) {
  if (!socket_.valid() || !ending_.empty()) return;
  ending_ = reason;
  writable_.reset();
  ::shutdown(socket_.get(), SHUT_RDWR);
}

void FrameConnection::Finish() {
  if (!running()) return;
  if (unsent() == 0) return Abort("finished");
  finishing_ = true;
}

void FrameConnection::Close() {
  writable_.reset();
  readable_.reset();
  socket_.Reset();
  if (charged_ > 0) limits_.budget->left += std::exchange(charged_, 0);  // else its owner may have gone
}

void FrameConnection::OnReadable() {
  const auto self = shared_from_this();  // a callback may drop the last other reference
  if (!ending_.empty()) return End(ending_);
  std::array<char, kChunk> chunk;
  const size_t most = std::min(chunk.size(), kFrameLengthSize + limits_.max_frame);
  const ssize_t got = ::recv(socket_.get(), chunk.data(), most, 0);
  if (got < 0 && MustWait(errno)) return;
  if (got < 0) return End(ErrnoText(errno));
  if (got == 0) return End("closed by the peer");
  if (finishing_) return;
  cutter_.Add({chunk.data(), static_cast<size_t>(got)});
  CutFrames();
  if (running() && !Charge()) End("too many bytes of unfinished frames, of all peers together");
}

bool FrameConnection::Charge() {
  if (!limits_.budget) return true;
  const size_t held = cutter_.capacity() > kUncharged ? cutter_.capacity() : 0;
  size_t& left = limits_.budget->left;
  if (held > left + charged_) return false;
  left = left + charged_ - held;
  charged_ = held;
  return true;
}

void FrameConnection::CutFrames() {
  while (running()) {
    const auto frame = cutter_.Next();
    if (!frame.ok()) return End(frame.error().message);
    if (!*frame) return;
    callbacks_.on_frame(**frame);
  }
}

void FrameConnection::Flush() {
  while (unsent() > 0) {
    const ssize_t sent = ::send(socket_.get(), out_.data() + sent_, unsent(), MSG_NOSIGNAL);
    if (sent < 0 && errno == EINTR) continue;
    if (sent < 0 && MustWait(errno)) break;
    if (sent < 0) return Abort(ErrnoText(errno));
    sent_ += static_cast<size_t>(sent);
  }
  if (unsent() > 0) {
    // Moving the rest to the front costs no more than what has been sent since the last time.
    if (sent_ > out_.size() / 2) out_.erase(0, std::exchange(sent_, 0));
    if (!writable_) writable_ = loop_.WhenWritable(socket_.get(), [this] { Flush(); });
    return;
  }
  std::string().swap(out_);
  sent_ = 0;
  writable_.reset();
  if (std::exchange(finishing_, false)) Abort("finished");
}

void FrameConnection::End(const std::string& reason) {
  const std::string last = reason;  // may be ours
  if (!ending_.empty()) DiscardUnread(socket_.get());
  Close();
  callbacks_.on_closed(last);
}

}  // namespace tony
