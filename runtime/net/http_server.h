// A small HTTP/1.1 server for pages that are only looked at: GET and HEAD, no bodies, everything bounded. Garbage
// closes that connection and nothing else. Where there are as many connections as may be, a new one takes the place of
// the oldest stranger, so nobody who does not know the page's address shuts out those who do. Loop thread only.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>

#include "runtime/base/event_loop.h"
#include "runtime/net/http_connection.h"
#include "runtime/net/listener.h"

namespace tony {

class HttpServer {
 public:
  // Whether a connection from this address is served at all; the others are closed before anything is read.
  using Admits = std::function<bool(const std::string& address)>;

  // `listening` is a listening socket. The server answers until it is destroyed, which closes all connections.
  HttpServer(EventLoop& loop, UniqueFd listening, HttpHandler handler, const HttpLimits& limits = {},
             Admits admits = nullptr);
  ~HttpServer();

  size_t connections() const { return connections_.size(); }
  // Closes the listener and, when the answers already given are sent, the connections; `done` is called then, or after
  // a quarter of a second.
  void Stop(std::function<void()> done);

 private:
  void Add(UniqueFd socket);
  bool CloseOldestStranger();  // false: there is none
  void Remove(uint64_t key);

  EventLoop& loop_;
  const HttpLimits limits_;
  const HttpHandler handler_;
  const Admits admits_;  // empty: all are
  uint64_t last_key_ = 0;
  std::map<uint64_t, std::shared_ptr<HttpConnection>> connections_;  // the oldest first
  std::function<void()> stopped_;
  EventLoop::Timer stopping_;
  std::unique_ptr<Listener> listener_;
};

}  // namespace tony
