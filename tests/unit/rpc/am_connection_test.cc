#include "runtime/rpc/am_connection.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <sys/socket.h>

#include <filesystem>

#include "runtime/net/sockets.h"
#include "runtime/net/tls.h"
#include "runtime/rpc/convert.h"
#include "tests/support/results.h"
#include "tests/unit/rpc/rpc_fixture.h"

namespace tony {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

class AmConnections : public RpcFixture {
 protected:
  using RpcFixture::RpcFixture;
  void SetUp() override {
    StartServer();
    Connect(std::chrono::seconds(5));
    client->Use(Am());
  }
  void Connect(Duration limit) {
    client =
        MakeAmConnection(loop, temp.path(), limit,
                         transport == Transport::kTls ? *MakeTlsClient(TestCertificates().executor) : MakeChannel());
  }
  Address Am() const { return server->addresses().front(); }
  // Keeps what a call was answered with.
  template <class T>
  OnAnswer<T> Into(std::optional<Answer<T>>& answer) {
    return [&answer](Answer<T> given) {
      EXPECT_FALSE(answer) << "answered twice";
      answer = std::move(given);
    };
  }
  template <class T>
  void WaitFor(const std::optional<Answer<T>>& answer) {
    EXPECT_TRUE(RunUntil([&] { return answer.has_value(); }));
  }
  void Heartbeat(std::optional<Answer<Acknowledged>>& answer) {
    client->Heartbeat(SomeCaller(), {Phase::kRunning, 1}, Into(answer));
  }
  template <class T>
  static std::string ReasonOf(const std::optional<Answer<T>>& answer) {
    if (!answer || !std::holds_alternative<Disconnected>(*answer)) return "not disconnected";
    return std::get<Disconnected>(*answer).reason;
  }

  std::unique_ptr<AmConnection> client;
};

class AmConnectionTest : public AmConnections, public testing::WithParamInterface<Transport> {
 protected:
  AmConnectionTest() : AmConnections(GetParam()) {}
};
FOR_ALL_TRANSPORTS(AmConnectionTest);
using SocketAmConnectionTest = AmConnections;

// A listening socket whose one connection the test itself answers.
class ScriptedAm {
 public:
  explicit ScriptedAm(const std::filesystem::path& folder)
      : socket_(*ListenAt({folder, "am.2.sock"}, SocketKind::kStream, 1)) {}
  bool TryAccept() {
    if (!peer_.valid()) peer_ = UniqueFd(::accept4(socket_.get(), nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC));
    return peer_.valid();
  }
  void Send(std::string_view bytes) {
    EXPECT_EQ(::send(peer_.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL), static_cast<ssize_t>(bytes.size()));
  }

