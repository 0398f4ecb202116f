#include <gmock/gmock.h>
#include <unistd.h>

#include <csignal>
#include <fstream>

#include "runtime/base/strings.h"
#include "runtime/os/files.h"
#include "runtime/os/process_tree.h"
#include "runtime/records/job_folder.h"
#include "tests/unit/keeper/keeper_fixture.h"

namespace tony {
namespace {

using ::testing::IsEmpty;

class KeeperEndTest : public KeeperFixture {
 protected:
  void SetGrace(Duration grace) {
    JobSpec spec = *records_.ReadSpec();
    spec.timers.grace = grace;
    EXPECT_TRUE(WriteFileByRename(records_.place() / "spec.json", ToJson(spec), /*durable=*/false).ok());
  }
  KeeperEndTest() { SetLimits({"QUICK_KEEPER_FAREWELL=300"}); }
  bool Finish() {
    bool finished = false;
    scheduler_->Finish({}, [&] { finished = true; });
    return WaitFor([&] { return finished; });
  }
};

TEST_F(KeeperEndTest, FinishLeavesNothing) {
  const pid_t keeper = StartKeeper();
  BecomeAm({1});
  Launch("1-1", "setsid sleep 1000 & setsid env -i sleep 1000 & sleep 1000");
  ASSERT_TRUE(WaitFor([&] { return Marked("1-1").size() == 3; }));
  ASSERT_TRUE(Finish());
  EXPECT_TRUE(std::filesystem::exists(records_.place() / "finished")) << "recorded before it is told";
  ASSERT_TRUE(KeeperEnded(keeper));
  EXPECT_THAT(OfJob(), IsEmpty());
  EXPECT_EQ(Content("ams"), "1\n");
  EXPECT_FALSE(std::filesystem::exists(records_.place() / "keeper.sock"));
  EXPECT_FALSE(JobFolder(records_).IsLocked("keeper.lock"));
  EXPECT_EQ(keepers_started_, 1) << "a keeper that is done is not brought back";
}

TEST_F(KeeperEndTest, FinishIsQuickWhenTheAmLeaves) {
  SetLimits({"QUICK_KEEPER_FAREWELL=100000"});
  const pid_t keeper = StartKeeper();
  BecomeAm({1});
  ASSERT_TRUE(Finish());
  KillAm();
  EXPECT_TRUE(KeeperEnded(keeper));
}

TEST_F(KeeperEndTest, JobThatIsFinishedGetsNoAmAgain) {
  const pid_t keeper = StartKeeper();
  BecomeAm({1});
  Launch("1-1", "setsid sleep 1000 & sleep 1000");
  ASSERT_TRUE(WaitFor([&] { return Marked("1-1").size() == 3; }));
  scheduler_.reset();
  KillKeeper(keeper);
  std::ofstream(records_.place() / "finished") << "";  // as if it had died right after recording it
  ASSERT_TRUE(KeeperEnded(StartKeeper()));
  EXPECT_EQ(Content("ams"), "1\n");
  EXPECT_THAT(OfJob(), IsEmpty());
}

TEST_F(KeeperEndTest, TermAsksTheAmToEndTheJob) {
  const pid_t keeper = StartKeeper();
  BecomeAm({1});
  kill(keeper, SIGTERM);
  ASSERT_TRUE(WaitFor([this] { return *records_.HasPlainKill(); }));
  kill(keeper, SIGHUP);
  kill(keeper, SIGTERM);
  ASSERT_TRUE(WaitFor([this] { return Content("keeper.log").find("is stopping already") != std::string::npos; }));
  const auto kills = records_.ReadKills();
  ASSERT_EQ(kills->size(), 1u);
  EXPECT_EQ(kills->front().request.reason,
            StrCat("the job's keeper got SIGTERM from process ", getpid(), " of uid ", getuid()));
  Launch("1-1", "exit 0");
  EXPECT_TRUE(WaitFor([&] { return Exit("1-1"); })) << "the keeper rules on";
  EXPECT_FALSE(keepers_[keeper]);
}

TEST_F(KeeperEndTest, TermEndsTheJobThoughTheAmDoesNot) {
  SetLimits({"QUICK_KEEPER_STOP_MARGIN=50"});
  SetGrace(Duration(50));
  const pid_t keeper = StartKeeper();
  BecomeAm({1});
  Launch("1-1", "trap '' TERM; while :; do sleep 0.01; done");
  ASSERT_TRUE(WaitFor([this] { return Started("1-1"); }));
  scheduler_.reset();
  kill(keeper, SIGTERM);
  ASSERT_TRUE(KeeperEnded(keeper)) << "with 0";
  const auto status = records_.ReadStatus();
  ASSERT_TRUE(status.ok() && *status && (*status)->verdict);
  EXPECT_EQ((*status)->verdict->state, FinalState::kKilled);
  EXPECT_THAT((*status)->verdict->message, ::testing::StartsWith("the job's keeper got SIGTERM from process "));
  EXPECT_TRUE(std::filesystem::exists(records_.place() / "finished"));
  EXPECT_EQ(Content("ams"), "1\n") << "no other AM";
  EXPECT_THAT(OfJob(), IsEmpty());
}

TEST_F(KeeperEndTest, TermGivesTheTasksTheirGraceThoughTheAmCannotBeAsked) {
  SetGrace(Duration(60000));
  // A file in the place of the folder.
  std::ofstream(records_.place() / "kill-requests") << "";
  const pid_t keeper = StartKeeper();
  BecomeAm({1});
  Launch("1-1", "trap 'touch saved; exit 0' TERM; touch runs; while :; do sleep 0.01; done");
  ASSERT_TRUE(WaitForFile("runs"));
  scheduler_.reset();
  kill(keeper, SIGTERM);
  ASSERT_TRUE(KeeperEnded(keeper));
  EXPECT_TRUE(std::filesystem::exists(records_.place() / "saved"));
  const auto status = records_.ReadStatus();
  ASSERT_TRUE(status.ok() && *status && (*status)->verdict);
  EXPECT_EQ((*status)->verdict->state, FinalState::kKilled);
}

TEST_F(KeeperEndTest, LaunchAfterTheEndIsRefused) {
  StartKeeper();
  BecomeAm({1});
  scheduler_->Finish({}, [] {});
  Launch("1-1", ">ran");
  ASSERT_TRUE(WaitFor([&] { return Exit("1-1"); }));
  EXPECT_EQ(Exit("1-1")->error, "launch: the job has ended");
  EXPECT_FALSE(std::filesystem::exists(records_.place() / "ran"));
}

}  // namespace
}  // namespace tony
