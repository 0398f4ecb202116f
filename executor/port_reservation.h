// A port of a task, kept from others.
//
// Until the task's process starts, the port is bound for IPv4 and IPv6, so that nobody else gets it. Then it is let go,
// because a server that sets neither SO_REUSEADDR nor SO_REUSEPORT, or listens at [::], cannot bind a port that anybody
// holds. Nobody takes it before the server does: the port is a quiet one, which the kernel gives neither to bind() with
// port 0 nor to connect(), and other executors of this machine see by a name that it is taken. That name is one of the
// abstract sockets, which live in the same network namespace as ports do, and end with their process.
//
// Where the kernel gives away all ports, there is no quiet one. Then an ephemeral port is held by a socket that never
// listens and has both options: a server of the same user that sets one of them binds it as if it were free.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "runtime/base/result.h"
#include "runtime/base/unique_fd.h"

namespace tony::executor {

class PortReservation {
 public:
  static Result<PortReservation> Make();           // a quiet port if there is one; kUnavailable when none is left
  static Result<PortReservation> MakeEphemeral();  // not a quiet one

  int port() const { return port_; }
  bool is_quiet() const { return name_.valid(); }

  // Makes room for the task's process, which is about to start.
  void LetGo();

  // After LetGo(), for the next process: holds the port again. Where a connection of the process before lingers, which
  // keeps a server that sets no option out, takes another port if it `may_change`, and else leaves this one unbound.
  // kUnavailable when none is left.
  Status Renew(bool may_change);

 private:
  PortReservation(int port, UniqueFd name) : port_(port), name_(std::move(name)) {}
  bool Hold();

  int port_ = 0;
  UniqueFd name_;              // of a quiet port
  UniqueFd socket_, socket6_;  // none once it was let go
};

using ReservedPorts = std::map<std::string, PortReservation>;
// One for each name; none if not all can be had.
Result<ReservedPorts> ReservePorts(const std::vector<std::string>& names);

}  // namespace tony::executor
