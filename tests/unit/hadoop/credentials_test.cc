#include "runtime/hadoop/credentials.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>

namespace tony::hadoop {
namespace {

using testing::HasSubstr;
using testing::Not;

std::string Bytes(std::initializer_list<int> values) {
  std::string bytes;
  for (const int value : values) bytes.push_back(static_cast<char>(value));
  return bytes;
}

Credentials Sample() {
  Credentials credentials;
  credentials.tokens[""] = {std::string("id\0\x80", 4), std::string(20, '\xff'), "YARN_AM_RM_TOKEN", ""};
  credentials.tokens["10.0.0.1:8020"] = {std::string(300, 'i'), "pass", "HDFS_DELEGATION_TOKEN", "10.0.0.1:8020"};
  credentials.secrets["tony.job.token"] = std::string("\0\1\2", 3);
  credentials.secrets["empty"] = "";
  return credentials;
}

TEST(VintTest, VariableLengthIntegersAreEncodedWithTheSameBytesAsInHadoop) {
  const std::vector<std::pair<int64_t, std::string>> known = {
      {0, Bytes({0})},
      {127, Bytes({0x7f})},
      {128, Bytes({0x8f, 0x80})},
      {-112, Bytes({0x90})},
      {-113, Bytes({0x87, 0x70})},
      {256, Bytes({0x8e, 0x01, 0x00})},
      {1700000000000, Bytes({0x8a, 0x01, 0x8b, 0xcf, 0xe5, 0x68, 0x00})}};
  for (const auto& [number, bytes] : known) {
    std::string written;
    AppendVint(written, number);
    EXPECT_EQ(written, bytes) << number;
    EXPECT_EQ(ByteReader(bytes).Vint(), number);
  }
}

TEST(VintTest, VariableLengthIntegersOfEveryLengthAreReadBackAndRejectedIfTruncated) {
  for (int shift = 0; shift < 64; ++shift) {
    for (const int64_t near : {-1, 0, 1}) {
      const auto number = static_cast<int64_t>((uint64_t{1} << shift) + static_cast<uint64_t>(near));
      for (const int64_t value : {number, ~number}) {
        std::string bytes;
        AppendVint(bytes, value);
        EXPECT_EQ(ByteReader(bytes).Vint(), value);
        bytes.pop_back();
        EXPECT_EQ(ByteReader(bytes).Vint(), std::nullopt);
      }
    }
  }
}

TEST(CredentialsTest, CredentialsAreReadBackAsWritten) {
  const auto read = DecodeCredentials(EncodeCredentials(Sample()));
  ASSERT_TRUE(read.ok()) << read.error().message;
  EXPECT_TRUE(*read == Sample());
}

TEST(CredentialsTest, EmptyCredentialsAreEncodedInSevenBytes) {
  EXPECT_EQ(EncodeCredentials({}), Bytes({'H', 'D', 'T', 'S', 0, 0, 0}));
  EXPECT_TRUE(*DecodeCredentials(Bytes({'H', 'D', 'T', 'S', 0, 0, 0})) == Credentials{});
}

TEST(CredentialsTest, ATokenHasTheBytesThatHadoopWrites) {
  Credentials credentials;
  credentials.tokens["a"] = {"ID", "P", "K", "s:1"};
  EXPECT_EQ(EncodeCredentials(credentials),
            Bytes({'H', 'D', 'T', 'S', 0, 1, 1, 'a', 2, 'I', 'D', 1, 'P', 1, 'K', 3, 's', ':', '1', 0}));
}

TEST(CredentialsTest, CredentialsInProtobufFormatAreRead) {
  const std::string token = Bytes({0x0a, 2, 'I', 'D', 0x12, 1, 'P', 0x1a, 1, 'K', 0x22, 3, 's', ':', '1'});
  const std::string entry = Bytes({0x0a, 1, 'a', 0x12, 15}) + token;
  const std::string secret = Bytes({0x0a, 1, 'b', 0x1a, 2, 0, 0xff, 0x48, 7});  // the last field is unknown
  const std::string message = Bytes({0x0a, 20}) + entry + Bytes({0x12, 9}) + secret;
  const auto read = DecodeCredentials("HDTS" + Bytes({1, static_cast<int>(message.size())}) + message);
  ASSERT_TRUE(read.ok()) << read.error().message;
  Credentials expected;
  expected.tokens["a"] = {"ID", "P", "K", "s:1"};
  expected.secrets["b"] = Bytes({0, 0xff});
  EXPECT_TRUE(*read == expected);
}

TEST(CredentialsTest, TruncatedCredentialsAreRejected) {
  const std::string bytes = EncodeCredentials(Sample());
  for (size_t size = 0; size < bytes.size(); ++size) {
    EXPECT_EQ(DecodeCredentials(bytes.substr(0, size)).error().code, ErrorCode::kInvalid) << size;
  }
}

TEST(CredentialsTest, CredentialsWithWrongLengthsOrCountsAreRejected) {
  std::string huge;
  AppendVint(huge, std::numeric_limits<int64_t>::max());
  const std::string head = "HDTS" + Bytes({0});
  for (const std::string& rest :
       {huge, Bytes({1}) + huge, Bytes({-1}), Bytes({1, -5}), Bytes({0, -1}), Bytes({0}) + huge}) {
    EXPECT_EQ(DecodeCredentials(head + rest).error().message, "credentials: the bytes are damaged or cut off");
  }
  EXPECT_FALSE(DecodeCredentials("HDTS" + Bytes({1, 0xff, 0xff, 0xff, 0xff, 0x0f})).ok());
  EXPECT_FALSE(DecodeCredentials("HDTS" + Bytes({2, 0, 0})).ok());
  EXPECT_FALSE(DecodeCredentials("nothing like it").ok());
}

TEST(CredentialsTest, TheErrorForMalformedCredentialsShowsNoSecret) {
  EXPECT_THAT(DecodeCredentials("HDTS\x01secret").error().message, Not(HasSubstr("secret")));
}

// The text was made by Token.encodeToUrlString() of Hadoop 3.4.3.
TEST(CredentialsTest, ATokenIsWrittenAndReadAsTheTextThatHadoopUsesInUrls) {
  const Token token{Bytes({0, 0xff, 0x7f, 'i'}), "pass?>", kHdfsTokenKind, "127.0.0.1:8020"};
  const std::string text = "BAD_f2kGcGFzcz8-FUhERlNfREVMRUdBVElPTl9UT0tFTg4xMjcuMC4wLjE6ODAyMA";
  EXPECT_EQ(TextOf(token), text);
  EXPECT_TRUE(*TokenFromText(text) == token);
  for (const std::string& wrong : {text.substr(1), text + "A", text.substr(0, 40), std::string("a+b"), std::string()})
    EXPECT_EQ(TokenFromText(wrong).error().code, ErrorCode::kInvalid) << wrong;
}

TEST(CredentialsTest, TheTokenForAnHdfsIsFoundByItsServiceOrElseByItsKind) {
  const Token other{"a", "", kHdfsTokenKind, "nn1:8020"}, wanted{"b", "", "SWEBHDFS delegation", "ha-hdfs:pair"};
  const std::map<std::string, Token> tokens = {{"0", {"c", "", kRmTokenKind, "ha-hdfs:pair"}}, {"1", other}, {"2", wanted}};
  EXPECT_TRUE(*HdfsTokenIn(tokens, {"nn2:8020", "ha-hdfs:pair"}) == wanted);
  EXPECT_TRUE(*HdfsTokenIn(tokens, {"nn3:8020"}) == other);
  EXPECT_FALSE(HdfsTokenIn({{"0", {"c", "", kRmTokenKind, ""}}}, {""}));
}

}  // namespace
}  // namespace tony::hadoop
