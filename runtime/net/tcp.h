// TCP sockets by numeric IPv4 address.
#pragma once

#include <string>

#include "runtime/base/endpoint.h"
#include "runtime/base/result.h"
#include "runtime/base/unique_fd.h"

namespace tony {

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

}  // namespace tony
