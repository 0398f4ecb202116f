// How failures are told: the first cause, whole.
#include "tests/e2e/json.h"
#include "tests/e2e/tony_test.h"

namespace tony {
namespace {

using testing::HasSubstr;

class FailureTest : public TonyTest {
 protected:
  boost::json::value RunToFailure(const Words& submit) {
    const Ran ran = box_.Tony(submit + Words{"--json"});
    EXPECT_EQ(ran.exit, 1) << ran.err << ran.out;
    ExpectNothingLeft();
    auto status = ParseJson(ran.out);
    EXPECT_EQ(Text(status, "/verdict/state"), "FAILED");
    return status;
  }
};

TEST_F(FailureTest, AnExitCodeIsToldWithTheLastLinesOfStandardError) {
  const Ran ran = box_.Tony(One("echo context; echo cannot open the data >&2; exit 3"));
  EXPECT_EQ(ran.exit, 1);
  EXPECT_THAT(ran.out, HasSubstr("FAILED"));
  EXPECT_THAT(ran.out, HasSubstr("first cause: worker:0 failed on 127.0.0.1: exit code 3"));
  EXPECT_THAT(ran.out, HasSubstr("cannot open the data"));
  EXPECT_THAT(ran.out, HasSubstr("tony logs " + Job() + " worker:0#1"));
  ExpectNothingLeft();
}

TEST_F(FailureTest, ASignalIsToldAsASignal) {
  const auto status = RunToFailure(One("kill -SEGV $$"));
  EXPECT_EQ(Number(status, "/verdict/signal"), 11);
  EXPECT_TRUE(At(status, "/verdict/exit_code").is_null());
}

TEST_F(FailureTest, AnExitCodeAbove128IsNoSignal) {
  const auto status = RunToFailure(One("exit 137"));
  EXPECT_EQ(Number(status, "/verdict/exit_code"), 137);
  EXPECT_TRUE(At(status, "/verdict/signal").is_null());
}

TEST_F(FailureTest, TheJobsOwnRuleEndsInTheVerdict) {
  const auto status = RunToFailure(One("exit 17") + Conf("tony.failure.exit.17=user_config, no license for this user"));
  EXPECT_EQ(Text(status, "/verdict/class"), "user_config");
  EXPECT_THAT(Text(status, "/verdict/message"), HasSubstr("exit code 17: no license for this user (user_config)"));
  const Ran explained = box_.Tony({"explain-exit", "17", "--job", Job()});
  EXPECT_EQ(explained.exit, 0) << explained.err;
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
  EXPECT_EQ(Text(status, "/verdict/task"), "worker:1");
  EXPECT_EQ(Number(status, "/verdict/exit_code"), 4);
  EXPECT_THAT(Text(status, "/verdict/stderr_tail"), HasSubstr("gone wrong"));
}

TEST_F(FailureTest, AFailedParameterServerFailsTheJob) {
  const auto status =
      RunToFailure(Workers(1, "[ $JOB_NAME = worker ] || exit 5; " + HoldUntilGo()) + Conf("tony.ps.instances=1"));
  EXPECT_EQ(Text(status, "/verdict/task"), "ps:0");
  EXPECT_EQ(Number(status, "/verdict/exit_code"), 5);
}

TEST_F(FailureTest, AFailedSidecarFailsNothing) {
  const std::string note = box_.File("sidecar");
  const Ran ran = box_.Tony(Workers(1, "if [ $JOB_NAME = board ]; then touch " + note + "; exit 6; fi; until [ -e " +
                                           note + " ]; do sleep 0.02; done") +
                            Conf("tony.board.instances=1") + Conf("tony.application.sidecar.jobtypes=board"));
  EXPECT_EQ(ran.exit, 0) << ran.err << ran.out;
  ExpectNothingLeft();
}

TEST_F(FailureTest, TheApplicationTimeoutEndsTheJob) {
  const auto status = RunToFailure(One("exec sleep 1000") + Conf("tony.application.timeout=4000"));
  EXPECT_EQ(Text(status, "/verdict/class"), "timeout");
}

TEST_F(FailureTest, AProgramThatDoesNotExistIsTheUsersConfiguration) {
  const auto status = RunToFailure(One("/no/such/program --now"));
  EXPECT_EQ(Number(status, "/verdict/exit_code"), 127);
  EXPECT_EQ(Text(status, "/verdict/class"), "user_config");
  EXPECT_THAT(Text(status, "/verdict/stderr_tail"), HasSubstr("/no/such/program"));
}

TEST_F(FailureTest, AProgramThatMayNotBeRunIsTheUsersConfiguration) {
  const std::string file = box_.Write("plain.txt", "no program");
  const auto status = RunToFailure(One(file));
  EXPECT_EQ(Number(status, "/verdict/exit_code"), 126);
  EXPECT_EQ(Text(status, "/verdict/class"), "user_config");
  EXPECT_THAT(Text(status, "/verdict/stderr_tail"), HasSubstr(file));
}

}  // namespace
}  // namespace tony
