#include "runtime/local/local_am_launcher.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>

#include "runtime/os/start_program.h"
#include "runtime/records/job_folder.h"
#include "runtime/records/local_job_store.h"
#include "tests/support/fake_process_runner.h"
#include "tests/support/results.h"
#include "tests/support/temp_folder.h"

namespace tony {
namespace {

using ::testing::ElementsAre;
using ::testing::EndsWith;
using ::testing::SizeIs;

class LocalAmLauncherTest : public ::testing::Test {
 protected:
  LocalAmLauncherTest() {
    NewJob job;
    job.spec.roles.emplace_back().name = "worker";
    job.environment = {"PATH=/bin", "TONY_JOB_ID=outer", "TONY_CONTAINER=outer/1-1"};
    records_ = Create(job);
    job.programs = "abc";
    with_programs_ = Create(job);
  }

  JobRecords Create(const NewJob& job) const {
    auto folder = LocalJobStore(temp_.path()).Create(job, FromMillis(0));
    EXPECT_TRUE(folder.ok());
    return *folder;
  }

  void StorePrograms() const {
    std::filesystem::create_directories(temp_.path() / "programs/abc");
    for (const std::string_view name : kJobPrograms) {
      std::ofstream(temp_.path() / "programs/abc" / name) << "a program";
      std::filesystem::permissions(temp_.path() / "programs/abc" / name, std::filesystem::perms(0500));
    }
  }

  TempFolder temp_;
  EventLoop loop_;
  FakeProcessRunner runner_{loop_};
  LocalAmLauncher launcher_{runner_};
  JobRecords records_ = LocalJobRecords("");
  JobRecords with_programs_ = LocalJobRecords("");
};

TEST_F(LocalAmLauncherTest, TheKeeperIsStartedInItsOwnSessionWithTheJobsStoredEnvironment) {
  ASSERT_TRUE(launcher_.Start(records_).ok());
  ASSERT_THAT(runner_.started, SizeIs(1));
  const ProcessSpec& keeper = runner_.started[0];
  ASSERT_THAT(keeper.argv, SizeIs(2));
  EXPECT_THAT(keeper.argv[0], EndsWith("/tony-keeper"));
  EXPECT_EQ(keeper.argv[1], records_.place().string());
  EXPECT_THAT(keeper.env, ElementsAre("PATH=/bin"));
  EXPECT_TRUE(keeper.own_session);
  EXPECT_EQ(keeper.directory, records_.place().string());
  EXPECT_EQ(keeper.stdout_file, (records_.place() / "keeper.log").string());
  EXPECT_EQ(keeper.stderr_file, keeper.stdout_file);
}

TEST_F(LocalAmLauncherTest, AStartedKeeperIsReportedAsStartingAndPreventsASecondKeeper) {
  EXPECT_EQ(LocalArbiter().Look(records_).kind, ArbiterView::Kind::kNobody);
  EXPECT_TRUE(*launcher_.Start(records_));
  EXPECT_EQ(LocalArbiter().Look(records_).kind, ArbiterView::Kind::kStarting);
  EXPECT_EQ(LocalArbiter().Look(with_programs_).kind, ArbiterView::Kind::kNobody) << "another job";
  EXPECT_FALSE(*LocalAmLauncher(runner_).Start(records_));
  EXPECT_THAT(runner_.started, SizeIs(1));
  runner_.Exit(5'000'001, {});
  EXPECT_EQ(LocalArbiter().Look(records_).kind, ArbiterView::Kind::kNobody);
  EXPECT_TRUE(*launcher_.Start(records_));
}

TEST_F(LocalAmLauncherTest, NoKeeperIsStartedWhileAKeeperOfAnEarlierReleaseHoldsTheLock) {
  const auto kept = JobFolder(records_).Lock("keeper.lock");
  EXPECT_FALSE(*launcher_.Start(records_));
  EXPECT_THAT(runner_.started, SizeIs(0));
}

TEST_F(LocalAmLauncherTest, AKeeperIsStartedForAFinishedJobOnlyIfItsAmStillRuns) {
  std::ofstream(JobFolder(records_).finished()) << "";
  EXPECT_FALSE(*launcher_.Start(records_));
  EXPECT_THAT(runner_.started, SizeIs(0));
  const auto am = JobFolder(records_).Lock("am.lock");
  EXPECT_TRUE(*launcher_.Start(records_));
}

TEST_F(LocalAmLauncherTest, TheKeeperIsStartedFromTheProgramsStoredForTheJob) {
  StorePrograms();
  ASSERT_TRUE(launcher_.Start(with_programs_).ok());
  EXPECT_EQ(runner_.started[0].argv[0], (temp_.path() / "programs/abc/tony-keeper").string());
}

TEST_F(LocalAmLauncherTest, AJobWithAMissingStoredProgramIsStartedWithTheInstalledPrograms) {
  pid_t pid = 5'000'001;
  for (const std::string_view gone : kJobPrograms) {
    StorePrograms();
    std::filesystem::remove(temp_.path() / "programs/abc" / gone);
    ASSERT_TRUE(*launcher_.Start(with_programs_));
    EXPECT_EQ(runner_.started.back().argv[0], SiblingProgram("tony-keeper"));
    runner_.Exit(pid++, {});
  }
}

TEST_F(LocalAmLauncherTest, AKeeperThatCannotBeStartedIsReported) {
  runner_.failure = Error{ErrorCode::kNotFound, "start /x/tony-keeper: no such file or directory"};
  ExpectError(launcher_.Start(records_), runner_.failure->message);
  EXPECT_EQ(LocalArbiter().Look(records_).kind, ArbiterView::Kind::kNobody);
}

TEST_F(LocalAmLauncherTest, AJobWithoutItsStoredEnvironmentIsNotStarted) {
  std::filesystem::remove(records_.place() / "environment");
  EXPECT_EQ(launcher_.Start(records_).error().code, ErrorCode::kNotFound);
  EXPECT_THAT(runner_.started, SizeIs(0));
}

}  // namespace
}  // namespace tony
