#include "executor/attempt_files.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <filesystem>
#include <fstream>

#include "executor/evidence.h"
#include "runtime/job/outputs.h"
#include "runtime/os/files.h"
#include "runtime/records/attempt_folder.h"
#include "tests/support/results.h"
#include "tests/support/run_until.h"
#include "tests/support/temp_folder.h"

namespace tony::executor {
namespace {

using ::testing::ElementsAre;

class AttemptFilesTest : public testing::Test {
 protected:
  TempFolder temp_;
  const JobRecords records_ = LocalJobRecords(temp_.path() / "job-1");
  const AttemptFolder folder_{records_.place(), {{"worker", 0}, 1}};
};

TEST_F(AttemptFilesTest, OnlyOneExecutorAtATimeCanLockAnAttempt) {
  auto first = Must(LockAttempt(folder_));
  const auto second = LockAttempt(folder_);
  ASSERT_FALSE(second.ok());
  EXPECT_EQ(second.error().code, ErrorCode::kUnavailable);
  first.Reset();
  EXPECT_TRUE(LockAttempt(folder_).ok());
}

TEST_F(AttemptFilesTest, TwoAttemptsOfATaskCanBeLockedAtTheSameTime) {
  const auto first = LockAttempt(folder_);
  EXPECT_TRUE(LockAttempt(AttemptFolder(records_.place(), {{"worker", 0}, 2})).ok());
}

TEST_F(AttemptFilesTest, ARolesStagedFileOverridesTheJobsStagedFileOfTheSameName) {
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

TEST_F(AttemptFilesTest, AMissingStagedFileIsNamedInTheError) {
  ASSERT_TRUE(MakeFolder(records_.place()).ok());
  const StagedFiles staged = {.job = {{"a", temp_.path() / "gone"}}};
  ASSERT_TRUE(WriteNewFile(records_.place() / "staged.json", ToJson(staged), false).ok());
  const Status made = PrepareWorkFolder(records_, "worker", folder_, {});
  ASSERT_FALSE(made.ok());
  EXPECT_NE(made.error().message.find("gone"), std::string::npos) << made.error().message;
}

TEST_F(AttemptFilesTest, TheWorkFolderLinksToTheJobsSourceFilesIfAnEarlierReleaseSubmittedTheJob) {
  ASSERT_TRUE(MakeFolder(records_.place() / "src" / "model").ok());
  ASSERT_TRUE(WriteNewFile(records_.place() / "src" / "train.py", "print()", false).ok());
  const Status made = PrepareWorkFolder(records_, "worker", folder_, {});
  ASSERT_TRUE(made.ok()) << made.error().message;
  const auto work = folder_.work;
  EXPECT_EQ(std::filesystem::read_symlink(work / "train.py"), records_.place() / "src" / "train.py");
  EXPECT_EQ(std::filesystem::read_symlink(work / "model"), records_.place() / "src" / "model");
}

TEST_F(AttemptFilesTest, TheWorkFolderOfAJobWithoutSourceFilesIsEmptyAndPrivate) {
  ASSERT_TRUE(PrepareWorkFolder(records_, "worker", folder_, {}).ok());
  const auto work = folder_.work;
  EXPECT_TRUE(std::filesystem::is_empty(work));
  struct stat info {};
  ASSERT_EQ(stat(work.c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 0777, 0700u);
}

TEST_F(AttemptFilesTest, FilesPassedToPrepareWorkFolderAreWrittenToTheWorkFolder) {
  const auto file = folder_.work / "tony-tf_config";
  ASSERT_TRUE(PrepareWorkFolder(records_, "worker", folder_, {{file, "{}"}}).ok());
  const auto content = Must(ReadFile(file));
  EXPECT_EQ(content, "{}");
}

TEST_F(AttemptFilesTest, AWorkFolderThatCannotBeMadeIsNamedInTheError) {
  ASSERT_TRUE(MakeFolder(records_.place()).ok());
  ASSERT_TRUE(WriteNewFile(records_.place() / "work", "in the way", false).ok());
  const Status made = PrepareWorkFolder(records_, "worker", folder_, {});
  ASSERT_FALSE(made.ok());
  EXPECT_NE(made.error().message.find("work"), std::string::npos) << made.error().message;
}

// ---- model parameters

class ModelParametersTest : public testing::Test {
 protected:
  std::optional<std::string> Of(const std::string& text) {
    const auto file = folder_.path() / "stdout";
    std::ofstream(file) << text;
    return ReadModelParameters(file);
  }

  TempFolder folder_;
};

TEST_F(ModelParametersTest, ModelParametersAreReadFromTheFirstLineOfStdoutThatContainsThem) {
  EXPECT_EQ(Of("INFO Model parameters: a=1 b=2\nModel parameters: c\n"), "a=1 b=2");
  EXPECT_EQ(Of("Model parameters: \n"), "");
  EXPECT_EQ(Of("Model parameters: without an end"), "without an end");
  EXPECT_EQ(Of("Model parameters: of Windows\r\n"), "of Windows");
  EXPECT_EQ(Of("Model parameters:none\n"), std::nullopt);
  EXPECT_EQ(Of(""), std::nullopt);
}

TEST_F(ModelParametersTest, ModelParametersAreFoundAtAnyOffsetInStdout) {
  for (const size_t before : {65'535u, 65'536u, 65'530u, 131'060u, 400'000u})
    EXPECT_EQ(Of(std::string(before, 'x') + "Model parameters: a\n"), "a") << before;
}

TEST_F(ModelParametersTest, ReadingModelParametersStopsOneByteAboveThe32KibLimit) {
  EXPECT_EQ(Of("Model parameters: " + std::string(100'000, 'x'))->size(), kLongestModelParams + 1);
}

TEST_F(ModelParametersTest, NoModelParametersAreReadFromALinkOrAMissingFile) {
  std::ofstream(folder_.path() / "other") << "Model parameters: a\n";
  std::filesystem::create_symlink(folder_.path() / "other", folder_.path() / "link");
  EXPECT_EQ(ReadModelParameters(folder_.path() / "link"), std::nullopt);
  EXPECT_EQ(ReadModelParameters(folder_.path() / "none"), std::nullopt);
}

// ---- output watch

const Instant kStart{Duration(1'000'000)};

class OutputWatchTest : public testing::Test {
 protected:
  void Write(const char* name) { std::ofstream(temp_.path() / name, std::ios::app) << "a line\n" << std::flush; }

  const TempFolder temp_;
  OutputWatch watch_{{temp_.path() / "stdout", temp_.path() / "stderr"}, kStart};
};

TEST_F(OutputWatchTest, TheSilenceOfATaskWithoutOutputIsMeasuredFromTheStartOfTheTask) {
  EXPECT_EQ(watch_.Quiet(kStart + Duration(7000)), Duration(7000));
  EXPECT_EQ(watch_.Quiet(kStart + Duration(9000)), Duration(9000));
}

TEST_F(OutputWatchTest, SilenceOfATaskIsMeasuredFromTheLastWriteToStdoutOrStderr) {
  for (const char* name : {"stdout", "stderr"}) {
    Write(name);
    const Instant look = kStart + Duration(name[3] == 'o' ? 60'000 : 120'000);
    const Duration quiet = watch_.Quiet(look);
    EXPECT_LT(quiet, Duration(30'000)) << "the file was written just now";
    EXPECT_EQ(watch_.Quiet(look + Duration(5000)), quiet + Duration(5000));
  }
}

TEST_F(OutputWatchTest, SilenceIsMeasuredFromThePreviousCheckIfANewWriteHasAnOlderTimestamp) {
  watch_.Quiet(kStart + Duration(50'000));
  Write("stdout");
  std::filesystem::last_write_time(temp_.path() / "stdout",
                                   std::filesystem::file_time_type::clock::now() - std::chrono::hours(1));
  EXPECT_EQ(watch_.Quiet(kStart + Duration(60'000)), Duration(10'000));
}

// ---- publish watch

class PublishWatchTest : public testing::Test {
 protected:
  std::unique_ptr<PublishWatch> Watch() {
    return std::make_unique<PublishWatch>(loop_, file_, std::vector<std::string>{"ADDRESS", "TOKEN"},
                                          [this](const PublishedValues& values) { told_.push_back(values); });
  }
  void Append(const std::string& text) { std::ofstream(file_, std::ios::app) << text; }
  bool Told(size_t times) {
    return RunUntil(loop_, [&] { return told_.size() >= times; });
  }

  TempFolder temp_;
  EventLoop loop_;
  const std::filesystem::path file_ = temp_.path() / "tony-publish";
  std::vector<PublishedValues> told_;
};

TEST_F(PublishWatchTest, EachNewValueOfADeclaredNameCausesOneReportOfAllValuesPublishedSoFar) {
  const auto watch = Watch();
  Append("ADDRESS=he");
  Append("re:1\n");
  ASSERT_TRUE(Told(1));
  Append("COLOUR=red\n");
  watch->Look();
  Append("TOKEN=t\n");
  ASSERT_TRUE(Told(2));
  watch->Look();
  EXPECT_THAT(told_, ElementsAre(PublishedValues{{"ADDRESS", "here:1"}},
                                 PublishedValues{{"ADDRESS", "here:1"}, {"TOKEN", "t"}}));
}

TEST_F(PublishWatchTest, ValuesPublishedBeforeTheWatchStartsAreReported) {
  Append("ADDRESS=here:1\n");
  const auto watch = Watch();
  EXPECT_TRUE(Told(1));
}

TEST_F(PublishWatchTest, AnExplicitCheckReportsPublishedValuesWithoutWaitingForAFileEvent) {
  const auto watch = Watch();
  Append("ADDRESS=here:1\n");
  watch->Look();
  EXPECT_EQ(told_.size(), 1u);
}

TEST_F(PublishWatchTest, PublishedValuesAreReadOnlyFromTheFirst64KibOfARegularFile) {
  const std::vector<std::string> names{"ADDRESS"};
  EXPECT_TRUE(ReadPublished(file_, names).empty());
  Append(std::string(64 << 10, '\n') + "ADDRESS=late\n");
  EXPECT_TRUE(ReadPublished(file_, names).empty());
  ASSERT_EQ(mkfifo((temp_.path() / "pipe").c_str(), 0600), 0);
  EXPECT_TRUE(ReadPublished(temp_.path() / "pipe", names).empty());
  std::ofstream(temp_.path() / "elsewhere") << "ADDRESS=x\n";
  std::filesystem::create_symlink(temp_.path() / "elsewhere", temp_.path() / "link");
  EXPECT_TRUE(ReadPublished(temp_.path() / "link", names).empty());
  EXPECT_FALSE(ReadPublished(temp_.path() / "elsewhere", names).empty());
}

}  // namespace
}  // namespace tony::executor
