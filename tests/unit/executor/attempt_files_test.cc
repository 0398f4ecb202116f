#include "executor/attempt_files.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include "runtime/os/files.h"
#include "runtime/records/attempt_folder.h"
#include "tests/support/temp_folder.h"

namespace tony::executor {
namespace {

class AttemptFilesTest : public testing::Test {
 protected:
  TempFolder temp_;
  const JobRecords records_ = LocalJobRecords(temp_.path() / "job-1");
  const AttemptFolder folder_{records_.place(), {{"worker", 0}, 1}};
};

TEST_F(AttemptFilesTest, AnAttemptIsLockedByOneExecutor) {
  auto first = LockAttempt(folder_);
  ASSERT_TRUE(first.ok()) << first.error().message;
  const auto second = LockAttempt(folder_);
  ASSERT_FALSE(second.ok());
  EXPECT_EQ(second.error().code, ErrorCode::kUnavailable);
  first->Reset();
  EXPECT_TRUE(LockAttempt(folder_).ok());
}

TEST_F(AttemptFilesTest, AnotherAttemptOfTheTaskHasItsOwnLock) {
  const auto first = LockAttempt(folder_);
  EXPECT_TRUE(LockAttempt(AttemptFolder(records_.place(), {{"worker", 0}, 2})).ok());
}

TEST_F(AttemptFilesTest, StagedFilesOfTheRoleGoBeforeTheJobs) {
  const auto store = temp_.path() / "staged";
  for (const char* name : {"role", "job", "tree"}) ASSERT_TRUE(MakeFolder(store / name).ok());
  for (const char* name : {"a", "b", "c"}) ASSERT_TRUE(WriteNewFile(store / "tree" / name, "tree", false).ok());
  const StagedFiles staged = {
      .job = {{"a", store / "job"}, {"b", store / "job"}, {"", store / "tree", StagedEntry::Form::kContents}},
      .roles = {{"worker", {{"a", store / "role"}}}, {"ps", {{"b", store / "role"}}}}};
  ASSERT_TRUE(MakeFolder(records_.place()).ok());
  ASSERT_TRUE(WriteNewFile(records_.place() / "staged.json", ToJson(staged), false).ok());
  const Status made = PrepareWorkFolder(records_, "worker", folder_, {});
  ASSERT_TRUE(made.ok()) << made.error().message;
  const auto work = folder_.work;
  EXPECT_EQ(std::filesystem::read_symlink(work / "a"), store / "role");
  EXPECT_EQ(std::filesystem::read_symlink(work / "b"), store / "job");
  EXPECT_TRUE(std::filesystem::is_regular_file(std::filesystem::symlink_status(work / "c")));
}

TEST_F(AttemptFilesTest, AStagedEntryThatIsGoneIsNamed) {
  ASSERT_TRUE(MakeFolder(records_.place()).ok());
  const StagedFiles staged = {.job = {{"a", temp_.path() / "gone"}}};
  ASSERT_TRUE(WriteNewFile(records_.place() / "staged.json", ToJson(staged), false).ok());
  const Status made = PrepareWorkFolder(records_, "worker", folder_, {});
  ASSERT_FALSE(made.ok());
  EXPECT_NE(made.error().message.find("gone"), std::string::npos) << made.error().message;
}

TEST_F(AttemptFilesTest, AJobOfTheReleaseBeforeHasLinksToItsSource) {
  ASSERT_TRUE(MakeFolder(records_.place() / "src" / "model").ok());
  ASSERT_TRUE(WriteNewFile(records_.place() / "src" / "train.py", "print()", false).ok());
  const Status made = PrepareWorkFolder(records_, "worker", folder_, {});
  ASSERT_TRUE(made.ok()) << made.error().message;
  const auto work = folder_.work;
  EXPECT_EQ(std::filesystem::read_symlink(work / "train.py"), records_.place() / "src" / "train.py");
  EXPECT_EQ(std::filesystem::read_symlink(work / "model"), records_.place() / "src" / "model");
}

TEST_F(AttemptFilesTest, AJobWithoutSourceHasAnEmptyWorkFolderThatIsPrivate) {
  ASSERT_TRUE(PrepareWorkFolder(records_, "worker", folder_, {}).ok());
  const auto work = folder_.work;
  EXPECT_TRUE(std::filesystem::is_empty(work));
  struct stat info {};
  ASSERT_EQ(stat(work.c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 0777, 0700u);
}

TEST_F(AttemptFilesTest, FilesOfOursAreWrittenBeside) {
  const auto file = folder_.work / "tony-tf_config";
  ASSERT_TRUE(PrepareWorkFolder(records_, "worker", folder_, {{file, "{}"}}).ok());
  const auto content = ReadFile(file);
  ASSERT_TRUE(content.ok());
  EXPECT_EQ(*content, "{}");
}

TEST_F(AttemptFilesTest, AFolderThatCannotBeMadeIsNamed) {
  ASSERT_TRUE(MakeFolder(records_.place()).ok());
  ASSERT_TRUE(WriteNewFile(records_.place() / "work", "in the way", false).ok());
  const Status made = PrepareWorkFolder(records_, "worker", folder_, {});
  ASSERT_FALSE(made.ok());
  EXPECT_NE(made.error().message.find("work"), std::string::npos) << made.error().message;
}

}  // namespace
}  // namespace tony::executor
