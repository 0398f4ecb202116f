#include "runtime/history/history_files.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/fsuid.h>
#include <sys/stat.h>
#include <unistd.h>

#include <regex>

#include "runtime/os/files.h"
#include "runtime/records/job_folder.h"
#include "runtime/records/local_job_store.h"
#include "tests/support/temp_folder.h"

namespace tony {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;
using testing::UnorderedElementsAre;

TEST(ApplicationIdTest, TheApplicationIdIsDerivedFromTheTimeAndTheNumberInTheJobId) {
  EXPECT_EQ(ApplicationId({"local-20261121-093015-4f2a9c"}), "application_20261121093015_5188252");
  EXPECT_EQ(ApplicationId({"local-20261121-093015-00000a"}), "application_20261121093015_10");
  EXPECT_EQ(ApplicationId({"local-20261121-093015-fffffff"}), "application_20261121093015_268435455");
}

TEST(ApplicationIdTest, TheApplicationIdOfAnyJobMatchesThePatternOfTonysHistoryReaders) {
  const std::regex tonys("application_[0-9]+_[0-9]+");
  for (const char* job : {"local-1", "x", "", "local-20261121-093015-4f2a9cff", "local-2026-093015-4f2a9c",
                          "local-20261121-093015-nothex", "local-20261121-093015-", "application_1_x"}) {
    EXPECT_TRUE(std::regex_match(ApplicationId({job}), tonys)) << job << ": " << ApplicationId({job});
  }
  EXPECT_EQ(ApplicationId({"application_1541469337545_0031"}), "application_1541469337545_0031");
  EXPECT_NE(ApplicationId({"a"}), ApplicationId({"b"}));
}

TEST(UserInFileNameTest, TheUserNameIsReducedToLowerCaseLettersDigitsAndUnderscores) {
  EXPECT_EQ(UserInFileName("ann"), "ann");
  EXPECT_EQ(UserInFileName("Ann.B-Smith_2"), "annbsmith_2");
  EXPECT_EQ(UserInFileName("a+b$(c)"), "abc");
  EXPECT_EQ(UserInFileName(".-"), "unknown");
}

TEST(JhistNameTest, TheNameOfAHistoryFileHasTonysFormat) {
  const JobId job{"local-20261121-093015-4f2a9c"};
  EXPECT_EQ(JhistName(job, "ann", FromMillis(17)), "application_20261121093015_5188252-17-ann.jhist.inprogress");
  EXPECT_EQ(JhistName(job, "ann", FromMillis(17), FromMillis(19), FinalState::kKilled),
            "application_20261121093015_5188252-17-19-ann-KILLED.jhist");
}

class HistoryFilesTest : public testing::Test {
 protected:
  JobRecords MakeJob(const fs::path& history) {
    NewJob job;
    RoleSpec worker;
    worker.name = "worker";
    worker.command = "true";
    job.spec.roles = {worker};
    job.spec.history_folder = history.string();
    job.configuration = R"([{"key":"tony.worker.memory","value":"2g","source":"default"}])";
    auto folder = LocalJobStore(temp_.path() / "home").Create(job, submitted_);
    EXPECT_TRUE(folder.ok());
    return *folder;
  }
  void End(const JobRecords& records) const {
    JobStatus status;
    status.job = records.job();
    status.state = "FAILED";
    status.submitted = submitted_;
    status.ended = submitted_ + Duration(5000);
    status.verdict = Verdict{.state = FinalState::kFailed, .cls = OutcomeClass::kUserError};
    ASSERT_TRUE(records.WriteStatus(status, Durability::kLostWithPower).ok());
  }
  static std::vector<std::string> Names(const fs::path& folder) {
    std::vector<std::string> names;
    for (const auto& entry : fs::directory_iterator(folder)) names.push_back(entry.path().filename().string());
    return names;
  }
  std::string Begun(const JobRecords& records) const {
    return JhistName(records.job(), records.ReadSubmission()->user, submitted_);
  }
  std::string Ended(const JobRecords& records) const {
    return JhistName(records.job(), records.ReadSubmission()->user, submitted_, submitted_ + Duration(5000),
                     FinalState::kFailed);
  }

