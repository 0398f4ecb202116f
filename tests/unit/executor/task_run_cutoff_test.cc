// An executor that nobody answers: cut off, or orphaned.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/unit/executor/task_run_driver.h"

namespace tony::executor {
namespace {

using std::chrono::milliseconds;
using std::chrono::minutes;
using std::chrono::seconds;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

// ---- cut off ----

TEST(TaskRunCutOffTest, AnExecutorThatIsCutOffStopsItsTaskInTime) {
  TaskRunDriver task;
  task.RunTask();
  task.LoseAm();
  task.PassCutOff(milliseconds{29'750}, LeaseOf(1));
  EXPECT_EQ(task.run.state(), State::kRunning);
  task.PassCutOff(milliseconds{250}, LeaseOf(1));
  EXPECT_EQ(task.run.state(), State::kStopping);
  EXPECT_THAT(task.Signals(), ElementsAre(SIGTERM));
  task.Exit(KilledBy(SIGTERM));
  task.Give(TreeGone{});
  EXPECT_EQ(task.Last<KeepOutcome>().outcome.cls, OutcomeClass::kNodeLost);
  EXPECT_THAT(task.Last<KeepOutcome>().outcome.message, ::testing::HasSubstr("cut off"));
  EXPECT_EQ(task.Count<Leave>(), 0) << "the outcome may still be reported";
  task.Register(2);
  EXPECT_EQ(task.Count<SendOutcome>(), 1);
}

TEST(TaskRunCutOffTest, AStoreThatCannotBeReadEitherMeansCutOff) {
  TaskRunDriver task;
  task.RunTask();
  task.LoseAm();
  for (int i = 0; i < 124; ++i) {
    task.Give(LeaseUnreadable{});
    if (task.run.link() == Link::kRegistering) task.LoseAm();
    task.Pass(milliseconds{250});
  }
  EXPECT_EQ(task.run.state(), State::kStopping);
}

TEST(TaskRunCutOffTest, AnAmWhoseQueueIsFullIsNoReasonToStop) {
  TaskRunDriver task;
  task.RunTask();
  task.LoseAm();
  for (int i = 0; i < 4 * 60 * 40; ++i) {  // forty minutes; an orphan leaves after thirty
    task.Pass(milliseconds{250});
    task.Give(LeaseRead{LeaseOf(1, 7001, i / 8)});
    if (task.run.link() == Link::kRegistering) task.Give(ConnectionLost{task.link, /*crowded=*/true});
  }
  EXPECT_EQ(task.run.state(), State::kRunning);
  task.PassCutOff(seconds{31}, LeaseOf(1));
  EXPECT_EQ(task.run.state(), State::kStopping) << "the queue is no longer full, and nobody answers";
}

TEST(TaskRunCutOffTest, WithADeadAmTheTaskRunsOn) {
  TaskRunDriver task;
  task.RunTask();
  task.LoseAm();
  task.Give(LeaseRead{LeaseOf(1)});
  task.LoseAm();
  task.Pass(minutes{29});
  EXPECT_EQ(task.run.state(), State::kRunning);
}

TEST(TaskRunCutOffTest, AnAmThatComesBackLateIsGivenTheFullTimeAgain) {
  TaskRunDriver task;
  task.RunTask();
  task.LoseAm();
  task.Pass(minutes{1});
  task.Give(LeaseRead{LeaseOf(1)});
  task.Pass(minutes{4});
  task.PassCutOff(seconds{29}, LeaseOf(2));
  EXPECT_EQ(task.run.state(), State::kRunning);
  task.PassCutOff(seconds{2}, LeaseOf(2));
  EXPECT_EQ(task.run.state(), State::kStopping);
}

TEST(TaskRunCutOffTest, TheTimeCountsFromTheLastAnswerNotFromTheNoticeOfTheLoss) {
  TaskRunDriver task;
  task.RunTask();
  task.now += seconds{28};  // this process stood still
  task.Give(Tick{});
  task.LoseAm();
  task.PassCutOff(milliseconds{1750}, LeaseOf(1));
  EXPECT_EQ(task.run.state(), State::kRunning);
  task.PassCutOff(milliseconds{250}, LeaseOf(1));
  EXPECT_EQ(task.run.state(), State::kStopping);
}

TEST(TaskRunCutOffTest, AfterALongStandstillThereIsOneMoreTry) {
  TaskRunDriver task;
  task.RunTask();
  task.now += seconds{300};
  task.Give(Tick{});
  task.LoseAm();
  task.Pass(milliseconds{900});
  EXPECT_EQ(task.run.state(), State::kRunning);
  task.Register(1);
  task.PassLinked(minutes{5});
  EXPECT_EQ(task.run.state(), State::kRunning);
}

TEST(TaskRunCutOffTest, AnExecutorWithoutATaskIsCutOffToo) {
  TaskRunDriver task;
  task.PassCutOff(seconds{31}, LeaseOf(1));
  EXPECT_EQ(task.run.state(), State::kEnded);
  EXPECT_EQ(task.run.outcome()->cls, OutcomeClass::kNodeLost);
}

// ---- orphaned ----

TEST(TaskRunCutOffTest, AfterTheOrphanTimeoutItStopsItsTaskAndLeaves) {
  TaskRunDriver task;
  task.RunTask();
  task.LoseAm();
  task.Pass(minutes{30});
  EXPECT_EQ(task.run.state(), State::kStopping);
  task.Exit(KilledBy(SIGTERM));
  task.Give(TreeGone{});
  EXPECT_EQ(task.run.outcome()->cls, OutcomeClass::kInfra);
  ASSERT_EQ(task.Count<Leave>(), 1);
  EXPECT_EQ(task.Last<Leave>().exit_code, kLeftOrphaned);
}

TEST(TaskRunCutOffTest, AnExecutorThatNeverFoundAnAmLeavesAfterTheOrphanTimeout) {
  TaskRunDriver task;
  task.Give(LeaseRead{});
  task.Pass(minutes{30});
  EXPECT_EQ(task.Last<Leave>().exit_code, kLeftOrphaned);
}

// ---- the job's folder was removed ----

TEST(TaskRunCutOffTest, WithoutItsJobsFolderItStopsItsTaskAndLeaves) {
  TaskRunDriver task;
  task.RunTask();
  task.LoseAm();
  task.Give(FolderGone{});
  EXPECT_EQ(task.run.state(), State::kStopping);
  EXPECT_EQ(task.Last<SignalTree>().signal, SIGTERM);
  task.Give(FolderGone{});
  task.Exit(KilledBy(SIGTERM));
  task.Give(TreeGone{});
  EXPECT_EQ(task.run.outcome()->message, "the job's folder was removed");
  ASSERT_EQ(task.Count<Leave>(), 1);
  EXPECT_EQ(task.Last<Leave>().exit_code, kLeftFolderGone);
}

TEST(TaskRunCutOffTest, WithoutItsJobsFolderAnExecutorThatHasNoTaskLeavesAtOnce) {
  TaskRunDriver task;
  task.Give(FolderGone{});
  EXPECT_EQ(task.Last<Leave>().exit_code, kLeftFolderGone);
}

TEST(TaskRunCutOffTest, WhileItHasAnAmTheRemovedFolderIsThatOnesCare) {
  TaskRunDriver task;
  task.RunTask();
  task.Give(FolderGone{});
  EXPECT_EQ(task.run.state(), State::kRunning);
}

TEST(TaskRunCutOffTest, AKeptOutcomeIsNotKeptForEver) {
  TaskRunDriver task;
  task.RunTask();
  task.Exit(ExitCode(0));
  task.Give(TreeGone{});
  task.LoseAm();
  task.Pass(minutes{30});
  EXPECT_EQ(task.Last<Leave>().exit_code, kLeftOrphaned);
}

}  // namespace
}  // namespace tony::executor
