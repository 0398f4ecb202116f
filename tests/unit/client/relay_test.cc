#include "runtime/client/relay.h"

#include <gtest/gtest.h>
#include <sys/socket.h>

#include <optional>

#include "tests/unit/page/raw_browser.h"

namespace tony {
namespace {

// A server that sends back all that it has received, once the client has ended its direction.
class EchoServer {
 public:
  explicit EchoServer(EventLoop& loop) : loop_(loop) {
    listener_ = *Listener::Open(loop, kLoopback, 0, [this](UniqueFd socket) { Take(std::move(socket)); });
  }
  Endpoint at() const { return {kLoopback, listener_->port()}; }

 private:
  void Take(UniqueFd socket) {
    socket_ = std::move(socket);
    readable_ = loop_.WhenReadable(socket_.get(), [this] { Read(); });
  }
  void Read() {
    char chunk[4096];
    const ssize_t size = recv(socket_.get(), chunk, sizeof chunk, 0);
    if (size > 0) received_.append(chunk, static_cast<size_t>(size));
    if (size != 0) return;
    readable_ = nullptr;
    writable_ = loop_.WhenWritable(socket_.get(), [this] { Write(); });
  }
  void Write() {
    const ssize_t size = send(socket_.get(), received_.data(), received_.size(), MSG_NOSIGNAL);
    if (size > 0) received_.erase(0, static_cast<size_t>(size));
    if (!received_.empty()) return;
    writable_ = nullptr;
    socket_.Reset();
  }

  EventLoop& loop_;
  std::unique_ptr<Listener> listener_;
  std::string received_;
  UniqueFd socket_;
  EventLoop::FdWatch readable_, writable_;
};

class RelayTest : public testing::Test {
 protected:
  // Sends `bytes` through the relay, ends this direction, and returns all that comes back before the connection closes.
  std::string SendAndReceive(const std::string& bytes) {
    const UniqueFd socket = *StartConnect({kLoopback, relay_->port()});
    std::string received;
    size_t sent = 0;
    bool has_ended = false;
    EXPECT_TRUE(RunUntil(loop_, [&] {
      const ssize_t n = send(socket.get(), bytes.data() + sent, bytes.size() - sent, MSG_NOSIGNAL | MSG_DONTWAIT);
      if (n > 0) sent += static_cast<size_t>(n);
      if (sent == bytes.size() && !has_ended) has_ended = shutdown(socket.get(), SHUT_WR) == 0;
      char chunk[1 << 16];
      const ssize_t got = recv(socket.get(), chunk, sizeof chunk, MSG_DONTWAIT);
      if (got > 0) received.append(chunk, static_cast<size_t>(got));
      return got == 0 || (got < 0 && errno == ECONNRESET);
    }));
    return received;
  }

  EventLoop loop_;
  std::unique_ptr<Relay> relay_ = *Relay::Open(loop_, 0);
};

TEST_F(RelayTest, BytesPassUnchangedInBothDirectionsAlsoAfterOneDirectionHasEnded) {
  EchoServer server(loop_);
  relay_->LeadTo(server.at());
  std::string bytes;
  for (int i = 0; i < 60'000; ++i) bytes += std::to_string(i);
  EXPECT_EQ(SendAndReceive("small"), "small");
  EXPECT_EQ(SendAndReceive(bytes), bytes);
}

TEST_F(RelayTest, ConnectionsFollowTheTargetAndAreClosedIfItRefusesThem) {
  std::optional<EchoServer> gone(loop_);
  relay_->LeadTo(gone->at());
  gone.reset();
  EXPECT_EQ(SendAndReceive("x"), "");
  EchoServer other(loop_);
  relay_->LeadTo(other.at());
  EXPECT_EQ(SendAndReceive("y"), "y");
}

TEST_F(RelayTest, AConnectionWithoutATargetIsClosed) { EXPECT_EQ(SendAndReceive("x"), ""); }

TEST_F(RelayTest, APortInUseIsAnError) {
  EXPECT_EQ(Relay::Open(loop_, relay_->port()).error().code, ErrorCode::kUnavailable);
}

}  // namespace
}  // namespace tony