  TempFolder temp_;
  const fs::path history_ = temp_.path() / "tony/intermediate";
  const Instant submitted_ = FromMillis(1'795'253'415'123);
};

TEST_F(HistoryFilesTest, TheHistoryOfARunningJobHasTonyFinalXmlAndAJhistInprogressFile) {
  const JobRecords records = MakeJob(history_);
  ASSERT_TRUE(BeginHistory(records).ok());
  ASSERT_TRUE(BeginHistory(records).ok()) << "the next application master does it again";
  const fs::path where = **HistoryFolder(records);
  EXPECT_EQ(where, history_ / ApplicationId(records.job()));
  EXPECT_THAT(Names(where), UnorderedElementsAre("tony-final.xml", Begun(records)));
  EXPECT_THAT(*ReadFile(where / "tony-final.xml"), HasSubstr("<source>default</source>"));
}

TEST_F(HistoryFilesTest, TheHistoryFileOfAnEndedJobIsRenamedToItsFinalJhistName) {
  const JobRecords records = MakeJob(history_);
  ASSERT_TRUE(BeginHistory(records).ok());
  End(records);
  ASSERT_TRUE(FinishHistory(records).ok());
  ASSERT_TRUE(FinishHistory(records).ok()) << "by hand, once more";
  EXPECT_THAT(Names(**HistoryFolder(records)), UnorderedElementsAre("tony-final.xml", Ended(records)));
}

TEST_F(HistoryFilesTest, AnEndedJobGetsItsHistoryFilesEvenIfItsJournalIsDamaged) {
  const JobRecords records = MakeJob(history_);
  End(records);
  ASSERT_TRUE(WriteNewFile(JobFolder(records).journal(), "damaged", false).ok());
  const Status finished = FinishHistory(records);
  ASSERT_TRUE(finished.ok()) << finished.error().message;
  EXPECT_THAT(Names(**HistoryFolder(records)), UnorderedElementsAre("tony-final.xml", Ended(records)));
}

TEST_F(HistoryFilesTest, FinishHistoryFailsWhileTheJobStillRuns) {
  const JobRecords records = MakeJob(history_);
  const Status finished = FinishHistory(records);
  ASSERT_FALSE(finished.ok());
  EXPECT_EQ(finished.error().message, "job " + records.job().value + " has not ended");
  EXPECT_FALSE(fs::exists(history_));
}

TEST_F(HistoryFilesTest, AJobWithoutAConfiguredHistoryFolderWritesNoHistory) {
  const JobRecords records = MakeJob("");
  EXPECT_TRUE(BeginHistory(records).ok());
  EXPECT_TRUE(FinishHistory(records).ok());
  EXPECT_EQ(*HistoryFolder(records), std::nullopt);
  EXPECT_THAT(Names(temp_.path()), UnorderedElementsAre("home"));
}

TEST_F(HistoryFilesTest, TheGroupOfTonysPortalCanReadAndMoveTheHistory) {
  fs::create_directories(history_);
  ASSERT_EQ(chmod(history_.c_str(), 02777), 0);
  const JobRecords records = MakeJob(history_);
  const mode_t before = umask(077);
  const Status begun = BeginHistory(records);
  umask(before);
  ASSERT_TRUE(begun.ok()) << begun.error().message;
  struct stat info = {};
  ASSERT_EQ(stat((*HistoryFolder(records))->c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 07777, mode_t{02770});
  for (const auto& entry : fs::directory_iterator(**HistoryFolder(records)))
    EXPECT_EQ(entry.status().permissions(), fs::perms(0640)) << entry.path();
}

TEST_F(HistoryFilesTest, TheErrorNamesAHistoryFolderThatCannotBeCreated) {
  ASSERT_TRUE(MakeFolder(temp_.path() / "tony").ok());
  ASSERT_TRUE(WriteNewFile(history_, "a file", false).ok());
  const Status begun = BeginHistory(MakeJob(history_));
  ASSERT_FALSE(begun.ok());
  EXPECT_EQ(begun.error().code, ErrorCode::kCannotWrite);
  EXPECT_THAT(begun.error().message, HasSubstr(history_.string()));
}

TEST_F(HistoryFilesTest, ASymlinkInPlaceOfTheJobsHistoryFolderIsRefused) {
  const JobRecords records = MakeJob(history_);
  End(records);
  const fs::path elsewhere = temp_.path() / "elsewhere";
  fs::create_directories(elsewhere);
  fs::create_directories(history_);
  ASSERT_TRUE(WriteNewFile(elsewhere / "tony-final.xml", "mine", false).ok());
  fs::create_directory_symlink(elsewhere, **HistoryFolder(records));
  for (const Status& written : {BeginHistory(records), FinishHistory(records)}) {
    ASSERT_FALSE(written.ok());
    EXPECT_EQ(written.error().code, ErrorCode::kNotPermitted);
    EXPECT_THAT(written.error().message,
                HasSubstr((*HistoryFolder(records))->string() + " is a link that belongs to "));
  }
  EXPECT_EQ(*ReadFile(elsewhere / "tony-final.xml"), "mine");
  EXPECT_THAT(Names(elsewhere), UnorderedElementsAre("tony-final.xml"));
}

TEST_F(HistoryFilesTest, AHistoryFolderOwnedByAnotherUserIsRefusedWithTheOwnersUid_NeedsRoot) {
  if (geteuid() != 0) GTEST_SKIP() << "needs root: it gives folders to other users";
  const JobRecords records = MakeJob(history_);
  const fs::path where = **HistoryFolder(records);
  fs::create_directories(where);
  ASSERT_EQ(chown(where.c_str(), 1'234'567, 1'234'567), 0);
  ASSERT_EQ(chmod(where.c_str(), 0777), 0);
  const Status begun = BeginHistory(records);
  ASSERT_FALSE(begun.ok());
  EXPECT_EQ(begun.error().message,
            where.string() +
                " belongs to uid 1234567, expected a folder of root, so TonY writes nothing there; uid 1234567 or root "
                "must remove it");
  EXPECT_TRUE(fs::is_empty(where));
}

// The file system shows another owner than this process's user, as servers of network file systems do for root.
TEST_F(HistoryFilesTest, TheHistoryIsWrittenOnAFileSystemThatShowsAnotherOwner_NeedsRoot) {
  if (geteuid() != 0) GTEST_SKIP() << "needs root: it writes as another user";
  fs::create_directories(history_);
  ASSERT_EQ(chmod(history_.c_str(), 01777), 0);
  ASSERT_TRUE(FilesOnThisMachine().MakeFolder((history_ / "job").string()).ok());
  ASSERT_EQ(chown((history_ / "job").c_str(), 65534, 65534), 0);
  fs::permissions(temp_.path(), fs::perms(0755));
  setfsuid(65534);
  const Status written = FilesOnThisMachine().Write((history_ / "job/file").string(), "text");
  setfsuid(0);
  EXPECT_TRUE(written.ok()) << written.error().message;
  EXPECT_THAT(Names(history_ / "job"), UnorderedElementsAre("file"));
}

}  // namespace
}  // namespace tony
