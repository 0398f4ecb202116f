#include "runtime/rpc/rpc_server.h"

#include <unordered_map>
#include <utility>
#include <vector>

#include "runtime/base/log.h"
#include "runtime/base/strings.h"
#include "runtime/net/listener.h"
#include "runtime/rpc/am_methods.h"
#include "runtime/rpc/server_connection.h"

namespace tony {
namespace {

constexpr Duration kStopLimit = std::chrono::seconds(1);

class LoopRpcServer : public RpcServer {
 public:
  LoopRpcServer(EventLoop& loop, const RpcServerOptions& options, AmService& service)
      : loop_(loop), options_(options), dispatcher_(MakeAmDispatcher(service)) {}

  Status Listen() {
    const auto on_accept = [this](UniqueFd socket) { Add(std::move(socket)); };
    TRY_ASSIGN(listener_, Listener::Open(loop_, options_.host, options_.port, on_accept));
    port_ = listener_->port();
    return Ok();
  }

  int port() const override { return port_; }
  size_t connections() const override { return connections_.size(); }

  void Stop(std::function<void()> done) override {
    listener_.reset();
    stopped_.push_back(std::move(done));
    const auto connections = connections_;  // what runs for an abandoned call may stop us again
    for (const auto& [key, connection] : connections) connection->Stop();
    if (!stopping_) stopping_ = loop_.After(connections_.empty() ? Duration(0) : kStopLimit, [this] { Stopped(); });
  }

 private:
  void Add(UniqueFd socket) {
    if (connections_.size() >= static_cast<size_t>(options_.max_connections)) {
      return LogDebug(StrCat("rpc connection refused: there are ", connections_.size()));
    }
    const uint64_t key = ++last_key_;
    const ServerConnection::Context context{loop_, options_, dispatcher_};
    connections_[key] = std::make_shared<ServerConnection>(context, std::move(socket), [this, key] { Remove(key); });
  }

  void Remove(uint64_t key) {
    connections_.erase(key);
    if (stopping_ && connections_.empty()) stopping_ = loop_.After(Duration(0), [this] { Stopped(); });
  }

  void Stopped() {
    const auto cut_off = std::exchange(connections_, {});
    stopping_.reset();
    const auto stopped = std::exchange(stopped_, {});
    for (const auto& done : stopped) done();  // may destroy us
  }

  EventLoop& loop_;
  RpcServerOptions options_;
  Dispatcher dispatcher_;
  int port_ = 0;
  uint64_t last_key_ = 0;
  std::unordered_map<uint64_t, std::shared_ptr<ServerConnection>> connections_;
  std::unique_ptr<Listener> listener_;
  std::vector<std::function<void()>> stopped_;
  EventLoop::Timer stopping_;  // set: Stop() has been called and is not done
};

}  // namespace

Result<std::unique_ptr<RpcServer>> StartRpcServer(EventLoop& loop, const RpcServerOptions& options,
                                                  AmService& service) {
  auto server = std::make_unique<LoopRpcServer>(loop, options, service);
  TRY(server->Listen());
  return std::unique_ptr<RpcServer>(std::move(server));
}

}  // namespace tony
