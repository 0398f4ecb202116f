#include "runtime/net/listener.h"

#include <fcntl.h>
#include <sys/resource.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <utility>

#include "runtime/base/log.h"
#include "runtime/base/shortage.h"
#include "runtime/base/strings.h"
#include "runtime/net/tcp.h"

namespace tony {
namespace {

constexpr Duration kPause(50);
constexpr int kBatch = 64;  // then the loop's other work has its turn

// More than a master opens at a time beside its connections: lease, status and journal, each as a new file, the folder
// of kill requests, the way to its keeper, the history.
constexpr rlim_t kReserved = 32;

// A new descriptor has the lowest free number: so many below the limit are left as its number says.
bool IsOfTheReserve(const UniqueFd& newest) {
  rlimit limit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY) return false;
  return static_cast<rlim_t>(newest.get()) >= limit.rlim_cur - std::min(kReserved, limit.rlim_cur / 4);
}

// To a number that has been given back: else each that makes room leaves one below the limit, and takes one above it.
void MoveDown(UniqueFd& newest) {
  UniqueFd lower(::fcntl(newest.get(), F_DUPFD_CLOEXEC, 0));
  if (lower.valid()) newest = std::move(lower);
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
    // Other errors belong to a connection that has already gone (accept(2)); a readable socket brings us back here.
    if (!accepted.valid() && errno == EMFILE && make_room_()) continue;
    if (!accepted.valid() && IsShortage(errno)) {
      if (!std::exchange(starved_, true)) LogWarn(StrCat("cannot accept connections: ", ErrnoText(errno)));
      return Pause();
    }
    if (!accepted.valid()) return;
    if (IsOfTheReserve(accepted)) {
      if (!make_room_()) {
        if (!std::exchange(starved_, true)) LogWarn("connections are refused: too few descriptors are left");
        continue;
      }
      MoveDown(accepted);
    }
    starved_ = false;
    ConfigureConnected(accepted);
    on_accept_(std::move(accepted));
  }
}

}  // namespace tony
