#include "runtime/keeper/message_channel.h"

#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "runtime/base/strings.h"
#include "runtime/keeper/keeper_protocol.h"
#include "runtime/net/sockets.h"

namespace tony {
namespace {

SocketPlace PlaceIn(const JobRecords& records) { return {records.place(), "keeper.sock"}; }

}  // namespace

Result<UniqueFd> ListenAsKeeper(const JobRecords& records) {
  // The queue is long enough, because at worst one AM reconnects repeatedly.
  constexpr int kBacklog = 16;
  return ListenAt(PlaceIn(records), SocketKind::kMessages, kBacklog);
}

Result<std::optional<UniqueFd>> ReachKeeper(const JobRecords& records) {
  return ConnectTo(PlaceIn(records), SocketKind::kMessages);
}

Result<UniqueFd> ConnectToKeeper(const JobRecords& records) {
  TRY_ASSIGN(auto socket, ReachKeeper(records));
  if (socket) return *std::move(socket);
  return UnavailableError("cannot connect to ", ToString(PlaceIn(records)), ": the queue of the socket is full");
}

void RemoveKeeperSocket(const JobRecords& records) { RemoveSocket(PlaceIn(records)); }

namespace {

// A message with room for one descriptor; the kernel closes further descriptors.
struct Envelope {
  Envelope(char* text, size_t size) : part{text, size} {
    header.msg_iov = &part;
    header.msg_iovlen = 1;
  }
  Envelope(const Envelope&) = delete;  // not copyable: points into itself

  void ExpectDescriptor() {
    header.msg_control = control;
    header.msg_controllen = sizeof control;
  }
  void Enclose(int fd) {
    ExpectDescriptor();
    cmsghdr* enclosed = CMSG_FIRSTHDR(&header);
    enclosed->cmsg_level = SOL_SOCKET;
    enclosed->cmsg_type = SCM_RIGHTS;
    enclosed->cmsg_len = CMSG_LEN(sizeof fd);
    std::memcpy(CMSG_DATA(enclosed), &fd, sizeof fd);
  }
  UniqueFd Descriptor() {
    const cmsghdr* enclosed = CMSG_FIRSTHDR(&header);
    if (!enclosed || enclosed->cmsg_level != SOL_SOCKET || enclosed->cmsg_type != SCM_RIGHTS) return UniqueFd();
    int fd = -1;
    std::memcpy(&fd, CMSG_DATA(enclosed), sizeof fd);
    return UniqueFd(fd);
  }

  iovec part;
  msghdr header{};
  alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int))] = {};
};

}  // namespace

MessageChannel::MessageChannel(EventLoop& loop, UniqueFd socket, OnMessage on_message, EventLoop::Callback on_closed)
    : loop_(loop), socket_(std::move(socket)), on_message_(std::move(on_message)), on_closed_(std::move(on_closed)) {
  const int size = 2 * static_cast<int>(kMaxKeeperMessage);
  setsockopt(socket_.get(), SOL_SOCKET, SO_SNDBUF, &size, sizeof size);
  readable_ = loop_.WhenReadable(socket_.get(), [this] { ReadNow(); });
}

pid_t MessageChannel::PeerProcess() const {
  const auto peer = PeerOf(socket_);
  return peer.ok() ? peer->pid : -1;
}

bool MessageChannel::PeerIsOurUser() const {
  const auto peer = PeerOf(socket_);
  return peer.ok() && peer->uid == geteuid();
}

void MessageChannel::Send(std::string message, UniqueFd with) {
  if (!*alive_) return;
  Outgoing outgoing{std::move(message), std::move(with)};
  if (queue_.empty() && SendNow(outgoing)) return;
  queue_.push_back(std::move(outgoing));
  if (!writable_) writable_ = loop_.WhenWritable(socket_.get(), [this] { SendQueued(); });
}

bool MessageChannel::SendNow(const Outgoing& outgoing) const {
  Envelope envelope(const_cast<char*>(outgoing.message.data()), outgoing.message.size());
  if (outgoing.with.valid()) envelope.Enclose(outgoing.with.get());
  ssize_t sent;
  do {
    sent = sendmsg(socket_.get(), &envelope.header, MSG_NOSIGNAL | MSG_DONTWAIT);
  } while (sent < 0 && errno == EINTR);
  // Any other failure means that the connection has ended, which the reading side notices.
  return sent >= 0 || (errno != EAGAIN && errno != ENOBUFS);
}

void MessageChannel::SendQueued() {
  while (!queue_.empty() && SendNow(queue_.front())) queue_.pop_front();
  if (queue_.empty()) writable_.reset();
}

void MessageChannel::ReadNow() {
  // The limit per turn keeps a busy peer from blocking the loop. If messages are left, the socket stays readable, and
  // the next turn reads them.
  constexpr int kMessagesPerTurn = 64;
  for (int i = 0; i < kMessagesPerTurn && ReadOne(); ++i) {
  }
}

bool MessageChannel::ReadOne() {
  const auto alive = alive_;
  if (!*alive) return false;
  buffer_.resize(kMaxKeeperMessage + 1);
  Envelope envelope(buffer_.data(), buffer_.size());
  envelope.ExpectDescriptor();
  const ssize_t size = recvmsg(socket_.get(), &envelope.header, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
  if (size < 0 && (errno == EAGAIN || errno == EINTR)) return false;
  received_ = size > 0 ? envelope.Descriptor() : UniqueFd();
  if (size > 0 && static_cast<size_t>(size) <= kMaxKeeperMessage) {
    // The callback is copied, because the call may destroy this channel.
    const auto on_message = on_message_;
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
