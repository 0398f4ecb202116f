#include "runtime/net/sockets.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <cstring>
#include <fstream>
#include <limits>
#include <utility>

#include "runtime/base/check.h"
#include "runtime/base/log.h"
#include "runtime/base/strings.h"

namespace tony {
namespace {

bool EveryUserIsMapped() {
  // Each line of uid_map maps a range: it contains the first uid in this user namespace, the first uid outside of it,
  // and the number of uids. If every user is mapped, the numbers add up to all uids except the last, which is not
  // valid.
  std::ifstream map("/proc/self/uid_map");
  uint64_t first = 0, outside = 0, count = 0, mapped = 0;
  while (map >> first >> outside >> count) mapped += count;
  return mapped >= std::numeric_limits<uint32_t>::max();
}

}  // namespace

Result<Peer> PeerOf(const UniqueFd& socket) {
  struct ucred credentials = {};
  socklen_t size = sizeof credentials;
  int domain = 0;
  socklen_t domain_size = sizeof domain;
  if (::getsockopt(socket.get(), SOL_SOCKET, SO_DOMAIN, &domain, &domain_size) != 0 || domain != AF_UNIX)
    return UnavailableError("a peer's user is known only on a Unix socket");
  if (::getsockopt(socket.get(), SOL_SOCKET, SO_PEERCRED, &credentials, &size) != 0)
    return UnavailableError("query a peer's user: ", ErrnoText(errno));
  return Peer{credentials.uid, credentials.pid};
}

UserNames ReadUserNames() {
  UserNames names{.complete = EveryUserIsMapped()};
  std::ifstream("/proc/sys/kernel/overflowuid") >> names.overflow;
  return names;
}

bool IsOneOf(uid_t peer, const std::vector<uid_t>& own, const UserNames& names) {
  if (peer == names.overflow && !names.complete) return false;
  return peer == 0 || std::ranges::find(own, peer) != own.end();
}

Status CheckOwnUser() {
  const UserNames names = ReadUserNames();
  if (IsOneOf(::geteuid(), {::geteuid()}, names)) return Ok();
  return NotPermittedError(
      "in this user namespace uid ", names.overflow,
      " stands for every unmapped user: a job's processes could not distinguish their own user from "
      "strangers; expected a mapped user, as with \"unshare --map-root-user\"");
}

namespace {

constexpr unsigned kUnansweredMillis = 30'000;
constexpr int kKeepIdleSeconds = 10;
constexpr int kKeepIntervalSeconds = 5;

Error Failed(const char* what, const Endpoint& address, int error) {
  return UnavailableError(what, " ", ToString(address), ": ", ErrnoText(error));
}

Result<sockaddr_in> AddressOf(const Endpoint& endpoint) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  const bool numeric = ::inet_pton(AF_INET, endpoint.host.c_str(), &address.sin_addr) == 1;
  if (!numeric || endpoint.port < 0 || endpoint.port > UINT16_MAX)
    return UnavailableError(ToString(endpoint), ": not an IPv4 address and port");
  address.sin_port = htons(static_cast<uint16_t>(endpoint.port));
  return address;
}

// Sets an option of a socket. A failure is ignored, because the connection works without the option.
void Set(const UniqueFd& socket, int level, int option, int value) {
  (void)::setsockopt(socket.get(), level, option, &value, sizeof value);
}

template <class Call>
Result<Endpoint> Ask(Call call, const char* name, const UniqueFd& socket) {
  sockaddr_in address{};
  socklen_t size = sizeof address;
  if (call(socket.get(), reinterpret_cast<sockaddr*>(&address), &size) != 0)
    return UnavailableError(name, ": ", ErrnoText(errno));
  char host[INET_ADDRSTRLEN] = "";
  ::inet_ntop(AF_INET, &address.sin_addr, host, sizeof host);
  return Endpoint{host, ntohs(address.sin_port)};
}

UniqueFd NewSocket() { return UniqueFd(::socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0)); }

}  // namespace

