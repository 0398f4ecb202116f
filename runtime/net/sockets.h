// Who is at the other end of a Unix socket, and whether that is somebody whom a job's processes talk to.
//
// The kernel writes a user who has no name in our user namespace as the overflow uid (65534, "nobody"): many strangers
// under one number. So that number is believed only where every user has a name, as on a machine outside of all user
// namespaces; elsewhere it is refused, also where it is our own.
#pragma once

#include <sys/types.h>

#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "runtime/base/endpoint.h"
#include "runtime/base/event_loop.h"
#include "runtime/base/result.h"
#include "runtime/base/unique_fd.h"

namespace tony {

struct Peer {
  uid_t uid = 0;
  pid_t pid = 0;
};

// For an accepted socket who connected, for a connected one who listens. kUnavailable: not a Unix socket.
Result<Peer> PeerOf(const UniqueFd& socket);

// How this process's user namespace writes users.
struct UserNames {
  uid_t overflow = 65534;
  bool complete = false;  // every user has a name: nobody is written as the overflow uid but who has it
};
UserNames ReadUserNames();  // what cannot be read is taken for a namespace with strangers

// Root, or one of `own`, and not perhaps somebody else. Pure.
bool IsOneOf(uid_t peer, const std::vector<uid_t>& own, const UserNames& names);

// kNotPermitted: this process's own user cannot be told from strangers, so that no job can run.
Status CheckOwnUser();

// TCP sockets by numeric IPv4 address.

// The length of a listening socket's queue; the kernel cuts it to somaxconn. With less, ten thousand executors that
// join at once wait for retransmitted SYNs, or try again and again.
inline constexpr int kMostPending = 65535;

// A listening, non-blocking, close-on-exec socket. kUnavailable if the address cannot be bound.
Result<UniqueFd> ListenOn(const Endpoint& address);
Result<Endpoint> BoundAddress(const UniqueFd& socket);
// A non-blocking, close-on-exec socket whose connect() may still be under way.
Result<UniqueFd> StartConnect(const Endpoint& address);

// For either end: what is sent leaves at once, and a peer whose host has vanished is noticed within 30 s.
void ConfigureConnected(const UniqueFd& socket);

bool IsLoopback(const std::string& host);                 // a number that only this machine reaches
Result<Endpoint> PeerAddress(const UniqueFd& connected);  // whom it is connected with

// A listening socket on the loop. Loop thread only.

// Accepts until it is destroyed. The last descriptors that this process may open are not for newcomers: files must be
// written and others reached whoever connects. Then somebody has to make room, or the newcomer is closed. With none
// left at all it pauses for a moment, and newcomers wait in the kernel's queue.
class Listener {
 public:
  using OnAccept = std::function<void(UniqueFd socket)>;  // configured; must not destroy the listener
  // Closes a connection that matters less than a new one; false: there is none.
  using MakeRoom = std::function<bool()>;
  // Whether a newcomer would be served now; false: it waits in the kernel's queue, and is asked about again soon.
  using MayAccept = std::function<bool()>;

  // `host` is a numeric IPv4 address. kUnavailable if the address cannot be bound.
  static Result<std::unique_ptr<Listener>> Open(EventLoop& loop, const std::string& host, int port, OnAccept on_accept);
  Listener(EventLoop& loop, UniqueFd socket, int port, OnAccept on_accept);
  int port() const { return port_; }
  void WhenShort(MakeRoom make_room) { make_room_ = std::move(make_room); }
  void While(MayAccept may_accept) { may_accept_ = std::move(may_accept); }

 private:
  void Resume();
  void Pause();
  void AcceptSome();

  EventLoop& loop_;
  UniqueFd socket_;
  int port_;
  OnAccept on_accept_;
  MakeRoom make_room_ = [] { return false; };
  MayAccept may_accept_ = [] { return true; };
  bool starved_ = false;  // said so already
  EventLoop::Timer pause_;
  EventLoop::FdWatch readable_;
};

// Unix sockets by folder and name. The path may be longer than the 107 bytes that an address has room for, because it
// is reached by way of an open folder; nor does the path then stand in /proc/net/unix, which every user can read.

struct SocketPlace {
  std::filesystem::path folder;
  std::string name;  // in `folder`, at most 80 bytes
};
std::string ToString(const SocketPlace& place);

enum class SocketKind { kStream, kMessages };

// A listening, non-blocking, close-on-exec socket that its owner alone may connect to (mode 0600). A name that is there
// already is replaced: the caller knows that it is stale. kUnavailable if it cannot be made.
Result<UniqueFd> ListenAt(const SocketPlace& place, SocketKind kind, int backlog);

// A connected, non-blocking, close-on-exec socket. Nothing: the listener's queue is full, which is no sign of its
// death; try again later. Never blocks. kUnavailable: nobody listens there.
Result<std::optional<UniqueFd>> ConnectTo(const SocketPlace& place, SocketKind kind);

void RemoveSocket(const SocketPlace& place);  // its name; harmless if it is gone

}  // namespace tony
