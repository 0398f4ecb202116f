// Reserves a port for a task, so that no other process gets it.
//
// The port is bound for IPv4 and IPv6 until the task's process starts. Then both sockets are closed. Otherwise a server
// could not bind the port if it sets neither SO_REUSEADDR nor SO_REUSEPORT, or if it listens at [::]. Two properties
// keep other processes away until the server binds the port. The port is quiet: the kernel never chooses it for bind()
// with port 0 or for connect(). The port also has a name, by which other executors on this machine see that it is
// taken. The name is an abstract socket. It lives in the network namespace of the port, and disappears with the process
// that holds it.
//
// If the kernel may choose any port, no port is quiet. In this case a socket that never listens and has both options
// reserves an ephemeral port, which the kernel has chosen. A server of the same user that sets one of the options can
// bind this port as if it were free.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "runtime/base/result.h"
#include "runtime/base/unique_fd.h"

namespace tony::executor {

class PortReservation {
 public:
  // Reserves a quiet port if possible, otherwise an ephemeral one. kUnavailable: no port is left.
  static Result<PortReservation> Make();
  static Result<PortReservation> MakeEphemeral();  // reserves an ephemeral port

  int port() const { return port_; }
  bool is_quiet() const { return name_.valid(); }

  // Closes the sockets, so that the task's process can bind the port when it starts.
  void LetGo();

  // Binds the port again after LetGo(), for the next process. bind() is called without socket options, so it fails
  // while a connection of the previous process lingers, as it would fail for a server without options. If bind() fails
  // and `may_change` is true, another port is reserved; if `may_change` is false, the port stays unbound. kUnavailable:
  // no port is left.
  Status Renew(bool may_change);

 private:
  PortReservation(int port, UniqueFd name) : port_(port), name_(std::move(name)) {}
  bool Hold();

  int port_ = 0;
  UniqueFd name_;              // invalid for an ephemeral port
  UniqueFd socket_, socket6_;  // invalid after LetGo()
};

using ReservedPorts = std::map<std::string, PortReservation>;
// Reserves one port for each name. Returns an error, and keeps no port, if not all can be reserved.
Result<ReservedPorts> ReservePorts(const std::vector<std::string>& names);

}  // namespace tony::executor
