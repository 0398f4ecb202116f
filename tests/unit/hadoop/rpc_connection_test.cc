#include "runtime/hadoop/rpc_connection.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <future>

#include "runtime/base/strings.h"
#include "runtime/hadoop/rpc_frames.h"
#include "runtime/hadoop/wire/client.pb.h"
#include "tests/support/run_until.h"
#include "tests/unit/base/event_loop_fixture.h"
#include "tests/unit/hadoop/fake_rpc_server.h"

namespace tony::hadoop {
namespace {

const Token kToken{"an identifier", "a password", "YARN_AM_RM_TOKEN", ""};
constexpr char kProtocol[] = "org.apache.hadoop.yarn.api.ApplicationClientProtocolPB";
using Kind = RpcFailure::Kind;

class RpcConnectionTest : public EventLoopTest {
 protected:
  void Connect(RpcIdentity identity, RpcLimits limits = {}) {
    // The address is numeric, because a test with a short limit must not wait for the name service.
    connection.emplace(loop, names, RpcServer{{{"127.0.0.1", server->port()}}, kProtocol}, std::move(identity), limits);
  }
  void Serve(std::optional<Token> token) { server.emplace(loop, std::move(token)); }
  void Call(const std::string& method) {
    connection->Call(method, "", [this, method](RpcConnection::Reply reply) { replies[method] = std::move(reply); });
    EXPECT_FALSE(replies.count(method)) << "called from inside";
  }
  bool Answered(size_t count) {
    return RunUntil(loop, [&] { return replies.size() >= count; });
  }
  RpcFailure FailureOf(const std::string& method) {
    const auto* failure = std::get_if<RpcFailure>(&replies[method]);
    EXPECT_TRUE(failure) << method << " has an answer";
    return failure ? *failure : RpcFailure{Kind::kAnswered, "none", "no failure"};
  }

  HostResolver names{loop};
  std::optional<FakeRpcServer> server;
  std::map<std::string, RpcConnection::Reply> replies;
  std::optional<RpcConnection> connection;
};

TEST_F(RpcConnectionTest, AConnectionSendsItsUserNameOnceAndReturnsTheResponseToEachCall) {
  Serve(std::nullopt);
  server->on_call = [&](const FakeRpcServer::Call& call) {
    wire::GetQueueInfoRequest answer;
    answer.set_queuename(call.method);
    server->Succeed(call, answer);
  };
  Connect(SimpleUser{"alice"});
  Call("one");
  Call("two");
  ASSERT_TRUE(Answered(2));
  EXPECT_EQ(server->header, std::string("hrpc\x09\0\0", 7));
  ASSERT_EQ(server->contexts.size(), 1u);
  EXPECT_EQ(server->contexts[0].userinfo().effectiveuser(), "alice");
  EXPECT_EQ(server->contexts[0].protocol(), kProtocol);
  wire::GetQueueInfoRequest answer;
  ASSERT_TRUE(answer.ParseFromString(std::get<std::string>(replies["two"])));
  EXPECT_EQ(answer.queuename(), "two");
}

// ---- several servers, of which one is active

class ServersTest : public RpcConnectionTest {
 protected:
  ServersTest() {
    Serve(std::nullopt);
    for (FakeRpcServer* each : {&*server, &other}) {
      each->on_call = [each](const FakeRpcServer::Call& call) { each->Succeed(call, wire::GetQueueInfoRequest()); };
    }
  }
  void ConnectTo(std::vector<Endpoint> addresses) {
    connection.emplace(loop, names, RpcServer{std::move(addresses), kProtocol}, SimpleUser{"alice"});
  }
  Endpoint First() const { return {"localhost", server->port()}; }
  Endpoint Second() const { return {"localhost", other.port()}; }