Result<UniqueFd> ListenOn(const Endpoint& endpoint) {
  TRY_ASSIGN(const sockaddr_in address, AddressOf(endpoint));
  UniqueFd socket = NewSocket();
  if (!socket.valid()) return Failed("listen on", endpoint, errno);
  Set(socket, SOL_SOCKET, SO_REUSEADDR, 1);
  const auto* generic = reinterpret_cast<const sockaddr*>(&address);
  if (::bind(socket.get(), generic, sizeof address) != 0 || ::listen(socket.get(), kMostPending) != 0)
    return Failed("listen on", endpoint, errno);
  return socket;
}

Result<UniqueFd> Duplicate(int socket) {
  UniqueFd duplicate(::fcntl(socket, F_DUPFD_CLOEXEC, 0));
  if (!duplicate.valid()) return UnavailableError("duplicate a socket: ", ErrnoText(errno), LimitNote(errno));
  return duplicate;
}

Result<Endpoint> BoundAddress(const UniqueFd& socket) { return Ask(::getsockname, "getsockname", socket); }
Result<Endpoint> PeerAddress(const UniqueFd& connected) { return Ask(::getpeername, "getpeername", connected); }

Result<UniqueFd> StartConnect(const Endpoint& endpoint) {
  TRY_ASSIGN(const sockaddr_in address, AddressOf(endpoint));
  UniqueFd socket = NewSocket();
  if (!socket.valid()) return Failed("connect to", endpoint, errno);
  Set(socket, IPPROTO_TCP, TCP_NODELAY, 1);
  const int rc = ::connect(socket.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address);
  if (rc != 0 && errno != EINPROGRESS) return Failed("connect to", endpoint, errno);
  return socket;
}

int ConnectError(const UniqueFd& socket) {
  int error = 0;
  socklen_t size = sizeof error;
  return ::getsockopt(socket.get(), SOL_SOCKET, SO_ERROR, &error, &size) == 0 ? error : errno;
}

void ConfigureConnected(const UniqueFd& socket) {
  Set(socket, IPPROTO_TCP, TCP_NODELAY, 1);
  Set(socket, SOL_SOCKET, SO_KEEPALIVE, 1);
  Set(socket, IPPROTO_TCP, TCP_KEEPIDLE, kKeepIdleSeconds);
  Set(socket, IPPROTO_TCP, TCP_KEEPINTVL, kKeepIntervalSeconds);
  Set(socket, IPPROTO_TCP, TCP_USER_TIMEOUT, kUnansweredMillis);
}

bool IsLoopback(const std::string& host) {
  in_addr address{};
  return ::inet_pton(AF_INET, host.c_str(), &address) == 1 && ntohl(address.s_addr) >> 24 == IN_LOOPBACKNET;
}

namespace {

constexpr Duration kPause(50);
// The number of connections that are accepted in a row before the event loop continues with other work.
constexpr int kBatch = 64;

// The number of reserved descriptors. An AM needs fewer descriptors than this at a time, in addition to its accepted
// connections. It needs them for the lease, the status and the journal (each as a new file), and for the folder of kill
// requests. It also needs them for the history and the connection to its keeper (the supervisor of one job on one
// machine).
constexpr rlim_t kReserved = 32;

// Returns whether `newest` is one of the reserved descriptors. A new descriptor has the lowest free number, so the
// number shows how many are left below the limit.
bool IsReservedDescriptor(const UniqueFd& newest) {
  rlimit limit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY) return false;
  return static_cast<rlim_t>(newest.get()) >= limit.rlim_cur - std::min(kReserved, limit.rlim_cur / 4);
}

}  // namespace

Result<std::unique_ptr<Listener>> Listener::Open(EventLoop& loop, const std::string& host, int port,
                                                 OnAccept on_accept) {
  TRY_ASSIGN(UniqueFd socket, ListenOn({host, port}));
  TRY_ASSIGN(const Endpoint bound, BoundAddress(socket));
  return std::make_unique<Listener>(loop, std::move(socket), bound.port, std::move(on_accept));
}

Listener::Listener(EventLoop& loop, UniqueFd socket, int port, OnAccept on_accept)
    : loop_(loop), socket_(std::move(socket)), port_(port), on_accept_(std::move(on_accept)) {
  Resume();
}

void Listener::Resume() {
  readable_ = loop_.WhenReadable(socket_.get(), [this] { AcceptSome(); });
}

