#include "runtime/yarn/cluster_tokens.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include "runtime/base/strings.h"
#include "runtime/os/files.h"
#include "tests/support/results.h"
#include "tests/support/temp_folder.h"

namespace tony {
namespace {

using hadoop::Credentials;
using hadoop::Token;

// The identifier of a token that a NameNode 3.4.3 issued to user root with renewer rm, without its last two numbers.
Token HdfsToken(int64_t issued, int64_t longest, const std::string& password = "p") {
  std::string identifier("\0\4root\2rm\0", 10);
  hadoop::AppendVint(identifier, issued);
  hadoop::AppendVint(identifier, longest);
  return {identifier + "\1\2", password, hadoop::kHdfsTokenKind, "ha-hdfs:pair"};
}

Credentials OfJob() {
  Credentials credentials;
  credentials.tokens["ha-hdfs:pair"] = HdfsToken(1000, 9000);
  credentials.tokens["ha-hdfs:other"] = HdfsToken(2000, 8000);
  credentials.tokens["rm:8032"] = {"i", "p", hadoop::kRmTokenKind, "rm:8032"};
  credentials.tokens["am"] = {"i", "p", "YARN_AM_RM_TOKEN", ""};
  credentials.secrets["tony.job"] = "application_1_0001";
  return credentials;
}

TEST(ClusterTokensTest, TheNumberIsTheNewestIssueAndTheEndIsTheFirstEndOfAToken) {
  const ClusterTokens tokens = ClusterTokensIn(OfJob());
  EXPECT_EQ(tokens.number, 2000);
  EXPECT_EQ(tokens.until, FromMillis(8000));
  const Credentials chosen = Must(hadoop::DecodeCredentials(tokens.bytes));
  EXPECT_EQ(chosen.tokens.size(), 3u) << "the token of the AM is not for others";
  EXPECT_FALSE(chosen.tokens.contains("am"));
  EXPECT_TRUE(chosen.secrets.empty());
}

TEST(ClusterTokensTest, ATokenOfTheKeyManagementServerMayEndFirst) {
  Credentials credentials = OfJob();
  credentials.tokens["kms"] = HdfsToken(3000, 7000);
  credentials.tokens["kms"].kind = hadoop::kKmsTokenKind;
  EXPECT_EQ(ClusterTokensIn(credentials).until, FromMillis(7000));
  EXPECT_EQ(ClusterTokensIn(credentials).number, 2000) << "the number is a time of the NameNode's clock";
}

TEST(ClusterTokensTest, FreshTokensEndWhenTheirRenewerOrTheTokensThemselvesSay) {
  const ClusterTokens early = FreshClusterTokens(OfJob(), FromMillis(3000));
  EXPECT_EQ(early.number, 2000);
  EXPECT_EQ(early.until, FromMillis(3000));
  EXPECT_EQ(ClusterTokensIn(Must(hadoop::DecodeCredentials(early.bytes))).until, FromMillis(3000));
  EXPECT_EQ(FreshClusterTokens(OfJob(), FromMillis(10'000)).until, FromMillis(8000));
  EXPECT_EQ(FreshClusterTokens({}, FromMillis(3000)), ClusterTokens{});
}

TEST(ClusterTokensTest, CredentialsWithoutATokenForHdfsHaveNoClusterTokens) {
  Credentials credentials = OfJob();
  for (const char* alias : {"ha-hdfs:pair", "ha-hdfs:other"}) credentials.tokens.erase(alias);
  EXPECT_EQ(ClusterTokensIn(credentials), ClusterTokens{});
  credentials.tokens["hdfs"] = {"no identifier", "p", hadoop::kHdfsTokenKind, ""};
  EXPECT_EQ(ClusterTokensIn(credentials), ClusterTokens{});
}

TEST(ClusterTokensTest, PushedTokensReplaceThoseInTheFileAndNothingElse) {
  const TempFolder temp;
  const auto file = temp.path() / "container_tokens";
  ASSERT_TRUE(WriteNewFile(file, EncodeCredentials(OfJob()), false).ok());
  Credentials fresh;
  fresh.tokens["ha-hdfs:pair"] = HdfsToken(5000, 90'000, "fresh");
  fresh.tokens["am"] = {"i", "forged", "YARN_AM_RM_TOKEN", ""};
  const ClusterTokens pushed{5000, FromMillis(6000), EncodeCredentials(fresh)};
  ASSERT_TRUE(ReplaceTokens(file, pushed).ok());
  const Credentials now = Must(hadoop::DecodeCredentials(Must(ReadFile(file))));
  EXPECT_EQ(now.tokens.at("ha-hdfs:pair").password, "fresh");
  EXPECT_EQ(now.tokens.at("ha-hdfs:other"), OfJob().tokens.at("ha-hdfs:other"));
  EXPECT_EQ(now.tokens.at("am"), OfJob().tokens.at("am")) << "a client cannot replace the token of the AM";
  EXPECT_EQ(now.secrets.at("tony.job"), "application_1_0001");
  EXPECT_EQ(ClusterTokensIn(now).number, 5000);
  EXPECT_EQ(ClusterTokensIn(now).until, FromMillis(6000)) << "nobody renews pushed tokens";
  struct stat info {};
  ASSERT_EQ(stat(file.c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 0777, 0600u);
}

TEST(ClusterTokensTest, BytesThatAreNoTokensLeaveTheFileAsItIs) {
  const TempFolder temp;
  const auto file = temp.path() / "container_tokens";
  ASSERT_TRUE(WriteNewFile(file, EncodeCredentials(OfJob()), false).ok());
  EXPECT_EQ(ReplaceTokens(file, {5000, FromMillis(6000), "secret"}).error().message,
            "credentials: the bytes do not begin with HDTS");
  EXPECT_EQ(Must(ReadFile(file)), EncodeCredentials(OfJob()));
  const ClusterTokens none{1, {}, hadoop::EncodeCredentials({})};
  EXPECT_EQ(ReplaceTokens(temp.path() / "none", none).error().code, ErrorCode::kNotFound);
}

}  // namespace
}  // namespace tony
