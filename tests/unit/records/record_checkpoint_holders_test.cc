#include <gmock/gmock.h>

#include <filesystem>
#include <set>
#include <utility>

#include "runtime/records/checkpoint_holder.h"
#include "tests/support/temp_folder.h"

namespace tony {
namespace {

using ::testing::IsEmpty;
using ::testing::SizeIs;

const JobId kFirst{"application_1_0001"}, kSecond{"application_1_0002"}, kThird{"application_1_0003"};

// Calls `before_put` once, before the next record is written.
class RacedStore : public LocalRecordStore {
 public:
  using LocalRecordStore::LocalRecordStore;
  Result<bool> PutNew(const std::string& name, std::string_view bytes, Durability durability) const override {
    if (auto race = std::exchange(before_put, nullptr)) race();
    return LocalRecordStore::PutNew(name, bytes, durability);
  }
  mutable std::function<void()> before_put;
};

class RecordCheckpointHoldersTest : public ::testing::Test {
 protected:
  RecordCheckpointHoldersTest() { std::filesystem::create_directory(temp_.path() / "checkpoint-folders"); }
  std::string Take(const JobId& job) const {
    const auto holder = holders_.Take("hdfs://nn:8020/ckpt", job);
    if (!holder.ok()) return holder.error().message;
    return holder->before ? holder->job.value + " after " + holder->before->value : holder->job.value;
  }
  std::vector<std::string> Records() const { return *store_->List("checkpoint-folders"); }

  const TempFolder temp_;
  const std::shared_ptr<RacedStore> store_ = std::make_shared<RacedStore>(temp_.path());
  std::set<JobId> ended_;
  const RecordCheckpointHolders holders_{store_,
                                         [this](const JobId& job) -> Result<bool> { return ended_.count(job) > 0; }};
};

TEST_F(RecordCheckpointHoldersTest, AJobHasItUntilItHasEnded) {
  EXPECT_EQ(Take(kFirst), kFirst.value);
  EXPECT_EQ(Take(kFirst), kFirst.value) << "asked again";
  EXPECT_EQ(Take(kSecond), kFirst.value);
  ended_ = {kFirst};
  EXPECT_EQ(Take(kSecond), kSecond.value + " after " + kFirst.value);
  EXPECT_EQ(*holders_.Find("hdfs://nn:8020/ckpt"), (CheckpointHolder{kSecond, kFirst}));
  EXPECT_FALSE(*holders_.Find("hdfs://nn:8020/other"));
}

TEST_F(RecordCheckpointHoldersTest, OfTwoThatTakeItAtOnceOneGetsIt) {
  store_->before_put = [this] { EXPECT_EQ(Take(kSecond), kSecond.value); };
  EXPECT_EQ(Take(kFirst), kSecond.value);
  EXPECT_THAT(Records(), SizeIs(1));
}

TEST_F(RecordCheckpointHoldersTest, WhoComesLateAfterASweepIsNotTheSecondHolder) {
  EXPECT_EQ(Take(kFirst), kFirst.value);
  ended_ = {kFirst, kSecond};
  store_->before_put = [this] {
    EXPECT_EQ(Take(kSecond), kSecond.value + " after " + kFirst.value);
    EXPECT_EQ(Take(kThird), kThird.value + " after " + kSecond.value);
    for (const std::string& name : Records()) {
      if (name.find(".3.") == std::string::npos) {
        EXPECT_TRUE(store_->Remove("checkpoint-folders/" + name).ok());
      }
    }
  };
  EXPECT_EQ(Take(JobId{"late"}), kThird.value + " after " + kSecond.value) << "the third job's own answer";
  EXPECT_THAT(Records(), SizeIs(1));
}

TEST_F(RecordCheckpointHoldersTest, ASweepForgetsFoldersWhoseJobsAreGone) {
  EXPECT_EQ(Take(kFirst), kFirst.value);
  ended_ = {kFirst};
  EXPECT_EQ(Take(kSecond), kSecond.value + " after " + kFirst.value);
  const auto is_there = [](const JobId& job) -> Result<bool> { return job == kSecond; };
  EXPECT_TRUE(holders_.Sweep(is_there).ok());
  EXPECT_THAT(Records(), SizeIs(2));
  EXPECT_TRUE(holders_.Sweep([](const JobId&) -> Result<bool> { return false; }).ok());
  EXPECT_THAT(Records(), IsEmpty());
}

}  // namespace
}  // namespace tony
