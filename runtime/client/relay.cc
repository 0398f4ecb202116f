#include "runtime/client/relay.h"

#include <sys/socket.h>

#include <array>
#include <cerrno>
#include <string>
#include <utility>

namespace tony {

class Relay::Connection {
 public:
  Connection(Relay& relay, UniqueFd browser, UniqueFd server)
      : relay_(relay), browser_(std::move(browser)), server_(std::move(server)) {
    connecting_ = relay_.loop_.WhenWritable(server_.get(), [this] { OnConnected(); });
  }

 private:
  struct Way {
    int from = -1, to = -1;
    std::string held{};  // read, and not yet written
    bool has_ended = false;
    EventLoop::FdWatch readable{}, writable{};
  };

  void OnConnected() {
    if (ConnectError(server_) != 0) return Close();
    connecting_ = nullptr;
    ConfigureConnected(server_);
    there_ = {.from = browser_.get(), .to = server_.get()};
    back_ = {.from = server_.get(), .to = browser_.get()};
    for (Way* way : {&there_, &back_}) Await(*way);
  }

  void Await(Way& way) {
    way.writable = nullptr;
    way.readable = relay_.loop_.WhenReadable(way.from, [this, &way] { Read(way); });
  }

  void Read(Way& way) {
    std::array<char, 64 << 10> bytes;
    const ssize_t size = recv(way.from, bytes.data(), bytes.size(), 0);
    if (size < 0 && (errno == EAGAIN || errno == EINTR)) return;
    if (size < 0) return Close();
    way.readable = nullptr;
    if (size == 0) return End(way);
    way.held.assign(bytes.data(), static_cast<size_t>(size));
    Write(way);
  }

  void Write(Way& way) {
    const ssize_t size = send(way.to, way.held.data(), way.held.size(), MSG_NOSIGNAL);
    if (size < 0 && errno != EAGAIN && errno != EINTR) return Close();
    if (size > 0) way.held.erase(0, static_cast<size_t>(size));
    if (way.held.empty()) return Await(way);
    if (!way.writable) way.writable = relay_.loop_.WhenWritable(way.to, [this, &way] { Write(way); });
  }

  void End(Way& way) {
    way.has_ended = true;
    shutdown(way.to, SHUT_WR);
    if (there_.has_ended && back_.has_ended) Close();
  }

  // Destroys this connection.
  void Close() { relay_.connections_.erase(this); }

  Relay& relay_;
  const UniqueFd browser_, server_;
  EventLoop::FdWatch connecting_;
  Way there_, back_;  // from the browser, from the server
};

Relay::Relay(EventLoop& loop) : loop_(loop) {}
Relay::~Relay() = default;

Result<std::unique_ptr<Relay>> Relay::Open(EventLoop& loop, int port) {
  std::unique_ptr<Relay> relay(new Relay(loop));
  TRY_ASSIGN(relay->listener_, Listener::Open(loop, kLoopback, port, [self = relay.get()](UniqueFd browser) {
               self->OnAccept(std::move(browser));
             }));
  return relay;
}

void Relay::OnAccept(UniqueFd browser) {
  if (target_.port == 0) return;
  auto server = StartConnect(target_);
  if (!server.ok()) return;
  auto connection = std::make_unique<Connection>(*this, std::move(browser), *std::move(server));
  connections_.emplace(connection.get(), std::move(connection));
}

}  // namespace tony
