// The port of a task, kept from others for the whole attempt.
//
// The socket is bound on all IPv4 addresses, never listens, and has SO_REUSEADDR and SO_REUSEPORT both set. So the
// kernel gives the port to nobody else, while a server of the same user that sets either option (PyTorch, JAX, gRPC,
// Python's socketserver, ...) may bind it and gets every connection. A server that sets neither gets EADDRINUSE:
// such programs take any free port themselves; README.md says how to live with that.
#pragma once

#include "runtime/base/result.h"
#include "runtime/base/unique_fd.h"

namespace tony::executor {

class PortReservation {
 public:
  static Result<PortReservation> Make();  // an ephemeral port; kUnavailable when none is left
  int port() const { return port_; }

 private:
  PortReservation(UniqueFd socket, int port) : socket_(std::move(socket)), port_(port) {}
  UniqueFd socket_;
  int port_;
};

}  // namespace tony::executor
