#include "runtime/job/failure_rules.h"

#include <gtest/gtest.h>

#include <chrono>
#include <csignal>

#include "runtime/base/utf8.h"

namespace tony {
namespace {

Evidence Exit(int code, const std::string& stderr_tail = "") {
  return {.exit = ExitStatus{ExitStatus::Kind::kExited, code}, .stderr_tail = stderr_tail};
}

FailureRule Pattern(const std::string& pattern, OutcomeClass cls) {
  return {.name = "pattern." + pattern, .pattern = pattern, .cls = cls, .meaning = "as told"};
}

TEST(FailureRulesTest, ExitCodeZeroIsSuccessWhateverElseWasSeen) {
  Evidence evidence = Exit(0, "CUDA out of memory\n");
  evidence.report = ErrorReport{OutcomeClass::kInfra, Advice::kTransient, "bad"};
  evidence.oom = OomEvidence::kCgroup;
  const std::vector<FailureRule> extra = {{.name = "all", .cls = OutcomeClass::kHung}};
  const Outcome outcome = Classify(evidence, extra);
  EXPECT_EQ(outcome, (Outcome{.cls = OutcomeClass::kSuccess, .exit = evidence.exit}));
}

TEST(FailureRulesTest, AnUnknownFailureIsTheProgramsAndNeedsNoWords) {
  EXPECT_EQ(Classify(Exit(3, "boom\n"), {}),
            (Outcome{.cls = OutcomeClass::kUserError, .exit = Exit(3).exit, .stderr_tail = "boom\n"}));
}

TEST(FailureRulesTest, TheMessageIsTheMeaningOfTheRule) {
  EXPECT_EQ(Classify(Exit(127), {}).message, "the command was not found");
}

TEST(FailureRulesTest, NumbersOfAKillStandInPlaceOfTheMeaningWhereTheKillIsTheCause) {
  Evidence evidence = Exit(137);
  evidence.oom = OomEvidence::kCgroup;
  evidence.oom_detail = "out of memory: the container's limit of 64 MB was reached";
  EXPECT_EQ(Classify(evidence, {}).message, evidence.oom_detail);
  EXPECT_EQ(Classify(evidence, {}).cls, OutcomeClass::kOom);
  evidence.exit = Exit(3).exit;
  EXPECT_EQ(Classify(evidence, {}), (Outcome{.cls = OutcomeClass::kUserError, .exit = Exit(3).exit}))
      << "it survived the kill of a child";
}

TEST(FailureRulesTest, TheJobsOwnRulesGoFirst) {
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

TEST(FailureRulesTest, AllConditionsOfARuleMustHold) {
  const std::vector<FailureRule> extra = {{.name = "both", .exit_code = 3, .pattern = "x"}};
  EXPECT_EQ(RuleFor(Exit(3, "x"), extra).name, "both");
  EXPECT_EQ(RuleFor(Exit(3, "y"), extra).name, "failed");
  EXPECT_EQ(RuleFor(Exit(4, "x"), extra).name, "failed");
}

TEST(FailureRulesTest, TheLatestLineDecidesAmongPatterns) {
  const std::vector<FailureRule> extra = {Pattern("first", OutcomeClass::kOom), Pattern("second", OutcomeClass::kHung)};
  EXPECT_EQ(RuleFor(Exit(1, "first\nsecond\nmore\n"), extra).name, "pattern.second");
  EXPECT_EQ(RuleFor(Exit(1, "second\nfirst\n"), extra).name, "pattern.first");
  EXPECT_EQ(RuleFor(Exit(1, "second first\n"), extra).name, "pattern.first") << "of one line, the first rule";
}

TEST(FailureRulesTest, AnExceptionThatWasSurvivedIsNotTheCause) {
  EXPECT_EQ(Classify(Exit(1, "ImportError: optional thing is missing\nstep 7000\nValueError: nan\n"), {}).cls,
            OutcomeClass::kUserError);
}

TEST(FailureRulesTest, AReportsClassGoesBeforeAllRules) {
  Evidence evidence = Exit(194, "CUDA out of memory\n");
  evidence.report = ErrorReport{OutcomeClass::kInfra, Advice::kNone, "the feature store is down\nat x"};
  const std::vector<FailureRule> extra = {{.name = "all", .cls = OutcomeClass::kHung}};
  const Outcome outcome = Classify(evidence, extra);
  EXPECT_EQ(outcome.cls, OutcomeClass::kInfra);
  EXPECT_EQ(outcome.advice, Advice::kNone) << "that of 194 belongs to 194";
  EXPECT_EQ(outcome.message, "the feature store is down");
}

TEST(FailureRulesTest, AReportMayOnlyAdvise) {
  Evidence evidence = Exit(127);
  evidence.report = ErrorReport{{}, Advice::kTransient, ""};
  const Outcome outcome = Classify(evidence, {});
  EXPECT_EQ(outcome.cls, OutcomeClass::kUserConfig);
  EXPECT_EQ(outcome.advice, Advice::kTransient);
  EXPECT_EQ(outcome.message, "the command was not found");
}

TEST(FailureRulesTest, AClassWithoutWordsSaysWhereItIsFrom) {
  Evidence evidence = Exit(1);
  evidence.report = ErrorReport{OutcomeClass::kHung, Advice::kNone, ""};
  EXPECT_EQ(Classify(evidence, {}).message, "its error file says so");
}

TEST(FailureRulesTest, AReportsMessageIsReadLikeStderr) {
  Evidence evidence = Exit(1, "nothing\n");
  evidence.report = ErrorReport{{}, Advice::kNone, "OutOfMemoryError: CUDA out of memory. Tried"};
  const Outcome outcome = Classify(evidence, {});
  EXPECT_EQ(outcome.cls, OutcomeClass::kOom);
  EXPECT_EQ(outcome.message, "OutOfMemoryError: CUDA out of memory. Tried: out of GPU memory");
}

TEST(FailureRulesTest, ALongMessageIsCutBetweenCharacters) {
  Evidence evidence = Exit(1);
  evidence.report = ErrorReport{OutcomeClass::kHung, Advice::kNone, "x"};
  for (int i = 0; i < 200; ++i) evidence.report->message += "\xC3\xA4";
  const std::string message = Classify(evidence, {}).message;
  EXPECT_TRUE(IsUtf8(message));
  EXPECT_EQ(message.size(), 299u + 3u);
}

TEST(FailureRulesTest, ABrokenReportIsNamedAndChangesNothing) {
  Evidence evidence = Exit(3);
  evidence.report_trouble = "error file: not JSON: incomplete JSON";
  EXPECT_EQ(Classify(evidence, {}).cls, OutcomeClass::kUserError);
  EXPECT_EQ(Classify(evidence, {}).message, "error file: not JSON: incomplete JSON");
  evidence.exit = Exit(127).exit;
  EXPECT_EQ(Classify(evidence, {}).message, "the command was not found; error file: not JSON: incomplete JSON");
}

TEST(FailureRulesTest, SigkillIsCalledOutOfMemoryOnlyWithEvidence) {
  Evidence evidence = {.exit = ExitStatus{ExitStatus::Kind::kSignaled, SIGKILL}};
  for (const auto oom : {OomEvidence::kUnknown, OomEvidence::kNone, OomEvidence::kMachine}) {
    evidence.oom = oom;
    EXPECT_EQ(Classify(evidence, {}).cls, OutcomeClass::kUserError);
    EXPECT_NE(Classify(evidence, {}).message.find("want of memory"), std::string::npos);
  }
  evidence.oom = OomEvidence::kCgroup;
  EXPECT_EQ(Classify(evidence, {}).cls, OutcomeClass::kOom);
}

TEST(FailureRulesTest, TheLastLinesOfWhoeverWasKilledAreNotWhy) {
  Evidence evidence = {.exit = ExitStatus{ExitStatus::Kind::kSignaled, SIGKILL},
                       .stderr_tail = "ConnectionRefusedError: [Errno 111] Connection refused\n"};
  EXPECT_EQ(Classify(evidence, {}).message.find("could not reach"), std::string::npos);
  const FailureRule own{.pattern = "ConnectionRefused", .cls = OutcomeClass::kInfra, .meaning = "ours"};
  EXPECT_EQ(Classify(evidence, {{own}}).message, "ours");
}

TEST(FailureRulesTest, TheOomKillersWorkElsewhereDoesNotExcuseAProgram) {
  Evidence evidence = Exit(1, "ValueError: x\n");
  evidence.oom = OomEvidence::kCgroup;  // perhaps another task of the same cgroup
  EXPECT_EQ(Classify(evidence, {}).cls, OutcomeClass::kUserError);
}

TEST(FailureRulesTest, APatternThatThisVersionDoesNotTakeHoldsNever) {
  const std::vector<FailureRule> extra = {Pattern("a{2}", OutcomeClass::kInfra)};
  EXPECT_EQ(RuleFor(Exit(1, "aa\n"), extra).name, "failed");
}

TEST(FailureRulesTest, HostileTextIsReadInNoTime) {
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
