// The executor with real processes: what it stops, nothing survives.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>

#include "executor/background.h"
#include "runtime/base/strings.h"
#include "runtime/os/boost_process_runner.h"
#include "runtime/os/process_tree.h"
#include "tests/unit/executor/executor_bed.h"

namespace tony::executor {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

// All that a task started descends from this program; a zombie does not run.
bool IsRunning(pid_t pid) {
  const auto running = Descendants(getpid());
  return std::find(running.begin(), running.end(), pid) != running.end();
}

// A test's own processes are the only children of this program.
class ExecutorProcessTest : public testing::Test {
 protected:
  ExecutorProcessTest() { BecomeSubreaper(); }
  ~ExecutorProcessTest() override { SignalAll(Descendants(getpid()), SIGKILL); }

  // Runs `command` until it has made the file `ready` in its work folder.
  void Run(const std::string& command, int processes = 1, Background background = Background::kAuto) {
    bed_.emplace(command);
    bed_->spec.background = background;
    bed_->spec.roles[0].processes = processes;
    bed_->spec.timers.grace = Duration(300);  // where one process fails
    processes_.emplace(bed_->loop);
    child_signals_ = bed_->loop.OnSignals({SIGCHLD}, [this](int) { processes_->ReapStrangers(); });
    ASSERT_TRUE(bed_->Start(*processes_));
    ASSERT_TRUE(bed_->Until([&] { return std::filesystem::exists(bed_->InWork("ready")); }));
  }
  pid_t PidIn(const std::string& file) { return static_cast<pid_t>(*ParseInt(Trim(Content(bed_->InWork(file))))); }
  void Stop(Duration grace) {
    ASSERT_TRUE(bed_->Order({.number = 2, .kind = Command::Kind::kStop, .generation = {1}, .grace = grace}));
  }
  Outcome Reported() { return bed_->Reported().value_or(Outcome{}); }