 private:
  UniqueFd socket_;
  UniqueFd peer_;
};

TEST_P(AmConnectionTest, RegisterBringsTheEpochAndTheServiceGetsEveryField) {
  std::optional<Answer<Epoch>> epoch;
  Registration what = SomeRegistration();
  what.ports = {{"data", 4712}};
  client->Register(SomeCaller(), what, Into(epoch));
  EXPECT_FALSE(epoch);
  WaitFor(epoch);
  EXPECT_EQ(std::get<Epoch>(*epoch), Epoch{7});
  EXPECT_EQ(service.registered.front().first.attempt, SomeCaller().attempt);
  EXPECT_EQ(service.registered.front().second.endpoint, SomeRegistration().endpoint);
  EXPECT_EQ(service.registered.front().second.ports, what.ports);
}

TEST_P(AmConnectionTest, ACallBesideAParkedAwaitIsAnsweredFirst) {
  std::optional<Answer<Command>> command;
  std::optional<Answer<Acknowledged>> beat, report;
  client->Await(SomeCaller(), 3, Into(command));
  Heartbeat(beat);
  WaitFor(beat);
  EXPECT_FALSE(command);
  const Outcome outcome{OutcomeClass::kUserError, ExitStatus{ExitStatus::Kind::kExited, 3}, "m", "tail"};
  const KeptOutputs outputs{R"({"loss":1})", {{"big", "too long"}}, ""};
  client->ReportOutcome(SomeCaller(), {outcome, outputs}, Into(report));
  WaitFor(report);
  EXPECT_THAT(service.outcomes, ElementsAre(outcome));
  EXPECT_EQ(service.outputs, outputs);

  const Command stop{4, Command::Kind::kStop, {1}, "", Duration(250)};
  service.parked.front().Success(stop);
  WaitFor(command);
  EXPECT_EQ(std::get<Command>(*command), stop);
  EXPECT_EQ(server->connections(), 1u);
}

TEST_P(AmConnectionTest, PublishedValuesReachTheServiceAndBadOnesAreRefused) {
  PublishedValues values{{"TOKEN", ""}};
  for (char name = 'A'; values.size() < kMostPublishedValues; ++name) values[{name}] = std::string(1024, 'x');
  std::optional<Answer<Acknowledged>> beat, answer;
  Heartbeat(beat);  // a stranger's calls are small
  WaitFor(beat);
  client->Publish(SomeCaller(), values, Into(answer));
  WaitFor(answer);
  EXPECT_TRUE(std::holds_alternative<Acknowledged>(*answer));
  EXPECT_THAT(service.published, ElementsAre(values));
  for (const PublishedValues& bad :
       {PublishedValues{{"lower", "x"}}, {{"A", std::string(1025, 'x')}}, {{"A", "two\nlines"}}}) {
    answer.reset();
    client->Publish(SomeCaller(), bad, Into(answer));
    WaitFor(answer);
    EXPECT_EQ(std::get<Refusal>(*answer).reason, RefusalReason::kBadRequest);
  }
  values["ONE_MORE"] = "x";
  EXPECT_FALSE(CheckedValues(values).ok());
}

TEST_P(AmConnectionTest, TheLongestOutputsAreReportedAndNoLongerOnes) {
  const Outcome outcome{.exit = ExitStatus{}};
  std::optional<Answer<Acknowledged>> beat, report;
  Heartbeat(beat);  // a stranger's calls are small
  WaitFor(beat);
  const KeptOutputs longest{.text = std::string(kLongestOutputs, '\xff')};
  client->ReportOutcome(SomeCaller(), {outcome, longest}, Into(report));
  WaitFor(report);
  EXPECT_EQ(service.outputs, longest);
  report.reset();
  client->ReportOutcome(SomeCaller(), {outcome, KeptOutputs{.text = longest.text + "x"}}, Into(report));
  WaitFor(report);
  EXPECT_TRUE(std::holds_alternative<Refusal>(*report));
  EXPECT_EQ(service.outcomes.size(), 1u);
}

TEST_P(AmConnectionTest, LogsGoWithAnOutcomeBesideTheLongestOutputs) {
  std::optional<Answer<Acknowledged>> beat, report;
  Heartbeat(beat);  // a stranger's calls are small
  WaitFor(beat);
  const std::string head(static_cast<size_t>(kExcerptHead), '\xff'), tail(static_cast<size_t>(kExcerptTail), '\0');
  std::vector<LogExcerpt> logs;
  for (const char* stream : {"stdout", "stderr"}) logs.push_back({stream, 1 << 30, {{0, head}, {1 << 29, tail}}});
  const KeptOutputs longest{.text = std::string(kLongestOutputs, 'x')};
  client->ReportOutcome(SomeCaller(), {{.exit = ExitStatus{}}, longest, logs}, Into(report));
  WaitFor(report);
  EXPECT_TRUE(std::holds_alternative<Acknowledged>(*report));
  EXPECT_EQ(service.logs, logs);
}

TEST_P(AmConnectionTest, AQuestionAboutLogsComesInPlaceOfACommandAndIsAnswered) {
  std::optional<Answer<Command>> command;
  client->Await(SomeCaller(), 0, Into(command));
  ASSERT_TRUE(RunUntil([&] { return !service.parked.empty(); }));
  const LogAsk ask{7, {{SomeCaller().attempt, "stderr-1", 12}}, 100, Duration(500)};
  service.parked.front().Success({.logs = {ask}});
  WaitFor(command);
  EXPECT_THAT(std::get<Command>(*command).logs, ElementsAre(ask));
  const LogNews news{.is_there = true,
                     .cut = 3,
                     .text = "\xff\n",
                     .size = 17,
                     .ended = true,
                     .changed = FromMillis(9),
                     .parts = {{0, 4}, {15, 17}},
                     .attempts = {1, 2},
                     .problem = "none"};
  std::optional<Answer<Acknowledged>> sent;
  client->SendLog(SomeCaller(), 7, {news}, Into(sent));
  WaitFor(sent);
  EXPECT_THAT(service.sent_logs, ElementsAre(std::pair(int64_t{7}, std::vector<LogNews>{news})));
}

TEST_P(AmConnectionTest, AnswersComeInAnyOrder) {
  std::vector<int64_t> numbers;
  for (int i = 0; i < 3; ++i) {
    client->Await(SomeCaller(), i, [&](const Answer<Command>& c) { numbers.push_back(std::get<Command>(c).number); });
  }
  ASSERT_TRUE(RunUntil([&] { return service.parked.size() == 3; }));
  for (const int index : {2, 0, 1}) service.parked[index].Success({index, Command::Kind::kNone, {}, "", Duration(0)});
  EXPECT_TRUE(RunUntil([&] { return numbers.size() == 3; }));
  EXPECT_THAT(numbers, ElementsAre(2, 0, 1));
}

TEST_P(AmConnectionTest, ARefusalIsAnAnswer) {
  service.token = "another";
  std::optional<Answer<Epoch>> epoch;
  client->Register(SomeCaller(), SomeRegistration(), Into(epoch));
  WaitFor(epoch);
  EXPECT_EQ(std::get<Refusal>(*epoch).reason, RefusalReason::kBadToken);
  EXPECT_EQ(server->connections(), 1u);
}

TEST_F(SocketAmConnectionTest, NobodyListening) {
  client->Use(SocketName{"am.9.sock"});
  std::optional<Answer<Acknowledged>> first, second;
  Heartbeat(first);
  Heartbeat(second);
  EXPECT_FALSE(first);
  WaitFor(first);
  WaitFor(second);
  EXPECT_THAT(ReasonOf(first), HasSubstr("no such file"));
  EXPECT_FALSE(std::get<Disconnected>(*first).crowded);
}

TEST_F(SocketAmConnectionTest, NothingIsSentToATcpPort) {
  const UniqueFd impostor = *ListenOn({"127.0.0.1", 0});
  client->Use(Endpoint{"127.0.0.1", BoundAddress(impostor)->port});
  std::optional<Answer<Acknowledged>> beat;
  Heartbeat(beat);
  WaitFor(beat);
  EXPECT_THAT(ReasonOf(beat), HasSubstr("a job's token is not sent over TCP"));
  EXPECT_LT(::accept4(impostor.get(), nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC), 0) << "not even connected";
}

TEST_P(AmConnectionTest, NoAddressYet) {
  Connect(std::chrono::seconds(5));
  std::optional<Answer<Acknowledged>> beat;
  Heartbeat(beat);
  EXPECT_FALSE(beat);
  WaitFor(beat);
  EXPECT_NE(ReasonOf(beat), "not disconnected");
}

TEST_P(AmConnectionTest, AServerThatStopsDisconnectsEveryOpenCallAndTheNextCallConnectsAnew) {
  std::optional<Answer<Command>> one, two;
  client->Await(SomeCaller(), 1, Into(one));
  client->Await(SomeCaller(), 2, Into(two));
  ASSERT_TRUE(RunUntil([&] { return service.parked.size() == 2; }));
  bool stopped = false;
  server->Stop([&] { stopped = true; });
  WaitFor(one);
  WaitFor(two);
  EXPECT_EQ(ReasonOf(one), "closed by the peer");
  ASSERT_TRUE(RunUntil([&] { return stopped; }));

  StartServer({.at = server->addresses()});
  std::optional<Answer<Acknowledged>> beat;
  Heartbeat(beat);
  WaitFor(beat);
  EXPECT_TRUE(std::holds_alternative<Acknowledged>(*beat));
}

TEST_P(AmConnectionTest, UseMovesToAnotherServerAndEndsWhatIsOpen) {
  std::optional<Answer<Command>> parked;
  client->Await(SomeCaller(), 1, Into(parked));
  ASSERT_TRUE(RunUntil([&] { return service.parked.size() == 1; }));
  FakeAmService other_service;
  const Address elsewhere = SocketName{"am.2.sock"};
  auto other = *StartRpcServer(loop, {.folder = temp.path(), .at = {elsewhere}}, other_service);

  client->Use(elsewhere);
  EXPECT_FALSE(parked);
  std::optional<Answer<Acknowledged>> beat;
  Heartbeat(beat);
  WaitFor(beat);
  EXPECT_THAT(other_service.calls, ElementsAre("Heartbeat"));
  EXPECT_THAT(ReasonOf(parked), HasSubstr("the AM is at"));
  EXPECT_TRUE(RunUntil([&] { return service.abandoned == 1; }));
}

TEST_P(AmConnectionTest, UseInsideACallback) {
  bool again = false;
  std::optional<Answer<Command>> parked;
  client->Await(SomeCaller(), 1, Into(parked));
  client->Heartbeat(SomeCaller(), {Phase::kRunning, 1}, [&](const Answer<Acknowledged>&) {
    client->Use(Am());
    client->Heartbeat(SomeCaller(), {Phase::kRunning, 1}, [&](const Answer<Acknowledged>& answer) {
      again = std::holds_alternative<Acknowledged>(answer);
    });
  });
  EXPECT_TRUE(RunUntil([&] { return again; }));
  WaitFor(parked);
}

TEST_P(AmConnectionTest, DestroyedInsideACallbackNothingMoreIsCalled) {
  int called = 0;
  const auto count = [&](const auto&) {
    ++called;
    client.reset();
  };
  client->Await(SomeCaller(), 1, count);
  client->Heartbeat(SomeCaller(), {Phase::kRunning, 1}, count);
  client->Heartbeat(SomeCaller(), {Phase::kRunning, 1}, count);
  EXPECT_TRUE(RunUntil([&] { return service.abandoned == 1; }));
  EXPECT_EQ(called, 1);
}

TEST_P(AmConnectionTest, DestroyedWhileDisconnectedAnswersAreOnTheirWay) {
  int called = 0;
  const auto count = [&](const auto&) {
    ++called;
    client.reset();
  };
  client->Await(SomeCaller(), 1, count);
  client->Await(SomeCaller(), 1, count);
  client->Use(SocketName{"am.9.sock"});
  EXPECT_TRUE(RunUntil([&] { return called > 0; }));
  bool turned = false;
  loop.Post([&] { turned = true; });
  EXPECT_TRUE(RunUntil([&] { return turned; }));
  EXPECT_EQ(called, 1);
}

TEST_P(AmConnectionTest, ASilentAmEndsEveryCallWhenTheFirstLimitIsReached) {
  Connect(Duration(50));
  service.on_register = [&](const Reply<Epoch>& reply) {
    static std::vector<Reply<Epoch>> kept;
    kept = {reply};
  };
  client->Use(Am());
  std::optional<Answer<Command>> command;
  std::optional<Answer<Epoch>> epoch;
  client->Await(SomeCaller(), 1, Into(command));
  client->Register(SomeCaller(), SomeRegistration(), Into(epoch));
  WaitFor(epoch);
  WaitFor(command);
  EXPECT_EQ(ReasonOf(epoch), "no answer to Register within 50 ms");
  EXPECT_TRUE(RunUntil([&] { return server->connections() == 0; }));
}

TEST_F(SocketAmConnectionTest, AnAwaitHasAMinuteMore) {
  Connect(Duration(20));
  client->Use(Am());
  std::optional<Answer<Command>> command;
  client->Await(SomeCaller(), 1, Into(command));
  bool waited = false;
  const auto timer = loop.After(Duration(80), [&] { waited = true; });
  EXPECT_TRUE(RunUntil([&] { return waited; }));
  EXPECT_FALSE(command);
}

TEST_P(AmConnectionTest, AFailureOfTheAmDisconnects) {
  service.before_heartbeat = [] { throw std::runtime_error("boom"); };
  std::optional<Answer<Acknowledged>> beat;
  Heartbeat(beat);
  WaitFor(beat);
  EXPECT_THAT(ReasonOf(beat), HasSubstr("Heartbeat: boom"));
  EXPECT_EQ(ErrorOf(std::get<Disconnected>(*beat)).code, ErrorCode::kInternal) << "asking again would not help";
}

TEST_F(SocketAmConnectionTest, AnswersThatAreNoneDisconnect) {
  using apache::thrift::protocol::T_REPLY;
  rpc::ExecutorService_Register_result bad_epoch;
  bad_epoch.__isset.success = true;
  for (const std::string& answer : {
           std::string("HTTP/1.1 400 Bad Request\r\n\r\n"), std::string("\0\0\0\x04garb", 8),
           EmptyCallFrame("Register", 1, T_REPLY),             // neither a result nor a refusal
           EmptyCallFrame("Register", 2, T_REPLY),             // was not asked
           EmptyCallFrame("Await", 1, T_REPLY),                // was not asked either
           WriteMessage({"Register", T_REPLY, 1}, bad_epoch),  // epoch 0
       }) {
    Connect(std::chrono::seconds(5));
    ScriptedAm am(temp.path());
    client->Use(SocketName{"am.2.sock"});
    std::optional<Answer<Epoch>> epoch;
    client->Register(SomeCaller(), SomeRegistration(), Into(epoch));
    ASSERT_TRUE(RunUntil([&] { return am.TryAccept(); }));
    am.Send(answer);
    WaitFor(epoch);
    EXPECT_NE(ReasonOf(epoch), "not disconnected");
  }
}

// ---- What clients ask of an AM, over the one connection.

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
  // The answer to what `ask` asks for.
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

TEST_F(ClientCallsTest, GetStatusBringsTheJobsStatus) {
  const auto am = Connect();
  const auto status = Must(Status(*am));
  EXPECT_EQ(status.job, JobId{"local-1"});
  EXPECT_EQ(status.seq, 12);
  EXPECT_TRUE(Status(*am).ok());
  EXPECT_EQ(server->connections(), 1u) << "a second call on the same connection";
}

TEST_F(ClientCallsTest, WatchIsAnsweredWhenThereIsNews) {
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

TEST_F(ClientCallsTest, KillCarriesReasonAndGrace) {
  const auto am = Connect();
  EXPECT_TRUE(Kill(*am, {.reason = "typo", .grace = Duration(1500)}).ok());
  EXPECT_TRUE(Kill(*am, {.reason = "now"}).ok());
  EXPECT_THAT(service.kills, testing::ElementsAre(std::pair("typo", Duration(1500)), std::pair("now", Duration(-1))));
}

TEST_F(ClientCallsTest, AKillWithAConditionCarriesItAndBringsTheAnswer) {
  const KillRequest request = {.reason = "late",
                               .grace = Duration(10),
                               .if_owner = {"o1"},
                               .if_watcher = {"w1"},
                               .due = Instant(Duration(1'700'000'000'123))};
  service.kill_answer = KillAnswer::kPlanned;
  const auto killed = Must(Kill(*Connect(), request));
  EXPECT_EQ(killed.answer, KillAnswer::kPlanned);
  EXPECT_EQ(killed.status.job, JobId{"local-1"});
  EXPECT_THAT(service.conditional_kills, testing::ElementsAre(request));
  EXPECT_THAT(service.kills, testing::IsEmpty());
}

TEST_F(ClientCallsTest, AttachCarriesTheClaimAndBringsTheAnswer) {
  const Claim claim = {{"o2"}, Duration(30'000)};
  service.attaches = false;
  const auto am = Connect();
  const auto attached = Ask<AttachedAnswer>([&](const auto& done) { am->Attach("secret", claim, done); });
  ASSERT_TRUE(attached.ok()) << attached.error().message;
  EXPECT_FALSE(attached->attached);
  EXPECT_EQ(attached->status.job, JobId{"local-1"});
  EXPECT_THAT(service.claims, testing::ElementsAre(claim));
}

TEST_F(ClientCallsTest, AWrongTokenIsNotPermitted) {
  const auto status = Status(*Connect(), "guessed");
  ASSERT_FALSE(status.ok());
  EXPECT_EQ(status.error().code, ErrorCode::kNotPermitted);
}

TEST_F(ClientCallsTest, NobodyListeningIsUnavailable) {
  EXPECT_EQ(Status(*Connect(SocketName{"am.2.sock"})).error().code, ErrorCode::kUnavailable);
}

TEST_F(ClientCallsTest, NoAnswerInTimeIsUnavailable) {
  const UniqueFd silent = *ListenAt({temp.path(), "am.2.sock"}, SocketKind::kStream, 1);
  EXPECT_EQ(Status(*Connect(SocketName{"am.2.sock"}, Duration(50))).error().code, ErrorCode::kUnavailable);
}

TEST_F(ClientCallsTest, NothingIsSentToATcpPort) {
  const UniqueFd impostor = *ListenOn({kLoopback, 0});
  ExpectError(Status(*Connect(*BoundAddress(impostor))), ErrorCode::kNotPermitted,
              "~a job's token is not sent over TCP");
  EXPECT_LT(::accept4(impostor.get(), nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC), 0) << "not even connected";
}

TEST_F(ClientCallsTest, AKillWithALongReasonIsTaken) {
  const std::string reason(60'000, 'r');
  EXPECT_TRUE(Kill(*Connect(), {.reason = reason}).ok());
  EXPECT_THAT(service.kills, testing::ElementsAre(std::pair(reason, Duration(-1))));
}

TEST_F(ClientCallsTest, AServerThatGoesAwayDuringAWatchIsUnavailable) {
  const auto am = Connect();
  const auto status = Ask<JobStatus>([&](const OnAnswer<JobStatus>& done) {
    am->Watch("secret", 12, Duration(5000), {}, done);
    ASSERT_TRUE(RunUntil([&] { return !service.watching.empty(); }));
    server->Stop([] {});
  });
  EXPECT_EQ(status.error().code, ErrorCode::kUnavailable);
}

TEST_F(ClientCallsTest, LogsAreReadWithinTheBounds) {
  const auto am = Connect();
  ASSERT_TRUE(Status(*am).ok());
  const LogNews news{.is_there = true, .text = "line\n", .size = 5};
  service.log_answer = {{1, news}};
  const LogWant want{{{"worker", 3}, 2}, "stdout", 12}, look{want.attempt, "stderr", -7};
  const LogQuery query{.wants = {look, want}, .most = 1 << 30, .wait = std::chrono::hours(1)};
  const auto read = [&](const LogQuery& what) {
    return Ask<LogAnswer>([&](const auto& done) { am->ReadLogs("secret", what, done); });
  };
  const auto answer = Must(read(query));
  EXPECT_THAT(answer, testing::ElementsAre(std::pair(1, news)));
  const LogQuery& heard = service.log_queries.front();
  EXPECT_THAT(heard.wants, testing::ElementsAre(LogWant{look.attempt, "stderr", -1}, want));
  EXPECT_EQ(heard.most, kMostLogBytes);
  EXPECT_EQ(heard.wait, kLongestLogWait);
  EXPECT_FALSE(read({.wants = std::vector<LogWant>(kMostLogWants + 1, want)}).ok());
  EXPECT_FALSE(read({.wants = {{want.attempt, "../token", 0}}}).ok());
  EXPECT_EQ(service.log_queries.size(), 1u);
}

TEST_F(ClientCallsTest, AConnectionThatIsDestroyedByAnAnswerSaysNothingMore) {
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

TEST_F(ClientCallsTest, ItsSocketIsCloseOnExec) {
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
