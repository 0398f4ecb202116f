// Networks, disks, keepers and schedulers that are away for a while; among them what brought other controllers down.
#include <gtest/gtest.h>

#include "runtime/base/strings.h"
#include "tests/sim/scenario.h"

namespace tony::sim {
namespace {

using Direction = CutNetwork::Direction;

Plan CutAll(Plan plan, Duration at, Duration length, Direction direction = Direction::kBoth) {
  for (const auto& [task, unused] : plan.tasks) {
    plan.faults.push_back({at, CutNetwork{task, length, /*store_too=*/false, direction}});
  }
  return plan;
}

void ExpectUndisturbed(const Plan& plan) {
  World world(plan);
  world.Run();
  ASSERT_TRUE(IsRight(plan, world));
  ExpectVerdict(world, FinalState::kSucceeded, OutcomeClass::kSuccess);
  EXPECT_EQ(Count<ProcessStarted>(world.history()), static_cast<int>(plan.tasks.size()));
  EXPECT_EQ(Count<ProcessSignalled>(world.history()), 0);
}

// skypilot-org/skypilot#10155: 24 recoveries in 19 hours, because "could not reach" was taken for "failed".
TEST(OutageScenarioTest, TwentyFiveTimeOutsOnAHealthyJobRestartNothing) {
  Plan plan = GangFor(2, Duration(1'000'000), 3);
  for (int i = 0; i < 25; ++i) {
    plan = CutAll(plan, Duration(5'000 + i * 40'000), Duration(20'000), static_cast<Direction>(i % 3));
  }
  ExpectUndisturbed(plan);
}

// skypilot-org/skypilot#6133: the network was away while the job ended; its controller ran it again.
TEST(OutageScenarioTest, AJobThatEndsWhileTheNetworkIsAwayIsNotRunAgain) {
  for (const int64_t length : {2'000, 10'000, 28'000}) {
    for (const Direction direction : {Direction::kBoth, Direction::kRequests, Direction::kAnswers}) {
      ExpectUndisturbed(CutAll(GangFor(2, Duration(10'000), 3), Duration(9'000), Duration(length), direction));
    }
  }
}

TEST(OutageScenarioTest, AJobThatEndsWhileTheNetworkIsAwayForLongIsNotRunAgain) {
  ExpectUndisturbed(CutAll(GangFor(2, Duration(10'000), 3), Duration(9'000), Duration(300'000)));
}

// skypilot-org/skypilot#10061: the controller was killed at the very end; work was torn down, a recorded end was lost.
TEST(OutageScenarioTest, AnAmThatIsKilledAtTheVeryEndLosesNeitherTheWorkNorTheVerdict) {
  Plan plan = GangFor(2, Duration(1'500), 3);
  World reference(plan);
  reference.Run();
  for (int64_t back = 0; back < 20; ++back) {
    plan.am.crash_at_steps = {reference.crashes().steps() - back, reference.crashes().steps() - back + 4};
    ExpectUndisturbed(plan);
  }
}

TEST(OutageScenarioTest, APartitionThatHealsBeforeTheCutOffStopsNothing) {
  for (const Direction direction : {Direction::kBoth, Direction::kRequests, Direction::kAnswers}) {
    ExpectUndisturbed(CutAll(GangFor(3, Duration(60'000), 3), Duration(5'000), Duration(25'000), direction));
  }
}

TEST(OutageScenarioTest, AfterALongPartitionTheGangRunsAgain) {
  for (const Direction direction : {Direction::kBoth, Direction::kRequests, Direction::kAnswers}) {
    Plan plan = GangFor(3, Duration(60'000), 3);
    plan.faults = {{Duration(5'000), CutNetwork{kWorker1, Duration(100'000), false, direction}}};
    World world(plan);
    world.Run();
    ASSERT_TRUE(IsRight(plan, world));
    ExpectVerdict(world, FinalState::kSucceeded, OutcomeClass::kSuccess);
  }
}

TEST(OutageScenarioTest, NobodyIsReplacedOnSilenceWhileTheLeaseCannotBeRenewed) {
  Plan plan = CutAll(GangFor(2, Duration(200'000), 3), Duration(30'000), Duration(100'000));
  plan.faults.push_back({Duration(1'000), LockLease{Duration(180'000)}});
  ExpectUndisturbed(plan);
}

TEST(OutageScenarioTest, ClocksThatDriftAreAllowedFor) {
  for (uint64_t seed = 1; seed <= 20; ++seed) {
    Plan plan = GangFor(2, Duration(60'000), 3);
    plan.seed = seed;
    plan.clocks = {.most_drift = 10'000, .most_offset = Duration(500)};
    plan.tasks[kWorker0].process.obeys_term.reset();
    plan.faults = {{Duration(5'000), CutNetwork{kWorker0, Duration(100'000)}}};
    World world(plan);
    world.Run();
    ASSERT_TRUE(IsRight(plan, world)) << seed;
    ExpectVerdict(world, FinalState::kSucceeded, OutcomeClass::kSuccess);
  }
}

// ---- the keeper

TEST(OutageScenarioTest, AKeeperThatDiesIsBroughtBackByTheAm) {
  for (int64_t at = 50; at <= 2'000; at += 50) {
    Plan plan = GangFor(2, Duration(1'500), 3);
    plan.faults = {{Duration(at), KillKeeper{Duration(60'000)}}};
    World world(plan);
    world.Run();
    ASSERT_TRUE(IsRight(plan, world)) << at;
    ExpectVerdict(world, FinalState::kSucceeded, OutcomeClass::kSuccess);
    EXPECT_EQ(Count<ProcessStarted>(world.history()), 2) << at;
  }
}

TEST(OutageScenarioTest, KeeperAndAmMayDieTogether) {
  for (int64_t at = 100; at <= 1'700; at += 100) {
    Plan plan = GangFor(2, Duration(1'500), 3);
    plan.faults = {{Duration(at), KillKeeper{Duration(20'000)}}, {Duration(at), CrashAm{}}};
    World world(plan);
    world.Run();
    ASSERT_TRUE(IsRight(plan, world)) << at;
    ExpectVerdict(world, FinalState::kSucceeded, OutcomeClass::kSuccess);
    EXPECT_EQ(Count<ProcessStarted>(world.history()), 2) << at;
  }
}

TEST(OutageScenarioTest, AnAmThatCrashesAgainAndAgainEndsTheJobAsInfra) {
  Plan plan = GangFor(2, Duration(60'000), 3);
  plan.faults = {{Duration(5'000), CrashAm{.more = 10}}};
  World world(plan);
  world.Run();
  EXPECT_TRUE(IsRight(plan, world));
  ExpectVerdict(world, FinalState::kFailed, OutcomeClass::kInfra);
  EXPECT_EQ(Count<AmGone>(world.history()), 5);
}

TEST(OutageScenarioTest, AnAmThatCrashesFourTimesIsForgiven) {
  Plan plan = GangFor(2, Duration(60'000), 3);
  plan.faults = {{Duration(5'000), CrashAm{.more = 3}}};
  ExpectUndisturbed(plan);
}

// ---- the disk

TEST(OutageScenarioTest, WithAFullDiskTasksRunOnAndTheEndIsTakenLater) {
  for (int64_t at = 0; at <= 2'000; at += 50) {
    Plan plan = GangFor(2, Duration(1'500), 3);
    plan.faults = {{Duration(at), FillDisk{Duration(20'000)}}};
    ExpectUndisturbed(plan);
  }
}

TEST(OutageScenarioTest, AFullDiskDoesNotKeepAKillFromBeingDone) {
  Plan plan = GangFor(2, Duration(600'000), 3);
  plan.faults = {{Duration(5'000), FillDisk{Duration(60'000)}}, {Duration(10'000), AskKill{}}};
  World world(plan);
  world.Run();
  EXPECT_TRUE(IsRight(plan, world));
  ExpectVerdict(world, FinalState::kKilled, OutcomeClass::kKilled);
  for (const Seen& seen : world.history().events()) {
    if (!std::holds_alternative<ProcessEnded>(seen.event)) continue;
    EXPECT_LT(seen.time - Timeline::kStart, Duration(12'000));
  }
}

// The disk of these jobs never takes anything again.
class DeadDiskScenarioTest : public testing::Test {
 protected:
  static constexpr Duration kForEver{1'000'000'000}, kPatience{30'000};

  static Plan WithoutDisk(Plan plan, Duration from) {
    plan.am.patience = kPatience;
    plan.faults.push_back({from, FillDisk{kForEver}});
    plan.faults.push_back({from, LockLease{kForEver}});
    return plan;
  }
  static void ExpectEndBy(const World& world, Duration limit) {
    ASSERT_FALSE(world.history().events().empty());
    EXPECT_LT(world.history().events().back().time - Timeline::kStart, limit);
  }
};

TEST_F(DeadDiskScenarioTest, TheJobEndsWithItsTasksAndAsTheyDo) {
  for (int64_t at = 500; at <= 2'000; at += 50) {
    const Plan plan = WithoutDisk(GangFor(2, Duration(1'500), 3), Duration(at));
    World world(plan);
    world.Run();
    ASSERT_TRUE(IsRight(plan, world));
    ExpectVerdict(world, FinalState::kSucceeded, OutcomeClass::kSuccess);
    ExpectEndBy(world, Duration(1'500) + kPatience + Duration(10'000));
  }
}

TEST_F(DeadDiskScenarioTest, AKillEndsIt) {
  for (const int64_t at : {500, 5'000, 9'990}) {
    Plan plan = WithoutDisk(GangFor(2, Duration(600'000), 3), Duration(at));
    plan.faults.push_back({Duration(10'000), AskKill{}});
    World world(plan);
    world.Run();
    ASSERT_TRUE(IsRight(plan, world));
    ExpectVerdict(world, FinalState::kKilled, OutcomeClass::kKilled);
    ExpectEndBy(world, Duration(10'000) + plan.spec.timers.grace + kPatience + Duration(10'000));
  }
}

TEST(OutageScenarioTest, AFullDiskAndACrashLoseNothing) {
  for (int64_t at = 100; at <= 3'000; at += 100) {
    Plan plan = GangFor(2, Duration(1'500), 3);
    plan.faults = {{Duration(1'000), FillDisk{Duration(1'500)}}, {Duration(at), CrashAm{}}};
    ExpectUndisturbed(plan);
  }
}

TEST(OutageScenarioTest, ASyncThatFailsLosesNothing) {
  for (int64_t at = 0; at <= 1'700; at += 20) {
    Plan plan = GangFor(2, Duration(1'500), 3);
    plan.faults = {{Duration(at), FailSync{}}, {Duration(at + 100), CrashAm{}}};
    ExpectUndisturbed(plan);
  }
}

}  // namespace
}  // namespace tony::sim
