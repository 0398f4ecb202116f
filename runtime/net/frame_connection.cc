#include "runtime/net/frame_connection.h"

#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <utility>

#include "runtime/base/strings.h"

namespace tony {
namespace {

class PlainChannel : public Channel {
 public:
  explicit PlainChannel(UniqueFd socket) : socket_(std::move(socket)) {}

  int socket() const override { return socket_.get(); }
  Step Read(char* to, size_t most) override {
    const ssize_t got = ::recv(socket_.get(), to, most, 0);
    if (got == 0) return {Step::Kind::kEnded, 0, {ErrorCode::kUnavailable, "the peer closed the connection"}};
    return StepOf(got, Step::Kind::kWaitsToRead);
  }
  Step Write(std::string_view bytes) override {
    return StepOf(::send(socket_.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL), Step::Kind::kWaitsToWrite);
  }
  bool HasMore() const override { return false; }
  void ShutDown() override { ::shutdown(socket_.get(), SHUT_RDWR); }

 private:
  static Step StepOf(ssize_t moved, Step::Kind waits) {
    if (moved >= 0) return {Step::Kind::kMoved, static_cast<size_t>(moved)};
    if (errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR) return {waits};
    return {Step::Kind::kEnded, 0, {ErrorCode::kUnavailable, ErrnoText(errno)}};
  }

