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
  // Returns a callback that stores the answer of a call.
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

// A listening socket with one connection, which the test itself answers.
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

TEST_P(AmConnectionTest, ARegisterCallSendsTheRegistrationAndReturnsTheEpoch) {
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

TEST_P(AmConnectionTest, HeartbeatsAndReportsAreAnsweredWhileAnAwaitCallIsOpen) {
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

TEST_P(AmConnectionTest, PublishedValuesReachTheAmAndMalformedValuesAreRefused) {
  PublishedValues values{{"TOKEN", ""}};
  for (char name = 'A'; values.size() < kMostPublishedValues; ++name) values[{name}] = std::string(1024, 'x');
  std::optional<Answer<Acknowledged>> beat, answer;
  // A first call with the token lifts the size limit for strangers.
  Heartbeat(beat);
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

TEST_P(AmConnectionTest, TaskOutputsAboveTheMaximumLengthAreRefused) {
  const Outcome outcome{.exit = ExitStatus{}};
  std::optional<Answer<Acknowledged>> beat, report;
  // A first call with the token lifts the size limit for strangers.
  Heartbeat(beat);
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

TEST_P(AmConnectionTest, AnOutcomeReportCarriesLogExcerptsAndOutputsOfMaximumLength) {
  std::optional<Answer<Acknowledged>> beat, report;
  // A first call with the token lifts the size limit for strangers.
  Heartbeat(beat);
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

TEST_P(AmConnectionTest, PushedTokensReachTheAmAndThenTheExecutor) {
  std::optional<Answer<JobStatus>> status;
  client->GetStatus(service.token, Into(status));
  WaitFor(status);
  const ClusterTokens tokens{1795662888622, FromMillis(1795749288622), std::string(10'000, '\xff')};
  std::optional<Answer<TokensReply>> pushed;
  client->PushTokens(service.token, tokens, Into(pushed));
  WaitFor(pushed);
  EXPECT_TRUE(std::get<TokensReply>(*pushed).taken);
  EXPECT_EQ(std::get<TokensReply>(*pushed).until, tokens.until);
  EXPECT_THAT(service.pushed, ElementsAre(tokens));
  Caller caller = SomeCaller();
  caller.tokens = tokens.number;
  int64_t number = 0;
  service.on_await = [&](const Caller& from, const Reply<Command>& reply) {
    number = from.tokens;
    reply.Success({.tokens = tokens});
  };
  std::optional<Answer<Command>> command;
  client->Await(caller, 0, Into(command));
  WaitFor(command);
  EXPECT_EQ(number, tokens.number);
  EXPECT_EQ(std::get<Command>(*command).tokens, tokens);
}

TEST_P(AmConnectionTest, AnAwaitCallReturnsALogQueryAndTheRequestedLogReachesTheAm) {
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

TEST_P(AmConnectionTest, AwaitCallsMayBeAnsweredOutOfOrder) {
  std::vector<int64_t> numbers;
  for (int i = 0; i < 3; ++i) {
    client->Await(SomeCaller(), i, [&](const Answer<Command>& c) { numbers.push_back(std::get<Command>(c).number); });
  }
  ASSERT_TRUE(RunUntil([&] { return service.parked.size() == 3; }));
  for (const int index : {2, 0, 1}) service.parked[index].Success({index, Command::Kind::kNone, {}, "", Duration(0)});
  EXPECT_TRUE(RunUntil([&] { return numbers.size() == 3; }));
  EXPECT_THAT(numbers, ElementsAre(2, 0, 1));
}

TEST_P(AmConnectionTest, ARefusedRegisterCallReturnsTheReasonAndKeepsTheConnectionOpen) {
  service.token = "another";
  std::optional<Answer<Epoch>> epoch;
  client->Register(SomeCaller(), SomeRegistration(), Into(epoch));
  WaitFor(epoch);
  EXPECT_EQ(std::get<Refusal>(*epoch).reason, RefusalReason::kBadToken);
  EXPECT_EQ(server->connections(), 1u);
}

TEST_F(SocketAmConnectionTest, ACallToAMissingSocketReturnsDisconnected) {
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

TEST_F(SocketAmConnectionTest, AnExecutorWithoutTlsSendsNothingToATcpPort) {
  const UniqueFd impostor = *ListenOn({"127.0.0.1", 0});
  client->Use(Endpoint{"127.0.0.1", BoundAddress(impostor)->port});
  std::optional<Answer<Acknowledged>> beat;
  Heartbeat(beat);
  WaitFor(beat);
  EXPECT_THAT(ReasonOf(beat), HasSubstr("a job's token is not sent over TCP"));
  EXPECT_LT(::accept4(impostor.get(), nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC), 0) << "not even connected";
}

TEST_P(AmConnectionTest, ACallBeforeTheAmsAddressIsSetReturnsDisconnected) {
  Connect(std::chrono::seconds(5));
  std::optional<Answer<Acknowledged>> beat;
  Heartbeat(beat);
  EXPECT_FALSE(beat);
  WaitFor(beat);
  EXPECT_NE(ReasonOf(beat), "not disconnected");
}

TEST_P(AmConnectionTest, StoppingTheServerDisconnectsAllOpenCallsAndTheNextCallReconnects) {
  std::optional<Answer<Command>> one, two;
  client->Await(SomeCaller(), 1, Into(one));
  client->Await(SomeCaller(), 2, Into(two));
  ASSERT_TRUE(RunUntil([&] { return service.parked.size() == 2; }));
  bool stopped = false;
  server->Stop([&] { stopped = true; });
  WaitFor(one);
  WaitFor(two);
  EXPECT_EQ(ReasonOf(one), "the peer closed the connection");
  ASSERT_TRUE(RunUntil([&] { return stopped; }));

  StartServer({.at = server->addresses()});
  std::optional<Answer<Acknowledged>> beat;
  Heartbeat(beat);
  WaitFor(beat);
  EXPECT_TRUE(std::holds_alternative<Acknowledged>(*beat));
}

TEST_P(AmConnectionTest, ChangingTheAmAddressEndsOpenCallsAndSendsTheNextCallToTheNewAddress) {
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

TEST_P(AmConnectionTest, TheAmAddressCanBeSetInsideAnAnswerCallback) {
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

TEST_P(AmConnectionTest, NoCallbackRunsAfterAnAnswerCallbackDestroysTheConnection) {
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

TEST_P(AmConnectionTest, NoCallbackRunsAfterADisconnectCallbackDestroysTheConnection) {
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

TEST_P(AmConnectionTest, ATimeoutOfOneCallDisconnectsAllOpenCalls) {
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

TEST_F(SocketAmConnectionTest, AnAwaitCallMayStayOpenLongerThanTheTimeLimitOfOtherCalls) {
  Connect(Duration(20));
  client->Use(Am());
  std::optional<Answer<Command>> command;
  client->Await(SomeCaller(), 1, Into(command));
  bool waited = false;
  const auto timer = loop.After(Duration(80), [&] { waited = true; });
  EXPECT_TRUE(RunUntil([&] { return waited; }));
  EXPECT_FALSE(command);
}

TEST_P(AmConnectionTest, ACallReturnsDisconnectedWithAnInternalErrorWhenTheAmThrows) {
  service.before_heartbeat = [] { throw std::runtime_error("boom"); };
  std::optional<Answer<Acknowledged>> beat;
  Heartbeat(beat);
  WaitFor(beat);
  EXPECT_THAT(ReasonOf(beat), HasSubstr("Heartbeat: boom"));
  EXPECT_EQ(ErrorOf(std::get<Disconnected>(*beat)).code, ErrorCode::kInternal) << "asking again would not help";
}

TEST_F(SocketAmConnectionTest, ACallReturnsDisconnectedWhenTheAnswerIsMalformed) {
  using apache::thrift::protocol::T_REPLY;
  rpc::ExecutorService_Register_result bad_epoch;
  bad_epoch.__isset.success = true;
  for (const std::string& answer : {
           std::string("HTTP/1.1 400 Bad Request\r\n\r\n"), std::string("\0\0\0\x04garb", 8),
           EmptyCallFrame("Register", 1, T_REPLY),             // neither a result nor a refusal
           EmptyCallFrame("Register", 2, T_REPLY),             // an unknown sequence number
           EmptyCallFrame("Await", 1, T_REPLY),                // the name of another call
           WriteMessage({"Register", T_REPLY, 1}, bad_epoch),  // the invalid epoch 0
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

}  // namespace
}  // namespace tony
