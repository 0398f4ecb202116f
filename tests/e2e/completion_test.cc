// When a job is over: how many of a role's tasks have to succeed, how many may fail, and what is said of it.
#include "tests/e2e/tony_test.h"

namespace tony {
namespace {

class CompletionTest : public TonyTest {
 protected:
  static Words Tasks(const std::string& command, const Words& roles) {
    Words words = {"submit",
                   "-executes",
                   command,
                   "-conf",
                   "tony.application.framework=standalone",
                   "-conf",
                   "tony.application.distributed-mode=FCFS"};
    for (const std::string& role : roles) {
      words = words + Conf("tony." + role);
      const std::string name = role.substr(0, role.find('.'));
      words = words + Conf("tony." + name + ".memory=" + LittleMemory().substr(19));
    }
    return words;
  }
};

TEST_F(CompletionTest, BatchInferenceSucceedsWhenEnoughShardsDidAndTheRestIsStopped) {
  const auto client = box_.StartTony(
      Tasks("case $TASK_INDEX in 1|2) exit 3;; 7) exec sleep 600;; esac; " + HoldUntilGo(), {"shard.instances=8"}) +
      Conf("tony.shard.min-succeeded=5"));
  ASSERT_TRUE(WaitFor([&] { return !box_.Jobs().empty() && At(Status(), "/tolerated_failures") == value(2); }))
      << client->err();
  const Ran ran = GoAndEnd(*client);
  EXPECT_THAT(ran.out, HasAll({"SUCCEEDED",
                               "in spite of failures: 5 of 8 tracked tasks succeeded; "
                               "2 tasks failed, the first: shard:"}));
  EXPECT_THAT(ran.err, AllOf(HasSubstr("2 tasks have failed, and the job goes on"), Not(HasSubstr("warning"))));
  const auto status = Status();
  EXPECT_EQ(At(status, "/tolerated_failures"), value(2));
  EXPECT_THAT(Text(status, "/verdict/message"), HasSubstr("exit code 3 (user_error); 1 was not needed"));
  EXPECT_THAT(box_.Tony({"history", Job()}).out, HasSubstr("in spite of failures: 5 of 8"));
  EXPECT_THAT(box_.Tony({"history"}).out, HasSubstr("5 of 8 tracked tasks succeeded"));
  ExpectNothingLeft();
}

TEST_F(CompletionTest, OneFailureTooManyFailsTheJobAndTheFirstIsNamed) {
  const std::string one_by_one = "i=$TASK_INDEX; until [ $i = 0 ] || [ -e " + box_.File("failed-") +
                                 "$((i-1)) ]; do sleep 0.02; done; [ $i = 2 ] && exec sleep 600; touch " +
                                 box_.File("failed-") + "$i; exit $((i+10))";
  const Ran ran = Fails(1, Tasks(one_by_one, {"shard.instances=3"}) + Conf("tony.shard.min-failed=2"));
  EXPECT_THAT(ran.out, HasSubstr("2 of 3 tasks of role shard have failed (tony.shard.min-failed=2)"));
  EXPECT_EQ(Text(Status(), "/verdict/class"), "user_error");
  ExpectNothingLeft();
}

TEST_F(CompletionTest, AFinishedRoleIsStoppedWhileOthersRunOn) {
  const auto client =
      box_.StartTony(Tasks("case $JOB_NAME-$TASK_INDEX in shard-0) exit 0;; shard-1) exec sleep 600;; *) until [ -e " +
                               box_.File("go") + " ]; do sleep 0.02; done;; esac",
                           {"shard.instances=2", "worker.instances=1"}) +
                     Conf("tony.shard.min-succeeded=1"));
  ASSERT_TRUE(WaitFor([&] { return !box_.Jobs().empty() && Text(Status(), "/tasks/1/attempt_state") == "killed"; }))
      << client->err();
  const auto status = Status();
  EXPECT_EQ(Text(status, "/state"), "RUNNING");
  EXPECT_THAT(Text(status, "/tasks/1/outcome/message"),
              HasSubstr("1 of 2 tasks of role shard have succeeded (tony.shard.min-succeeded=1)"));
  const Ran ran = GoAndEnd(*client);
  EXPECT_THAT(ran.out, Not(HasSubstr("in spite of")));
  ExpectNothingLeft();
}

TEST_F(CompletionTest, TonysRuleIsOneKey) {
  const Words job = Tasks("exit $TASK_INDEX", {"worker.instances=2"});
  const Ran tonys = Succeeds(job + Conf("tony.application.completion-rule=tony"));
  EXPECT_THAT(tonys.out, HasSubstr("1 of 2 tracked tasks succeeded; 1 task failed: worker:1 failed"));
  const Ran chief = box_.Tony(Tasks("exit $((1-TASK_INDEX))", {"worker.instances=2"}) +
                              Conf("tony.application.completion-rule=tony"));
  EXPECT_EQ(chief.exit, 1) << "its chief, worker:0, failed";
  EXPECT_THAT(chief.out, HasSubstr("first cause: worker:0 failed"));
  ExpectNothingLeft();
}

TEST_F(CompletionTest, WhoReliesOnTonysRuleIsToldOnce) {
  const Words job = Tasks("true", {"worker.instances=2"});
  const std::string told = "in TonY a task of role worker may fail as long as another task succeeds";
  const std::string err = box_.Tony(Words{"plan"} + Words(job.begin() + 1, job.end()) +
                                    Confs({"tony.application.fail-on-worker-failure-enabled=false",
                                           "tony.application.stop-on-failure-jobtypes=chief"}))
                              .err;
  EXPECT_THAT(err, HasSubstr(told));
  EXPECT_EQ(err.find(told), err.rfind(told));
  const Ran explained =
      box_.Tony(Words{"plan", "--explain"} + Words(job.begin() + 1, job.end()) + Conf("tony.worker.min-succeeded=1"));
  EXPECT_THAT(explained.out,
              HasAll({"tony.worker.min-succeeded = 1", "tony.application.completion-rule = strict  (default)",
                      "role worker (tracked): over when 1 of 2 tasks have succeeded; 2 failures fail the job"}));
}

}  // namespace
}  // namespace tony
