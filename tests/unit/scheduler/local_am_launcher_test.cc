#include "runtime/scheduler/local/local_am_launcher.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>

#include "runtime/process/sibling_program.h"
#include "runtime/store/local_job_store.h"
#include "tests/support/fake_process_runner.h"
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

  void KeepPrograms() const {
    std::filesystem::create_directories(temp_.path() / "programs/abc");
    for (const std::string_view name : kJobPrograms) {
      std::ofstream(temp_.path() / "programs/abc" / name) << "a program";
      std::filesystem::permissions(temp_.path() / "programs/abc" / name, std::filesystem::perms(0500));
    }
  }

  ArbiterView::Kind Seen(const JobRecords& records) const { return launcher_.Look(records).kind; }

  TempFolder temp_;
  EventLoop loop_;
  FakeProcessRunner runner_{loop_};
  LocalAmLauncher launcher_{runner_};
  JobRecords records_ = LocalJobRecords("");
  JobRecords with_programs_ = LocalJobRecords("");
};

TEST_F(LocalAmLauncherTest, StartsTheSiblingKeeperDetachedWithTheStoredEnvironment) {
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

TEST_F(LocalAmLauncherTest, AKeeperIsUpUntilTheLastThatWasStartedHasEnded) {
  EXPECT_EQ(Seen(records_), ArbiterView::Kind::kNobody);
  ASSERT_TRUE(launcher_.Start(records_).ok());
  ASSERT_TRUE(launcher_.Start(records_).ok());
  EXPECT_EQ(Seen(records_), ArbiterView::Kind::kStarting);
  EXPECT_EQ(Seen(with_programs_), ArbiterView::Kind::kNobody) << "another job";
  runner_.Exit(5'000'001, {});
  loop_.Post([this] {
    EXPECT_EQ(Seen(records_), ArbiterView::Kind::kStarting);
    runner_.Exit(5'000'002, {});
    loop_.Post([this] { loop_.Stop(); });
  });
  loop_.Run();
  EXPECT_EQ(Seen(records_), ArbiterView::Kind::kNobody);
}

TEST_F(LocalAmLauncherTest, AJobIsBroughtBackByTheProgramsThatItBeganWith) {
  KeepPrograms();
  ASSERT_TRUE(launcher_.Start(with_programs_).ok());
  EXPECT_EQ(runner_.started[0].argv[0], (temp_.path() / "programs/abc/tony-keeper").string());
}

TEST_F(LocalAmLauncherTest, AJobWhoseProgramsAreNotWholeIsBroughtBackByTheSiblings) {
  for (const std::string_view gone : kJobPrograms) {
    KeepPrograms();
    std::filesystem::remove(temp_.path() / "programs/abc" / gone);
    ASSERT_TRUE(launcher_.Start(with_programs_).ok());
    EXPECT_EQ(runner_.started.back().argv[0], SiblingProgram("tony-keeper"));
  }
}

TEST_F(LocalAmLauncherTest, ProgramThatCannotBeStartedIsTold) {
  runner_.failure = Error{ErrorCode::kNotFound, "start /x/tony-keeper: no such file or directory"};
  const Status started = launcher_.Start(records_);
  ASSERT_FALSE(started.ok());
  EXPECT_EQ(started.error().message, runner_.failure->message);
}

TEST_F(LocalAmLauncherTest, JobWithoutItsEnvironmentIsNotStarted) {
  std::filesystem::remove(records_.place() / "environment");
  EXPECT_EQ(launcher_.Start(records_).error().code, ErrorCode::kNotFound);
  EXPECT_THAT(runner_.started, SizeIs(0));
}

}  // namespace
}  // namespace tony
