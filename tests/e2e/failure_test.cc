// How failures are told: the first cause, whole.
#include "tests/e2e/tony_test.h"

namespace tony {
namespace {

class FailureTest : public TonyTest {
 protected:
  json::value RunToFailure(const Words& submit) {
    const Ran ran = Fails(1, submit + Words{"--json"});
    ExpectNothingLeft();
    auto status = ParseJson(ran.out);
    EXPECT_EQ(Text(status, "/verdict/state"), "FAILED");
    return status;
  }
};

TEST_F(FailureTest, AnExitCodeIsToldWithTheLastLinesOfStandardError) {
  const Ran ran = Fails(1, One("echo context; echo cannot open the data >&2; exit 3"));
  EXPECT_THAT(ran.out, HasAll({"FAILED", "first cause: worker:0 failed on 127.0.0.1: exit code 3",
                               "cannot open the data", "tony logs " + Job() + " worker:0#1"}));
  ExpectNothingLeft();
}

TEST_F(FailureTest, ASignalIsToldAsASignal) {
  const auto status = RunToFailure(One("kill -SEGV $$"));
  ExpectJson(status, {{"/verdict/signal", 11}, {"/verdict/exit_code", nullptr}});
}

TEST_F(FailureTest, AnExitCodeAbove128IsNoSignal) {
  const auto status = RunToFailure(One("exit 137"));
  ExpectJson(status, {{"/verdict/exit_code", 137}, {"/verdict/signal", nullptr}});
}

TEST_F(FailureTest, TheJobsOwnRuleEndsInTheVerdict) {
  const auto status = RunToFailure(One("exit 17", {"tony.failure.exit.17=user_config, no license for this user"}));
  EXPECT_EQ(Text(status, "/verdict/class"), "user_config");
  EXPECT_THAT(Text(status, "/verdict/message"), HasSubstr("exit code 17: no license for this user (user_config)"));
  const Ran explained = Succeeds({"explain-exit", "17", "--job", Job()});
  EXPECT_THAT(explained.out, HasSubstr("\nno license for this user\n"));
}

TEST_F(FailureTest, AnErrorFileEndsInTheVerdict) {
  const auto status =
      RunToFailure(One(R"(echo '{"class":"oom","message":"batch too large"}' > $TONY_ERROR_FILE; exit 1)"));
  EXPECT_EQ(Text(status, "/verdict/class"), "oom");
  EXPECT_THAT(Text(status, "/verdict/message"), HasSubstr("exit code 1: batch too large (oom)"));
}

TEST_F(FailureTest, OneFailedTrackedTaskFailsTheJobAndStopsTheOthers) {
  // The failing one waits for the others, so that there is something to stop.
  const std::string others = "[ -e " + Running("worker-0") + " ] && [ -e " + Running("worker-2") + " ]";
  const auto status =
      RunToFailure(Workers(3, "if [ $TASK_INDEX = 1 ]; then until " + others +
                                  "; do sleep 0.02; done; echo gone wrong >&2; exit 4; fi; " + HoldUntilGo()));
  ExpectJson(status, {{"/verdict/task", "worker:1"}, {"/verdict/exit_code", 4}});
  EXPECT_THAT(Text(status, "/verdict/stderr_tail"), HasSubstr("gone wrong"));
}

TEST_F(FailureTest, AFailedParameterServerFailsTheJob) {
  const auto status =
      RunToFailure(Workers(1, "[ $JOB_NAME = worker ] || exit 5; " + HoldUntilGo(), {"tony.ps.instances=1"}));
  ExpectJson(status, {{"/verdict/task", "ps:0"}, {"/verdict/exit_code", 5}});
}

TEST_F(FailureTest, AFailedSidecarFailsNothing) {
  const std::string note = box_.File("sidecar");
  Succeeds(Workers(
      1,
      "if [ $JOB_NAME = board ]; then touch " + note + "; exit 6; fi; until [ -e " + note + " ]; do sleep 0.02; done",
      {"tony.board.instances=1", "tony.application.sidecar.jobtypes=board"}));
  ExpectNothingLeft();
}

TEST_F(FailureTest, TheApplicationTimeoutEndsTheJob) {
  const auto status = RunToFailure(One("exec sleep 1000", {"tony.application.timeout=4000"}));
  EXPECT_EQ(Text(status, "/verdict/class"), "timeout");
}

TEST_F(FailureTest, AProgramThatDoesNotExistIsTheUsersConfiguration) {
  const auto status = RunToFailure(One("/no/such/program --now"));
  ExpectJson(status, {{"/verdict/exit_code", 127}, {"/verdict/class", "user_config"}});
  EXPECT_THAT(Text(status, "/verdict/stderr_tail"), HasSubstr("/no/such/program"));
}

TEST_F(FailureTest, AProgramThatMayNotBeRunIsTheUsersConfiguration) {
  const std::string file = box_.Write("plain.txt", "no program");
  const auto status = RunToFailure(One(file));
  ExpectJson(status, {{"/verdict/exit_code", 126}, {"/verdict/class", "user_config"}});
  EXPECT_THAT(Text(status, "/verdict/stderr_tail"), HasSubstr(file));
}

}  // namespace
}  // namespace tony
