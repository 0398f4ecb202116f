#include "runtime/job/failure_rules.h"

#include <gtest/gtest.h>

#include <chrono>
#include <csignal>

#include "runtime/base/strings.h"

namespace tony {
namespace {

Evidence Exit(int code, const std::string& stderr_tail = "") {
  return {.exit = ExitStatus{ExitStatus::Kind::kExited, code}, .stderr_tail = stderr_tail};
}

FailureRule Pattern(const std::string& pattern, OutcomeClass cls) {
  return {.name = "pattern." + pattern, .pattern = pattern, .cls = cls, .meaning = "as told"};
}

TEST(FailureRulesTest, ExitCodeZeroIsASuccessDespiteEvidenceOfAFailure) {
  Evidence evidence = Exit(0, "CUDA out of memory\n");
  evidence.report = ErrorReport{OutcomeClass::kInfra, Advice::kTransient, "bad"};
  evidence.oom = OomEvidence::kCgroup;
  const std::vector<FailureRule> extra = {{.name = "all", .cls = OutcomeClass::kHung}};
  const Outcome outcome = Classify(evidence, extra);
  EXPECT_EQ(outcome, (Outcome{.cls = OutcomeClass::kSuccess, .exit = evidence.exit}));
}

TEST(FailureRulesTest, AnExitCodeWithoutAMatchingRuleIsAUserErrorWithoutAMessage) {
  EXPECT_EQ(Classify(Exit(3), {}), (Outcome{.cls = OutcomeClass::kUserError, .exit = Exit(3).exit}));
}

TEST(FailureRulesTest, TheMessageQuotesTheLastLogLineIfNoLineNamesACause) {
  EXPECT_EQ(Classify(Exit(3, "context\nboom\n\n"), {}).message, "its last line: boom");
  EXPECT_EQ(Classify(Exit(2, "usage: x\n"), {}).message,
            "its last line: usage: x: most programs use exit code 2 for wrong arguments or a missing file");
  EXPECT_EQ(Classify(Exit(124, "step 7\n"), {}).message, "the command timeout(1) ended the task at its limit");
}

TEST(FailureRulesTest, TheMessageQuotesTheMatchingLogLineAndThenTheMeaningOfTheRule) {
  EXPECT_EQ(Classify(Exit(1, "ModuleNotFoundError: No module named 'x'\nbye\n"), {}).message,
            "ModuleNotFoundError: No module named 'x': a Python module is missing or broken in the task's environment");
  EXPECT_EQ(Classify(Exit(1, "ValueError: bad shape\n"), {}).message, "ValueError: bad shape");
  EXPECT_EQ(Classify(Exit(1, "  ECC 7\n"), {{Pattern("ECC", OutcomeClass::kInfra)}}).message, "ECC 7: as told");
}

TEST(FailureRulesTest, TheMessageIsTheMeaningOfTheRuleIfThereAreNoLogLines) {
  EXPECT_EQ(Classify(Exit(124), {}).message, "the command timeout(1) ended the task at its limit");
}

TEST(FailureRulesTest, StdoutIsSearchedForACauseIfStderrNamesNone) {
  Evidence evidence = Exit(1);
  evidence.stdout_tail = "CUDA out of memory\nbye\n";
  Outcome outcome = Classify(evidence, {});
  EXPECT_EQ(outcome.cls, OutcomeClass::kOom);
  EXPECT_EQ(outcome.message, "CUDA out of memory (on stdout): out of GPU memory");
  EXPECT_EQ(outcome.stdout_tail, evidence.stdout_tail);
  evidence.stderr_tail = "a warning\n";
  EXPECT_EQ(Classify(evidence, {}).stdout_tail, evidence.stdout_tail) << "the line that decided is there";
  evidence.stderr_tail = "ValueError: x\n";
  outcome = Classify(evidence, {});
  EXPECT_EQ(outcome.message, "ValueError: x");
  EXPECT_EQ(outcome.stdout_tail, "");
  evidence.stdout_tail = "step 7\n";
  evidence.stderr_tail = " \n";
  EXPECT_EQ(Classify(evidence, {}).message, "its last line: step 7 (on stdout)");
}

// Returns the evidence that an executor takes from a long log.
Evidence LongLog(int code, const std::string& begin, int noise) {
  Evidence evidence = Exit(code);
  evidence.stderr_text = begin;
  for (int i = 0; i < noise; ++i) evidence.stderr_text += StrCat("noise ", i, "\n");
  for (int i = noise - 20; i < noise; ++i) evidence.stderr_tail += StrCat("noise ", i, "\n");
  return evidence;
}

std::string Traceback(const std::string& exception) {
  return StrCat("Traceback (most recent call last):\n  File \"x.py\", line 1, in <module>\n", exception, "\n");
}

TEST(FailureRulesTest, ATracebackBeforeTheLogTailIsTheCauseOnlyIfPythonExitsWithCode1) {
  const std::string missing = Traceback("ModuleNotFoundError: No module named 'x'");
  Evidence evidence = LongLog(1, missing, 500);
  EXPECT_EQ(RuleFor(evidence, {}).name, "python-module");
  EXPECT_EQ(Classify(evidence, {}).stderr_tail, missing + "[...]\n" + evidence.stderr_tail);
  EXPECT_EQ(Classify(LongLog(1, Traceback("__main__.Boom: y"), 500), {}).message, "__main__.Boom: y");
  EXPECT_EQ(Classify(LongLog(3, Traceback("ValueError: survived"), 500), {}).message, "its last line: noise 499")
      << "Python ends with 1";
}

TEST(FailureRulesTest, ACauseWithinTheStderrTailIsNotRepeated) {
  const Evidence evidence = Exit(1, Traceback("ValueError: x") + "noise\n");
  EXPECT_EQ(Classify(evidence, {}).stderr_tail, evidence.stderr_tail);
}

TEST(FailureRulesTest, TheMessageNamesASecondPossibleCauseInParentheses) {
  const std::string thread = "Exception in thread Thread-1 (read):\n" + Traceback("KeyError: 7");
  const std::string main = Traceback("queue.Empty");
  EXPECT_EQ(Classify(Exit(1, thread + main), {}).message,
            "queue.Empty (before it, in thread Thread-1 (read): KeyError: 7)");
  EXPECT_EQ(Classify(Exit(1, main + thread), {}).message, "queue.Empty");
  EXPECT_EQ(Classify(Exit(1, thread), {}).message, "KeyError: 7 (in thread Thread-1 (read))");
  EXPECT_EQ(Classify(Exit(1, thread + "the reader died\n"), {}).message, "the reader died (KeyError: 7)");
  EXPECT_EQ(Classify(Exit(3, Traceback("ValueError: x") + "giving up\n"), {}).message,
            "ValueError: x (its last line: giving up)");
}

// The traceback may belong to a command whose failure the script survived.
TEST(FailureRulesTest, ALaterShellErrorOverridesAnEarlierPythonTraceback) {
  const std::string survived = Traceback("ImportError: x");
  EXPECT_EQ(RuleFor(Exit(127, survived + "sh: 1: pyton: not found\n"), {}).name, "command-not-found");
  EXPECT_EQ(RuleFor(Exit(1, survived + "cp: cannot stat 'x': No such file or directory\n"), {}).name, "file-missing");
  EXPECT_EQ(RuleFor(Exit(1, survived + "[W] retrying: No such file or directory\n"), {}).name, "python-module");
}

TEST(FailureRulesTest, AnExceptionThatPythonIgnoredIsTheCauseOnlyWithExitCode120) {
  const std::string ignored = "Exception ignored in: <stdout>\nOSError: [Errno 28] No space left on device\n";
  EXPECT_EQ(RuleFor(Exit(120, ignored), {}).name, "disk-full");
  EXPECT_EQ(Classify(Exit(3, "no shard 7\n" + ignored), {}).message, "its last line: no shard 7");
  EXPECT_EQ(Classify(Exit(3, ignored), {}).message, "");
}

TEST(FailureRulesTest, ARuleExplainsOnlyTheDirectCauseOfAnException) {
  const std::string cause = Traceback("OSError: [Errno 28] No space left on device"),
                    last = Traceback("RuntimeError: epoch 3");
  const std::string from = "\nThe above exception was the direct cause of the following exception:\n\n";
  const std::string during = "\nDuring handling of the above exception, another exception occurred:\n\n";
  EXPECT_EQ(
      Classify(Exit(1, cause + from + last), {}).message,
      "RuntimeError: epoch 3 (caused by OSError: [Errno 28] No space left on device): a disk of the node is full");
  EXPECT_EQ(Classify(Exit(1, cause + during + last), {}).message,
            "RuntimeError: epoch 3 (while handling OSError: [Errno 28] No space left on device)");
}

TEST(FailureRulesTest, AFullDiskOfTheJobFolderExplainsAFailureWithoutAnotherCause) {
  Evidence evidence = Exit(4);
  evidence.full_disk = "/jobs/j/logs";
  EXPECT_EQ(RuleFor(evidence, {}).name, "job-disk-full");
  EXPECT_EQ(Classify(evidence, {}).message, "the disk under the job's folder has no room left (/jobs/j/logs)");
  evidence.exit = ExitStatus{ExitStatus::Kind::kSignaled, SIGBUS};
  EXPECT_EQ(RuleFor(evidence, {}).name, "job-disk-full");
  for (const int signal : {SIGHUP, SIGINT, SIGTERM, SIGKILL}) {
    evidence.exit = ExitStatus{ExitStatus::Kind::kSignaled, signal};
    EXPECT_NE(RuleFor(evidence, {}).name, "job-disk-full") << "others send it";
  }
  evidence = Exit(1, "ValueError: x\n");
  evidence.full_disk = "/jobs/j/logs";
  EXPECT_EQ(RuleFor(evidence, {}).name, "python-exception");
}

TEST(FailureRulesTest, AnErrorReportWithAClassSetsTheFailureSourceToTheProgramItself) {
  Evidence evidence = Exit(1, "ConnectionResetError: [Errno 104] Connection reset by peer\n");
  EXPECT_EQ(Classify(evidence, {}).source, Source::kPeer);
  evidence.report = ErrorReport{OutcomeClass::kUserError, Advice::kNone, "no data"};
  EXPECT_EQ(Classify(evidence, {}).source, Source::kItself);
  evidence.exit = ExitStatus{ExitStatus::Kind::kSignaled, SIGTERM};
  evidence.report.reset();
  evidence.stderr_tail.clear();
  EXPECT_EQ(Classify(evidence, {}).source, Source::kSignal);
}

TEST(FailureRulesTest, AnOomKillIsReportedOnlyIfTheKillEndedTheProgram) {
  Evidence evidence = Exit(137);
  evidence.oom = OomEvidence::kCgroup;
  evidence.oom_detail = "out of memory: the container's limit of 64 MB was reached";
  EXPECT_EQ(Classify(evidence, {}).message, evidence.oom_detail);
  EXPECT_EQ(Classify(evidence, {}).cls, OutcomeClass::kOom);
  evidence.exit = Exit(3).exit;
  EXPECT_EQ(Classify(evidence, {}), (Outcome{.cls = OutcomeClass::kUserError, .exit = Exit(3).exit}))
      << "it survived the kill of a child";
}

TEST(FailureRulesTest, RulesOfTheJobAreTriedBeforeBuiltInRules) {
  const std::vector<FailureRule> extra = {Pattern("ECC", OutcomeClass::kInfra),
                                          {.name = "exit.127",
                                           .exit_code = 127,
                                           .cls = OutcomeClass::kPreempted,
                                           .advice = Advice::kPermanent,
                                           .meaning = "m"}};
  EXPECT_EQ(RuleFor(Exit(127, "ECC\n"), extra).name, "pattern.ECC");
  EXPECT_EQ(RuleFor(Exit(127), extra).name, "exit.127");
  EXPECT_EQ(Classify(Exit(127), extra).advice, Advice::kPermanent);
  EXPECT_EQ(RuleFor(Exit(126), extra).name, "not-executable");
}

TEST(FailureRulesTest, ARuleMatchesOnlyIfExitCodeAndPatternBothMatch) {
  const std::vector<FailureRule> extra = {{.name = "both", .exit_code = 3, .pattern = "x"}};
  EXPECT_EQ(RuleFor(Exit(3, "x"), extra).name, "both");
  EXPECT_EQ(RuleFor(Exit(3, "y"), extra).name, "failed");
  EXPECT_EQ(RuleFor(Exit(4, "x"), extra).name, "failed");
}

TEST(FailureRulesTest, TheRuleThatMatchesTheLatestLineWins) {
  const std::vector<FailureRule> extra = {Pattern("first", OutcomeClass::kOom), Pattern("second", OutcomeClass::kHung)};
  EXPECT_EQ(RuleFor(Exit(1, "first\nsecond\nmore\n"), extra).name, "pattern.second");
  EXPECT_EQ(RuleFor(Exit(1, "second\nfirst\n"), extra).name, "pattern.first");
  EXPECT_EQ(RuleFor(Exit(1, "second first\n"), extra).name, "pattern.first") << "of one line, the first rule";
}

TEST(FailureRulesTest, TheLastOfTwoExceptionsInTheLogIsTheCause) {
  EXPECT_EQ(Classify(Exit(1, "ImportError: optional thing is missing\nstep 7000\nValueError: nan\n"), {}).cls,
            OutcomeClass::kUserError);
}

TEST(FailureRulesTest, TheClassInAnErrorReportOverridesAllRules) {
  Evidence evidence = Exit(194, "CUDA out of memory\n");
  evidence.report = ErrorReport{OutcomeClass::kInfra, Advice::kNone, "the feature store is down\nat x"};
  const std::vector<FailureRule> extra = {{.name = "all", .cls = OutcomeClass::kHung}};
  const Outcome outcome = Classify(evidence, extra);
  EXPECT_EQ(outcome.cls, OutcomeClass::kInfra);
  EXPECT_EQ(outcome.advice, Advice::kNone) << "that of 194 belongs to 194";
  EXPECT_EQ(outcome.message, "the feature store is down");
}

TEST(FailureRulesTest, AnErrorReportWithOnlyAdviceKeepsTheClassOfTheRule) {
  Evidence evidence = Exit(127);
  evidence.report = ErrorReport{{}, Advice::kTransient, ""};
  const Outcome outcome = Classify(evidence, {});
  EXPECT_EQ(outcome.cls, OutcomeClass::kUserConfig);
  EXPECT_EQ(outcome.advice, Advice::kTransient);
  EXPECT_EQ(outcome.message, "the shell did not find the command, or a variable is not set");
}

TEST(FailureRulesTest, TheMessageNamesTheErrorFileIfTheReportHasAClassAndNoMessage) {
  Evidence evidence = Exit(1);
  evidence.report = ErrorReport{OutcomeClass::kHung, Advice::kNone, ""};
  EXPECT_EQ(Classify(evidence, {}).message, "the class is from the task's error file");
}

TEST(FailureRulesTest, TheMessageOfAnErrorReportIsMatchedAgainstRulesLikeStderr) {
  Evidence evidence = Exit(1, "nothing\n");
  evidence.report = ErrorReport{{}, Advice::kNone, "OutOfMemoryError: CUDA out of memory. Tried"};
  const Outcome outcome = Classify(evidence, {});
  EXPECT_EQ(outcome.cls, OutcomeClass::kOom);
  EXPECT_EQ(outcome.message, "OutOfMemoryError: CUDA out of memory. Tried: out of GPU memory");
}

TEST(FailureRulesTest, ALongMessageIsCutAtAUtf8CharacterBoundary) {
  Evidence evidence = Exit(1);
  evidence.report = ErrorReport{OutcomeClass::kHung, Advice::kNone, "x"};
  for (int i = 0; i < 200; ++i) evidence.report->message += "\xC3\xA4";
  const std::string message = Classify(evidence, {}).message;
  EXPECT_TRUE(IsUtf8(message));
  EXPECT_EQ(message.size(), 299u + 3u);
}

TEST(FailureRulesTest, AnInvalidErrorReportIsMentionedButDoesNotChangeTheClass) {
  Evidence evidence = Exit(3);
  evidence.report_problem = "error file: not JSON: incomplete JSON";
  EXPECT_EQ(Classify(evidence, {}).cls, OutcomeClass::kUserError);
  EXPECT_EQ(Classify(evidence, {}).message, "error file: not JSON: incomplete JSON");
  evidence.exit = Exit(124).exit;
  EXPECT_EQ(Classify(evidence, {}).message,
            "the command timeout(1) ended the task at its limit; error file: not JSON: incomplete JSON");
}

TEST(FailureRulesTest, SigkillIsClassifiedAsOomOnlyWithCgroupEvidence) {
  Evidence evidence = {.exit = ExitStatus{ExitStatus::Kind::kSignaled, SIGKILL}};
  for (const auto oom : {OomEvidence::kUnknown, OomEvidence::kNone, OomEvidence::kMachine}) {
    evidence.oom = oom;
    EXPECT_EQ(Classify(evidence, {}).cls, OutcomeClass::kInfra) << "whoever sent it, the program has not failed";
    EXPECT_EQ(Classify(evidence, {}).source, Source::kSignal);
    EXPECT_NE(Classify(evidence, {}).message.find("lack of memory"), std::string::npos);
  }
  evidence.oom = OomEvidence::kCgroup;
  EXPECT_EQ(Classify(evidence, {}).cls, OutcomeClass::kOom);
}

TEST(FailureRulesTest, OnlyRulesOfTheJobMatchLogLinesAfterSigkillSigtermOrSighup) {
  for (const int signal : {SIGKILL, SIGTERM, SIGHUP}) {
    Evidence evidence = {.exit = ExitStatus{ExitStatus::Kind::kSignaled, signal},
                         .stderr_tail = "ConnectionRefusedError: [Errno 111] Connection refused\n"};
    EXPECT_EQ(Classify(evidence, {}).message.find("could not reach"), std::string::npos);
    EXPECT_EQ(Classify(evidence, {}).cls, OutcomeClass::kInfra);
    const FailureRule own{.pattern = "ConnectionRefused", .cls = OutcomeClass::kInfra, .meaning = "ours"};
    EXPECT_EQ(Classify(evidence, {{own}}).message, "ConnectionRefusedError: [Errno 111] Connection refused: ours");
  }
}

TEST(FailureRulesTest, AnOomKillOfAnotherProcessDoesNotExplainAPythonException) {
  Evidence evidence = Exit(1, "ValueError: x\n");
  // Another task of the same cgroup may be the killed one.
  evidence.oom = OomEvidence::kCgroup;
  EXPECT_EQ(Classify(evidence, {}).cls, OutcomeClass::kUserError);
}

TEST(FailureRulesTest, AnUnsupportedPatternNeverMatches) {
  const std::vector<FailureRule> extra = {Pattern("a{2}", OutcomeClass::kInfra)};
  EXPECT_EQ(RuleFor(Exit(1, "aa\n"), extra).name, "failed");
}

TEST(FailureRulesTest, HostileLogTextIsClassifiedWithinFiveSeconds) {
  const std::vector<FailureRule> extra(64, Pattern("(a+)+(b|c)*$", OutcomeClass::kInfra));
  Evidence evidence = Exit(1, std::string(4095, 'a') + "\n");
  for (int i = 0; i < 20; ++i) evidence.stderr_tail += std::string(200, i % 2 ? 'a' : ':') + "\n";
  evidence.report = ErrorReport{{}, Advice::kNone, std::string(4096, '[')};
  const auto begun = std::chrono::steady_clock::now();
  Classify(evidence, extra);
  EXPECT_LT(std::chrono::steady_clock::now() - begun, std::chrono::seconds(5));
}

}  // namespace
}  // namespace tony
