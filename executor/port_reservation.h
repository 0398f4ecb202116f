// The port of a task, kept from others for the whole attempt.
//
// The socket is bound on all IPv4 addresses, never listens, and has SO_REUSEADDR and SO_REUSEPORT both set. So the
// kernel gives the port to nobody else, while a server of the same user that sets either option (PyTorch, JAX, gRPC,
// Python's socketserver, ...) may bind it and gets every connection. A server that sets neither gets EADDRINUSE. Where
// the framework is known for one (BindsPortAlone), the reservation is let go as the process starts.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "runtime/base/result.h"
#include "runtime/base/unique_fd.h"

namespace tony::executor {

class PortReservation {
 public:
  static Result<PortReservation> Make();  // an ephemeral port; kUnavailable when none is left

  // For a server that sets no option, and for which LetGo() makes room: a port that the kernel gives to nobody who asks
  // for any, and no other executor takes as long as this lives. Where there is no such port, an ephemeral one.
  static Result<PortReservation> MakeToLetGo();

  int port() const { return port_; }

  void LetGo();

  // Another port in place of one that was let go: connections of the process that had it may linger there, and keep a
  // server that sets no option out. Without that nothing changes. kUnavailable when none is left.
  Status Renew();

 private:
  PortReservation(UniqueFd socket, int port) : socket_(std::move(socket)), port_(port) {}
  UniqueFd socket_;  // none once it was let go
  UniqueFd guard_;   // of one that may be let go
  int port_;
};

// One for each name; none if not all can be had.
Result<std::map<std::string, PortReservation>> ReservePorts(const std::vector<std::string>& names);

}  // namespace tony::executor
