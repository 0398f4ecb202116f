// Tests the executor with real processes. No process survives when the executor stops a task.
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
#include "tests/support/script.h"
#include "tests/unit/executor/executor_bed.h"
#include "tests/unit/executor/task_run_script.h"

namespace tony::executor {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

// Returns the compared parts of an outcome in one line: "user_error 3, because: TEXT, stderr: TEXT."
std::string TextOf(Outcome outcome) {
  outcome.usage.reset();
  return OutcomeText(outcome);
}

// Makes this program the parent of orphaned processes, and kills all of them at the end, so that each test has only its
// own processes as children.
struct Subreaper {
  Subreaper() { BecomeSubreaper(); }
  ~Subreaper() { SignalAll(Descendants(getpid()), SIGKILL); }
};

struct ProcessWorld : Subreaper {
  // Runs `command` until it has made the file `ready` in its work folder.
  void RunTask(const std::string& command, int processes = 1, Background background = Background::kAuto) {
    bed.emplace(command);
    bed->spec.background = background;
    bed->spec.roles[0].processes = processes;
    bed->spec.timers.grace = Duration(300);  // grace after a process has failed
    runner.emplace(bed->loop);
    child_signals = bed->loop.OnSignals({SIGCHLD}, [this](int) { runner->ReapAllChildren(); });
    ASSERT_TRUE(bed->Start(*runner));
    ASSERT_TRUE(bed->Until([&] { return std::filesystem::exists(bed->InWork("ready")); }));
  }
  pid_t PidIn(const std::string& file) const { return static_cast<pid_t>(*ParseInt(Trim(Content(bed->InWork(file))))); }
  void Stop(Duration grace, const std::string& reason = "") {
    asked = bed->loop.Now();
    ASSERT_TRUE(
        bed->Order({.number = 2, .kind = Command::Kind::kStop, .generation = {1}, .grace = grace, .reason = reason}));
  }
  Outcome Reported() { return bed->Reported().value_or(Outcome{}); }
  static Deeds<ProcessWorld> Its() {
    return {
        {"run", [](auto& w, auto& its) { w.RunTask(Replaced(its.From(1), "FILE", w.shared)); }},
        {"run-three", [](auto& w, auto& its) { w.RunTask(its.From(1), 3); }},
        {"run-ending-the-background", [](auto& w, auto& its) { w.RunTask(its.From(1), 1, Background::kEnd); }},
        {"stop", [](auto& w, auto& its) { w.Stop(Duration(its.Number(1))); }},
        {"outcome", [](auto& w, auto&) { return TextOf(w.Reported()); }},
        {"took", [](auto& w,
                    auto& its) { return w.bed->loop.Now() - w.asked >= Duration(its.Number(1)) ? "so long" : "less"; }},
        {"write", [](auto& w, auto& its) { EXPECT_TRUE(WriteNewFile(w.bed->InWork(its[1]), "", false).ok()); }},
        {"text", [](auto& w, auto& its) { return Replaced(Content(w.bed->InWork(its[1])), "\n", ","); }},
        // All processes of a task descend from this program. A zombie counts as ended.
        {"runs",
         [](auto& w, auto& its) {
           return std::ranges::count(Descendants(getpid()), w.PidIn(its[1])) > 0 ? "runs" : "ended";
         }},
        {"left", [](auto&, auto&) { return StrCat(Descendants(getpid()).size(), " left"); }},
        {"remove-shared",
         [](auto& w, auto& its) { return std::filesystem::remove(w.shared + its[1]) ? "was there" : "was gone"; }},
    };
  }

