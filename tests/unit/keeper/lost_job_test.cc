#include "runtime/keeper/lost_job.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>

#include "runtime/base/strings.h"
#include "runtime/history/history_files.h"
#include "runtime/os/file_system.h"
#include "runtime/records/job_folder.h"
#include "runtime/records/local_job_store.h"
#include "tests/support/temp_folder.h"

namespace tony {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;

class LostJobTest : public ::testing::Test {
 protected:
  LostJobTest() {
    NewJob job;
    job.spec.roles = {{.name = "worker", .command = "true"}};
    job.spec.history_folder = temp_.path() / "tony";
    auto folder = LocalJobStore(temp_.path()).Create(job, RealClock().Now());
    EXPECT_TRUE(folder.ok());
    records_ = *folder;
  }
  void Restart() const { std::ofstream(records_.place() / "boot-id") << "another\n"; }

  TempFolder temp_;
  JobRecords records_ = LocalJobRecords("");
};

TEST_F(LostJobTest, AJobOfThisBootIsNotLost) {
  EXPECT_FALSE(IsLost(records_));
  ASSERT_TRUE(JobFolder(records_).WriteBoot(BootId()).ok());
  EXPECT_FALSE(IsLost(records_));
  ASSERT_TRUE(SettleIfLost(records_).ok());
  EXPECT_FALSE(records_.ReadStatus()->has_value());
}

TEST_F(LostJobTest, AJobOfAnEarlierBootIs) {
  Restart();
  ASSERT_TRUE(IsLost(records_));
  const auto status = LostStatus(records_);
  ASSERT_TRUE(status.ok());
  EXPECT_EQ(status->state, "FAILED");
  EXPECT_EQ(status->verdict->cls, OutcomeClass::kNodeLost);
  EXPECT_THAT(status->verdict->message, StartsWith("the machine was restarted at "));
  EXPECT_THAT(status->verdict->message, HasSubstr(" while the job ran"));
  EXPECT_GE(*status->ended, status->submitted);
  EXPECT_FALSE(records_.ReadStatus()->has_value()) << "nothing is written";
}

TEST_F(LostJobTest, ItsEndIsWrittenForEver) {
  Restart();
  ASSERT_TRUE(SettleIfLost(records_).ok());
  EXPECT_EQ((*records_.ReadStatus())->state, "FAILED");
  EXPECT_TRUE(std::filesystem::exists(JobFolder(records_).finished()));
}

TEST_F(LostJobTest, TonysPortalHearsOfItsEnd) {
  ASSERT_TRUE(BeginHistory(records_).ok());
  Restart();
  ASSERT_TRUE(SettleIfLost(records_).ok());
  std::vector<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(**HistoryFolder(records_)))
    names.push_back(entry.path().filename());
  EXPECT_THAT(names, ::testing::UnorderedElementsAre("tony-final.xml", ::testing::EndsWith("-FAILED.jhist")));
}

TEST_F(LostJobTest, WhoHoldsALockLivesWhateverTheBootIs) {
  Restart();
  for (const char* name : {"keeper.lock", "am.lock"}) {
    const auto lock = JobFolder(records_).Lock(name);
    ASSERT_TRUE(lock.ok());
    EXPECT_FALSE(IsLost(records_)) << name;
    ASSERT_TRUE(SettleIfLost(records_).ok());
  }
  EXPECT_FALSE(records_.ReadStatus()->has_value());
}

class OlderFolderTest : public LostJobTest {
 protected:
  // `replace` in submission.json by `with`.
  void Edit(const std::string& replace, const std::string& with) const {
    const auto path = records_.place() / "submission.json";
    std::ifstream in(path);
    std::string text((std::istreambuf_iterator<char>(in)), {});
    const size_t at = text.find(replace);
    ASSERT_NE(at, std::string::npos) << text;
    std::ofstream(path) << text.replace(at, replace.size(), with);
  }
};

TEST_F(OlderFolderTest, WithoutABootIsNotLost) {
  Edit(StrCat("\"boot\":\"", BootId(), "\""), "\"later\":1");
  ASSERT_TRUE(records_.ReadSubmission().ok());
  EXPECT_FALSE(IsLost(records_));
}

TEST_F(OlderFolderTest, TheSubmissionsBootCountsWhereNoKeeperRecordedOne) {
  Edit(BootId(), "another");
  EXPECT_TRUE(IsLost(records_));
  ASSERT_TRUE(JobFolder(records_).WriteBoot(BootId()).ok());
  EXPECT_FALSE(IsLost(records_)) << "a keeper of this boot has it";
}

TEST_F(OlderFolderTest, AnotherMachinesBootIsNotJudgedHere) {
  Edit(StrCat("\"host\":\"", HostName(), "\""), "\"host\":\"elsewhere\"");
  Restart();
  EXPECT_FALSE(IsLost(records_));
}

}  // namespace
}  // namespace tony
