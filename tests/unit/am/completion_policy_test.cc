#include <gtest/gtest.h>

#include "am/core/judgement.h"
#include "tests/support/job_builder.h"

namespace tony::am {
namespace {

JobBuilder Usual() {
  return JobBuilder()
      .Role("worker", 2)
      .Role("ps", 1, Completion::kUntracked)
      .Role("tensorboard", 1, Completion::kSidecar);
}

// Batch inference: four shards and a controller.
JobSpec Shards(int min_succeeded, std::optional<int> min_failed) {
  JobSpec spec = JobBuilder().Role("controller", 1).Role("shard", 4).Build();
  spec.roles[1].min_succeeded = min_succeeded;
  spec.roles[1].min_failed = min_failed;
  return spec;
}

JobSpec Tonys() {
  JobSpec spec = JobBuilder().Role("evaluator", 1).Role("worker", 2).Build();
  spec.completion_rule = CompletionRule::kTony;
  for (RoleSpec& role : spec.roles) role.min_failed = 0;
  return spec;
}

EndedTask Ended(std::string_view task, const Outcome& outcome) { return {AttemptOf(task), "node-7", &outcome}; }

std::string Judged(const JobSpec& spec, const Ends& before, const EarlierFailures& earlier, const EndedTask& last) {
  const auto verdict = JudgeFailure(spec, before, earlier, last);
  return verdict ? verdict->message : "the job goes on";
}

TEST(CompletionPolicyTest, AJobIsCompleteWhenAllTrackedTasksHaveSucceeded) {
  const JobSpec spec = Usual().Build();
  EXPECT_FALSE(IsComplete(spec, {}));
  EXPECT_FALSE(IsComplete(spec, {{"worker", {1, 0}}, {"ps", {1, 0}}, {"tensorboard", {1, 0}}}));
  EXPECT_TRUE(IsComplete(spec, {{"worker", {2, 0}}}));

  const Verdict verdict = SuccessOf(spec, {{"worker", {2, 0}}, {"ps", {1, 0}}}, std::nullopt);

  EXPECT_EQ(verdict.state, FinalState::kSucceeded);
  EXPECT_EQ(verdict.cls, OutcomeClass::kSuccess);
  EXPECT_EQ(verdict.attempt, std::nullopt);
  EXPECT_EQ(verdict.message, "all tracked tasks succeeded");
}

TEST(CompletionPolicyTest, AFailedTrackedTaskFailsTheJobAndIsDescribedInTheVerdict) {
  const Outcome failure = Failure(3);

  const auto verdict = JudgeFailure(Usual().Build(), {{"worker", {1, 0}}}, {}, Ended("worker:1", failure));

  ASSERT_TRUE(verdict);
  EXPECT_EQ(*verdict, (Verdict{.state = FinalState::kFailed,
                               .cls = OutcomeClass::kUserError,
                               .message = "worker:1 failed on node-7: exit code 3 (user_error)",
                               .attempt = AttemptOf("worker:1"),
                               .host = "node-7",
                               .exit = ExitStatus{ExitStatus::Kind::kExited, 3},
                               .stderr_tail = failure.stderr_tail}));
}

TEST(CompletionPolicyTest, AFailedUntrackedTaskFailsTheJobButAFailedSidecarDoesNot) {
  const Outcome failure = Failure(3);

  EXPECT_EQ(Judged(Usual().Build(), {}, {}, Ended("ps:0", failure)), "ps:0 failed on node-7: exit code 3 (user_error)");
  EXPECT_FALSE(Usual().Build().FindRole("tensorboard")->CountsFailures());
}

TEST(CompletionPolicyTest, EveryOutcomeClassExceptSuccessFailsTheJob) {
  using enum OutcomeClass;
  for (const auto cls :
       {kUserError, kUserConfig, kOom, kNodeLost, kPreempted, kInfra, kHung, kTimeout, kKilled, kAbandoned}) {
    const Outcome outcome{.cls = cls};
    const auto verdict = JudgeFailure(Usual().Build(), {}, {}, Ended("worker:0", outcome));
    ASSERT_TRUE(verdict) << ToString(cls);
    EXPECT_EQ(verdict->state, FinalState::kFailed) << ToString(cls);
    EXPECT_EQ(verdict->cls, cls);
  }
}

TEST(CompletionPolicyTest, ARoleThatNeedsThreeOfFourTasksToSucceedToleratesOneFailure) {
  const JobSpec spec = Shards(3, std::nullopt);
  const Outcome first = Failure(5), second = Failure(6);
  const EarlierFailures earlier{Ended("shard:2", first), Ended("shard:2", first)};

  EXPECT_EQ(Judged(spec, {}, {}, Ended("shard:2", first)), "the job goes on");
  EXPECT_EQ(Judged(spec, {{"shard", {1, 1}}}, earlier, Ended("shard:0", second)),
            "shard:2 failed on node-7: exit code 5 (user_error); 2 of 4 tasks of role shard have failed "
            "(tony.shard.min-succeeded=3), the last was shard:0");
  EXPECT_FALSE(HasEnough(spec.roles[1], {2, 1}));
  EXPECT_TRUE(HasEnough(spec.roles[1], {3, 0}));
  EXPECT_FALSE(IsComplete(spec, {{"shard", {3, 1}}}));
  EXPECT_TRUE(IsComplete(spec, {{"shard", {3, 0}}, {"controller", {1, 0}}}));
}

TEST(CompletionPolicyTest, AJobStillCompletesIfARoleHasFewerFailedTasksThanMinFailed) {
  const JobSpec spec = Shards(0, 2);
  const Outcome failure = Failure(5);

  EXPECT_EQ(Judged(spec, {}, {}, Ended("shard:2", failure)), "the job goes on");
  EXPECT_FALSE(IsComplete(spec, {{"shard", {3, 0}}, {"controller", {1, 0}}}));
  EXPECT_TRUE(IsComplete(spec, {{"shard", {3, 1}}, {"controller", {1, 0}}}));
}

TEST(CompletionPolicyTest, TheVerdictAlsoNamesAnEarlierToleratedFailure) {
  const Outcome first = Failure(5), last = Failure(6);

  EXPECT_EQ(Judged(Shards(3, std::nullopt), {{"shard", {0, 1}}}, {Ended("shard:2", first), std::nullopt},
                   Ended("controller:0", last)),
            "controller:0 failed on node-7: exit code 6 (user_error); an earlier failure: shard:2 failed on node-7: "
            "exit code 5 "
            "(user_error)");
}

TEST(CompletionPolicyTest, TheVerdictOfASuccessfulJobCountsAndNamesToleratedFailures) {
  const JobSpec spec = Shards(2, std::nullopt);
  const Outcome failure = Failure(5);
  const auto message = [&](int succeeded, int failed) {
    const EndedTask first = Ended("shard:2", failure);
    return SuccessOf(spec, {{"controller", {1, 0}}, {"shard", {succeeded, failed}}}, first).message;
  };

  EXPECT_EQ(message(3, 1),
            "4 of 5 tracked tasks succeeded; 1 task failed: shard:2 failed on node-7: exit code 5 "
            "(user_error)");
  EXPECT_EQ(message(2, 2),
            "3 of 5 tracked tasks succeeded; 2 tasks failed, the first: shard:2 failed on node-7: exit "
            "code 5 (user_error)");
  EXPECT_EQ(message(3, 0), "4 of 5 tracked tasks succeeded; 1 was not needed");
}

TEST(CompletionPolicyTest, AnIgnoredRoleDoesNotDelayTheCompletionOfTheJob) {
  const JobSpec spec = Shards(0, 2);
  EXPECT_FALSE(IsComplete(spec, {{"shard", {1, 1}}, {"controller", {1, 0}}}));
  EXPECT_TRUE(IsComplete(spec, {{"shard", {1, 1}}, {"controller", {1, 0}}}, {"shard"}));
  EXPECT_FALSE(IsComplete(spec, {{"shard", {1, 1}}}, {"shard"}));
  EXPECT_EQ(SuccessOf(spec, {{"shard", {1, 0}}, {"controller", {1, 0}}}, std::nullopt, {"shard"}).message,
            "2 of 5 tracked tasks succeeded; the tasks of shard continued for too long and were ignored");
}

TEST(CompletionPolicyTest, TonysCompletionRuleFailsAJobOnlyIfTheChiefOrAllTrackedTasksFail) {
  const JobSpec spec = Tonys();
  const Outcome failure = Failure(5);
  const EarlierFailures earlier{Ended("evaluator:0", failure), std::nullopt};

  EXPECT_EQ(Judged(spec, {}, {}, Ended("worker:1", failure)), "the job goes on");
  EXPECT_EQ(Judged(spec, {}, {}, Ended("worker:0", failure)), "worker:0 failed on node-7: exit code 5 (user_error)");
  EXPECT_EQ(Judged(spec, {{"evaluator", {0, 1}}, {"worker", {1, 0}}}, earlier, Ended("worker:1", failure)),
            "the job goes on");
  EXPECT_EQ(Judged(spec, {{"evaluator", {0, 1}}, {"worker", {0, 1}}}, earlier, Ended("worker:1", failure)),
            "evaluator:0 failed on node-7: exit code 5 (user_error); all 3 tracked tasks have failed");
  EXPECT_TRUE(IsComplete(spec, {{"evaluator", {0, 1}}, {"worker", {1, 1}}}));
}

TEST(CompletionPolicyTest, TheVerdictOfAJobWithOneTrackedTaskDoesNotSayThatAllTasksFailed) {
  JobSpec spec = Tonys();
  spec.roles[1].completion = Completion::kUntracked;
  ASSERT_EQ(spec.TrackedTasks(), 1);
  EXPECT_EQ(Judged(spec, {}, {}, Ended("evaluator:0", Failure(5))),
            "evaluator:0 failed on node-7: exit code 5 (user_error)");
}

TEST(CompletionPolicyTest, ASidecarThatEndsBeforeTheGangHasFormedFailsTheJob) {
  const Outcome lost{.cls = OutcomeClass::kInfra, .message = "the task's executor ended without a report"};

  const Verdict verdict = JudgeEarlyEnd(Ended("tensorboard:0", lost));

  EXPECT_EQ(verdict.state, FinalState::kFailed);
  EXPECT_EQ(verdict.cls, OutcomeClass::kInfra);
  EXPECT_EQ(verdict.message, "tensorboard:0 failed on node-7: the task's executor ended without a report (infra)");
}

// The verdict of a failed job must not carry a class that workflow engines read as success.
TEST(CompletionPolicyTest, ATaskThatSucceedsBeforeTheGangHasFormedFailsTheJob) {
  const Outcome success = Success();

  const Verdict verdict = JudgeEarlyEnd(Ended("tensorboard:0", success));

  EXPECT_EQ(verdict.state, FinalState::kFailed);
  EXPECT_NE(verdict.cls, OutcomeClass::kSuccess);
}

TEST(CompletionPolicyTest, AFailureDescriptionOmitsAnUnknownNodeAndAnUnknownExitStatus) {
  const Outcome nothing{.cls = OutcomeClass::kNodeLost};
  const Outcome oom{
      .cls = OutcomeClass::kOom, .exit = ExitStatus{ExitStatus::Kind::kSignaled, 9}, .message = "memory limit 2048 MB"};

  EXPECT_EQ(DescribeFailure({AttemptOf("worker:0"), "", &nothing}), "worker:0 failed (node_lost)");
  EXPECT_EQ(DescribeFailure(Ended("worker:0", oom)),
            "worker:0 failed on node-7: signal 9 (SIGKILL): memory limit 2048 MB (oom)");
}

}  // namespace
}  // namespace tony::am
