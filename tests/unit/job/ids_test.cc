#include "runtime/job/ids.h"

#include <gtest/gtest.h>
#include <sys/wait.h>

#include "runtime/base/exit_status.h"
#include "runtime/job/executor_protocol.h"

namespace tony {
namespace {

TEST(IdsTest, TaskAndAttemptIdsHaveFixedTextForms) {
  EXPECT_EQ(ToString(TaskId{"worker", 3}), "worker:3");
  EXPECT_EQ(ToString(AttemptId{{"worker", 3}, 2}), "worker:3#2");
  EXPECT_EQ(FolderName(TaskId{"worker", 3}), "worker-3");
}

TEST(IdsTest, ATaskIdIsParsedFromRoleColonIndex) {
  const auto task = ParseTaskId("worker:12");
  ASSERT_TRUE(task.ok());
  EXPECT_EQ(*task, (TaskId{"worker", 12}));
}

TEST(IdsTest, TextThatIsNotATaskIdIsRejectedAndQuoted) {
  for (const auto* text : {"", "worker", ":1", "worker:", "worker:x", "worker:-1", "worker:1 ", "worker:99999999"}) {
    const auto task = ParseTaskId(text);
    ASSERT_FALSE(task.ok()) << text;
    EXPECT_EQ(task.error().message, "task \"" + std::string(text) + "\": expected ROLE:INDEX, as in worker:0");
  }
}

TEST(ExitStatusTest, AWaitStatusIsDecodedIntoExitCodeOrSignal) {
  EXPECT_EQ(ToString(FromWaitStatus(W_EXITCODE(9, 0))), "exit code 9");
  EXPECT_EQ(ToString(FromWaitStatus(W_EXITCODE(0, 9))), "signal 9 (SIGKILL)");
  EXPECT_TRUE(FromWaitStatus(W_EXITCODE(0, 0)).Succeeded());
  EXPECT_FALSE(FromWaitStatus(W_EXITCODE(0, 15)).Succeeded());
}

TEST(ExecutorProtocolTest, EveryPhaseAndEveryReasonForARefusalHasAName) {
  EXPECT_EQ(ToString(Phase::kWaiting), "waiting");
  EXPECT_EQ(ToString(Phase::kRunning), "running");
  EXPECT_EQ(ToString(Phase::kStopping), "stopping");
  EXPECT_EQ(ToString(Phase::kEnded), "ended");
  EXPECT_EQ(ToString(RefusalReason::kBadToken), "bad token");
  EXPECT_EQ(ToString(RefusalReason::kWrongJob), "wrong job");
  EXPECT_EQ(ToString(RefusalReason::kUnknownAttempt), "unknown attempt");
  EXPECT_EQ(ToString(RefusalReason::kStaleAttempt), "stale attempt");
  EXPECT_EQ(ToString(RefusalReason::kStaleEpoch), "stale epoch");
  EXPECT_EQ(ToString(RefusalReason::kBadProtocol), "bad protocol");
  EXPECT_EQ(ToString(RefusalReason::kBadRequest), "bad request");
  EXPECT_EQ(ToString(RefusalReason::kNotLeader), "not leader");
}

}  // namespace
}  // namespace tony
