// Reserves a port for a task, so that no other process gets it.
//
// The port is bound for IPv4 and IPv6 until the task's process starts. Then both sockets are closed, because a server
// that sets neither SO_REUSEADDR nor SO_REUSEPORT, or listens at [::], cannot bind a port that is held. No other
// process takes the port before the server does. The port is a quiet one: the kernel gives it neither to bind() with
// port 0 nor to connect(). Other executors on this machine see by a name that the port is taken. The name is an
// abstract socket, which lives in the same network namespace as the port, and ends with its process.
//
// If the kernel gives away all ports, no port is quiet. Then an ephemeral port is held by a socket that never listens
// and has both options. A server of the same user that sets one of the options can bind this port as if it were free.
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

  // Holds the port again after LetGo(), for the next process. A lingering connection of the previous process would keep
  // out a server that sets no option, and then the port cannot be held. In this case another port is taken if
  // `may_change` is true; otherwise this one stays unbound. kUnavailable: no port is left.
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
