#include "runtime/yarn/container_launch.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>

#include "tests/support/results.h"

namespace tony {
namespace {

using hadoop::Credentials;
using ::testing::HasSubstr;
using ::testing::Not;

ContainerLaunch Launch() {
  ContainerLaunch launch;
  launch.job = {"application_1700000000000_0001"};
  launch.attempt = {{"worker", 3}, 2};
  launch.secrets = {std::string(64, 'a'), {"A=b\n=c", "D="}, {"ca", "certificate", "key"}};
  launch.spec = "{\"schema\":1}";
  launch.lease = {{7}, {Endpoint{"10.0.0.1", 4711}}, 12};
  launch.lease_place = {{{"10.0.0.2", 9870}, {"10.0.0.3", 9870}}, "/user/eve/.tony/jobs/j", "eve"};
  launch.lease_place.hosts = {"nn1", "nn2"};
  launch.lease_place.trust = {"PEM", "trust.jks", false};
  launch.lease_place.uses_rpc = true;
  launch.staged.job = {{.name = "data", .path = "aa"}};
  return launch;
}

Credentials Told(const ContainerLaunch& launch) {
  Credentials credentials;
  AddTo(credentials, launch);
  return credentials;
}

TEST(ContainerLaunchTest, LaunchDataOfAnExecutorIsReadBackFromTheContainerCredentials) {
  const ContainerLaunch launch = Launch();
  const auto read = Must(LaunchIn(EncodeCredentials(Told(launch))));
  EXPECT_EQ(read.job, launch.job);
  EXPECT_EQ(read.attempt, launch.attempt);
  EXPECT_EQ(read.secrets, launch.secrets);
  EXPECT_EQ(read.spec, launch.spec);
  EXPECT_EQ(read.lease, launch.lease);
  EXPECT_EQ(read.lease_place, launch.lease_place);
  EXPECT_EQ(read.staged, launch.staged);
}

TEST(ContainerLaunchTest, LaunchDataWithoutTlsKeysAndTaskSecretsIsReadBack) {
  ContainerLaunch launch = Launch();
  launch.secrets = {.token = "t"};
  const Credentials credentials = Told(launch);
  EXPECT_EQ(credentials.secrets.count("tony.tls.key") + credentials.secrets.count("tony.secrets"), 0u);
  EXPECT_EQ(LaunchIn(EncodeCredentials(credentials))->secrets, launch.secrets);
}

TEST(ContainerLaunchTest, LaunchDataWithoutALeaseLocationIsReadBack) {
  ContainerLaunch launch = Launch();
  launch.lease_place = {};
  const Credentials credentials = Told(launch);
  EXPECT_EQ(credentials.secrets.count("tony.lease-place"), 0u);
  EXPECT_EQ(LaunchIn(EncodeCredentials(credentials))->lease_place, LeasePlace{});
}

TEST(ContainerLaunchTest, AddingLaunchDataPreservesOtherTokensAndSecretsInTheCredentials) {
  Credentials credentials;
  credentials.tokens["hdfs"] = {.kind = "HDFS_DELEGATION_TOKEN"};
  credentials.secrets["of.somebody"] = "x";
  AddTo(credentials, Launch());
  EXPECT_EQ(credentials.tokens.size(), 1u);
  EXPECT_EQ(credentials.secrets.at("of.somebody"), "x");
}

TEST(ContainerLaunchTest, AMissingEntryOfTheLaunchDataIsNamedInTheError) {
  for (const char* alias : {"tony.job", "tony.attempt", "tony.token", "tony.lease", "tony.staged"}) {
    Credentials credentials = Told(Launch());
    credentials.secrets.erase(alias);
    ExpectError(LaunchIn(EncodeCredentials(credentials)), ErrorCode::kInvalid,
                std::string("the container's credentials: ") + alias + ": the entry is missing");
  }
}

TEST(ContainerLaunchTest, ADamagedEntryOfTheLaunchDataIsNamedInTheErrorWithoutItsValue) {
  for (const char* alias : {"tony.attempt", "tony.lease", "tony.lease-place", "tony.staged"}) {
    Credentials credentials = Told(Launch());
    credentials.secrets[alias] = "worker:xyzzy#0";
    const auto read = LaunchIn(EncodeCredentials(credentials));
    ASSERT_FALSE(read.ok()) << alias;
    EXPECT_EQ(read.error().code, ErrorCode::kInvalid);
    EXPECT_THAT(read.error().message, HasSubstr(alias));
    EXPECT_THAT(read.error().message, Not(HasSubstr("xyzzy")));
  }
}

TEST(ContainerLaunchTest, RandomlyDamagedLaunchCredentialsDoNotCrashTheReader) {
  const std::string whole = EncodeCredentials(Told(Launch()));
  int errors = 0;
  for (unsigned seed = 0; seed < 3000; ++seed) {
    std::mt19937 random(seed);
    std::string bytes = whole;
    for (unsigned changes = 1 + random() % 4; changes > 0; --changes)
      bytes[random() % bytes.size()] = static_cast<char>(random());
    if (random() % 4 == 0) bytes.resize(random() % bytes.size());
    errors += LaunchIn(bytes).ok() ? 0 : 1;
  }
  EXPECT_GT(errors, 1000);
}

TEST(MasterLaunchTest, LaunchDataOfAMasterIsReadBackFromTheMastersCredentials) {
  MasterLaunch launch{{"application_1_0001"}, Launch().secrets, {"ca", "other", "other key"}};
  launch.https_trust = std::make_shared<const HttpTrust>(HttpTrust{"PEM", "trust.jks", false});
  launch.keytab = std::string("\5\2\0k", 4);
  Credentials credentials;
  AddTo(credentials, launch);
  const auto read = Must(MasterLaunchIn(credentials));
  EXPECT_EQ(read.job, launch.job);
  EXPECT_EQ(read.secrets, launch.secrets);
  EXPECT_EQ(read.executors_tls, launch.executors_tls);
  ASSERT_TRUE(read.https_trust);
  EXPECT_EQ(*read.https_trust, *launch.https_trust);
  EXPECT_EQ(read.keytab, launch.keytab);
  EXPECT_FALSE(MasterLaunchIn({}).ok());
}

}  // namespace
}  // namespace tony
