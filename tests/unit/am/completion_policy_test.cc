#include "am/completion_policy.h"

#include <gtest/gtest.h>

#include "tests/support/job_builder.h"

namespace tony::am {
namespace {

JobSpec Spec() {
  return JobBuilder()
      .Role("worker", 2)
      .Role("ps", 1, Completion::kUntracked)
      .Role("tensorboard", 1, Completion::kSidecar)
      .Build();
}

EndedTask Ended(std::string_view task, const Outcome& outcome) { return {AttemptOf(task), "node-7", &outcome}; }

TEST(CompletionPolicyTest, TheLastTrackedSuccessSucceedsTheJob) {
  const Outcome success = Success();

  const auto verdict = JudgeEnd(Spec(), Ended("worker:1", success), 2);

  ASSERT_TRUE(verdict);
  EXPECT_EQ(verdict->state, FinalState::kSucceeded);
  EXPECT_EQ(verdict->cls, OutcomeClass::kSuccess);
  EXPECT_EQ(verdict->attempt, std::nullopt);
}

TEST(CompletionPolicyTest, AnEarlierTrackedSuccessChangesNothing) {
  const Outcome success = Success();

  EXPECT_FALSE(JudgeEnd(Spec(), Ended("worker:1", success), 1));
}

TEST(CompletionPolicyTest, ATrackedFailureFailsTheJobWithAllThatIsKnown) {
  const Outcome failure = Failure(3);

  const auto verdict = JudgeEnd(Spec(), Ended("worker:1", failure), 1);

  ASSERT_TRUE(verdict);
  EXPECT_EQ(*verdict, (Verdict{.state = FinalState::kFailed,
                               .cls = OutcomeClass::kUserError,
                               .message = "worker:1 failed on node-7: exit code 3 (user_error)",
                               .attempt = AttemptOf("worker:1"),
                               .host = "node-7",
                               .exit = ExitStatus{ExitStatus::Kind::kExited, 3},
                               .stderr_tail = failure.stderr_tail}));
}

TEST(CompletionPolicyTest, AnUntrackedFailureFailsTheJob) {
  const Outcome failure = Failure(3);

  const auto verdict = JudgeEnd(Spec(), Ended("ps:0", failure), 0);

  ASSERT_TRUE(verdict);
  EXPECT_EQ(verdict->state, FinalState::kFailed);
  EXPECT_EQ(verdict->attempt, AttemptOf("ps:0"));
}

TEST(CompletionPolicyTest, AnUntrackedSuccessChangesNothingEvenWhenAllTrackedOnesSucceeded) {
  const Outcome success = Success();

  EXPECT_FALSE(JudgeEnd(Spec(), Ended("ps:0", success), 0));
}

TEST(CompletionPolicyTest, ASidecarNeverMatters) {
  const Outcome success = Success(), failure = Failure(1);

  EXPECT_FALSE(JudgeEnd(Spec(), Ended("tensorboard:0", success), 0));
  EXPECT_FALSE(JudgeEnd(Spec(), Ended("tensorboard:0", failure), 1));
}

TEST(CompletionPolicyTest, EveryClassButSuccessIsAFailure) {
  using enum OutcomeClass;
  for (const auto cls :
       {kUserError, kUserConfig, kOom, kNodeLost, kPreempted, kInfra, kHung, kTimeout, kKilled, kAbandoned}) {
    const Outcome outcome{.cls = cls};
    const auto verdict = JudgeEnd(Spec(), Ended("worker:0", outcome), 1);
    ASSERT_TRUE(verdict) << ToString(cls);
    EXPECT_EQ(verdict->state, FinalState::kFailed) << ToString(cls);
    EXPECT_EQ(verdict->cls, cls);
  }
}

TEST(CompletionPolicyTest, BeforeTheGangFormedEvenASidecarsEndFailsTheJob) {
  const Outcome lost{.cls = OutcomeClass::kInfra, .message = "its executor ended without a report"};

  const Verdict verdict = JudgeEarlyEnd(Ended("tensorboard:0", lost));

  EXPECT_EQ(verdict.state, FinalState::kFailed);
  EXPECT_EQ(verdict.cls, OutcomeClass::kInfra);
  EXPECT_EQ(verdict.message, "tensorboard:0 failed on node-7: its executor ended without a report (infra)");
}

// A job that has failed must not carry a class that workflow engines take for success.
TEST(CompletionPolicyTest, BeforeTheGangFormedAnEndThatSaysSuccessIsNotCalledOne) {
  const Outcome success = Success();

  const Verdict verdict = JudgeEarlyEnd(Ended("tensorboard:0", success));

  EXPECT_EQ(verdict.state, FinalState::kFailed);
  EXPECT_NE(verdict.cls, OutcomeClass::kSuccess);
}

TEST(CompletionPolicyTest, AFailureIsDescribedByWhatIsKnown) {
  const Outcome nothing{.cls = OutcomeClass::kNodeLost};
  const Outcome oom{
      .cls = OutcomeClass::kOom, .exit = ExitStatus{ExitStatus::Kind::kSignaled, 9}, .message = "memory limit 2048 MB"};

  EXPECT_EQ(DescribeFailure({AttemptOf("worker:0"), "", &nothing}), "worker:0 failed (node_lost)");
  EXPECT_EQ(DescribeFailure(Ended("worker:0", oom)),
            "worker:0 failed on node-7: signal 9 (SIGKILL): memory limit 2048 MB (oom)");
}

}  // namespace
}  // namespace tony::am