  std::optional<ExecutorBed> bed_;
  std::optional<BoostProcessRunner> processes_;
  EventLoop::FdWatch child_signals_;
};

TEST_F(ExecutorProcessTest, ATasksProcessesAreChosenBeforeItsExecutorWhenMemoryRunsOut) {
  Run("(cat /proc/self/oom_score_adj > score); touch ready; exec sleep 1000");
  EXPECT_GT(ParseInt(Trim(Content(bed_->InWork("score")))), ParseInt(Trim(Content("/proc/self/oom_score_adj"))));
}

TEST_F(ExecutorProcessTest, FilesInSharedMemoryGoWithTheStoppedThatHadThemOpen) {
  const std::string file = StrCat("/dev/shm/tony-test-", getpid()), closed = file + "-closed";
  Run(StrCat("echo a > ", closed, "; exec 3> ", file, "; touch ready; exec sleep 1000"));
  Stop(Duration{10'000});
  EXPECT_EQ(Reported().cls, OutcomeClass::kKilled);
  EXPECT_FALSE(std::filesystem::remove(file));
  EXPECT_TRUE(std::filesystem::remove(closed));
}

TEST_F(ExecutorProcessTest, ATaskThatIgnoresTermIsKilledAfterTheGrace) {
  Run("trap '' TERM; echo $$ > pid; touch ready; while :; do sleep 0.02; done");
  const Instant asked = bed_->loop.Now();
  Stop(Duration{200});
  const Outcome outcome = Reported();
  EXPECT_EQ(outcome.cls, OutcomeClass::kKilled);
  EXPECT_EQ(outcome.exit, (ExitStatus{ExitStatus::Kind::kSignaled, SIGKILL}));
  EXPECT_GE(bed_->loop.Now() - asked, Duration{200});
  EXPECT_FALSE(IsRunning(PidIn("pid")));
}

// The first of three ignores SIGTERM, the second fails, the third has a child in a session of its own.
TEST_F(ExecutorProcessTest, WhenAProcessFailsNothingOfTheOthersIsLeft) {
  Run("echo $$ > pid-$TONY_PROCESS_INDEX; case $TONY_PROCESS_INDEX in "
      "0) trap '' TERM; while :; do sleep 0.02; done;; "
      "1) until [ -e child -a -e pid-0 ]; do sleep 0.02; done; touch ready; until [ -e fail ]; do sleep 0.02; done; "
      "echo boom >&2; exit 3;; "
      "2) setsid sleep 1000 & echo $! > child.new; mv child.new child; wait;; esac",
      3);
  const auto pids = {PidIn("pid-0"), PidIn("pid-2"), PidIn("child")};
  ASSERT_TRUE(WriteNewFile(bed_->InWork("fail"), "", false).ok());
  const Outcome outcome = Reported();
  EXPECT_EQ(outcome.cls, OutcomeClass::kUserError);
  EXPECT_EQ(outcome.exit, (ExitStatus{ExitStatus::Kind::kExited, 3}));
  EXPECT_EQ(outcome.process, 1);
  EXPECT_EQ(outcome.stderr_tail, "boom\n");
  for (const pid_t pid : pids) EXPECT_FALSE(IsRunning(pid));
}

TEST_F(ExecutorProcessTest, ANoticeIsThereWhenTheSignalComes) {
  Run("test ! -e $TONY_NOTICE_FILE || exit 9; trap 'cat $TONY_NOTICE_FILE > seen; exit 5' TERM; touch ready; "
      "while :; do sleep 0.02; done");
  Command stop{.number = 2, .kind = Command::Kind::kStop, .generation = {1}, .grace = Duration{10'000}};
  stop.reason = "preempted";
  const Instant stopped = bed_->loop.Now();
  ASSERT_TRUE(bed_->Order(stop));
  EXPECT_EQ(Reported().exit, (ExitStatus{ExitStatus::Kind::kExited, 5}));
  const std::string seen = Content(bed_->InWork("seen"));
  constexpr std::string_view kBegin = R"({"reason":"preempted","deadline":")";
  ASSERT_THAT(seen, testing::StartsWith(kBegin));
  const auto deadline = InstantFromIso8601(seen.substr(kBegin.size(), seen.rfind('"') - kBegin.size()));
  ASSERT_TRUE(deadline) << seen;
  EXPECT_GE(*deadline, stopped + Duration{10'000});
  EXPECT_LE(*deadline, bed_->loop.Now() + Duration{10'000});
}

TEST_F(ExecutorProcessTest, ATaskThatEndsOnTermKeepsItsExitCode) {
  Run("trap 'exit 5' TERM; touch ready; while :; do sleep 0.02; done");
  Stop(Duration{10'000});
  const Outcome outcome = Reported();
  EXPECT_EQ(outcome.cls, OutcomeClass::kKilled);
  EXPECT_EQ(outcome.exit, (ExitStatus{ExitStatus::Kind::kExited, 5}));
}

TEST_F(ExecutorProcessTest, AProgramMaySaveWithToolsOfItsOwnThoughItsShellEndsOfTermAtOnce) {
  Run("sh -c 'trap \"sleep 0.3 && echo x > saved; exit\" TERM; touch ready; while :; do sleep 0.02; done'; echo after");
  Stop(Duration{10'000});
  EXPECT_EQ(Reported().exit, (ExitStatus{ExitStatus::Kind::kSignaled, SIGTERM}));
  EXPECT_EQ(Content(bed_->InWork("saved")), "x\n");
}

TEST_F(ExecutorProcessTest, AProcessThatFledIntoItsOwnSessionIsEnded) {
  Run("setsid bash -c 'echo $$ > fled; touch ready; sleep 1000' & wait");
  Stop(Duration{10'000});
  EXPECT_EQ(Reported().cls, OutcomeClass::kKilled);
  EXPECT_FALSE(IsRunning(PidIn("fled")));
}

TEST_F(ExecutorProcessTest, ADaemonThatIgnoresTermIsKilledAfterItsParentIsGone) {
  Run("(setsid bash -c 'trap \"\" TERM; echo $$ > daemon; touch ready; while :; do sleep 0.02; done' &); sleep 1000");
  Stop(Duration{200});
  EXPECT_EQ(Reported().cls, OutcomeClass::kKilled);
  EXPECT_FALSE(IsRunning(PidIn("daemon")));
}

TEST_F(ExecutorProcessTest, WhatRunsOnInTheBackgroundEndsWithTheTask) {
  Run("sleep 1000 & echo $! > left; (setsid sleep 1000 &); touch ready; exit 0", 1, Background::kEnd);
  const Outcome outcome = Reported();
  EXPECT_EQ(outcome.cls, OutcomeClass::kSuccess);
  EXPECT_THAT(outcome.message, testing::HasSubstr("running in the background, and it was ended"));
  EXPECT_EQ(outcome.exit, (ExitStatus{ExitStatus::Kind::kExited, 0}));
  EXPECT_FALSE(IsRunning(PidIn("left")));
  EXPECT_THAT(Descendants(getpid()), testing::IsEmpty());
}

TEST_F(ExecutorProcessTest, OrphansAreReapedAndNeverTakeTheTasksExitStatus) {
  Run("for i in $(seq 30); do (true &); done; touch ready; exit 7");
  EXPECT_EQ(Reported().exit, (ExitStatus{ExitStatus::Kind::kExited, 7}));
  ASSERT_TRUE(bed_->Until([] {
    siginfo_t info{};
    return waitid(P_ALL, 0, &info, WEXITED | WNOHANG | WNOWAIT) != 0 && errno == ECHILD;
  })) << "a zombie is left";
}

TEST_F(ExecutorProcessTest, AFailureBringsTheLastLinesOfStderr) {
  Run("echo first >&2; touch ready; echo boom >&2; exit 3");
  const Outcome outcome = Reported();
  EXPECT_EQ(outcome.cls, OutcomeClass::kUserError);
  EXPECT_EQ(outcome.stderr_tail, "first\nboom\n");
}

TEST_F(ExecutorProcessTest, ACommandThatIsNotThereIsTheUsersConfiguration) {
  Run("touch ready; no-such-program");
  const Outcome outcome = Reported();
  EXPECT_EQ(outcome.cls, OutcomeClass::kUserConfig);
  EXPECT_THAT(outcome.stderr_tail, testing::HasSubstr("no-such-program: command not found"));
}

// ---- Real processes that fail, each in its way: what is reported of them.

// A test's own processes are the only children of this program.
class ExecutorFailureTest : public testing::Test {
 protected:
  ExecutorFailureTest() { BecomeSubreaper(); }
  ~ExecutorFailureTest() override { SignalAll(Descendants(getpid()), SIGKILL); }

  Outcome OutcomeOf(const std::string& command, const std::vector<FailureRule>& rules = {},
                    FrameworkKind framework = FrameworkKind::kStandalone, const std::string& secrets = "") {
    ExecutorBed bed(command);
    EXPECT_TRUE(WriteNewFile(bed.records.place() / "secrets", secrets, false).ok());
    bed.spec.failure_rules = rules;
    bed.spec.framework = framework;
    std::ofstream(bed.records.place() / "src" / "tony-error.json") << R"({"class":"hung"})";  // of an earlier run
    BoostProcessRunner processes(bed.loop);
    const auto child_signals = bed.loop.OnSignals({SIGCHLD}, [&](int) { processes.ReapStrangers(); });
    EXPECT_TRUE(bed.Start(processes));
    const auto outcome = bed.Reported();
    EXPECT_TRUE(outcome);
    EXPECT_EQ(Content(bed.records.place() / "src" / "tony-error.json"), R"({"class":"hung"})") << "of the user";
    return outcome.value_or(Outcome{});
  }
};

TEST_F(ExecutorFailureTest, AProgramSaysTransientOrPermanentByItsExitCode) {
  const Outcome transient = OutcomeOf("exit 193");
  EXPECT_EQ(transient.advice, Advice::kTransient);
  EXPECT_EQ(ChargeOf(transient), Charge::kFree);
  const Outcome permanent = OutcomeOf("exit 194");
  EXPECT_EQ(permanent.advice, Advice::kPermanent);
  EXPECT_EQ(ChargeOf(permanent), Charge::kNever);
}

TEST_F(ExecutorFailureTest, AProgramSaysMoreInItsErrorFile) {
  const Outcome outcome =
      OutcomeOf(R"(echo '{"class":"infra","advice":"permanent","message":"no license"}' > "$TONY_ERROR_FILE"; exit 4)");
  EXPECT_EQ(outcome.cls, OutcomeClass::kInfra);
  EXPECT_EQ(outcome.advice, Advice::kPermanent);
  EXPECT_EQ(outcome.message, "no license");
  EXPECT_EQ(outcome.exit, (ExitStatus{ExitStatus::Kind::kExited, 4}));
}

TEST_F(ExecutorFailureTest, NoSecretOfTheTaskIsInItsOutcome) {
  const std::string secrets("PW=fdS3cret77\0URL=db://a:gu%40ess@b\0", 36);
  // The last 4 KiB of stderr begin amid the secret.
  const Outcome cut = OutcomeOf(
      "echo bad password gu@ess for $PW; printf '%s' $PW >&2; head -c 4090 /dev/zero | tr "
      "'\\0' x >&2; exit 3",
      {}, FrameworkKind::kStandalone, secrets);
  EXPECT_THAT(ToJson(cut), testing::Not(testing::HasSubstr("ret77")));
  const Outcome said =
      OutcomeOf("echo bad password gu@ess for $PW >&2; exit 3", {}, FrameworkKind::kStandalone, secrets);
  EXPECT_EQ(said.message, "its last line: bad password *** for ***");
  EXPECT_EQ(said.stderr_tail, "bad password *** for ***\n");
  const Outcome reported = OutcomeOf(R"(echo '{"message":"no '$PW'"}' > "$TONY_ERROR_FILE"; exit 4)", {},
                                     FrameworkKind::kStandalone, secrets);
  EXPECT_EQ(reported.message, "no ***");
}

TEST_F(ExecutorFailureTest, TorchsErrorFileIsRead) {
  const Outcome outcome = OutcomeOf(
      R"(echo '{"message":{"message":"RuntimeError: CUDA out of memory.","extraInfo":{}}}' > $TORCHELASTIC_ERROR_FILE; )"
      "exit 1",
      {}, FrameworkKind::kPytorch);
  EXPECT_EQ(outcome.cls, OutcomeClass::kOom);
  EXPECT_EQ(outcome.message, "RuntimeError: CUDA out of memory.: out of GPU memory");
}

TEST_F(ExecutorFailureTest, ABrokenErrorFileIsNamed) {
  const Outcome outcome = OutcomeOf("echo oops > $TONY_ERROR_FILE; exit 5");
  EXPECT_EQ(outcome.cls, OutcomeClass::kUserError);
  EXPECT_THAT(outcome.message, testing::StartsWith("error file: not JSON: "));
}

TEST_F(ExecutorFailureTest, TheLastLinesOfStderrTellTheClass) {
  const Outcome outcome = OutcomeOf("echo 'ModuleNotFoundError: No module named x' >&2; exit 1");
  EXPECT_EQ(outcome.cls, OutcomeClass::kUserConfig);
  EXPECT_EQ(outcome.message,
            "ModuleNotFoundError: No module named x: a Python module is missing or broken in the task's environment");
  EXPECT_EQ(outcome.stderr_tail, "ModuleNotFoundError: No module named x\n");
}

TEST_F(ExecutorFailureTest, WhatWasSaidOnStdoutIsTold) {
  const Outcome outcome = OutcomeOf("echo no rows; exit 1");
  EXPECT_EQ(outcome.message, "its last line: no rows (on stdout)");
  EXPECT_EQ(outcome.stdout_tail, "no rows\n");
}

TEST_F(ExecutorFailureTest, TheJobsOwnRulesTellTheClass) {
  const std::vector<FailureRule> rules = {
      {.name = "exit.9", .exit_code = 9, .cls = OutcomeClass::kPreempted, .meaning = "our site's notice"}};
  const Outcome outcome = OutcomeOf("exit 9", rules);
  EXPECT_EQ(outcome.cls, OutcomeClass::kPreempted);
  EXPECT_EQ(outcome.message, "our site's notice");
}

TEST_F(ExecutorFailureTest, AKillWithoutEvidenceIsNotCalledOutOfMemory) {
  const Outcome outcome = OutcomeOf("kill -9 $$");
  EXPECT_EQ(outcome.exit, (ExitStatus{ExitStatus::Kind::kSignaled, SIGKILL}));
  EXPECT_EQ(outcome.cls, OutcomeClass::kInfra);
  EXPECT_THAT(outcome.message, testing::StartsWith("killed by something outside of the job"));
}

TEST_F(ExecutorFailureTest, ASuccessIsOneWhateverWasWritten) {
  Outcome outcome = OutcomeOf("echo '{\"class\":\"infra\"}' > $TONY_ERROR_FILE; echo MemoryError >&2; exit 0");
  outcome.usage.reset();
  EXPECT_EQ(outcome, (Outcome{.exit = ExitStatus{}}));
}

// ---- Tests with real shells, which leave processes in the background. The programs `train`, `work` and `tensorboard` are
// copies of sleep.

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
