// Masters that hang from their start.
#include <gmock/gmock.h>

#include "runtime/os/files.h"
#include "tests/unit/keeper/keeper_fixture.h"

namespace tony {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;

class KeeperUnheardTest : public KeeperFixture {
 protected:
  void LimitStart(Duration limit) {
    JobSpec spec = *records_.ReadSpec();
    spec.startup_timeout = limit;
    EXPECT_TRUE(WriteFileByRename(records_.place() / "spec.json", ToJson(spec), /*durable=*/false).ok());
  }
  // The limit of the wait is below the 30 s after which the keeper takes a silent master for hung.
  Verdict Ended(pid_t keeper) {
    EXPECT_TRUE(KeeperEnded(keeper));
    EXPECT_THAT(OfJob(), IsEmpty());
    const auto status = records_.ReadStatus();
    EXPECT_TRUE(status.ok() && *status && (*status)->verdict);
    return status.ok() && *status ? (*status)->verdict.value_or(Verdict()) : Verdict();
  }
};

TEST_F(KeeperUnheardTest, AKillEndsTheJob) {
  const pid_t keeper = StartKeeper();
  ASSERT_FALSE(Ams().empty());
  ASSERT_TRUE(records_.WriteKill({"enough"}).ok());
  const Verdict verdict = Ended(keeper);
  EXPECT_EQ(verdict.state, FinalState::kKilled);
  EXPECT_EQ(verdict.message, "enough");
}

TEST_F(KeeperUnheardTest, AKillOnConditionOfAnotherOwnerDoesNothing) {
  LimitStart(Duration(3'000));
  const pid_t keeper = StartKeeper();
  ASSERT_TRUE(records_.WriteKill({.reason = "enough", .if_owner = {"another"}}).ok());
  EXPECT_EQ(Ended(keeper).state, FinalState::kFailed) << "of its limit";
}

TEST_F(KeeperUnheardTest, ItsStartHasALimit) {
  LimitStart(Duration(300));
  const Verdict verdict = Ended(StartKeeper());
  EXPECT_EQ(verdict.state, FinalState::kFailed);
  EXPECT_EQ(verdict.cls, OutcomeClass::kTimeout);
  EXPECT_THAT(verdict.message, HasSubstr("the application master had not started 0.3 s after the submission "
                                         "(tony.am.startup-timeout=300)"));
}

}  // namespace
}  // namespace tony
