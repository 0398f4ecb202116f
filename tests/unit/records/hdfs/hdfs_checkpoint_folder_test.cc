#include "runtime/records/hdfs/hdfs_checkpoint_folder.h"

#include <gmock/gmock.h>

#include "runtime/records/checkpoints.h"
#include "tests/unit/records/hdfs/fake_hdfs.h"

namespace tony {
namespace {

using ::testing::HasSubstr;

class HdfsCheckpointFolderTest : public ::testing::Test {
 protected:
  HdfsCheckpointFolderTest() { EXPECT_TRUE(hdfs_->MakeFolders("/ckpt").ok()); }

  void Write(const std::string& name, const std::string& bytes = "x") {
    hdfs_->now += Duration(1);
    (void)hdfs_->Remove("/ckpt/" + name);
    EXPECT_TRUE(*hdfs_->Create("/ckpt/" + name, bytes));
  }
  HdfsCheckpointFolder Folder() const { return {hdfs_, "hdfs://nn:8020", "/ckpt", "eve", Tries(1)}; }
  CheckpointSpec Spec(bool latest = false) const { return {"hdfs:///ckpt", "*", 3, latest}; }
  CheckpointListing List() const { return ListCheckpoints(Folder(), Spec()); }
  // Returns path and writer of the newest checkpoint, e.g. "hdfs:///ckpt/ckpt-1 this_job".
  std::string Newest(const CheckpointListing& listing, bool latest = false) const {
    const auto newest = NewestCheckpoint(Folder(), Spec(latest), listing);
    if (!newest.ok()) return newest.error().message;
    return *newest ? StrCat((*newest)->path, " ", ToString((*newest)->writer)) : "none";
  }

  const std::shared_ptr<FakeHdfs> hdfs_ = std::make_shared<FakeHdfs>();
};

TEST_F(HdfsCheckpointFolderTest, OnlyCheckpointsWrittenSinceTheJobStartBelongToTheJob) {
  Write("ckpt-5");
  const CheckpointListing before = List();
  EXPECT_EQ(before.folder, "hdfs://nn:8020/ckpt");
  EXPECT_EQ(Newest(before), "none");
  EXPECT_EQ(Newest(before, /*latest=*/true), "hdfs:///ckpt/ckpt-5 others");
  Write("ckpt-1");
  EXPECT_EQ(Newest(before), "hdfs:///ckpt/ckpt-1 this_job");
}

TEST_F(HdfsCheckpointFolderTest, ARewrittenCheckpointBelongsToTheJobEvenIfSizeAndTimeAreUnchanged) {
  Write("ckpt-5");
  const CheckpointListing before = List();
  hdfs_->now -= Duration(1);
  Write("ckpt-5");
  EXPECT_EQ(Newest(before), "hdfs:///ckpt/ckpt-5 this_job");
}

TEST_F(HdfsCheckpointFolderTest, ACheckpointStoredAsAFolderBelongsToTheJobOnceANestedFileChanges) {
  EXPECT_TRUE(hdfs_->MakeFolders("/ckpt/step_5/shards").ok());
  Write("step_5/shards/0", "abc");
  const CheckpointListing before = List();
  ASSERT_EQ(before.there.size(), 1u);
  EXPECT_EQ(before.there[0].bytes, 3);
  Write("step_5/shards/0", "abcd");
  EXPECT_EQ(Newest(before), "hdfs:///ckpt/step_5 this_job");
}

TEST_F(HdfsCheckpointFolderTest, TheLastWrittenCheckpointIsTheNewest) {
  const CheckpointListing before = List();
  Write("epoch=2-val_loss=0.50.ckpt");
  Write("epoch=3-val_loss=0.33.ckpt");
  Write("train.log");
  EXPECT_EQ(Newest(before), "hdfs:///ckpt/epoch=3-val_loss=0.33.ckpt this_job");
}

TEST_F(HdfsCheckpointFolderTest, CheckpointsOfAnotherUserNeverBelongToTheJob) {
  const CheckpointListing before = List();
  Write("ckpt-1");
  Write("ckpt-9");
  hdfs_->SetOwner("/ckpt/ckpt-9", "mallory");
  EXPECT_EQ(Newest(before), "hdfs:///ckpt/ckpt-1 this_job");
  EXPECT_EQ(Newest(before, /*latest=*/true), "hdfs:///ckpt/ckpt-9 others");
}

TEST_F(HdfsCheckpointFolderTest, TemporaryFilesOfHadoopToolsAreNotCheckpoints) {
  const CheckpointListing before = List();
  Write("ckpt-9._COPYING_");
  EXPECT_TRUE(hdfs_->MakeFolders("/ckpt/_temporary").ok());
  EXPECT_EQ(Newest(before), "none");
}

TEST_F(HdfsCheckpointFolderTest, AMissingFolderHasNoCheckpoints) {
  (void)hdfs_->Remove("/ckpt");
  EXPECT_EQ(List().unknown, "");
  EXPECT_EQ(Newest(List()), "none");
}

TEST_F(HdfsCheckpointFolderTest, AFailedCheckpointListingReportsTheHdfsError) {
  const CheckpointListing before = List();
  hdfs_->refuses_all = Error{ErrorCode::kUnavailable, "no answer"};
  EXPECT_EQ(List().unknown, "open hdfs://nn:8020/ckpt: no answer");
  EXPECT_EQ(Newest(before), "open hdfs://nn:8020/ckpt: no answer");
  hdfs_->refuses_all.reset();
  Write("file");
  const HdfsCheckpointFolder file(hdfs_, "hdfs://nn:8020", "/ckpt/file", "eve", Tries(1));
  EXPECT_EQ(ListCheckpoints(file, Spec()).unknown, "open hdfs://nn:8020/ckpt/file: the path is a file");
}

TEST_F(HdfsCheckpointFolderTest, ACheckpointFolderThatChangesDuringItsListingIsListedAgain) {
  int listings = 0;
  hdfs_->before = [&](std::string_view call) {
    if (call != "LISTSTATUS" || ++listings > 1) return;
    const auto hook = std::exchange(hdfs_->before, nullptr);
    Write("ckpt-7");
    hdfs_->before = hook;
  };
  EXPECT_EQ(List().there.size(), 1u);
  EXPECT_EQ(listings, 2);
  hdfs_->before = [&](std::string_view call) {
    if (call != "LISTSTATUS") return;
    const auto hook = std::exchange(hdfs_->before, nullptr);
    Write("ckpt-8");
    hdfs_->before = hook;
  };
  EXPECT_THAT(List().unknown, HasSubstr("the folder changed each time it was listed"));
}

}  // namespace
}  // namespace tony
