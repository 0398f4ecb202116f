// The application master on a disk with power cuts.
#include "tests/power/recorded_disk.h"
#include "tests/unit/am/master_test.h"

namespace tony::am {
namespace {

class MasterPowerCutTest : public ApplicationMasterTest {
 protected:
  RecordedDisk disk_{records_.place()};
};

TEST_F(MasterPowerCutTest, AVerdictReportedToAClientSurvivesAPowerCut) {
  journal_.WriteAll();
  const auto killed = Kill();
  journal_.WriteAll();
  ASSERT_TRUE(killed->value && Watch(-1)->value->ended);
  disk_.Promise("told");
  int looks = 0;
  disk_.ForEachCut([&](const PowerCut& cut) {
    if (cut.promised.empty()) return;
    const auto status = LocalJobRecords(cut.left).ReadStatus();
    EXPECT_TRUE(status.ok() && *status && (*status)->verdict) << cut.point;
    ++looks;
  });
  EXPECT_GT(looks, 0);
}

}  // namespace
}  // namespace tony::am