  FakeRpcServer other{loop, std::nullopt};
};

TEST_F(ServersTest, TheCallAfterAFailedConnectGoesToTheNextServer) {
  ConnectTo({{"localhost", 1}, First()});
  Call("one");
  ASSERT_TRUE(Answered(1));
  EXPECT_EQ(FailureOf("one").kind, Kind::kLost);
  Call("two");
  ASSERT_TRUE(Answered(2));
  EXPECT_TRUE(std::holds_alternative<std::string>(replies["two"]));
  EXPECT_EQ(connection->address(), First());
}

TEST_F(ServersTest, TheCallAfterAStandbyExceptionGoesToTheNextServer) {
  server->on_call = [&](const FakeRpcServer::Call& call) {
    server->Fail(call, "org.apache.hadoop.ipc.StandbyException", "not active");
  };
  ConnectTo({First(), Second()});
  Call("one");
  ASSERT_TRUE(Answered(1));
  EXPECT_TRUE(IsException(FailureOf("one"), "StandbyException"));
  Call("two");
  ASSERT_TRUE(Answered(2));
  EXPECT_EQ(other.calls.size(), 1u);
}

TEST_F(ServersTest, OnlyTheCallThatAStandbyAnsweredIsKnownToBeNotExecuted) {
  server->on_call = [&](const FakeRpcServer::Call& call) {
    if (call.method == "two") server->Fail(call, "org.apache.hadoop.ipc.StandbyException", "not active");
  };
  ConnectTo({First(), Second()});
  Call("one");
  Call("two");
  ASSERT_TRUE(Answered(2));
  EXPECT_TRUE(IsStandby(FailureOf("two")));
  EXPECT_EQ(FailureOf("one").kind, Kind::kLost);
  EXPECT_FALSE(FailureOf("one").is_unsent);
}

TEST_F(ServersTest, ACallIsUnsentIfNoConnectionWasMade) {
  ConnectTo({{"127.0.0.1", 1}});
  Call("one");
  ASSERT_TRUE(Answered(1));
  EXPECT_TRUE(FailureOf("one").is_unsent);
}

TEST_F(ServersTest, ALostCallIsFollowedByACallToTheNextServer) {
  server->on_call = [](const FakeRpcServer::Call&) {};
  ConnectTo({First(), Second()});
  Call("one");
  ASSERT_TRUE(RunUntil(loop, [&] { return !server->calls.empty(); }));
  server->CloseAll();
  ASSERT_TRUE(Answered(1));
  Call("two");
  ASSERT_TRUE(Answered(2));
  EXPECT_EQ(other.calls.size(), 1u);
}

TEST_F(ServersTest, AConnectionStaysWithAServerThatClosedItWhileItWasIdle) {
  ConnectTo({First(), Second()});
  Call("one");
  ASSERT_TRUE(Answered(1));
  server->CloseAll();
  RunUntil(loop, [&, end = loop.Now() + Duration(50)] { return loop.Now() >= end; });
  Call("two");
  ASSERT_TRUE(Answered(2));
  EXPECT_EQ(server->calls.size(), 2u);
  EXPECT_TRUE(other.calls.empty());
}

TEST_F(RpcConnectionTest, CallsCarryTheClientIdAndIncreasingCallNumbers) {
  Serve(std::nullopt);
  Connect(SimpleUser{"alice"});
  Call("one");
  Call("two");
  ASSERT_TRUE(RunUntil(loop, [&] { return server->calls.size() == 2; }));
  EXPECT_EQ(server->calls[0].header.clientid().size(), 16u);
  EXPECT_EQ(server->calls[0].header.clientid(), server->calls[1].header.clientid());
  EXPECT_EQ(server->calls[0].header.callid(), 0);
  EXPECT_EQ(server->calls[1].header.callid(), 1);
  EXPECT_EQ(server->calls[1].header.retrycount(), 0);
}

TEST_F(RpcConnectionTest, AnswersThatArriveOutOfOrderAreMatchedToTheirCalls) {
  Serve(std::nullopt);
  Connect(SimpleUser{"alice"});
  Call("one");
  Call("two");
  ASSERT_TRUE(RunUntil(loop, [&] { return server->calls.size() == 2; }));
  server->Succeed(server->calls[1], wire::GetQueueInfoRequest());
  ASSERT_TRUE(Answered(1));
  EXPECT_TRUE(replies.count("two"));
  server->Succeed(server->calls[0], wire::GetQueueInfoRequest());
  ASSERT_TRUE(Answered(2));
}

TEST_F(RpcConnectionTest, AConnectionAuthenticatesByTokenWithoutNamingAUser) {
  Serve(kToken);
  server->on_call = [&](const FakeRpcServer::Call& call) { server->Succeed(call, wire::GetQueueInfoRequest()); };
  Connect(kToken);
  Call("one");
  ASSERT_TRUE(Answered(1));
  EXPECT_TRUE(std::holds_alternative<std::string>(replies["one"]));
  EXPECT_EQ(server->header, std::string("hrpc\x09\0\xdf", 7));
  EXPECT_TRUE(server->contexts.at(0).has_userinfo());
  EXPECT_FALSE(server->contexts.at(0).userinfo().has_effectiveuser());
}

TEST_F(RpcConnectionTest, AWrongTokenFailsTheCallWithTheFirstLineOfTheServersMessage) {
  Serve(kToken);
  Connect(Token{"an identifier", "a wrong password", "", ""});
  Call("one");
  ASSERT_TRUE(Answered(1));
  EXPECT_EQ(FailureOf("one").kind, Kind::kRefused);
  EXPECT_EQ(FailureOf("one").message, "Invalid AMRMToken");
  EXPECT_EQ(ErrorOf(FailureOf("one"), "x").code, ErrorCode::kNotPermitted);
  EXPECT_EQ(ErrorOf(FailureOf("one"), "x").message, "x: InvalidToken: Invalid AMRMToken");
  EXPECT_TRUE(server->calls.empty());
}

TEST_F(RpcConnectionTest, NoCallIsSentToAServerThatDoesNotKnowTheTokensPassword) {
  Serve(kToken);
  server->knows_password = false;
  Connect(kToken);
  Call("one");
  ASSERT_TRUE(Answered(1));
  EXPECT_EQ(FailureOf("one").kind, Kind::kNotPermitted);
  EXPECT_TRUE(server->calls.empty());
}

TEST_F(RpcConnectionTest, AnUnsupportedRpcProtectionIsReportedInOneLine) {
  Serve(kToken);
  server->challenge_qop = "auth-new";
  Connect(kToken);
  Call("one");
  ASSERT_TRUE(Answered(1));
  EXPECT_EQ(ErrorOf(FailureOf("one"), "x").message,
            "x: the server demands the protection auth-new (hadoop.rpc.protection, dfs.data.transfer.protection); only "
            "auth, auth-int, and auth-conf "
            "with 3des are supported");
}

// ---- Servers that demand integrity or privacy

class ProtectedRpcTest : public RpcConnectionTest, public ::testing::WithParamInterface<const char*> {
 protected:
  ProtectedRpcTest() {
    Serve(kToken);
    server->challenge_qop = GetParam();
    Connect(kToken);
  }
  // Calls twice. The first call succeeds; `answer` sends the frames that follow its answer.
  RpcFailure FailureAfter(std::function<void(const FakeRpcServer::Call&)> answer) {
    server->on_call = [this, answer](const FakeRpcServer::Call& call) {
      if (call.method == "two") return answer(call);
      server->Succeed(call, wire::GetQueueInfoRequest());
    };
    Call("one");
    EXPECT_TRUE(Answered(1));
    EXPECT_TRUE(std::holds_alternative<std::string>(replies["one"]));
    Call("two");
    EXPECT_TRUE(Answered(2));
    return FailureOf("two");
  }
  std::string WrappedAnswer(const FakeRpcServer::Call& call) {
    return server->Wrapped(call.connection, AnswerTo(call));
  }
  static std::string AnswerTo(const FakeRpcServer::Call& call) {
    wire::RpcResponseHeader header;
    header.set_callid(static_cast<uint32_t>(call.header.callid()));
    header.set_status(wire::RpcResponseHeader::SUCCESS);
    const wire::GetQueueInfoRequest answer;
    return FrameOf({&header, &answer});
  }
};
INSTANTIATE_TEST_SUITE_P(Digest, ProtectedRpcTest, ::testing::Values("auth-int", "auth-conf"));

TEST_P(ProtectedRpcTest, CallsAndAnswersOfAnySizeAreProtected) {
  server->on_call = [&](const FakeRpcServer::Call& call) {
    wire::GetQueueInfoRequest answer;
    answer.set_queuename(call.method + call.request);
    server->Succeed(call, answer);
  };
  const std::string request(200'000, 'r');
  for (const char* method : {"one", "two", "three"}) {
    replies.clear();
    connection->Call(method, request, [&](RpcConnection::Reply reply) { replies[method] = std::move(reply); });
    Call("short");
    ASSERT_TRUE(Answered(2));
    wire::GetQueueInfoRequest answer;
    ASSERT_TRUE(answer.ParseFromString(std::get<std::string>(replies[method])));
    EXPECT_EQ(answer.queuename(), method + request);
  }
  EXPECT_EQ(server->calls.size(), 6u);
  EXPECT_EQ(server->contexts.size(), 1u);
  EXPECT_FALSE(server->contexts[0].userinfo().has_effectiveuser());
  EXPECT_EQ(*std::ranges::max_element(server->wrapped), std::string(GetParam()) == "auth-int" ? 65520u : 65510u);
}

TEST_P(ProtectedRpcTest, ATokenMayHaveSeveralAnswersAndAnAnswerMayHaveSeveralTokens) {
  server->on_call = [&](const FakeRpcServer::Call& call) {
    if (call.method != "three") return;
    std::string answers;
    for (const auto& each : server->calls) answers += AnswerTo(each);
    server->SendRaw(call.connection, server->Wrapped(call.connection, answers.substr(0, answers.size() - 1)));
    server->SendRaw(call.connection, server->Wrapped(call.connection, answers.substr(answers.size() - 1)));
  };
  for (const char* method : {"one", "two", "three"}) Call(method);
  ASSERT_TRUE(Answered(3));
  for (const auto& [method, reply] : replies) EXPECT_TRUE(std::holds_alternative<std::string>(reply)) << method;
}

TEST_P(ProtectedRpcTest, APingIsProtected) {
  Connect(kToken, {.ping = Duration(5)});
  Call("one");
  ASSERT_TRUE(RunUntil(loop, [&] { return server->pings >= 2; }));
}

TEST_P(ProtectedRpcTest, AnAnswerThatWasChangedOnItsWayClosesTheConnection) {
  const RpcFailure failure = FailureAfter([&](const FakeRpcServer::Call& call) {
    std::string answer = WrappedAnswer(call);
    answer[answer.size() - 10] ^= 1;
    server->SendRaw(call.connection, answer);
  });
  EXPECT_EQ(failure.kind, Kind::kLost);
  EXPECT_EQ(failure.message,
            "message 1 from the server was changed, repeated or lost on its way: its signature is wrong");
}

TEST_P(ProtectedRpcTest, ARepeatedOrLostAnswerClosesTheConnection) {
  const auto repeated = [&](const FakeRpcServer::Call& call) {
    const std::string pong = server->Wrapped(call.connection, AnswerTo(call).substr(0, 1));
    server->SendRaw(call.connection, pong + pong);
  };
  EXPECT_EQ(FailureAfter(repeated).message,
            "message 2 from the server was changed, repeated or lost on its way: its number is wrong");
  replies.clear();
  const auto lost = [&](const FakeRpcServer::Call& call) {
    (void)WrappedAnswer(call);
    server->SendRaw(call.connection, WrappedAnswer(call));
  };
  EXPECT_EQ(FailureAfter(lost).message,
            "message 1 from the server was changed, repeated or lost on its way: its number is wrong");
}

TEST_P(ProtectedRpcTest, AnUnprotectedAnswerClosesTheConnection) {
  const RpcFailure failure =
      FailureAfter([&](const FakeRpcServer::Call& call) { server->SendRaw(call.connection, AnswerTo(call)); });
  EXPECT_EQ(failure.kind, Kind::kProtocolError);
  EXPECT_EQ(failure.message, "the server answered without the protection of messages that it demanded");
}

TEST_P(ProtectedRpcTest, ProtectedBytesThatAreNotHadoopRpcCloseTheConnection) {
  const RpcFailure failure = FailureAfter([&](const FakeRpcServer::Call& call) {
    server->SendRaw(call.connection, server->Wrapped(call.connection, std::string("\xff\xff\xff\xff", 4)));
  });
  EXPECT_EQ(failure.kind, Kind::kProtocolError);
}

TEST_P(ProtectedRpcTest, NoCallbackRunsAfterACallbackDestroysTheConnection) {
  server->on_call = [&](const FakeRpcServer::Call& call) {
    if (call.method == "two")
      server->SendRaw(call.connection,
                      server->Wrapped(call.connection, AnswerTo(server->calls[0]) + AnswerTo(server->calls[1])));
  };
  connection->Call("one", "", [this](const RpcConnection::Reply&) {
    connection.reset();
    replies["one"] = "";
  });
  Call("two");
  ASSERT_TRUE(Answered(1));
  Settle();
  EXPECT_FALSE(replies.count("two"));
}

TEST_F(RpcConnectionTest, AccessErrorsProtocolErrorsAndVersionErrorsAreFinalAndOthersAreTemporary) {
  using Failure = RpcFailure;
  const auto answered = [](const std::string& name) {
    return Failure{Kind::kAnswered, "org.apache.hadoop." + name, ""};
  };
  for (const Failure& final : {Failure{Kind::kNotPermitted, "", "privacy"}, Failure{Kind::kProtocolError, "", "HTTP"},
                               Failure{Kind::kRefused, "org.apache.hadoop.security.AccessControlException", "SIMPLE"},
                               answered("security.authorize.AuthorizationException"),
                               answered("ipc.RpcNoSuchProtocolException"), answered("ipc.RPC$VersionMismatch")})
    EXPECT_TRUE(IsFinal(final)) << final.exception_class << final.message;
  for (const Failure& temporary :
       {Failure{Kind::kLost, "", "connect"}, Failure{Kind::kRefused, "java.io.IOException", ""},
        answered("ipc.StandbyException"), answered("ipc.RetriableException"),
        answered("yarn.exceptions.InvalidResourceRequestException"), answered("yarn.exceptions.YarnException")})
    EXPECT_FALSE(IsFinal(temporary)) << temporary.exception_class;
}

TEST_F(RpcConnectionTest, AServerExceptionFailsOnlyTheCallThatCausedTheException) {
  Serve(std::nullopt);
  server->on_call = [&](const FakeRpcServer::Call& call) {
    if (call.method == "one")
      return server->Fail(call, "org.apache.hadoop.yarn.exceptions.ApplicationNotFoundException", "no such\n\tat Y");
    server->Succeed(call, wire::GetQueueInfoRequest());
  };
  Connect(SimpleUser{"alice"});
  Call("one");
  Call("two");
  ASSERT_TRUE(Answered(2));
  EXPECT_EQ(FailureOf("one").kind, Kind::kAnswered);
  EXPECT_TRUE(IsException(FailureOf("one"), "ApplicationNotFoundException"));
  EXPECT_EQ(ErrorOf(FailureOf("one"), "ask").message, "ask: ApplicationNotFoundException: no such");
  EXPECT_EQ(ErrorOf(FailureOf("one"), "ask").code, ErrorCode::kNotFound);
  EXPECT_TRUE(std::holds_alternative<std::string>(replies["two"]));
  EXPECT_EQ(server->connections, 1);
}

TEST_F(RpcConnectionTest, AFatalAnswerFailsEveryOpenCall) {
  Serve(std::nullopt);
  server->on_call = [&](const FakeRpcServer::Call& call) {
    if (call.method == "two")
      server->Fail(call, "org.apache.hadoop.security.AccessControlException", "SIMPLE authentication is not enabled",
                   true);
  };
  Connect(SimpleUser{"alice"});
  Call("one");
  Call("two");
  ASSERT_TRUE(Answered(2));
  EXPECT_EQ(FailureOf("one").kind, Kind::kRefused);
  EXPECT_EQ(ErrorOf(FailureOf("two"), "x").code, ErrorCode::kNotPermitted);
}

TEST_F(RpcConnectionTest, ABrokenConnectionFailsEveryOpenCallAndTheNextCallReconnects) {
  Serve(std::nullopt);
  server->on_call = [&](const FakeRpcServer::Call& call) {
    if (call.method == "three") return server->Succeed(call, wire::GetQueueInfoRequest());
    if (call.method == "two") server->CloseAll();
  };
  Connect(SimpleUser{"alice"});
  Call("one");
  Call("two");
  ASSERT_TRUE(Answered(2));
  EXPECT_EQ(FailureOf("one").kind, Kind::kLost);
  EXPECT_EQ(ErrorOf(FailureOf("one"), "x").message, "x: the peer closed the connection");
  Call("three");
  ASSERT_TRUE(Answered(3));
  EXPECT_TRUE(std::holds_alternative<std::string>(replies["three"]));
  EXPECT_EQ(server->connections, 2);
  EXPECT_EQ(server->contexts.size(), 2u);
}

TEST_F(RpcConnectionTest, ACallToAClosedPortOrAnUnknownHostFailsWithTheReason) {
  Serve(std::nullopt);
  const int port = server->port();
  server.reset();
  connection.emplace(loop, names, RpcServer{{{"127.0.0.1", port}}, kProtocol}, SimpleUser{"alice"});
  Call("one");
  ASSERT_TRUE(Answered(1));
  EXPECT_EQ(ErrorOf(FailureOf("one"), "x").message, "x: connect: connection refused");
  connection.emplace(loop, names, RpcServer{{{"bad name", port}}, kProtocol}, SimpleUser{"alice"});
  Call("two");
  ASSERT_TRUE(Answered(2));
  EXPECT_EQ(FailureOf("two").kind, Kind::kLost);
  EXPECT_EQ(FailureOf("two").message.find("resolve bad name"), 0u) << FailureOf("two").message;
}

TEST_F(RpcConnectionTest, AHostNameThatIsNotResolvedWithinTheTimeoutIsNamedInTheError) {
  std::promise<void> end;
  HostResolver hanging(loop, [ended = end.get_future().share()](const std::string&) -> Result<std::string> {
    ended.wait();
    return Error{ErrorCode::kUnavailable, "too late"};
  });
  for (const RpcLimits limits : {RpcLimits{.establish = Duration(20)}, RpcLimits{.call = Duration(20)}}) {
    replies.clear();
    connection.emplace(loop, hanging, RpcServer{{{"rm.example.org", 1}}, kProtocol}, SimpleUser{"alice"}, limits);
    Call("one");
    ASSERT_TRUE(Answered(1));
    EXPECT_EQ(FailureOf("one").message, "resolve rm.example.org: no answer within 20 ms");
    EXPECT_EQ(FailureOf("one").kind, Kind::kLost);
  }
  connection.reset();
  end.set_value();
}

TEST_F(RpcConnectionTest, ASilentServerTimesOutDuringConnectionSetupAndDuringACall) {
  Serve(kToken);
  server->is_mute = true;
  Connect(kToken, {.establish = Duration(20)});
  Call("one");
  ASSERT_TRUE(Answered(1));
  EXPECT_EQ(FailureOf("one").message, "no connection within 20 ms");
  Connect(SimpleUser{"alice"}, {.call = Duration(20)});
  Call("two");
  ASSERT_TRUE(Answered(2));
  EXPECT_EQ(FailureOf("two").message, "no answer to two within 20 ms");
  EXPECT_EQ(FailureOf("two").kind, Kind::kLost);
}

TEST_F(RpcConnectionTest, ASilentServerIsPingedWhileACallIsOpen) {
  Serve(std::nullopt);
  Connect(SimpleUser{"alice"}, {.ping = Duration(5)});
  Call("one");
  ASSERT_TRUE(RunUntil(loop, [&] { return server->pings >= 2; }));
  server->Succeed(server->calls.at(0), wire::GetQueueInfoRequest());
  ASSERT_TRUE(Answered(1));
  EXPECT_EQ(server->connections, 1);
}

TEST_F(RpcConnectionTest, AnAnswerThatIsNotHadoopRpcFailsTheCall) {
  Serve(std::nullopt);
  for (const std::string& bytes :
       {std::string("HTTP/1.1 404 Not Found\r\n\r\n"), std::string("\xff\xff\xff\xff", 4), std::string(4, '\0'),
        std::string("\0\0\0\3abc", 7), std::string("\0\0\0\6\4\x08\x63\x10\0\0", 10)}) {
    replies.clear();
    server->on_call = [&](const FakeRpcServer::Call& call) { server->SendRaw(call.connection, bytes); };
    Connect(SimpleUser{"alice"});
    Call("one");
    ASSERT_TRUE(Answered(1)) << bytes;
    EXPECT_TRUE(std::holds_alternative<RpcFailure>(replies["one"])) << bytes;
  }
}

TEST_F(RpcConnectionTest, NoCallbackRunsAfterACallbackDestroysTheConnection) {
  Serve(std::nullopt);
  server->on_call = [&](const FakeRpcServer::Call& call) { server->Succeed(call, wire::GetQueueInfoRequest()); };
  Connect(SimpleUser{"alice"});
  connection->Call("one", "", [this](const RpcConnection::Reply&) {
    connection.reset();
    replies["one"] = "";
  });
  Call("two");
  ASSERT_TRUE(Answered(1));
  Settle();
  EXPECT_FALSE(replies.count("two"));
}

TEST_F(RpcConnectionTest, ARequestAbove64MiBFailsWithoutAffectingOtherCalls) {
  Serve(std::nullopt);
  server->on_call = [&](const FakeRpcServer::Call& call) { server->Succeed(call, wire::GetQueueInfoRequest()); };
  Connect(SimpleUser{"alice"});
  connection->Call("long", std::string((64 << 20) + 1, 'x'),
                   [this](RpcConnection::Reply reply) { replies["long"] = std::move(reply); });
  Call("two");
  ASSERT_TRUE(Answered(2));
  EXPECT_EQ(FailureOf("long").kind, Kind::kProtocolError);
  EXPECT_TRUE(std::holds_alternative<std::string>(replies["two"]));
}

TEST(RpcFailureTest, AStandbyExceptionIsMappedToUnavailableAndErrorTextsAreCutToTheirFirstLine) {
  const RpcFailure failure{Kind::kAnswered, "org.apache.hadoop.ipc.StandbyException", "not active"};
  EXPECT_EQ(ErrorOf(failure, "x").code, ErrorCode::kUnavailable);
  EXPECT_EQ(FirstLine("a\x01\tb \nc"), "ab");
  EXPECT_EQ(FirstLine(std::string(999, 'a') + "\xc3\xa4").size(), 999u);  // a character is never cut
}

}  // namespace
}  // namespace tony::hadoop
