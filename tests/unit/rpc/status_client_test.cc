#include "runtime/rpc/status_client.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <sys/socket.h>

#include <filesystem>

#include "runtime/net/tcp.h"
#include "runtime/net/unix_socket.h"
#include "tests/unit/rpc/rpc_fixture.h"

namespace tony {
namespace {

using testing::HasSubstr;

// The client blocks, so it lives in a thread of its own while the loop runs in the test's.
class StatusClientTest : public RpcFixture {
 protected:
  void SetUp() override {
    service.job.job = {"local-1"};
    service.job.state = "RUNNING";
    service.job.seq = 12;
    service.job.epoch = {7};
    StartServer();
  }
  std::unique_ptr<StatusClient> Connect(const std::string& token = "secret", Duration limit = Duration(5000)) {
    auto client = ConnectStatusClient(temp.path(), SocketName{"am.1.sock"}, token, limit);
    EXPECT_TRUE(client.ok()) << client.error().message;
    return *std::move(client);
  }
};

TEST_F(StatusClientTest, GetStatusBringsTheJobsStatus) {
  InThread([&] {
    const auto client = Connect();
    const auto status = client->GetStatus();
    ASSERT_TRUE(status.ok()) << status.error().message;
    EXPECT_EQ(status->job, JobId{"local-1"});
    EXPECT_EQ(status->seq, 12);
    EXPECT_TRUE(client->GetStatus().ok()) << "a second call on the same connection";
  });
}

TEST_F(StatusClientTest, WatchIsAnsweredWhenThereIsNews) {
  EventLoop::Timer news;
  const auto publish = [&] {
    EXPECT_EQ(service.watch_limits.front(), std::chrono::seconds(60)) << "cut to a minute";
    service.job.seq = 13;
    service.watching.front().Success(service.Status());
  };
  std::function<void()> look = [&] {
    if (!service.watching.empty()) return publish();
    news = loop.After(Duration(1), look);
  };
  loop.Post(look);
  InThread([&] {
    const auto status = Connect()->Watch(12, std::chrono::hours(1), {"w1"});
    ASSERT_TRUE(status.ok()) << status.error().message;
    EXPECT_EQ(status->seq, 13);
  });
  EXPECT_THAT(service.watchers, testing::ElementsAre(WatcherToken{"w1"}));
}

TEST_F(StatusClientTest, KillCarriesReasonAndGrace) {
  InThread([&] {
    const auto client = Connect();
    EXPECT_TRUE(client->Kill({.reason = "typo", .grace = Duration(1500)}).ok());
    EXPECT_TRUE(client->Kill({.reason = "now"}).ok());
  });
  EXPECT_THAT(service.kills, testing::ElementsAre(std::pair("typo", Duration(1500)), std::pair("now", Duration(-1))));
}

TEST_F(StatusClientTest, AKillWithAConditionCarriesItAndBringsTheAnswer) {
  const KillRequest request = {.reason = "late",
                               .grace = Duration(10),
                               .if_owner = {"o1"},
                               .if_watcher = {"w1"},
                               .due = Instant(Duration(1'700'000'000'123))};
  service.kill_answer = KillAnswer::kPlanned;
  InThread([&] {
    const auto killed = Connect()->Kill(request);
    ASSERT_TRUE(killed.ok()) << killed.error().message;
    EXPECT_EQ(killed->answer, KillAnswer::kPlanned);
    EXPECT_EQ(killed->status.job, JobId{"local-1"});
  });
  EXPECT_THAT(service.conditional_kills, testing::ElementsAre(request));
  EXPECT_THAT(service.kills, testing::IsEmpty());
}

TEST_F(StatusClientTest, AttachCarriesTheClaimAndBringsTheAnswer) {
  const Claim claim = {{"o2"}, Duration(30'000)};
  service.attaches = false;
  InThread([&] {
    const auto attached = Connect()->Attach(claim);
    ASSERT_TRUE(attached.ok()) << attached.error().message;
    EXPECT_FALSE(attached->attached);
    EXPECT_EQ(attached->status.job, JobId{"local-1"});
  });
  EXPECT_THAT(service.claims, testing::ElementsAre(claim));
}

TEST_F(StatusClientTest, AWrongTokenIsNotPermittedAndTheClientIsClosed) {
  InThread([&] {
    const auto client = Connect("guessed");
    const auto status = client->GetStatus();
    ASSERT_FALSE(status.ok());
    EXPECT_EQ(status.error().code, ErrorCode::kNotPermitted);
    EXPECT_EQ(client->GetStatus().error().code, ErrorCode::kUnavailable);
  });
}

TEST_F(StatusClientTest, NobodyListeningIsUnavailable) {
  const auto client = ConnectStatusClient(temp.path(), SocketName{"am.2.sock"}, "", Duration(1000));
  ASSERT_FALSE(client.ok());
  EXPECT_EQ(client.error().code, ErrorCode::kUnavailable);
}

TEST_F(StatusClientTest, NoAnswerInTimeIsUnavailable) {
  const UniqueFd silent = *ListenAt({temp.path(), "am.2.sock"}, SocketKind::kStream, 1);
  auto client = ConnectStatusClient(temp.path(), SocketName{"am.2.sock"}, "secret", Duration(50));
  ASSERT_TRUE(client.ok());
  const auto status = (*client)->GetStatus();
  ASSERT_FALSE(status.ok());
  EXPECT_EQ(status.error().code, ErrorCode::kUnavailable);
}

TEST_F(StatusClientTest, NothingIsSentToATcpPort) {
  const UniqueFd impostor = *ListenOn({"127.0.0.1", 0});
  const auto client =
      ConnectStatusClient(temp.path(), Endpoint{"127.0.0.1", *BoundPort(impostor)}, "secret", Duration(50));
  ASSERT_FALSE(client.ok());
  EXPECT_EQ(client.error().code, ErrorCode::kNotPermitted);
  EXPECT_THAT(client.error().message, HasSubstr("a job's token is not sent over TCP"));
  EXPECT_LT(::accept4(impostor.get(), nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC), 0) << "not even connected";
}

TEST_F(StatusClientTest, AKillWithALongReasonIsTaken) {
  const std::string reason(60'000, 'r');
  InThread([&] { EXPECT_TRUE(Connect()->Kill({.reason = reason}).ok()); });
  EXPECT_THAT(service.kills, testing::ElementsAre(std::pair(reason, Duration(-1))));
}

TEST_F(StatusClientTest, AServerThatGoesAwayDuringAWatchIsUnavailable) {
  EventLoop::Timer timer;
  std::function<void()> look = [&] {
    if (service.watching.empty()) {
      timer = loop.After(Duration(1), look);
    } else {
      server->Stop([] {});
    }
  };
  loop.Post(look);
  InThread([&] { EXPECT_EQ(Connect()->Watch(12, Duration(5000), {}).error().code, ErrorCode::kUnavailable); });
}

TEST_F(StatusClientTest, ItsSocketIsCloseOnExec) {
  InThread([&] {
    const auto client = Connect();
    for (const auto& entry : std::filesystem::directory_iterator("/proc/self/fd")) {
      const int flags = ::fcntl(std::stoi(entry.path().filename()), F_GETFD);
      std::error_code gone;
      const auto target = std::filesystem::read_symlink(entry.path(), gone).string();
      const bool socket = !gone && target.starts_with("socket:");
      EXPECT_TRUE(!socket || (flags & FD_CLOEXEC)) << target;
    }
  });
}

}  // namespace
}  // namespace tony
