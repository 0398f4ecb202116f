#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <fstream>
#include <random>

#include "runtime/rpc/am_methods.h"
#include "runtime/rpc/server_connection.h"
#include "tests/support/places.h"
#include "tests/unit/rpc/rpc_fixture.h"

namespace tony {
namespace {

using apache::thrift::protocol::T_ONEWAY;
using apache::thrift::protocol::T_REPLY;
using testing::ElementsAre;

class FakeOrigin : public CallOrigin {
 public:
  void CallEnded(Call&, std::string message) override { messages.push_back(std::move(message)); }
  std::vector<std::string> messages;  // an empty text: dropped reply
};

class DispatcherTest : public testing::Test {
 protected:
  Status Dispatch(std::string_view payload) {
    MessageReader reader(payload);
    const auto header = reader.ReadHeader();
    if (!header.ok()) return header.error();
    const auto call = std::make_shared<Call>(loop, origin, header->method, header->seq);
    return dispatcher.Dispatch(*header, reader, call);
  }
  ParsedAnswer LastAnswer() { return ParseAnswer(Payload(origin->messages.back())); }

  EventLoop loop;
  FakeAmService service;
  Dispatcher dispatcher = MakeAmDispatcher(service);
  std::shared_ptr<FakeOrigin> origin = std::make_shared<FakeOrigin>();
};

// Lines look like " Registered Register(1: Caller caller, ...": the method is the word before the bracket.
std::vector<std::string> MethodsInTheIdl() {
  std::ifstream file(SourceFolder() + "/runtime/rpc/tony.thrift");
  std::vector<std::string> names;
  for (std::string line; std::getline(file, line);) {
    const size_t bracket = line.find("(1: ");
    if (!line.starts_with("  ") || bracket == std::string::npos) continue;
    const size_t before = line.rfind(' ', bracket);
    names.push_back(line.substr(before + 1, bracket - before - 1));
  }
  return names;
}

TEST_F(DispatcherTest, TheDispatchedMethodsAreExactlyTheMethodsOfTheIdl) {
  EXPECT_EQ(MethodsInTheIdl().size(), 13u);
  EXPECT_THAT(dispatcher.methods(), testing::UnorderedElementsAreArray(MethodsInTheIdl()));
}

TEST_F(DispatcherTest, TheReplyToAHeartbeatHasTheSequenceNumberOfTheCall) {
  EXPECT_TRUE(Dispatch(Payload(HeartbeatFrame(5))).ok());
  EXPECT_THAT(service.calls, ElementsAre("Heartbeat"));
  EXPECT_EQ(LastAnswer().header.seq, 5);
  EXPECT_EQ(LastAnswer().header.type, T_REPLY);
}

TEST_F(DispatcherTest, AnUnknownMethodIsAnsweredWithAnException) {
  EXPECT_TRUE(Dispatch(Payload(EmptyCallFrame("Explode", 6))).ok());
  EXPECT_EQ(LastAnswer().exception, "unknown method Explode");
  EXPECT_EQ(LastAnswer().header.seq, 6);
}

TEST_F(DispatcherTest, AReplyOrOnewayMessageIsRejectedWithoutCallingTheService) {
  EXPECT_FALSE(Dispatch(Payload(EmptyCallFrame("Heartbeat", 1, T_REPLY))).ok());
  EXPECT_FALSE(Dispatch(Payload(EmptyCallFrame("Heartbeat", 1, T_ONEWAY))).ok());
  EXPECT_TRUE(service.calls.empty());
}

TEST_F(DispatcherTest, AnExceptionThrownByTheServiceIsSentAsTheAnswer) {
  service.before_heartbeat = [] { throw std::runtime_error("boom"); };
  EXPECT_TRUE(Dispatch(Payload(HeartbeatFrame(7))).ok());
  EXPECT_EQ(LastAnswer().exception, "boom");
}

TEST_F(DispatcherTest, AHeartbeatWithoutFieldsIsRefusedWithTheNameOfAMissingField) {
  EXPECT_TRUE(Dispatch(Payload(EmptyCallFrame("Heartbeat", 8))).ok());
  const auto result = ParseResult<rpc::ExecutorService_Heartbeat_result>(Payload(origin->messages.back()));
  ASSERT_TRUE(result.__isset.refused);
  EXPECT_EQ(result.refused.reason, rpc::BAD_REQUEST);
  EXPECT_EQ(result.refused.message, "job: missing");
  EXPECT_TRUE(service.calls.empty());
}

TEST_F(DispatcherTest, ARegisterCallWithAnotherProtocolVersionIsRefusedBeforeItsFieldsAreChecked) {
  rpc::ExecutorService_Register_args args;
  args.registration.protocol = 2;
  EXPECT_TRUE(Dispatch(Payload(WriteMessage({"Register", apache::thrift::protocol::T_CALL, 1}, args))).ok());
  const auto result = ParseResult<rpc::ExecutorService_Register_result>(Payload(origin->messages.back()));
  EXPECT_EQ(result.refused.reason, rpc::BAD_PROTOCOL);
  EXPECT_EQ(result.refused.message, "protocol 2, expected 1");
  EXPECT_TRUE(service.registered.empty());
}

TEST_F(DispatcherTest, OnlyTheFirstReplyToACallIsSent) {
  service.on_await = [](const Caller&, const Reply<Command>& reply) {
    reply.Success({});
    reply.Success({});
    reply.Refuse(RefusalReason::kNotLeader, "");
  };
  EXPECT_TRUE(Dispatch(Payload(AwaitFrame(1))).ok());
  EXPECT_EQ(origin->messages.size(), 1u);
}

TEST_F(DispatcherTest, ACallWhoseReplyIsDroppedIsReportedToTheConnection) {
  service.on_await = [](const Caller&, const Reply<Command>&) {};
  EXPECT_TRUE(Dispatch(Payload(AwaitFrame(1))).ok());
  EXPECT_THAT(origin->messages, ElementsAre(""));
}

TEST_F(DispatcherTest, AReplyAfterTheConnectionIsDestroyedDoesNotCrash) {
  EXPECT_TRUE(Dispatch(Payload(AwaitFrame(1))).ok());
  origin.reset();
  service.parked.front().Success({});
  service.parked.clear();
}

TEST_F(DispatcherTest, ACallTruncatedAtAnyByteIsRejectedWithoutCallingTheService) {
  const std::string frame = AwaitFrame(1);
  const std::string_view whole = Payload(frame);
  for (size_t length = 0; length < whole.size(); ++length) EXPECT_FALSE(Dispatch(whole.substr(0, length)).ok());
  EXPECT_TRUE(service.calls.empty());
}

TEST_F(DispatcherTest, AFrameWithAHugeStringLengthIsRejected) {
  std::string frame(Payload(AwaitFrame(1)));
  const size_t at = frame.find("local-1");
  ASSERT_NE(at, std::string::npos);
  frame[at - 4] = '\x7f';
  EXPECT_FALSE(Dispatch(frame).ok());
}

TEST_F(DispatcherTest, AFrameWith100000NestedStructsIsRejected) {
  std::string frame(Payload(EmptyCallFrame("Await", 1)));
  frame.pop_back();
  for (int i = 0; i < 100'000; ++i) frame.append("\x0c\x00\x63", 3);  // field 99 holds a struct, recursively
  EXPECT_FALSE(Dispatch(frame).ok());
}

// Bytes are changed, cut, doubled and inserted at random with a fixed seed. Nothing may crash, and every call is
// answered, parked, dropped or invalid.
TEST_F(DispatcherTest, RandomlyMutatedFramesDoNotCrashTheDispatcher) {
  std::mt19937 random(20261121);
  const auto below = [&random](size_t bound) { return random() % bound; };
  const std::vector<std::string> seeds = {std::string(Payload(AwaitFrame(1))), std::string(Payload(HeartbeatFrame(2))),
                                          std::string(Payload(EmptyCallFrame("Register", 3)))};
  const auto end = std::chrono::steady_clock::now() + std::chrono::milliseconds(500);
  size_t rounds = 0;
  for (; rounds < 20'000 && std::chrono::steady_clock::now() < end; ++rounds) {
    std::string frame = seeds[below(seeds.size())];
    for (size_t change = below(6); change < 6 && !frame.empty(); ++change) {
      const size_t at = below(frame.size());
      switch (below(5)) {
        case 0:
          frame[at] = static_cast<char>(random());
          break;
        case 1:
          frame.resize(at);
          break;
        case 2:
          frame.insert(at, frame.substr(at, below(40)));
          break;
        case 3:
          frame.insert(at, 1, static_cast<char>(random()));
          break;
        case 4:
          frame[at] = static_cast<char>(frame[at] ^ (1 << below(8)));
          break;
      }
    }
    (void)Dispatch(frame);
    service.parked.clear();
  }
  EXPECT_GT(rounds, 100u);
  EXPECT_GT(service.calls.size(), 0u);
}

}  // namespace
}  // namespace tony
