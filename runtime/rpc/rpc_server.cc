#include "runtime/rpc/rpc_server.h"

#include <unistd.h>

#include <map>
#include <unordered_map>
#include <utility>

#include "runtime/base/log.h"
#include "runtime/base/strings.h"
#include "runtime/net/sockets.h"
#include "runtime/os/users.h"
#include "runtime/rpc/am_methods.h"
#include "runtime/rpc/server_connection.h"

namespace tony {
namespace {

constexpr Duration kStopLimit = std::chrono::seconds(1);
// A stranger (a connection that has not sent the job's token yet) is dropped after this number of checks by the event
// loop. The server counts checks and not time. After a suspension, the server must read the calls that have arrived
// meanwhile before it drops their senders.
constexpr int kLooks = 5;
// A handshake takes the server a millisecond, and the client as long. With this number of handshakes at a time, both
// sides are always busy. Above this number, only kBeyond further connections are admitted in each kBeyondInterval,
// which even a slow server can handle.
constexpr size_t kMostHandshakes = 256;
constexpr int kBeyond = 64;
constexpr Duration kBeyondInterval{500};

class LoopRpcServer : public RpcServer {
 public:
  LoopRpcServer(EventLoop& loop, const RpcServerOptions& options, AmService& service)
      : loop_(loop), options_(options), dispatcher_(MakeAmDispatcher(service)), budget_{options.max_partial} {}
  ~LoopRpcServer() override { CloseListeners(); }

  Status Listen() {
    for (const Address& at : options_.at) TRY(std::visit([this](const auto& where) { return ListenOne(where); }, at));
    return Ok();
  }

  const std::vector<Address>& addresses() const override { return addresses_; }
  size_t connections() const override { return connections_.size(); }

  void Stop(std::function<void()> done) override {
    CloseListeners();
    looking_.reset();
    stopped_.push_back(std::move(done));
    // A copy is used, because the callback of an abandoned call may call Stop() again.
    const auto connections = connections_;
    for (const auto& [key, connection] : connections) connection->Stop();
    if (!stopping_) stopping_ = loop_.After(connections_.empty() ? Duration(0) : kStopLimit, [this] { Stopped(); });
  }

 private:
  SocketPlace Place(const SocketName& name) const { return {options_.folder, name.value}; }

  Status ListenOne(const SocketName& name) {
    TRY_ASSIGN(UniqueFd socket, ListenAt(Place(name), SocketKind::kStream, kMostPending));
    return Accept(std::move(socket), name, Plain);
  }

  Status ListenOne(const Endpoint& endpoint) {
    if (!options_.tls && !IsLoopback(endpoint.host))
      return NotPermittedError("listen on ", ToString(endpoint), ": an address beyond this machine needs TLS");
    TRY_ASSIGN(UniqueFd socket, options_.inherited < 0 ? ListenOn(endpoint) : Duplicate(options_.inherited));
    TRY_ASSIGN(const Endpoint bound, BoundAddress(socket));
    TRY(Accept(std::move(socket), Endpoint{endpoint.host, bound.port}, options_.tls ? options_.tls : Plain));
    if (options_.tls) listeners_.back()->While([this] { return MayBeginHandshake(); });
    return Ok();
  }

  static Result<std::unique_ptr<Channel>> Plain(UniqueFd socket) { return MakePlainChannel(std::move(socket)); }

  Status Accept(UniqueFd listening, Address at, MakeChannel channel) {
    addresses_.push_back(std::move(at));
    const auto add = [this, channel = std::move(channel)](UniqueFd socket) { Add(std::move(socket), channel); };
    listeners_.push_back(std::make_unique<Listener>(loop_, std::move(listening), 0, add));
    listeners_.back()->OnDescriptorShortage([this] { return MakeRoom(); });
    return Ok();
  }

  void CloseListeners() {
    if (listeners_.empty()) return;
    listeners_.clear();
    for (const Address& at : addresses_) {
      if (const auto* name = std::get_if<SocketName>(&at)) RemoveSocket(Place(*name));
    }
  }

