#include "runtime/job/outcome.h"

#include <gtest/gtest.h>

namespace tony {
namespace {

using enum OutcomeClass;

struct ExitRow {
  OutcomeClass cls;
  std::string_view name;
  bool retryable;
};
constexpr ExitRow kContract[] = {
    {kSuccess, "success", false},
    {kUserError, "user_error", true},
    {kUserConfig, "user_config", false},
    {kOom, "oom", false},
    {kNodeLost, "node_lost", true},
    {kPreempted, "preempted", true},
    {kInfra, "infra", true},
    {kHung, "hung", true},
    {kTimeout, "timeout", true},
    {kKilled, "killed", false},
    {kAbandoned, "abandoned", true},
    {kSpecInvalid, "spec_invalid", false},
    {kAuth, "auth", false},
    {kQuota, "quota", true},
};

TEST(OutcomeTest, EveryOutcomeClassHasTheDocumentedNameAndRetryability) {
  for (const auto& row : kContract) {
    EXPECT_EQ(ToString(row.cls), row.name);
    EXPECT_EQ(FromName<OutcomeClass>(row.name), row.cls);
    EXPECT_EQ(IsRetryable(row.cls), row.retryable) << row.name;
    EXPECT_FALSE(MeaningOf(row.cls).empty()) << row.name;
  }
  EXPECT_EQ(AllOutcomeClasses().size(), std::size(kContract));
}

TEST(OutcomeTest, AnUnknownOutcomeClassNameIsRejected) {
  EXPECT_EQ(FromName<OutcomeClass>("SUCCESS"), std::nullopt);
  EXPECT_EQ(FromName<OutcomeClass>(""), std::nullopt);
}

TEST(OutcomeTest, TheExitStatusDeterminesTheOutcomeClass) {
  EXPECT_EQ(ClassOf({ExitStatus::Kind::kExited, 0}), kSuccess);
  EXPECT_EQ(ClassOf({ExitStatus::Kind::kExited, 1}), kUserError);
  EXPECT_EQ(ClassOf({ExitStatus::Kind::kExited, 126}), kUserConfig);
  EXPECT_EQ(ClassOf({ExitStatus::Kind::kExited, 127}), kUserConfig);
  EXPECT_EQ(ClassOf({ExitStatus::Kind::kExited, 128}), kUserError);
  EXPECT_EQ(ClassOf({ExitStatus::Kind::kSignaled, 11}), kUserError);
  EXPECT_EQ(ClassOf({ExitStatus::Kind::kSignaled, 126}), kUserError);
}

TEST(OutcomeTest, EveryFinalStateIsParsedBackFromItsName) {
  for (const auto state : {FinalState::kSucceeded, FinalState::kFailed, FinalState::kKilled}) {
    EXPECT_EQ(FromName<FinalState>(ToString(state)), state);
  }
  EXPECT_EQ(ToString(FinalState::kSucceeded), "SUCCEEDED");
  EXPECT_EQ(ToString(FinalState::kFailed), "FAILED");
  EXPECT_EQ(ToString(FinalState::kKilled), "KILLED");
  EXPECT_EQ(FromName<FinalState>("RUNNING"), std::nullopt);
}

TEST(OutcomeJsonTest, AnOutcomeSurvivesARoundTripThroughJson) {
  const Outcome outcome = {kOom, ExitStatus{ExitStatus::Kind::kSignaled, 9}, "killed by the kernel", "line\n\"x\"\n"};
  const auto read = OutcomeFromJson(ToJson(outcome));
  ASSERT_TRUE(read.ok()) << read.error().message;
  EXPECT_EQ(*read, outcome);
  const Outcome plain = {kSuccess, ExitStatus{}, "", ""};
  EXPECT_EQ(*OutcomeFromJson(ToJson(plain)), plain);
}

TEST(OutcomeJsonTest, ResourceUsageSurvivesARoundTripThroughJson) {
  Outcome outcome = {kSuccess, ExitStatus{}, "", ""};
  outcome.usage = Usage{.samples = 3,
                        .memory_bytes = 1,
                        .mean_memory_bytes = 2,
                        .most_memory_bytes = int64_t{1} << 45,
                        .cpu = Duration(4),
                        .millicores = 5,
                        .most_millicores = 6,
                        .elapsed = Duration(7),
                        .quiet = Duration(8)};
  outcome.stdout_tail = "step 7\n";
  outcome.source = Source::kPeer;
  EXPECT_EQ(*OutcomeFromJson(ToJson(outcome)), outcome);
  outcome.usage->gpu = GpuUsage{1, 2, 3, 4, 5};
  EXPECT_EQ(*OutcomeFromJson(ToJson(outcome)), outcome);
}

TEST(OutcomeJsonTest, TheFailedProcessAppearsInJsonAndTextOnlyIfItIsKnown) {
  Outcome outcome = {kUserError, ExitStatus{ExitStatus::Kind::kExited, 3}, "", ""};
  EXPECT_EQ(ToJson(outcome).find("process"), std::string::npos);
  EXPECT_EQ(DescribeExit(outcome), "exit code 3");
  outcome.process = 2;
  EXPECT_EQ(*OutcomeFromJson(ToJson(outcome)), outcome);
  EXPECT_EQ(DescribeExit(outcome), "process 2: exit code 3");
  outcome.exit.reset();
  EXPECT_EQ(DescribeExit(outcome), "process 2");
  outcome.process = kMostProcesses;
  EXPECT_FALSE(OutcomeFromJson(ToJson(outcome)).ok());
}

TEST(OutcomeJsonTest, AParseErrorNamesAUsageFieldThatIsOutOfRange) {
  Outcome outcome;
  outcome.usage = Usage{.gpu = GpuUsage{.percent = 101}};
  EXPECT_EQ(OutcomeFromJson(ToJson(outcome)).error().message.substr(0, 32), "outcome: field usage.gpu.percent");
}

TEST(OutcomeJsonTest, FieldsThatEarlierReleasesDidNotWriteMayBeMissing) {
  const auto read = OutcomeFromJson(R"({"class":"oom","message":"","stderr_tail":""})");
  ASSERT_TRUE(read.ok()) << read.error().message;
  EXPECT_EQ(*read, Outcome{.cls = kOom});
  EXPECT_EQ(OutcomeFromJson(R"({"class":"oom","message":"","stderr_tail":"","source":"moon"})").error().message,
            "outcome: field source: expected itself, peer or signal");
}

TEST(OutcomeJsonTest, InvalidUtf8InTheStderrTailBecomesReplacementCharacters) {
  const auto read = OutcomeFromJson(ToJson(Outcome{kUserError, std::nullopt, "", "caf\xE9\n"}));
  ASSERT_TRUE(read.ok()) << read.error().message;
  EXPECT_EQ(read->stderr_tail, "caf\xEF\xBF\xBD\n");
}

TEST(OutcomeJsonTest, AParseErrorNamesTheInvalidField) {
  EXPECT_EQ(OutcomeFromJson("{\"class\":\"x\",\"message\":\"\",\"stderr_tail\":\"\"}").error().message,
            "outcome: field class: expected an outcome class");
  EXPECT_EQ(OutcomeFromJson("[]").error().message, "outcome: expected a JSON object");
}

}  // namespace
}  // namespace tony