  UniqueFd socket_;
};

}  // namespace

std::unique_ptr<Channel> MakePlainChannel(UniqueFd socket) { return std::make_unique<PlainChannel>(std::move(socket)); }

namespace {

// The capacity that an empty buffer may keep. Thousands of connections are idle most of the time, so none of them keeps
// the buffer of a large frame.
constexpr size_t kKeptCapacity = 4096;

uint32_t ReadLength(std::string_view bytes) {
  uint32_t length = 0;
  for (const char byte : bytes.substr(0, kFrameLengthSize)) length = length << 8 | static_cast<unsigned char>(byte);
  return length;
}

}  // namespace

void FrameCutter::Add(std::string_view bytes) {
  buffer_.erase(0, begin_);
  begin_ = 0;
  buffer_.append(bytes);
}

Result<std::optional<std::string_view>> FrameCutter::Next() {
  std::optional<std::string_view> frame;
  const std::string_view rest = std::string_view(buffer_).substr(begin_);
  if (rest.empty() && buffer_.capacity() > kKeptCapacity) {
    std::string().swap(buffer_);
    begin_ = 0;
  }
  if (rest.size() < kFrameLengthSize) return frame;
  const uint32_t length = ReadLength(rest);
  if (length == 0 || length > max_frame_) {
    if (rest.starts_with("HTTP")) return InvalidError("received HTTP instead of frames");
    return InvalidError("received a frame of ", length, " bytes, expected 1 to ", max_frame_);
  }
  if (rest.size() - kFrameLengthSize < length) return frame;
  begin_ += kFrameLengthSize + length;
  frame = rest.substr(kFrameLengthSize, length);
  return frame;
}

namespace {

// The buffer is small because it is on the stack, whose size the user may have limited.
constexpr size_t kChunk = 8 << 10;
// A buffer of at most this capacity is not charged to the budget, because an idle connection keeps such a buffer, too.
constexpr size_t kUncharged = 4096;

// Reads and drops the bytes that are left. Closing a socket with unread bytes resets the connection, and sent bytes
// would be lost on their way.
void DiscardUnread(int socket) {
  // The limit for a peer that never stops sending. The connection of such a peer is reset.
  constexpr int kMostChunks = 512;
  std::array<char, kChunk> chunk;
  ssize_t got = 1;
  for (int i = 0; i < kMostChunks && got > 0; ++i) got = ::recv(socket, chunk.data(), chunk.size(), 0);
}

}  // namespace

FrameConnection::FrameConnection(EventLoop& loop, std::unique_ptr<Channel> channel, Limits limits, Callbacks callbacks)
    : loop_(loop),
      channel_(std::move(channel)),
      limits_(limits),
      callbacks_(std::move(callbacks)),
      cutter_(limits.max_frame),
      readable_(loop.WhenReadable(channel_->socket(), [this] { OnReadable(); })) {}

void FrameConnection::Allow(uint32_t max_frame, size_t max_unsent) {
  cutter_.Allow(limits_.max_frame = max_frame);
  limits_.max_unsent = max_unsent;
}

void FrameConnection::Send(std::string bytes) {
  if (!running()) return;
  if (unsent() + bytes.size() > limits_.max_unsent) return Abort("too many unsent bytes: the peer does not read");
  if (unsent() == 0) {
    out_ = std::move(bytes);
    sent_ = 0;
  } else {
    out_.append(bytes);
  }
  if (!writable_) Flush();
}

// Shuts the socket down, which makes it readable. OnReadable() ends the connection later, outside of the caller of
// Abort().
void FrameConnection::Abort(const std::string& reason) {
  if (!channel_ || !ending_.empty()) return;
  ending_ = reason;
  writable_.reset();
  channel_->ShutDown();
}

void FrameConnection::Finish() {
  if (!running()) return;
  if (unsent() == 0) return Abort("finished");
  finishing_ = true;
}

bool FrameConnection::IsClosedByPeer() const {
  char byte = 0;
  const ssize_t got = channel_ ? ::recv(channel_->socket(), &byte, 1, MSG_PEEK | MSG_DONTWAIT) : 0;
  return got == 0 || (got < 0 && errno != EAGAIN && errno != EWOULDBLOCK && errno != EINTR);
}

void FrameConnection::Close() {
  writable_.reset();
  readable_.reset();
  channel_.reset();
  // If no bytes are charged, the owner of the budget may already have destroyed it, so the budget is not used.
  if (charged_ > 0) limits_.budget->left += std::exchange(charged_, 0);
}

void FrameConnection::OnReadable() {
  // A callback may drop the last other reference to this connection, so this function holds a reference of its own.
  const auto self = shared_from_this();
  if (!ending_.empty()) return End(ending_);
  do {
    ReadSome();
  } while (running() && channel_->HasMore());
  // A write may have waited until bytes were read, and bytes have been read now.
  if (channel_ && ending_.empty() && unsent() > 0 && !writable_) Flush();
}

void FrameConnection::OnWritable() {
  if (!std::exchange(read_waits_, false)) return Flush();
  OnReadable();
}

void FrameConnection::WaitToWrite() {
  if (!writable_) writable_ = loop_.WhenWritable(channel_->socket(), [this] { OnWritable(); });
}

void FrameConnection::ReadSome() {
  std::array<char, kChunk> chunk;
  const size_t most = std::min(chunk.size(), kFrameLengthSize + limits_.max_frame);
  const Channel::Step step = channel_->Read(chunk.data(), most);
  switch (step.kind) {
    case Channel::Step::Kind::kMoved:
      break;
    case Channel::Step::Kind::kWaitsToRead:
      return;
    case Channel::Step::Kind::kWaitsToWrite:
      read_waits_ = true;
      return WaitToWrite();
    case Channel::Step::Kind::kEnded:
      mistrusted_ = step.why.code == ErrorCode::kNotPermitted;
      return End(step.why.message);
  }
  if (finishing_) return;
  cutter_.Add({chunk.data(), step.bytes});
  CutFrames();
  if (running() && !Charge()) End("all peers together have sent too many bytes of incomplete frames");
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
  Channel::Step step;
  while (unsent() > 0) {
    step = channel_->Write(std::string_view(out_).substr(sent_));
    if (step.kind != Channel::Step::Kind::kMoved) break;
    sent_ += step.bytes;
  }
  if (step.kind == Channel::Step::Kind::kEnded) {
    mistrusted_ = step.why.code == ErrorCode::kNotPermitted;
    return Abort(step.why.message);
  }
  if (unsent() > 0) {
    // Moving the rest to the front costs at most as much as the bytes sent since the last move.
    if (sent_ > out_.size() / 2) out_.erase(0, std::exchange(sent_, 0));
    if (step.kind == Channel::Step::Kind::kWaitsToWrite) return WaitToWrite();
    return writable_.reset();  // OnReadable() continues the writing
  }
  std::string().swap(out_);
  sent_ = 0;
  writable_.reset();
  if (std::exchange(finishing_, false)) Abort("finished");
}

void FrameConnection::End(const std::string& reason) {
  // `reason` is copied, because it may refer to a member of this object.
  const std::string last = reason;
  DiscardUnread(channel_->socket());
  Close();
  callbacks_.on_closed(last);
}

}  // namespace tony
