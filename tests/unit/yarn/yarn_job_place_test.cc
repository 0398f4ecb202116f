#include <gmock/gmock.h>

#include "runtime/yarn/yarn_jobs.h"
#include "tests/unit/hadoop/served_name_node.h"

namespace tony {
namespace {

const JobId kPlacedJob{"application_1700000000000_0001"};

class YarnJobPlaceTest : public hadoop::ServedNameNodeTest {
 protected:
  void Refuse() {
    OnServer([this] {
      node_.answers_all = hadoop::FakeNameNode::Refused(403, "AccessControlException", "Permission denied");
    });
  }
  static std::string Bytes(const JobRecords& records, const std::string& name) {
    return ServedNameNodeTest::Bytes(records.store(), name);
  }

  const YarnCluster cluster_{.name_node = {"nn", 8020}, .webhdfs = node_.url(), .user = "eve", .home = "/user/eve"};
};

TEST_F(YarnJobPlaceTest, RecordsThatArePutTogetherAreAllThere) {
  const std::string large(20'000, 'x');
  ASSERT_TRUE(
      PutRecords(cluster_, kPlacedJob, {{"token", "abc"}, {"conf.json", large}, {"secrets", std::nullopt}}).ok());
  const JobRecords records = RecordsOf(cluster_, kPlacedJob);
  EXPECT_EQ(Bytes(records, "token"), "abc");
  EXPECT_EQ(Bytes(records, "conf.json"), large);
  EXPECT_EQ(Bytes(records, "secrets"), "none");
}

TEST_F(YarnJobPlaceTest, WhereOneCannotBePutItIsNamed) {
  Refuse();
  const Status put = PutRecords(cluster_, kPlacedJob, {{"secrets", std::nullopt}, {"token", "abc"}});
  ASSERT_FALSE(put.ok());
  EXPECT_THAT(put.error().message, ::testing::HasSubstr(JobFolderOf(cluster_, kPlacedJob).path + "/token"));
}

TEST_F(YarnJobPlaceTest, WhatIsKnownIsNotAskedFor) {
  Refuse();
  const JobRecords records = RecordsOf(cluster_, kPlacedJob, {{"token", "abc"}});
  EXPECT_EQ(Bytes(records, "token"), "abc");
  EXPECT_FALSE(records.store().Get("spec.json").ok());
}

TEST_F(YarnJobPlaceTest, CertificatesAreReadAsTheyWereWritten) {
  const JobCertificates certificates{{"ca", "c1", "k1"}, {"ca", "c2", "k2"}, {"ca", "c3", "k3"}};
  ASSERT_TRUE(PutRecords(cluster_, kPlacedJob, {{kCertificatesRecord, ToJson(certificates)}}).ok());
  const auto read = ReadCertificates(RecordsOf(cluster_, kPlacedJob));
  ASSERT_TRUE(read.ok()) << read.error().message;
  EXPECT_EQ(read->master.key, "k1");
  EXPECT_EQ(read->executor.certificate, "c2");
  EXPECT_EQ(read->client.ca, "ca");
}

}  // namespace
}  // namespace tony
