// Real processes that fail, each in its way: what is reported of them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <csignal>

#include "runtime/os/boost_process_runner.h"
#include "runtime/os/process_tree.h"
#include "tests/unit/executor/executor_bed.h"

namespace tony::executor {
namespace {

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

}  // namespace
}  // namespace tony::executor
