#include "runtime/records/hdfs/hdfs_calls.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <thread>

#include "runtime/records/hdfs/hdfs_record_store.h"
#include "tests/support/results.h"
#include "tests/unit/hadoop/served_name_node.h"
#include "tests/unit/records/hdfs/fake_hdfs.h"

namespace tony {
namespace {

using testing::ElementsAre;
using testing::EndsWith;
using testing::IsEmpty;
using testing::StartsWith;

// Records that are stored over HTTP (WebHDFS).
class BlockingHdfsTest : public hadoop::ServedNameNodeTest {
 protected:
  std::string Bytes(const std::string& name) const { return ServedNameNodeTest::Bytes(store, name); }

  const std::shared_ptr<BlockingHdfs> calls = std::make_shared<BlockingHdfs>(
      hadoop::Hdfs::Options{.bases = {node_.url()}, .user = "eve", .limits = LimitsOfRecords()});
  const HdfsRecordStore store{calls, kJob, Tries(4)};
  const std::string large = std::string(kMostInAttribute + 1, 'x');
};

TEST_F(BlockingHdfsTest, AllRecordsAreReadAndWrittenOverOneConnection) {
  ASSERT_TRUE(MakeRecordFolder(calls, kJob).ok());
  for (const std::string& bytes : {std::string("s\0all", 5), large, std::string()}) {
    ASSERT_TRUE(store.Replace("status.json", bytes, kKept).ok());
    EXPECT_EQ(Bytes("status.json"), bytes);
  }
  EXPECT_EQ(Bytes("none"), "none");
  EXPECT_THAT(*store.List(""), ElementsAre("status.json"));
  ASSERT_TRUE(store.Remove("status.json").ok());
  OnServer([this] {
    EXPECT_EQ(node_.server().accepted(), 1);
    const std::string target = node_.server().requests().front().target;
    EXPECT_EQ(hadoop::FakeNameNode::QueryOf(target)["permission"], "0700");
    for (const ServedRequest& request : node_.server().requests()) {
      auto query = hadoop::FakeNameNode::QueryOf(request.target);
      if (query["op"] != "CREATE") continue;
      EXPECT_EQ(query["createparent"], "false");
      EXPECT_EQ(query["permission"], "0600");
    }
  });
}

TEST_F(BlockingHdfsTest, ANewRecordIsStoredEvenIfTheHdfsResponseToTheRenameIsLost) {
  ASSERT_TRUE(MakeRecordFolder(calls, kJob).ok());
  OnServer([this] { node_.loses_answer_of = "RENAME"; });
  const auto put = Must(store.PutNew("acked.json", "1", kKept));
  EXPECT_TRUE(put);
  EXPECT_EQ(Bytes("acked.json"), "1");
}

TEST_F(BlockingHdfsTest, APartialUploadOfARecordFailsAndLeavesNoFile) {
  OnServer([this] { node_.keeps_of_a_body = 1000; });
  const Error error = store.Replace("status.json", large, kKept).error();
  EXPECT_EQ(error.code, ErrorCode::kUnavailable);
  EXPECT_THAT(error.message, EndsWith("1000 of 12001 bytes arrived"));
  OnServer([this] { EXPECT_THAT(node_.files, IsEmpty()); });
}

TEST_F(BlockingHdfsTest, ARecordIsCreatedByExactlyOneOfSixConcurrentThreads) {
  std::atomic<int> first = 0;
  std::vector<std::jthread> racers;
  for (int i = 0; i < 6; ++i) {
    racers.emplace_back([&] {
      if (*store.PutNew("acked.json", "same", kKept)) ++first;
    });
  }
  racers.clear();
  EXPECT_EQ(first, 1);
}

TEST_F(BlockingHdfsTest, AReadReturnsUnavailableIfTheServerIsNotANameNode) {
  OnServer([this] { node_.answers_all = Answered(404, "<html>"); });
  const auto record = store.Get("spec.json");
  EXPECT_EQ(record.error().code, ErrorCode::kUnavailable);
  EXPECT_THAT(record.error().message, StartsWith("read hdfs://nn:8020/jobs/x/spec.json: GETFILESTATUS /jobs/x/"));
}

}  // namespace
}  // namespace tony
