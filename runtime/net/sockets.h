// TCP sockets, Unix sockets, and the user at the other end of a Unix socket.
//
// The kernel reports every user who is not mapped in this user namespace as the overflow uid (65534), so this uid may
// stand for many strangers. Therefore the overflow uid is accepted only if every user is mapped, as on a machine
// outside of all user namespaces. Otherwise the overflow uid is refused, even if this process itself has that uid.
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

// Returns the process at the other end of a Unix socket. For an accepted socket, this is the process that connected.
// For a socket that this process connected, it is the process that listens. kUnavailable: the socket is not a Unix
// socket.
Result<Peer> PeerOf(const UniqueFd& socket);

// The mapping of users in this process's user namespace.
struct UserNames {
  uid_t overflow = 65534;
  // True if every user is mapped. In this case the overflow uid stands only for the user who has that number.
  bool complete = false;
};
// Reads the mapping. If it cannot be read, `complete` is false.
UserNames ReadUserNames();

// Returns whether `peer` is root or one of `own`, and cannot be another user with the same number. Pure.
bool IsOneOf(uid_t peer, const std::vector<uid_t>& own, const UserNames& names);

// Checks this process's own user. kNotPermitted: the user cannot be distinguished from strangers, so no job can run.
Status CheckOwnUser();

// TCP sockets with numeric IPv4 addresses.

// The length of a listening socket's queue; the kernel cuts it to somaxconn. With a shorter queue, ten thousand
// executors that join at once would wait for retransmitted SYNs, or try again and again.
inline constexpr int kMostPending = 65535;

// Returns a listening, non-blocking, close-on-exec socket. kUnavailable: the address cannot be bound.
Result<UniqueFd> ListenOn(const Endpoint& address);
// Returns a close-on-exec duplicate of a socket. kUnavailable: no descriptor is free.
Result<UniqueFd> Duplicate(int socket);
Result<Endpoint> BoundAddress(const UniqueFd& socket);
// Returns a non-blocking, close-on-exec socket that may still be connecting.
Result<UniqueFd> StartConnect(const Endpoint& address);
// Returns 0 if the connection was made, else the errno of its failure. The socket no longer connects.
int ConnectError(const UniqueFd& socket);

// Configures either end of a connection: data is sent without delay, and a peer whose host has vanished is noticed
// within 30 s.
void ConfigureConnected(const UniqueFd& socket);

// Returns whether `host` is a numeric address that only this machine reaches.
bool IsLoopback(const std::string& host);
Result<Endpoint> PeerAddress(const UniqueFd& connected);  // address of the other end

// A Listener accepts connections on the loop until it is destroyed. Loop thread only. The last descriptors that this
// process may open are reserved, because the process must write files and reach other processes, however many clients
// connect. When only reserved descriptors are left, an existing connection has to make room, or the new connection is
// closed. When no descriptor is left, the listener pauses for a moment, and new connections wait in the kernel's queue.
class Listener {
 public:
  // Receives each accepted socket, which ConfigureConnected() has configured. The function must not destroy the
  // listener.
  using OnAccept = std::function<void(UniqueFd socket)>;
  // Closes a connection that matters less than a new one. Returns false if no such connection exists.
  using MakeRoom = std::function<bool()>;
  // Returns whether a new connection would be served now. After false the connection waits in the kernel's queue, and
  // the function is called again soon.
  using MayAccept = std::function<bool()>;

  // `host` is a numeric IPv4 address. kUnavailable: the address cannot be bound.
  static Result<std::unique_ptr<Listener>> Open(EventLoop& loop, const std::string& host, int port, OnAccept on_accept);
  Listener(EventLoop& loop, UniqueFd socket, int port, OnAccept on_accept);
  int port() const { return port_; }
  void OnDescriptorShortage(MakeRoom make_room) { make_room_ = std::move(make_room); }
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
  bool starved_ = false;  // the shortage has been logged
  EventLoop::Timer pause_;
  EventLoop::FdWatch readable_;
};

// The place of a Unix socket: a folder, and a name in this folder. The socket is reached through an open descriptor of
// the folder. Therefore the path may be longer than the 107 bytes of a socket's address, and is not visible in
// /proc/net/unix, which every user can read.

struct SocketPlace {
  std::filesystem::path folder;
  std::string name;  // in `folder`, at most 80 bytes
};
std::string ToString(const SocketPlace& place);

enum class SocketKind { kStream, kMessages };

// Returns a listening, non-blocking, close-on-exec socket to which only its owner may connect (mode 0600). An existing
// file of this name is replaced, because the caller knows that it is stale. kUnavailable: the socket cannot be
// created.
Result<UniqueFd> ListenAt(const SocketPlace& place, SocketKind kind, int backlog);

// Returns a connected, non-blocking, close-on-exec socket. nullopt: the listener's queue is full, which does not mean
// that the listener has died; try again later. Never blocks. kUnavailable: no process listens there.
Result<std::optional<UniqueFd>> ConnectTo(const SocketPlace& place, SocketKind kind);

// Removes the name of a socket if it exists.
void RemoveSocket(const SocketPlace& place);

}  // namespace tony
