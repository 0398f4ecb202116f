// An AM whose queue of pending connections is full is there, and others are before us.
#include <gmock/gmock.h>
#include <sys/socket.h>
#include <unistd.h>

#include <optional>
#include <vector>

#include "runtime/net/sockets.h"
#include "runtime/rpc/am_connection.h"
#include "tests/unit/rpc/rpc_fixture.h"

namespace tony {
namespace {

using testing::HasSubstr;

const Address kFullAm = SocketName{"am.2.sock"};

// Its queue is full, and nobody empties it but the test.
class CrowdedAm {
 public:
  explicit CrowdedAm(const std::filesystem::path& folder)
      : socket_(*ListenAt({folder, "am.2.sock"}, SocketKind::kStream, 0)) {
    while (auto other = *ConnectTo({folder, "am.2.sock"}, SocketKind::kStream)) others_.push_back(*std::move(other));
  }
  UniqueFd Accept() { return UniqueFd(::accept4(socket_.get(), nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC)); }
  size_t others() const { return others_.size(); }

 private:
  UniqueFd socket_;
  std::vector<UniqueFd> others_;
};

class FullQueueTest : public RpcFixture {
 protected:
  void Heartbeat(ExecutorCalls& client, std::optional<Answer<Acknowledged>>& answer) {
    client.Heartbeat(SomeCaller(), {Phase::kRunning, 1}, [&](const Answer<Acknowledged>& given) { answer = given; });
  }
};

TEST_F(FullQueueTest, AnExecutorWaitsAndWhatItAskedIsSentThen) {
  CrowdedAm am(temp.path());
  const auto client = MakeAmConnection(loop, temp.path(), std::chrono::seconds(30));
  client->Use(kFullAm);
  std::optional<Answer<Acknowledged>> first, second;
  Heartbeat(*client, first);
  Heartbeat(*client, second);
  std::vector<UniqueFd> accepted;
  std::string heard;
  const size_t two = 2 * HeartbeatFrame(1).size();
  EXPECT_TRUE(RunUntil([&] {
    if (UniqueFd socket = am.Accept(); socket.valid()) accepted.push_back(std::move(socket));
    if (accepted.size() <= am.others()) return false;
    char chunk[4096];
    const ssize_t got = ::read(accepted.back().get(), chunk, sizeof chunk);
    if (got > 0) heard.append(chunk, static_cast<size_t>(got));
    return heard.size() >= two;
  }));
  EXPECT_FALSE(first);
  EXPECT_FALSE(second);
}

TEST_F(FullQueueTest, AnExecutorThatHasWaitedForItsLimitKnowsThatTheAmIsThere) {
  const CrowdedAm am(temp.path());
  const auto client = MakeAmConnection(loop, temp.path(), Duration(50));
  client->Use(kFullAm);
  std::optional<Answer<Acknowledged>> beat;
  Heartbeat(*client, beat);
  ASSERT_TRUE(RunUntil([&] { return beat.has_value(); }));
  EXPECT_TRUE(std::get<Disconnected>(*beat).crowded);
}

TEST_F(FullQueueTest, AClientWaitsAndKnowsWhy) {
  CrowdedAm am(temp.path());
  const auto impatient = MakeAmConnection(loop, temp.path(), Duration(50));
  impatient->Use(kFullAm);
  std::optional<Answer<JobStatus>> status;
  impatient->GetStatus("secret", [&](const Answer<JobStatus>& given) { status = given; });
  ASSERT_TRUE(RunUntil([&] { return status.has_value(); }));
  const Error error = ErrorOf(std::get<Disconnected>(*status));
  EXPECT_EQ(error.code, ErrorCode::kUnavailable);
  EXPECT_THAT(error.message, HasSubstr("its queue is full"));
}

}  // namespace
}  // namespace tony
