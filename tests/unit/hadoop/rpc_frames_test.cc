#include "runtime/hadoop/rpc_frames.h"

#include <gtest/gtest.h>

#include "runtime/base/strings.h"
#include "runtime/hadoop/wire/client.pb.h"
#include "runtime/hadoop/wire/master.pb.h"
#include "tests/unit/hadoop/hex.h"

namespace tony::hadoop {
namespace {

constexpr char kClientId[] = "0123456789abcdef";
constexpr char kMasterProtocol[] = "org.apache.hadoop.yarn.api.ApplicationMasterProtocolPB";
constexpr char kClientProtocol[] = "org.apache.hadoop.yarn.api.ApplicationClientProtocolPB";

std::string Length(size_t size) { return {0, 0, static_cast<char>(size >> 8), static_cast<char>(size)}; }

// The bytes below were written by protoc from Hadoop's own .proto files.
TEST(RpcFramesTest, AConnectionBeginsWithASevenByteHeader) {
  EXPECT_EQ(ToHex(ConnectionHeader(RpcAuth::kSasl)),
            "68727063"
            "09"
            "00"
            "df");
  EXPECT_EQ(ToHex(ConnectionHeader(RpcAuth::kNone)),
            "68727063"
            "09"
            "00"
            "00");
}

TEST(RpcFramesTest, TheSaslNegotiateFrameEqualsThatOfHadoop) {
  wire::RpcSasl message;
  message.set_state(wire::RpcSasl::NEGOTIATE);
  EXPECT_EQ(ToHex(SaslFrame(message)),
            "0000000e"
            "0a08021000184122002801"
            "021001");
}

TEST(RpcFramesTest, AConnectionContextNamesTheUserUnlessATokenIsUsed) {
  const std::string header = FromHex("1a0802100018052210303132333435363738396162636465662801");
  const std::string token = header + FromHex("3a12001a36") + kMasterProtocol;
  EXPECT_EQ(ToHex(ContextFrame(kClientId, "", kMasterProtocol)), ToHex(Length(token.size()) + token));
  const std::string simple = header + FromHex("4112070a05") + "alice" + FromHex("1a36") + kClientProtocol;
  EXPECT_EQ(ToHex(ContextFrame(kClientId, "alice", kClientProtocol)), ToHex(Length(simple.size()) + simple));
}

TEST(RpcFramesTest, ACallNamesItsMethodAndProtocol) {
  const std::string call = FromHex("1a0802100018002210303132333435363738396162636465662800") + FromHex("4d0a11") +
                           "getNewApplication" + FromHex("1236") + kClientProtocol + FromHex("1801") + FromHex("00");
  EXPECT_EQ(ToHex(CallFrame(kClientId, {.method = "getNewApplication", .protocol = kClientProtocol}, "")),
            ToHex(Length(call.size()) + call));
}

TEST(RpcFramesTest, APingFrameConsistsOfAHeaderOnly) {
  EXPECT_EQ(ToHex(PingFrame(kClientId)),
            "0000001b"
            "1a0802100018072210303132333435363738396162636465662801");
}

TEST(RpcFramesTest, ProtobufMessagesHaveTheFieldNumbersOfHadoop) {
  wire::AMRMTokenIdentifier token;
  token.mutable_appattemptid()->set_attemptid(1);
  token.mutable_appattemptid()->mutable_application_id()->set_id(1);
  token.mutable_appattemptid()->mutable_application_id()->set_cluster_timestamp(1700000000000);
  token.set_keyid(-1234);
  EXPECT_EQ(ToHex(token.SerializeAsString()), "0a0d0a0908011080d095ffbc31100110aef6ffffffffffffff01");
  wire::Resource resource;
  resource.set_memory(2048);
  resource.set_virtual_cores(2);
  auto& gpu = *resource.add_resource_value_map();
  gpu.set_key("yarn.io/gpu");
  gpu.set_value(1);
  gpu.set_units("");
  gpu.set_type(wire::COUNTABLE);
  EXPECT_EQ(ToHex(resource.SerializeAsString()), "08801010021a130a0b7961726e2e696f2f67707510011a002000");
}

std::string Answer(uint32_t call_id, wire::RpcResponseHeader::RpcStatusProto status, const std::string& rest) {
  wire::RpcResponseHeader header;
  header.set_callid(call_id);
  header.set_status(status);
  return FrameOf({&header}).substr(4) + rest;
}

TEST(RpcFramesTest, TheUnsignedCallIdOfAnAnswerIsReadAsASignedNumber) {
  const std::string frame = Answer(4294967263u, wire::RpcResponseHeader::SUCCESS, FromHex("0161"));
  const auto response = ReadResponse(frame);
  ASSERT_TRUE(response.ok()) << response.error().message;
  EXPECT_EQ(response->call_id, kSaslCallId);
  EXPECT_EQ(response->body, "a");
}

TEST(RpcFramesTest, AnErrorAnswerWithABodyIsRejected) {
  EXPECT_TRUE(ReadResponse(Answer(1, wire::RpcResponseHeader::ERROR, "")).ok());
  EXPECT_FALSE(ReadResponse(Answer(1, wire::RpcResponseHeader::ERROR, FromHex("00"))).ok());
}

TEST(RpcFramesTest, AResponseWithAWrongBodyLengthIsRejected) {
  for (const char* rest : {"", "05", "8080808001", "ffffffffffffffffff01", "ff", "0000"})
    EXPECT_FALSE(ReadResponse(Answer(1, wire::RpcResponseHeader::SUCCESS, FromHex(rest))).ok()) << rest;
  EXPECT_TRUE(ReadResponse(Answer(1, wire::RpcResponseHeader::SUCCESS, FromHex("00"))).ok());
}

TEST(RpcFramesTest, AResponseFrameWithoutAValidHeaderIsRejected) {
  EXPECT_FALSE(ReadResponse("").ok());
  EXPECT_FALSE(ReadResponse(FromHex("00")).ok());          // no call id
  EXPECT_FALSE(ReadResponse(FromHex("0408011007")).ok());  // an unknown status
}

TEST(RpcFramesTest, ALongMessageIsReadBack) {
  wire::GetApplicationReportResponse message;
  message.mutable_application_report()->set_diagnostics(std::string(300'000, 'd'));
  const std::string frame = FrameOf({&message}).substr(4);
  std::string_view rest = frame;
  wire::GetApplicationReportResponse again;
  ASSERT_TRUE(TakeMessage(rest, again).ok());
  EXPECT_TRUE(rest.empty());
  EXPECT_EQ(again.application_report().diagnostics().size(), 300'000u);
}

}  // namespace
}  // namespace tony::hadoop
