#include "runtime/scheduler/local/message_channel.h"

#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>

#include "runtime/scheduler/local/keeper_protocol.h"

namespace tony {
namespace {

ucred PeerOf(int socket) {
  ucred peer{};
  socklen_t size = sizeof peer;
  if (getsockopt(socket, SOL_SOCKET, SO_PEERCRED, &peer, &size) != 0) return {-1, static_cast<uid_t>(-1), 0};
  return peer;
}

}  // namespace

MessageChannel::MessageChannel(EventLoop& loop, UniqueFd socket, OnMessage on_message, EventLoop::Callback on_closed)
    : loop_(loop), socket_(std::move(socket)), on_message_(std::move(on_message)), on_closed_(std::move(on_closed)) {
  const int size = 2 * static_cast<int>(kMaxKeeperMessage);
  setsockopt(socket_.get(), SOL_SOCKET, SO_SNDBUF, &size, sizeof size);
  readable_ = loop_.WhenReadable(socket_.get(), [this] { ReadNow(); });
}

pid_t MessageChannel::PeerProcess() const { return PeerOf(socket_.get()).pid; }
bool MessageChannel::PeerIsOurUser() const { return PeerOf(socket_.get()).uid == geteuid(); }

void MessageChannel::Send(std::string message) {
  if (!*alive_) return;
  if (queue_.empty() && SendNow(message)) return;
  queue_.push_back(std::move(message));
  if (!writable_) writable_ = loop_.WhenWritable(socket_.get(), [this] { SendQueued(); });
}

bool MessageChannel::SendNow(const std::string& message) {
  ssize_t sent;
  do {
    sent = send(socket_.get(), message.data(), message.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
  } while (sent < 0 && errno == EINTR);
  // Any other failure is the end of the connection, which the reading side sees.
  return sent >= 0 || (errno != EAGAIN && errno != ENOBUFS);
}

void MessageChannel::SendQueued() {
  while (!queue_.empty() && SendNow(queue_.front())) queue_.pop_front();
  if (queue_.empty()) writable_.reset();
}

void MessageChannel::ReadNow() {
  // So that a talkative peer does not keep the loop from all else; what is left makes it readable again.
  constexpr int kMessagesPerTurn = 64;
  for (int i = 0; i < kMessagesPerTurn && ReadOne(); ++i) {
  }
}

bool MessageChannel::ReadOne() {
  const auto alive = alive_;
  if (!*alive) return false;
  buffer_.resize(kMaxKeeperMessage + 1);
  const ssize_t size = recv(socket_.get(), buffer_.data(), buffer_.size(), MSG_DONTWAIT);
  if (size < 0 && (errno == EAGAIN || errno == EINTR)) return false;
  if (size > 0 && static_cast<size_t>(size) <= kMaxKeeperMessage) {
    const auto on_message = on_message_;  // it may destroy this channel
    on_message(std::string(buffer_, 0, size));
    return *alive;
  }
  *alive = false;
  readable_.reset();
  writable_.reset();
  loop_.Post([on_closed = on_closed_, owner = std::weak_ptr<bool>(alive_)] {
    if (!owner.expired()) on_closed();
  });
  return false;
}

}  // namespace tony