void Listener::Pause() {
  readable_.reset();
  pause_ = loop_.After(kPause, [this] { Resume(); });
}

void Listener::AcceptSome() {
  for (int i = 0; i < kBatch; ++i) {
    if (!may_accept_()) return Pause();
    UniqueFd accepted(::accept4(socket_.get(), nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC));
    // Every error except a shortage of resources (IsShortage()) belongs to a connection that has already ended
    // (accept(2)). After such an error, the loop calls this function again while the socket is readable.
    if (!accepted.valid() && errno == EMFILE && make_room_()) continue;
    if (!accepted.valid() && IsShortage(errno)) {
      if (!std::exchange(starved_, true)) LogWarn(StrCat("cannot accept connections: ", ErrnoText(errno)));
      return Pause();
    }
    if (!accepted.valid()) return;
    if (IsReservedDescriptor(accepted)) {
      if (!make_room_()) {
        if (!std::exchange(starved_, true))
          LogWarn("connections are refused, because too few file descriptors are left; raise the limit (ulimit -n)");
        continue;
      }
      // Moves the new socket to the lower number that has just been freed. Otherwise the new socket would keep a
      // reserved number.
      UniqueFd lower(::fcntl(accepted.get(), F_DUPFD_CLOEXEC, 0));
      if (lower.valid()) accepted = std::move(lower);
    }
    starved_ = false;
    ConfigureConnected(accepted);
    on_accept_(std::move(accepted));
  }
}

namespace {

Error Failed(const char* what, const SocketPlace& place, int error) {
  return UnavailableError(what, " ", ToString(place), ": ", ErrnoText(error));
}

struct OpenedPlace {
  UniqueFd folder;
  sockaddr_un name{};
  const sockaddr* generic() const { return reinterpret_cast<const sockaddr*>(&name); }
};

Result<OpenedPlace> Open(const SocketPlace& place) {
  OpenedPlace opened{UniqueFd(::open(place.folder.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC)), {}};
  if (!opened.folder.valid()) return Failed("reach", place, errno);
  const std::string path = StrCat("/proc/self/fd/", opened.folder.get(), "/", place.name);
  CHECK(path.size() < sizeof opened.name.sun_path);
  opened.name.sun_family = AF_UNIX;
  std::memcpy(opened.name.sun_path, path.c_str(), path.size() + 1);
  return opened;
}

UniqueFd NewSocket(SocketKind kind) {
  const int type = kind == SocketKind::kStream ? SOCK_STREAM : SOCK_SEQPACKET;
  return UniqueFd(::socket(AF_UNIX, type | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
}

}  // namespace

std::string ToString(const SocketPlace& place) { return (place.folder / place.name).string(); }

Result<UniqueFd> ListenAt(const SocketPlace& place, SocketKind kind, int backlog) {
  TRY_ASSIGN(const OpenedPlace opened, Open(place));
  UniqueFd socket = NewSocket(kind);
  if (!socket.valid()) return Failed("listen on", place, errno);
  RemoveSocket(place);
  // bind() creates the name with the socket's own mode, so other users cannot connect at any moment. chmod()
  // restores what the umask has removed.
  if (::fchmod(socket.get(), 0600) != 0 || ::bind(socket.get(), opened.generic(), sizeof opened.name) != 0 ||
      ::chmod(opened.name.sun_path, 0600) != 0 || ::listen(socket.get(), backlog) != 0)
    return Failed("listen on", place, errno);
  return socket;
}

Result<std::optional<UniqueFd>> ConnectTo(const SocketPlace& place, SocketKind kind) {
  TRY_ASSIGN(const OpenedPlace opened, Open(place));
  UniqueFd socket = NewSocket(kind);
  if (!socket.valid()) return Failed("connect to", place, errno);
  if (::connect(socket.get(), opened.generic(), sizeof opened.name) == 0) return std::optional(std::move(socket));
  if (errno == EAGAIN) return std::optional<UniqueFd>();
  return Failed("connect to", place, errno);
}

void RemoveSocket(const SocketPlace& place) { ::unlink((place.folder / place.name).c_str()); }

}  // namespace tony
