#include "runtime/net/http_server.h"

#include <algorithm>
#include <utility>

#include "runtime/net/tcp.h"

namespace tony {
namespace {

constexpr Duration kStopLimit{250};

}  // namespace

HttpServer::HttpServer(EventLoop& loop, UniqueFd listening, HttpHandler handler, const HttpLimits& limits,
                       Admits admits)
    : loop_(loop), limits_(limits), handler_(std::move(handler)), admits_(std::move(admits)) {
  listener_ =
      std::make_unique<Listener>(loop, std::move(listening), 0, [this](UniqueFd socket) { Add(std::move(socket)); });
  listener_->WhenShort([this] { return CloseOldestStranger(); });
}

HttpServer::~HttpServer() {
  for (const auto& [key, connection] : connections_) connection->Abort();
}

void HttpServer::Add(UniqueFd socket) {
  if (admits_) {
    const auto peer = PeerAddress(socket);
    if (!peer.ok() || !admits_(peer->host)) return;
  }
  if (connections_.size() >= static_cast<size_t>(limits_.max_connections) && !CloseOldestStranger()) return;  // closed
  const uint64_t key = ++last_key_;
  const HttpConnection::Context context{loop_, limits_, handler_};
  const auto connection = std::make_shared<HttpConnection>(context, std::move(socket), [this, key] { Remove(key); });
  connections_[key] = connection;
  connection->Begin();
}

bool HttpServer::CloseOldestStranger() {
  const auto oldest = std::ranges::find_if(connections_, [](const auto& each) { return each.second->IsStranger(); });
  if (oldest == connections_.end()) return false;
  oldest->second->Abort();
  return true;
}

void HttpServer::Remove(uint64_t key) {
  connections_.erase(key);
  if (stopped_ && connections_.empty()) stopping_ = loop_.After(Duration(0), std::exchange(stopped_, nullptr));
}

void HttpServer::Stop(std::function<void()> done) {
  listener_.reset();
  stopped_ = std::move(done);
  const auto connections = connections_;
  for (const auto& [key, connection] : connections) connection->Finish();
  stopping_ = loop_.After(connections_.empty() ? Duration(0) : kStopLimit, [this] {
    if (const auto stopped = std::exchange(stopped_, nullptr)) stopped();
  });
}

}  // namespace tony
