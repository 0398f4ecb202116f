// Tests with real shells, which leave processes in the background. The programs `train`, `work` and `tensorboard` are
// copies of sleep.
#include "executor/background.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <csignal>

#include "runtime/os/boost_process_runner.h"
#include "runtime/os/process_tree.h"
#include "tests/unit/executor/executor_bed.h"

namespace tony::executor {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

class BackgroundTest : public testing::Test {
 protected:
  BackgroundTest() { BecomeSubreaper(); }
  ~BackgroundTest() override { SignalAll(Descendants(getpid()), SIGKILL); }

  void Start(const std::string& command, Background rule = Background::kAuto) {
    child_signals_ = nullptr;
    processes_.reset();
    bed_.emplace("for name in train work tensorboard; do cp /bin/sleep $name; done\n" + command);
    bed_->spec.background = rule;
    processes_.emplace(bed_->loop);
    child_signals_ = bed_->loop.OnSignals({SIGCHLD}, [this](int) { executor()->OnChildEnded(); });
    ASSERT_TRUE(bed_->Start(*processes_));
  }
  Outcome Run(const std::string& command, Background rule = Background::kAuto) {
    Start(command, rule);
    const Outcome outcome = bed_->Reported().value_or(Outcome{});
    EXPECT_THAT(Descendants(getpid()), testing::IsEmpty());
    return outcome;
  }
  Executor* executor() { return &*bed_->executor; }
  bool IsThere(const std::string& file) { return std::filesystem::exists(bed_->InWork(file)); }

  // The training was waited for.
  void ExpectWaits(const std::string& command) {
    const Outcome outcome = Run(command);
    EXPECT_TRUE(outcome.Succeeded()) << command;
    EXPECT_TRUE(IsThere("done")) << command;
    EXPECT_THAT(outcome.message, AllOf(HasSubstr("in the background, and the task waited for it"))) << command;
  }
  // The command did the work, and `helper` was ended.
  void ExpectEnds(const std::string& command, const std::string& helper) {
    const Outcome outcome = Run(command);
    EXPECT_TRUE(outcome.Succeeded()) << command;
    EXPECT_FALSE(IsThere("done")) << command;
    EXPECT_THAT(outcome.message, AllOf(HasSubstr("its command left " + helper + " (process "),
                                       HasSubstr("it was ended"), Not(HasSubstr("waited for"))))
        << command;
  }

  std::optional<ExecutorBed> bed_;
  std::optional<BoostProcessRunner> processes_;
  EventLoop::FdWatch child_signals_;
};

constexpr const char* kTrain = "sh -c './train 0.2; touch done'";

TEST_F(BackgroundTest, WorkThatAShellHasLeftInTheBackgroundIsWaitedFor) {
  const std::string train = kTrain;
  ExpectWaits(train + " &");
  ExpectWaits("nohup " + train + " >train.log 2>&1 & echo started");
  ExpectWaits("nohup setsid " + train + " & disown");
  ExpectWaits("(" + train + " &)");
  ExpectWaits("setsid -f " + train);
  ExpectWaits(train + " & sleep 0.05; cat nothing; true");
  ExpectWaits("./work 0.1; nohup " + train + " &");
  ExpectWaits("./work 0.1 & wait; " + train + " &");
  ExpectWaits("echo \"" + train + " &\" >run.sh; bash run.sh; echo started");
  ExpectWaits("echo \"" + train + " &\" >run.sh; nohup bash run.sh & true");
  ExpectWaits("./tensorboard 1000 & " + train + " &");
}

TEST_F(BackgroundTest, HelpersOfAProgramThatDidTheWorkAreEndedAndNamed) {
  ExpectEnds("./train 1000 & ./work 0.2", "train");
  ExpectEnds("./train 1000 & ./work 0.2 | cat; true", "train");
  ExpectEnds("sleep 1000 & ./work 0.2", "sleep");
  ExpectEnds("./work 0.2; ./tensorboard 1000 &", "tensorboard");
  ExpectEnds("perl -e 'if (!fork) { exec \"./train\", 1000 } select undef, undef, undef, 0.2'; true", "train");
  ExpectEnds("exec perl -e 'exec \"./train\", 1000 if !fork; select undef, undef, undef, 0.2'", "train");
  ExpectEnds("perl -e 'system \"./train 1000 &\"; select undef, undef, undef, 0.2'; true", "train");
}

TEST_F(BackgroundTest, AServiceAloneIsTheWork) {
  EXPECT_THAT(Run("./tensorboard 0.2 &").message, HasSubstr("waited for"));
}

TEST_F(BackgroundTest, WhatEndsInTheSameMomentIsNotToldOf) {
  EXPECT_EQ(Run("true & ./work 0.1 | tee log").message, "");
}

TEST_F(BackgroundTest, TheFirstFailureOfTheWorkIsTheTasksAndAllOfItIsWaitedFor) {
  const Outcome outcome =
      Run("sh -c './train 0.1; echo boom >&2; exit 3' & sh -c './train 0.2; touch done; exit 4' & true");
  EXPECT_EQ(outcome.exit, (ExitStatus{ExitStatus::Kind::kExited, 3}));
  EXPECT_EQ(outcome.cls, OutcomeClass::kUserError);
  EXPECT_THAT(outcome.message, AllOf(HasSubstr("boom"), HasSubstr("in the background")));
  EXPECT_TRUE(IsThere("done"));
}

TEST_F(BackgroundTest, AStopReachesTheWorkThatIsWaitedFor) {
  Start("./train 1000 & touch ready");
  ASSERT_TRUE(bed_->Until([this] { return IsThere("ready") && Descendants(getpid()).size() == 1; }));
  ASSERT_TRUE(bed_->Order({.number = 2, .kind = Command::Kind::kStop, .generation = {1}, .grace = Duration{10'000}}));
  const auto outcome = bed_->Reported();
  ASSERT_TRUE(outcome);
  EXPECT_EQ(outcome->cls, OutcomeClass::kKilled);
  EXPECT_EQ(outcome->exit, (ExitStatus{ExitStatus::Kind::kSignaled, SIGTERM}));
  EXPECT_THAT(Descendants(getpid()), testing::IsEmpty());
}

TEST_F(BackgroundTest, TheJobMayHaveItOtherwise) {
  const Outcome ended = Run("./train 1000 &", Background::kEnd);
  EXPECT_TRUE(ended.Succeeded());
  EXPECT_THAT(ended.message, HasSubstr("it was ended"));
  const Outcome failed = Run("./train 1000 & ./work 0.1", Background::kFail);
  EXPECT_EQ(failed.cls, OutcomeClass::kUserError);
  EXPECT_THAT(failed.message, HasSubstr("it was ended (tony.task.background=fail)"));
  EXPECT_THAT(Run("./train 0.2 & ./work 0.1", Background::kWait).message, HasSubstr("waited for"));
}

TEST(ServiceProgramTest, ServicesAreToldByTheirProgram) {
  EXPECT_TRUE(IsService({"/venv/bin/python3", "/venv/bin/tensorboard", "--logdir", "x"}));
  EXPECT_TRUE(IsService({"python", "-m", "tensorboard.main"}));
  EXPECT_TRUE(IsService({"wandb-service(2-71)"}));
  EXPECT_TRUE(IsService({"/usr/bin/ssh-agent", "-s"}));
  EXPECT_FALSE(IsService({"python", "train.py", "--logger", "tensorboard"}));
  EXPECT_FALSE(IsService({"topology"}));
  EXPECT_FALSE(IsService({}));
}

}  // namespace
}  // namespace tony::executor
