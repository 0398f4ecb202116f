// Calls of clients to an AM over one connection.
#include <fcntl.h>
#include <gmock/gmock.h>
#include <sys/socket.h>

#include <filesystem>

#include "runtime/net/sockets.h"
#include "runtime/rpc/am_connection.h"
#include "tests/unit/rpc/rpc_fixture.h"

namespace tony {
namespace {

using testing::HasSubstr;

class ClientCallsTest : public RpcFixture {
 protected:
  void SetUp() override {
    service.job.job = {"local-1"};
    service.job.state = "RUNNING";
    service.job.seq = 12;
    service.job.epoch = {7};
    StartServer();
  }
  std::unique_ptr<AmConnection> Connect(const Address& am = SocketName{"am.1.sock"}, Duration limit = Duration(5000)) {
    auto connection = MakeAmConnection(loop, temp.path(), limit);
    connection->Use(am);
    return connection;
  }
  // Makes a call, and waits for its answer.
  template <class T>
  Result<T> Ask(const std::function<void(OnAnswer<T>)>& ask) {
    std::optional<Answer<T>> answer;
    ask([&](const Answer<T>& given) { answer = given; });
    EXPECT_FALSE(answer) << "not from inside the call";
    EXPECT_TRUE(RunUntil([&] { return answer.has_value(); }));
    if (auto* value = std::get_if<T>(&*answer)) return *std::move(value);
    if (const auto* refusal = std::get_if<Refusal>(&*answer)) return ErrorOf(*refusal);
    return ErrorOf(std::get<Disconnected>(*answer));
  }
  Result<JobStatus> Status(AmConnection& am, const std::string& token = "secret") {
    return Ask<JobStatus>([&](const auto& done) { am.GetStatus(token, done); });
  }
  Result<KilledAnswer> Kill(AmConnection& am, const KillRequest& request) {
    return Ask<KilledAnswer>([&](const auto& done) { am.Kill("secret", request, done); });
  }
};

TEST_F(ClientCallsTest, GetStatusReturnsTheJobsStatus) {
  const auto am = Connect();
  const auto status = Status(*am);
  ASSERT_TRUE(status.ok()) << status.error().message;
  EXPECT_EQ(status->job, JobId{"local-1"});
  EXPECT_EQ(status->seq, 12);
  EXPECT_TRUE(Status(*am).ok());
  EXPECT_EQ(server->connections(), 1u) << "a second call on the same connection";
}

TEST_F(ClientCallsTest, AWatchCallReturnsWhenTheJobStatusChanges) {
  const auto am = Connect();
  std::optional<Answer<JobStatus>> answer;
  am->Watch("secret", 12, std::chrono::hours(1), {"w1"}, [&](const Answer<JobStatus>& given) { answer = given; });
  ASSERT_TRUE(RunUntil([&] { return !service.watching.empty(); }));
  EXPECT_EQ(service.watch_limits.front(), std::chrono::seconds(60)) << "cut to a minute";
  EXPECT_FALSE(answer);
  service.job.seq = 13;
  service.watching.front().Success(service.Status());
  ASSERT_TRUE(RunUntil([&] { return answer.has_value(); }));
  EXPECT_EQ(std::get<JobStatus>(*answer).seq, 13);
  EXPECT_THAT(service.watchers, testing::ElementsAre(WatcherToken{"w1"}));
}

TEST_F(ClientCallsTest, AKillCallSendsTheReasonAndTheGracePeriod) {
  const auto am = Connect();
  const KillRequest later = {.reason = "typo", .grace = Duration(1500)}, now = {.reason = "now"};
  EXPECT_TRUE(Kill(*am, later).ok());
  EXPECT_TRUE(Kill(*am, now).ok());
  EXPECT_THAT(service.kills, testing::ElementsAre(later, now));
}

TEST_F(ClientCallsTest, AConditionalKillCallSendsTheConditionAndReturnsTheAnswer) {
  const KillRequest request = {.reason = "late",
                               .grace = Duration(10),
                               .if_owner = {"o1"},
                               .if_watcher = {"w1"},
                               .due = Instant(Duration(1'700'000'000'123))};
  service.kill_answer = KillAnswer::kPlanned;
  const auto killed = Kill(*Connect(), request);
  ASSERT_TRUE(killed.ok()) << killed.error().message;
  EXPECT_EQ(killed->answer, KillAnswer::kPlanned);
  EXPECT_EQ(killed->status.job, JobId{"local-1"});
  EXPECT_THAT(service.kills, testing::ElementsAre(request));
}

TEST_F(ClientCallsTest, AnAttachCallSendsTheNewOwnerAndReturnsTheAnswer) {
  const Claim claim = {{"o2"}, Duration(30'000)};
  service.attaches = false;
  const auto am = Connect();
  const auto attached = Ask<AttachedAnswer>([&](const auto& done) { am->Attach("secret", claim, done); });
  ASSERT_TRUE(attached.ok()) << attached.error().message;
  EXPECT_FALSE(attached->attached);
  EXPECT_EQ(attached->status.job, JobId{"local-1"});
  EXPECT_THAT(service.claims, testing::ElementsAre(claim));
}

TEST_F(ClientCallsTest, GetStatusWithAWrongTokenReturnsNotPermitted) {
  const auto status = Status(*Connect(), "guessed");
  ASSERT_FALSE(status.ok());
  EXPECT_EQ(status.error().code, ErrorCode::kNotPermitted);
}

TEST_F(ClientCallsTest, GetStatusAtAMissingSocketReturnsUnavailable) {
  EXPECT_EQ(Status(*Connect(SocketName{"am.2.sock"})).error().code, ErrorCode::kUnavailable);
}

TEST_F(ClientCallsTest, GetStatusOfASilentAmReturnsUnavailableAfter50Ms) {
  const UniqueFd silent = *ListenAt({temp.path(), "am.2.sock"}, SocketKind::kStream, 1);
  EXPECT_EQ(Status(*Connect(SocketName{"am.2.sock"}, Duration(50))).error().code, ErrorCode::kUnavailable);
}

TEST_F(ClientCallsTest, AClientWithoutTlsSendsNothingToATcpPort) {
  const UniqueFd impostor = *ListenOn({kLoopback, 0});
  const auto status = Status(*Connect(*BoundAddress(impostor)));
  ASSERT_FALSE(status.ok());
  EXPECT_EQ(status.error().code, ErrorCode::kNotPermitted);
  EXPECT_THAT(status.error().message, HasSubstr("a job's token is not sent over TCP"));
  EXPECT_LT(::accept4(impostor.get(), nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC), 0) << "not even connected";
}

TEST_F(ClientCallsTest, AKillReasonOf60000BytesIsAccepted) {
  const std::string reason(60'000, 'r');
  EXPECT_TRUE(Kill(*Connect(), {.reason = reason}).ok());
  EXPECT_THAT(service.kills, testing::ElementsAre(KillRequest{.reason = reason}));
}

TEST_F(ClientCallsTest, AWatchCallReturnsUnavailableWhenTheServerStops) {
  const auto am = Connect();
  const auto status = Ask<JobStatus>([&](const OnAnswer<JobStatus>& done) {
    am->Watch("secret", 12, Duration(5000), {}, done);
    ASSERT_TRUE(RunUntil([&] { return !service.watching.empty(); }));
    server->Stop([] {});
  });
  EXPECT_EQ(status.error().code, ErrorCode::kUnavailable);
}

TEST_F(ClientCallsTest, SizeAndWaitTimeOfAReadLogsCallAreCappedAndInvalidStreamsAreRefused) {
  const auto am = Connect();
  ASSERT_TRUE(Status(*am).ok());
  const LogNews news{.is_there = true, .text = "line\n", .size = 5};
  service.log_answer = {{1, news}};
  const LogWant want{{{"worker", 3}, 2}, "stdout", 12}, look{want.attempt, "stderr", -7};
  const LogQuery query{.wants = {look, want}, .most = 1 << 30, .wait = std::chrono::hours(1)};
  const auto read = [&](const LogQuery& what) {
    return Ask<LogAnswer>([&](const auto& done) { am->ReadLogs("secret", what, done); });
  };
  const auto answer = read(query);
  ASSERT_TRUE(answer.ok()) << answer.error().message;
  EXPECT_THAT(*answer, testing::ElementsAre(std::pair(1, news)));
  const LogQuery& heard = service.log_queries.front();
  EXPECT_THAT(heard.wants, testing::ElementsAre(LogWant{look.attempt, "stderr", -1}, want));
  EXPECT_EQ(heard.most, kMostLogBytes);
  EXPECT_EQ(heard.wait, kLongestLogWait);
  EXPECT_FALSE(read({.wants = std::vector<LogWant>(kMostLogWants + 1, want)}).ok());
  EXPECT_FALSE(read({.wants = {{want.attempt, "../token", 0}}}).ok());
  EXPECT_EQ(service.log_queries.size(), 1u);
}

TEST_F(ClientCallsTest, NoCallbackRunsAfterACallbackDestroysTheConnection) {
  auto am = Connect();
  int answers = 0;
  for (int i = 0; i < 3; ++i)
    am->GetStatus("secret", [&](const Answer<JobStatus>&) {
      ++answers;
      am.reset();
    });
  ASSERT_TRUE(RunUntil([&] { return answers > 0; }));
  ExpectAlive();
  EXPECT_EQ(answers, 1);
}

TEST_F(ClientCallsTest, ClientSocketsAreCloseOnExec) {
  const auto am = Connect();
  ASSERT_TRUE(Status(*am).ok());
  for (const auto& entry : std::filesystem::directory_iterator("/proc/self/fd")) {
    const int flags = ::fcntl(std::stoi(entry.path().filename()), F_GETFD);
    std::error_code gone;
    const auto target = std::filesystem::read_symlink(entry.path(), gone).string();
    const bool socket = !gone && target.starts_with("socket:");
    EXPECT_TRUE(!socket || (flags & FD_CLOEXEC)) << target;
  }
}

}  // namespace
}  // namespace tony