  void Add(UniqueFd socket, const MakeChannel& make_channel) {
    const auto peer = PeerOf(socket);
    if (peer.ok() && !IsOneOf(peer->uid, {::geteuid()}, names_)) {
      if (!std::exchange(refusal_told_, true))
        LogWarn(StrCat("refused a connection from uid ", peer->uid, "; only the job's user and root may connect"));
      return;
    }
    if (std::ssize(connections_) >= options_.max_connections && !MakeRoom())
      return LogDebug(StrCat("rpc connection refused, open connections: ", connections_.size()));
    auto channel = make_channel(std::move(socket));
    if (!channel.ok()) return LogDebug(StrCat("rpc connection refused: ", channel.error().message));
    if (std::ssize(strangers_) >= options_.max_strangers) DropOldestStranger();
    const uint64_t key = ++last_key_;
    strangers_[key] = 0;
    const ServerConnection::Context context{loop_, options_, dispatcher_, budget_};
    connections_[key] = std::make_shared<ServerConnection>(
        context, *std::move(channel), peer.ok() ? OtherUser(peer->uid) : "",
        ServerConnection::Events{[this, key] { strangers_.erase(key); }, [this, key] { Remove(key); }});
    if (!looking_) LookSoon();
  }

  // Returns true if another handshake may begin now. When thousands of executors connect at once, most of them wait in
  // the kernel's queue. If all handshakes began at once, too many connections would wait. The server would drop the
  // connections that have waited longest before they could complete their handshakes. Connections that never complete
  // their handshakes delay the others only for a short time.
  bool MayBeginHandshake() {
    if (strangers_.size() < kMostHandshakes) return true;
    if (const Instant now = loop_.Now(); now >= next_beyond_) {
      next_beyond_ = now + kBeyondInterval;
      beyond_left_ = kBeyond;
    }
    if (beyond_left_ == 0) return false;
    --beyond_left_;
    return true;
  }

  void LookSoon() {
    looking_ = loop_.After(options_.stranger_limit / kLooks, [this] { LookAtStrangers(); });
  }

  void LookAtStrangers() {
    std::vector<uint64_t> overdue;
    for (auto& [key, looks] : strangers_) {
      if (++looks > kLooks) overdue.push_back(key);
    }
    for (const uint64_t key : overdue) Remove(key);
    looking_.reset();
    if (!strangers_.empty()) LookSoon();
  }

  bool DropOldestStranger() {
    if (strangers_.empty()) return false;
    Remove(strangers_.begin()->first);
    return true;
  }

  // Called only if there are too many connections, because DropMostSilent() walks through all of them.
  bool MakeRoom() { return DropOldestStranger() || DropMostSilent(); }

  bool DropMostSilent() {
    auto silent = connections_.end();
    for (auto it = connections_.begin(); it != connections_.end(); ++it) {
      if (it->second->AwaitsAnAnswer()) continue;
      if (silent == connections_.end() || it->second->heard() < silent->second->heard()) silent = it;
    }
    if (silent == connections_.end()) return false;
    Remove(silent->first);
    return true;
  }

  void Remove(uint64_t key) {
    strangers_.erase(key);
    // The connection leaves the map first, because the end of its calls may call Remove() again.
    const auto gone = connections_.extract(key);
    if (stopping_ && connections_.empty()) stopping_ = loop_.After(Duration(0), [this] { Stopped(); });
  }

  void Stopped() {
    const auto cut_off = std::exchange(connections_, {});
    stopping_.reset();
    const auto stopped = std::exchange(stopped_, {});
    for (const auto& done : stopped) done();  // may destroy this server
  }

  EventLoop& loop_;
  const RpcServerOptions options_;
  Dispatcher dispatcher_;
  FrameConnection::ReadBudget budget_;
  const UserNames names_ = ReadUserNames();
  bool refusal_told_ = false;
  uint64_t last_key_ = 0;
  std::unordered_map<uint64_t, std::shared_ptr<ServerConnection>> connections_;
  // The keys of strangers, oldest first, with the number of checks so far.
  std::map<uint64_t, int> strangers_;
  Instant next_beyond_{};
  int beyond_left_ = 0;
  EventLoop::Timer looking_;  // set while strangers exist
  std::vector<Address> addresses_;
  std::vector<std::unique_ptr<Listener>> listeners_;
  std::vector<std::function<void()>> stopped_;
  EventLoop::Timer stopping_;  // set from Stop() until its end
};

}  // namespace

Result<std::unique_ptr<RpcServer>> StartRpcServer(EventLoop& loop, const RpcServerOptions& options,
                                                  AmService& service) {
  auto server = std::make_unique<LoopRpcServer>(loop, options, service);
  TRY(server->Listen());
  return std::unique_ptr<RpcServer>(std::move(server));
}

}  // namespace tony
