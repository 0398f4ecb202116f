#include <gmock/gmock.h>

#include <csignal>
#include <fstream>

#include "runtime/process/process_tree.h"
#include "tests/unit/scheduler/keeper_fixture.h"

namespace tony {
namespace {

using ::testing::IsEmpty;

class KeeperEndTest : public KeeperFixture {
 protected:
  KeeperEndTest() { SetLimits({"QUICK_KEEPER_FAREWELL=300"}); }
  bool Finish() {
    bool finished = false;
    scheduler_->Finish([&] { finished = true; });
    return WaitFor([&] { return finished; });
  }
};

TEST_F(KeeperEndTest, FinishLeavesNothing) {
  const pid_t keeper = StartKeeper();
  BecomeAm({1});
  Launch("1-1", "setsid sleep 1000 & setsid env -i sleep 1000 & sleep 1000");
  ASSERT_TRUE(WaitFor([&] { return Marked("1-1").size() == 3; }));
  ASSERT_TRUE(Finish());
  EXPECT_TRUE(std::filesystem::exists(folder_.path() / "finished")) << "recorded before it is told";
  ASSERT_TRUE(KeeperEnded(keeper));
  EXPECT_THAT(OfJob(), IsEmpty());
  EXPECT_EQ(Content("ams"), "1\n");
  EXPECT_FALSE(std::filesystem::exists(folder_.path() / "keeper.sock"));
  EXPECT_FALSE(folder_.IsLocked("keeper.lock"));
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
  std::ofstream(folder_.path() / "finished") << "";  // as if it had died right after recording it
  ASSERT_TRUE(KeeperEnded(StartKeeper()));
  EXPECT_EQ(Content("ams"), "1\n");
  EXPECT_THAT(OfJob(), IsEmpty());
}

TEST_F(KeeperEndTest, TermAsksTheAmToEndTheJob) {
  const pid_t keeper = StartKeeper();
  BecomeAm({1});
  kill(keeper, SIGTERM);
  kill(keeper, SIGHUP);
  kill(keeper, SIGINT);
  ASSERT_TRUE(WaitForFile("kill-request.json"));
  const auto request = folder_.ReadKillRequest();
  ASSERT_TRUE(request.ok() && *request);
  EXPECT_THAT((*request)->reason, ::testing::StartsWith("keeper was told to stop by signal "));
  Launch("1-1", "exit 0");
  EXPECT_TRUE(WaitFor([&] { return Exit("1-1"); })) << "the keeper rules on";
  EXPECT_FALSE(keepers_[keeper]);
}

TEST_F(KeeperEndTest, LaunchAfterTheEndIsRefused) {
  StartKeeper();
  BecomeAm({1});
  scheduler_->Finish([] {});
  Launch("1-1", ">ran");
  ASSERT_TRUE(WaitFor([&] { return Exit("1-1"); }));
  EXPECT_EQ(Exit("1-1")->error, "launch: the job has ended");
  EXPECT_FALSE(std::filesystem::exists(folder_.path() / "ran"));
}

}  // namespace
}  // namespace tony
