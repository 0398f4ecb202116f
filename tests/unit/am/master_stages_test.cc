// Published values are in the journal before any task receives them.
#include "tests/unit/am/master_test.h"

namespace tony::am {
namespace {

class StagedMasterTest : public ApplicationMasterTest {
 protected:
  StagedMasterTest()
      : ApplicationMasterTest(
            JobBuilder().Role("driver", 1).Role("worker", 1).Framework(FrameworkKind::kStaged).Build()) {
    for (const auto* task : {"driver:0", "worker:0"}) {
      journal_.WriteAll();
      Grant(task);
    }
    for (const auto* task : {"driver:0", "worker:0"}) {
      journal_.WriteAll();
      Register(task);
    }
    journal_.WriteAll();
  }

  std::shared_ptr<Answered<std::monostate>> Publish(std::string token = kToken) {
    auto answer = std::make_shared<Answered<std::monostate>>();
    master_.Publish(CallerOf("driver:0", std::move(token)), {{"ADDRESS", "here:1"}}, Reply<std::monostate>(answer));
    return answer;
  }
};

TEST_F(StagedMasterTest, PublishedValuesAreAcknowledgedAndSentOnlyAfterTheJournalHasThem) {
  const auto waiting = Await("worker:0");
  const auto published = Publish();
  EXPECT_TRUE(published->open());
  EXPECT_TRUE(waiting->open());
  journal_.WriteAll();
  EXPECT_TRUE(published->value);
  ASSERT_TRUE(waiting->value);
  EXPECT_EQ(waiting->value->kind, Command::Kind::kStart);
  EXPECT_EQ(ClusterSpecFromJson(waiting->value->cluster_spec)->values.at({"driver", 0}).at("ADDRESS"), "here:1");
}

TEST_F(StagedMasterTest, ARepeatedPublishCallIsAcknowledgedAgain) {
  Publish();
  journal_.WriteAll();
  const auto again = Publish();
  EXPECT_TRUE(again->value);
}

TEST_F(StagedMasterTest, APublishCallWithAWrongTokenIsRejected) {
  const auto refused = Publish("guessed");
  ASSERT_TRUE(refused->refusal);
  EXPECT_EQ(refused->refusal->reason, RefusalReason::kBadToken);
}

}  // namespace
}  // namespace tony::am