  std::optional<ExecutorBed> bed;
  std::optional<BoostProcessRunner> runner;
  EventLoop::FdWatch child_signals;
  Instant asked{};
  const std::string shared = StrCat("/dev/shm/tony-test-", getpid());
};

const TestRow kProcesses[] = {
    {"StoppingATaskRemovesTheFilesInDevShmThatTheTaskHasOpen",
     {{"run echo a > FILE-closed; exec 3> FILE; touch ready; exec sleep 1000 | stop 10000 | outcome", "^killed"},
      {"remove-shared | remove-shared -closed", "was gone | was there"}}},
    {"ATaskThatIgnoresSigtermIsKilledAfterTheGracePeriod",
     {{"run trap '' TERM; echo $$ > pid; touch ready; while :; do sleep 0.02; done | stop 200 | outcome | took 200",
       "^killed KILL | so long"},
      {"runs pid", "ended"}}},
    // Process 0 ignores SIGTERM, process 1 fails, and process 2 has a child in a session of its own.
    {"TheFailureOfOneProcessEndsAllOtherProcessesOfTheTask",
     {{"run-three echo $$ > pid-$TONY_PROCESS_INDEX; case $TONY_PROCESS_INDEX in "
       "0) trap '' TERM; while :; do sleep 0.02; done;; "
       "1) until [ -e child -a -e pid-0 ]; do sleep 0.02; done; touch ready; until [ -e fail ]; do sleep 0.02; done; "
       "echo boom >&2; exit 3;; "
       "2) setsid sleep 1000 & echo $! > child.new; mv child.new child; wait;; esac | write fail | outcome",
       "user_error 3, because: its last line: boom, stderr: boom\n, process 1."},
      {"runs pid-0 | runs pid-2 | runs child", "ended | ended | ended"}}},
    {"ATaskThatExitsOnSigtermIsReportedWithItsOwnExitCode",
     {{"run trap 'exit 5' TERM; touch ready; while :; do sleep 0.02; done | stop 10000 | outcome", "^killed 5"}}},
    {"AProgramCanSaveItsStateAfterSigtermEvenIfItsParentShellDiesAtOnce",
     {{"run sh -c 'trap \"sleep 0.3 && echo x > saved; exit\" TERM; touch ready; while :; do sleep 0.02; done'; echo "
       "after"
       " | stop 10000 | outcome | text saved",
       "^killed TERM | x,"}}},
    {"AProcessInASessionOfItsOwnIsKilledWhenTheTaskIsStopped",
     {{"run setsid bash -c 'echo $$ > fled; touch ready; sleep 1000' & wait | stop 10000 | outcome | runs fled",
       "^killed | ended"}}},
    {"AnOrphanedDaemonThatIgnoresSigtermIsKilledWhenTheTaskIsStopped",
     {{"run (setsid bash -c 'trap \"\" TERM; echo $$ > daemon; touch ready; while :; do sleep 0.02; done' &); sleep "
       "1000"
       " | stop 200 | outcome | runs daemon",
       "^killed | ended"}}},
    {"BackgroundProcessesAreKilledWhenTheCommandEndsIfTheJobConfiguresThis",
     {{"run-ending-the-background sleep 1000 & echo $! > left; (setsid sleep 1000 &); touch ready; exit 0 | outcome | "
       "outcome",
       "^success 0 | ~running in the background, and the executor ended it"},
      {"runs left | left", "ended | 0 left"}}},
    {"AFailureIsReportedWithTheLastLinesOfStderr",
     {{"run echo first >&2; touch ready; echo boom >&2; exit 3 | outcome",
       "user_error 3, because: its last line: boom, stderr: first\nboom\n."}}},
    {"AMissingCommandIsAUserConfigError",
     {{"run touch ready; no-such-program | outcome | outcome", "^user_config | ~no-such-program: command not found"}}},
};
TABLE_TEST(ExecutorProcessTest, kProcesses, ScriptIn<ProcessWorld>());

class ExecutorNoticeTest : public testing::Test, protected ProcessWorld {};

TEST_F(ExecutorNoticeTest, ProcessesOfATaskHaveAHigherOomScoreThanTheirExecutor) {
  RunTask("(cat /proc/self/oom_score_adj > score); touch ready; exec sleep 1000");
  EXPECT_GT(ParseInt(Trim(Content(bed->InWork("score")))), ParseInt(Trim(Content("/proc/self/oom_score_adj"))));
}

TEST_F(ExecutorNoticeTest, TheStopNoticeWithReasonAndDeadlineIsWrittenBeforeSigtermIsSent) {
  RunTask(
      "test ! -e $TONY_NOTICE_FILE || exit 9; trap 'cat $TONY_NOTICE_FILE > seen; exit 5' TERM; touch ready; "
      "while :; do sleep 0.02; done");
  Stop(Duration{10'000}, "preempted");
  EXPECT_EQ(Reported().exit, (ExitStatus{ExitStatus::Kind::kExited, 5}));
  const std::string seen = Content(bed->InWork("seen"));
  constexpr std::string_view kBegin = R"({"reason":"preempted","deadline":")";
  ASSERT_THAT(seen, testing::StartsWith(kBegin));
  const auto deadline = InstantFromIso8601(seen.substr(kBegin.size(), seen.rfind('"') - kBegin.size()));
  ASSERT_TRUE(deadline) << seen;
  EXPECT_GE(*deadline, asked + Duration{10'000});
  EXPECT_LE(*deadline, bed->loop.Now() + Duration{10'000});
}

TEST_F(ExecutorNoticeTest, OrphanedProcessesAreReapedAndDoNotChangeTheExitStatusOfTheTask) {
  RunTask("for i in $(seq 30); do (true &); done; touch ready; exit 7");
  EXPECT_EQ(Reported().exit, (ExitStatus{ExitStatus::Kind::kExited, 7}));
  ASSERT_TRUE(bed->Until([] {
    siginfo_t info{};
    return waitid(P_ALL, 0, &info, WEXITED | WNOHANG | WNOWAIT) != 0 && errno == ECHILD;
  })) << "a zombie is left";
}

// ---- Real processes that fail in different ways, and the outcomes that are reported.

Outcome OutcomeOf(const std::string& command, const std::vector<FailureRule>& rules = {},
                  FrameworkKind framework = FrameworkKind::kStandalone, const std::string& secrets = "") {
  const Subreaper reaper;
  ExecutorBed bed(command);
  EXPECT_TRUE(WriteNewFile(bed.records.place() / "secrets", secrets, false).ok());
  bed.spec.failure_rules = rules;
  bed.spec.framework = framework;
  std::ofstream(bed.records.place() / "src" / "tony-error.json") << R"({"class":"hung"})";  // left by an earlier run
  BoostProcessRunner processes(bed.loop);
  const auto child_signals = bed.loop.OnSignals({SIGCHLD}, [&](int) { processes.ReapAllChildren(); });
  EXPECT_TRUE(bed.Start(processes));
  const auto outcome = bed.Reported();
  EXPECT_TRUE(outcome);
  EXPECT_EQ(Content(bed.records.place() / "src" / "tony-error.json"), R"({"class":"hung"})") << "of the user";
  return outcome.value_or(Outcome{});
}

// Returns the reported outcome of a shell command. The prefix "@RULES " adds failure rules, and "@TORCH " selects
// PyTorch.
std::string FailureOf(const std::string& command) {
  static const std::vector<FailureRule> kRules = {
      {.name = "exit.9", .exit_code = 9, .cls = OutcomeClass::kPreempted, .meaning = "our site's notice"}};
  const std::string text = command.substr(command.starts_with("@") ? 7 : 0);
  const Outcome outcome =
      OutcomeOf(text, command.starts_with("@RULES") ? kRules : std::vector<FailureRule>(),
                command.starts_with("@TORCH") ? FrameworkKind::kPytorch : FrameworkKind::kStandalone);
  const Charge charge = ChargeOf(outcome);
  return TextOf(outcome) +
         (charge == Charge::kFree    ? " Free."
          : charge == Charge::kNever ? " Never."
                                     : "") +
         (outcome.stdout_tail.empty() ? "" : " stdout: " + outcome.stdout_tail);
}

const TestRow kFailures[] = {
    {"ExitCode193IsATransientFailureAndExitCode194IsAPermanentFailure",
     {{"exit 193", "~, transient. Free."}, {"exit 194", "~, permanent. Never."}}},
    {"TheErrorFileSetsTheClassTheMessageAndTheAdviceOfTheOutcome",
     {{R"(echo '{"class":"infra","advice":"permanent","message":"no license"}' > "$TONY_ERROR_FILE"; exit 4)",
       "^infra 4, because: no license, permanent."}}},
    {"ThePyTorchErrorFileSetsTheCauseInTheOutcome",
     {{R"(@TORCH echo '{"message":{"message":"RuntimeError: CUDA out of memory.","extraInfo":{}}}' > )"
       "$TORCHELASTIC_ERROR_FILE; exit 1",
       "^oom 1, because: RuntimeError: CUDA out of memory.: out of GPU memory."}}},
    {"AMalformedErrorFileIsReportedInTheOutcome",
     {{"echo oops > $TONY_ERROR_FILE; exit 5", "^user_error 5, because: error file: not JSON: "}}},
    {"TheLastLinesOfStderrDecideTheFailureClass",
     {{"echo 'ModuleNotFoundError: No module named x' >&2; exit 1",
       "^user_config 1, because: ModuleNotFoundError: No module named x: a Python module is missing or broken in the "
       "task's environment, stderr: ModuleNotFoundError: No module named x\n"}}},
    {"TheOutcomeOfAFailureContainsTheEndOfStdout",
     {{"echo no rows; exit 1", "user_error 1, because: its last line: no rows (on stdout). stdout: no rows\n"}}},
    {"FailureRulesOfTheJobDecideTheFailureClass", {{"@RULES exit 9", "^preempted 9, because: our site's notice."}}},
    {"ASigkillWithoutOomEvidenceIsNotReportedAsOutOfMemory",
     {{"kill -9 $$", "^infra KILL, because: killed by something outside of the job"}}},
    {"ExitCode0IsASuccessDespiteAnErrorFileAndAnErrorOnStderr",
     {{"echo '{\"class\":\"infra\"}' > $TONY_ERROR_FILE; echo MemoryError >&2; exit 0", "success 0. Never."}}},
};
TABLE_TEST(ExecutorFailureTest, kFailures, Gives(FailureOf));

TEST(ExecutorSecretTest, NoSecretOfTheTaskIsInItsOutcome) {
  const std::string secrets("PW=fdS3cret77\0URL=db://a:gu%40ess@b\0", 36);
  // The last 4 KiB of stderr begin in the middle of the secret.
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

// ---- Real shells that leave processes in the background. The programs `train`, `work` and `tensorboard` are copies of
// sleep.

class BackgroundTest : public testing::Test, protected Subreaper {
 protected:
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

  // Expects that the executor waited for the training.
  void ExpectWaits(const std::string& command) {
    const Outcome outcome = Run(command);
    EXPECT_TRUE(outcome.Succeeded()) << command;
    EXPECT_TRUE(IsThere("done")) << command;
    EXPECT_THAT(outcome.message, AllOf(HasSubstr("in the background, and the task waited for it"))) << command;
  }
  // Expects that the command did the work and that `helper` was ended.
  void ExpectEnds(const std::string& command, const std::string& helper) {
    const Outcome outcome = Run(command);
    EXPECT_TRUE(outcome.Succeeded()) << command;
    EXPECT_FALSE(IsThere("done")) << command;
    EXPECT_THAT(outcome.message, AllOf(HasSubstr("the task's command left " + helper + " (process "),
                                       HasSubstr("the executor ended it"), Not(HasSubstr("waited for"))))
        << command;
  }

  std::optional<ExecutorBed> bed_;
  std::optional<BoostProcessRunner> processes_;
  EventLoop::FdWatch child_signals_;
};

constexpr const char* kTrain = "sh -c './train 0.2; touch done'";

TEST_F(BackgroundTest, TheTaskWaitsForTheTrainingProgramThatItsCommandLeftInTheBackground) {
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

TEST_F(BackgroundTest, BackgroundHelpersAreKilledAndNamedInTheOutcomeWhenTheMainProgramEnds) {
  ExpectEnds("./train 1000 & ./work 0.2", "train");
  ExpectEnds("./train 1000 & ./work 0.2 | cat; true", "train");
  ExpectEnds("sleep 1000 & ./work 0.2", "sleep");
  ExpectEnds("./work 0.2; ./tensorboard 1000 &", "tensorboard");
  ExpectEnds("perl -e 'if (!fork) { exec \"./train\", 1000 } select undef, undef, undef, 0.2'; true", "train");
  ExpectEnds("exec perl -e 'exec \"./train\", 1000 if !fork; select undef, undef, undef, 0.2'", "train");
  ExpectEnds("perl -e 'system \"./train 1000 &\"; select undef, undef, undef, 0.2'; true", "train");
}

TEST_F(BackgroundTest, TheTaskWaitsForABackgroundServiceIfTheCommandRanNoOtherProgram) {
  EXPECT_THAT(Run("./tensorboard 0.2 &").message, HasSubstr("waited for"));
}

TEST_F(BackgroundTest, BackgroundProcessesThatEndWithTheCommandAreNotMentionedInTheOutcome) {
  EXPECT_EQ(Run("true & ./work 0.1 | tee log").message, "");
}

TEST_F(BackgroundTest, TheFirstFailedBackgroundProcessDecidesTheOutcomeAfterAllProcessesHaveEnded) {
  const Outcome outcome =
      Run("sh -c './train 0.1; echo boom >&2; exit 3' & sh -c './train 0.2; touch done; exit 4' & true");
  EXPECT_EQ(outcome.exit, (ExitStatus{ExitStatus::Kind::kExited, 3}));
  EXPECT_EQ(outcome.cls, OutcomeClass::kUserError);
  EXPECT_THAT(outcome.message, AllOf(HasSubstr("boom"), HasSubstr("in the background")));
  EXPECT_TRUE(IsThere("done"));
}

TEST_F(BackgroundTest, StoppingATaskEndsItsBackgroundProcesses) {
  Start("./train 1000 & touch ready");
  ASSERT_TRUE(bed_->Until([this] { return IsThere("ready") && Descendants(getpid()).size() == 1; }));
  ASSERT_TRUE(bed_->Order({.number = 2, .kind = Command::Kind::kStop, .generation = {1}, .grace = Duration{10'000}}));
  const auto outcome = bed_->Reported();
  ASSERT_TRUE(outcome);
  EXPECT_EQ(outcome->cls, OutcomeClass::kKilled);
  EXPECT_EQ(outcome->exit, (ExitStatus{ExitStatus::Kind::kSignaled, SIGTERM}));
  EXPECT_THAT(Descendants(getpid()), testing::IsEmpty());
}

TEST_F(BackgroundTest, TheJobConfiguresWhetherBackgroundProcessesAreKilledAwaitedOrAFailure) {
  const Outcome ended = Run("./train 1000 &", Background::kEnd);
  EXPECT_TRUE(ended.Succeeded());
  EXPECT_THAT(ended.message, HasSubstr("the executor ended it"));
  const Outcome failed = Run("./train 1000 & ./work 0.1", Background::kFail);
  EXPECT_EQ(failed.cls, OutcomeClass::kUserError);
  EXPECT_THAT(failed.message, HasSubstr("the executor ended it (tony.task.background=fail)"));
  EXPECT_THAT(Run("./train 0.2 & ./work 0.1", Background::kWait).message, HasSubstr("waited for"));
}

TEST(ServiceProgramTest, ServicesSuchAsTensorboardAreRecognisedByTheirProgramName) {
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
