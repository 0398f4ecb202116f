#include "runtime/yarn/yarn_asks.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "runtime/base/strings.h"
#include "tests/support/sanitized.h"
#include "tests/unit/yarn/simulated_rm.h"
#include "tests/unit/yarn/yarn_fixture.h"

namespace tony {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::SizeIs;

// "1/1 n1=2": priority, request id, place and count.
std::vector<std::string> RowsIn(const hadoop::Asked& asked) {
  std::vector<std::string> rows;
  for (const hadoop::ContainerAsk& row : asked.asks)
    rows.push_back(StrCat(row.priority, "/", row.request_id, " ", row.place, "=", row.count));
  return rows;
}

hadoop::Container Granted(int64_t number, int64_t line = 1, int64_t memory_mib = 256) {
  hadoop::Container container{.id = YarnId(number), .node = {"n1", 8041}, .request_id = line};
  container.resource = {memory_mib, 1, {}};
  return container;
}

class YarnAsksTest : public testing::Test {
 protected:
  // An exchange in which the ResourceManager grants these and tells that those have ended.
  YarnAsks::News Exchange(std::vector<hadoop::Container> granted = {}, std::vector<int64_t> ended = {}) {
    sent = asks.Next();
    hadoop::Allocation allocation{.granted = std::move(granted)};
    for (const int64_t number : ended) allocation.ended.push_back({.id = YarnId(number), .exit_status = -100});
    return asks.Answered(allocation);
  }
  void WantWorkers(int count) {
    for (int i = 0; i < count; ++i) asks.Want(AskFor(Attempt(i)));
  }

  YarnAsks asks;
  hadoop::Asked sent;  // in the last exchange
};

TEST_F(YarnAsksTest, WhatIsWantedIsAskedForOnce) {
  WantWorkers(2);
  asks.Want(AskFor(Attempt(1)));
  EXPECT_EQ(asks.Waiting(), 2);
  EXPECT_TRUE(asks.HasNews());
  Exchange();
  EXPECT_THAT(RowsIn(sent), ElementsAre("1/1 *=2"));
  EXPECT_EQ(sent.asks[0].resource, (hadoop::Resource{256, 1, {}}));
  EXPECT_FALSE(asks.HasNews());
  Exchange();
  EXPECT_THAT(RowsIn(sent), IsEmpty());
}

TEST_F(YarnAsksTest, EachHostAndItsRackGetTheWholeCount) {
  asks.SetNodes({NodeOf("n1", 8192), NodeOf("n2", 8192, 8192)});
  WantWorkers(3);
  Exchange();
  EXPECT_THAT(RowsIn(sent), ElementsAre("1/1 /rack=3", "1/1 n1=3", "1/1 n2=3", "1/1 *=3"));
}

TEST_F(YarnAsksTest, RolesDifferInPriorityAndSizesInRequestId) {
  asks.Want(AskFor(Attempt(0, "worker")));
  asks.Want(AskFor(Attempt(0, "ps"), {.memory_mb = 512}));
  asks.Want(AskFor(Attempt(1, "worker"), {.memory_mb = 512}));
  asks.Want(AskFor(Attempt(2, "worker"), {.memory_mb = 512}, "gpu"));
  Exchange();
  EXPECT_THAT(RowsIn(sent), ElementsAre("1/1 *=1", "2/2 *=1", "1/3 *=1", "1/4 *=1"));
  EXPECT_EQ(sent.asks[3].label, "gpu");
  const auto news = Exchange({Granted(2, 3, 512)});
  ASSERT_THAT(news.grants, SizeIs(1));
  EXPECT_EQ(news.grants[0].attempt, Attempt(1, "worker"));
}

TEST_F(YarnAsksTest, WhatIsSpreadHasAShareForEachHostAndGoesNowhereElse) {
  asks.SetNodes({NodeOf("n1", 8192), NodeOf("n2", 8192, 8192 - 256), NodeOf("n3", 8192)});
  for (int i = 0; i < 5; ++i) asks.Want(AskFor(Attempt(i), {.memory_mb = 256}, "", Placement::kSpread));
  Exchange();
  EXPECT_THAT(RowsIn(sent), ElementsAre("1/1 /rack=5", "1/1 n1=2", "1/1 n2=1", "1/1 n3=2", "1/1 *=5"));
  for (const auto& row : sent.asks) EXPECT_FALSE(row.relax) << row.place;
}

TEST_F(YarnAsksTest, OneMoreThatIsSpreadGoesWhereTheFewestAre) {
  asks.SetNodes({NodeOf("n1", 8192), NodeOf("n2", 4096)});
  const auto want = [&](int index) { asks.Want(AskFor(Attempt(index), {.memory_mb = 256}, "", Placement::kSpread)); };
  want(0);
  Exchange();
  EXPECT_THAT(Exchange({Granted(2)}).grants, SizeIs(1));
  Exchange();
  want(1);
  Exchange();
  EXPECT_THAT(RowsIn(sent), ElementsAre("1/1 /rack=1", "1/1 n2=1", "1/1 *=1"));
  Exchange({}, {2});
  asks.SetNodes({NodeOf("n1", 8192), NodeOf("n2", 4096)});
  Exchange();
  EXPECT_THAT(RowsIn(sent), ElementsAre("1/1 /rack=1", "1/1 n1=1", "1/1 n2=0", "1/1 *=1")) << "the first one has ended";
}

TEST_F(YarnAsksTest, WhereNoHostIsKnownWhatIsSpreadMayGoAnywhere) {
  asks.Want(AskFor(Attempt(0), {.memory_mb = 256}, "", Placement::kSpread));
  Exchange();
  EXPECT_THAT(RowsIn(sent), ElementsAre("1/1 *=1"));
  EXPECT_TRUE(sent.asks[0].relax);
}

TEST_F(YarnAsksTest, HostsToAvoidAreToldUntilTheyAreKnown) {
  asks.SetNodes({NodeOf("n1", 8192), NodeOf("n2", 8192)});
  WantWorkers(1);
  Exchange();
  asks.Avoid({"n1"});
  sent = asks.Next();
  EXPECT_THAT(sent.avoid, ElementsAre("n1"));
  EXPECT_THAT(RowsIn(sent), ElementsAre("1/1 /rack=1", "1/1 n1=0", "1/1 n2=1", "1/1 *=1"));
  asks.Unanswered();
  Exchange();
  EXPECT_THAT(sent.avoid, ElementsAre("n1"));
  Exchange();
  EXPECT_THAT(sent.avoid, IsEmpty());
  asks.Avoid({});
  Exchange();
  EXPECT_THAT(sent.no_longer_avoid, ElementsAre("n1"));
  EXPECT_FALSE(asks.HasNews());
}

TEST_F(YarnAsksTest, HostsThatCannotHoldOneAreLeftOut) {
  hadoop::NodeReport labelled = NodeOf("labelled", 8192), sick = NodeOf("sick", 8192), with_gpu = NodeOf("gpu", 8192);
  labelled.labels = {"fast"};
  sick.state = hadoop::NodeReport::State::kUnhealthy;
  with_gpu.capability.others = {{kGpuType, 4}};
  asks.SetNodes({labelled, sick, with_gpu, NodeOf("small", 128), NodeOf("plain", 8192)});
  asks.Want(AskFor(Attempt(0, "plain")));
  asks.Want(AskFor(Attempt(0, "fast"), {}, "fast"));
  asks.Want(AskFor(Attempt(0, "gpu"), {.gpus = 1}));
  Exchange();
  EXPECT_THAT(RowsIn(sent), ElementsAre("1/1 /rack=1", "1/1 gpu=1", "1/1 plain=1", "1/1 *=1",  //
                                        "2/2 /rack=1", "2/2 labelled=1", "2/2 *=1",            //
                                        "3/3 /rack=1", "3/3 gpu=1", "3/3 *=1"));
  EXPECT_EQ(sent.asks[0].label, "");
  EXPECT_EQ(sent.asks[4].label, "") << "a label is for \"*\" alone";
}

TEST_F(YarnAsksTest, OfManyHostsThoseWithRoomAreAsked) {
  std::vector<hadoop::NodeReport> nodes;
  for (int i = 0; i < 1000; ++i) nodes.push_back(NodeOf(StrCat("n", i), 8192, i % 5 == 0 ? 0 : 8192));
  asks.SetNodes(nodes);
  WantWorkers(1);
  Exchange();
  ASSERT_THAT(sent.asks, SizeIs(202));
  for (const auto& row : sent.asks) {
    const bool has_room = row.place.ends_with("0") || row.place.ends_with("5");
    EXPECT_TRUE(has_room || row.place == "*" || row.place == "/rack") << row.place;
  }
}

TEST_F(YarnAsksTest, NothingIsSentWhileTheResourceManagerCountsItself) {
  asks.SetNodes({NodeOf("n1", 8192)});
  WantWorkers(3);
  Exchange();
  EXPECT_THAT(Exchange({Granted(2), Granted(3)}).grants, SizeIs(2));
  Exchange();
  EXPECT_THAT(RowsIn(sent), IsEmpty());
}

TEST_F(YarnAsksTest, RowsThatAreLeftOverAreTakenBack) {
  asks.SetNodes({NodeOf("n1", 8192), NodeOf("n2", 8192)});
  WantWorkers(1);
  Exchange();
  Exchange({Granted(2)});
  Exchange();
  EXPECT_THAT(RowsIn(sent), ElementsAre("1/1 /rack=0", "1/1 n1=0", "1/1 n2=0", "1/1 *=0"));
  Exchange();
  EXPECT_THAT(RowsIn(sent), IsEmpty());
}

TEST_F(YarnAsksTest, OtherHostsAreAskedWhenOthersHaveRoom) {
  asks.SetNodes({NodeOf("n1", 8192)});
  WantWorkers(1);
  Exchange();
  asks.SetNodes({NodeOf("n2", 8192)});
  Exchange();
  EXPECT_THAT(RowsIn(sent), ElementsAre("1/1 /rack=1", "1/1 n1=0", "1/1 n2=1", "1/1 *=1"));
  asks.SetNodes({NodeOf("n2", 8192, 256)});
  EXPECT_FALSE(asks.HasNews());
}

TEST_F(YarnAsksTest, AGrantBesideItsOwnRowIsCountedAnew) {
  WantWorkers(3);
  Exchange({Granted(2)});  // of an older row, which this one's count has overwritten
  Exchange();
  EXPECT_THAT(RowsIn(sent), ElementsAre("1/1 *=2"));
}

TEST_F(YarnAsksTest, SurplusAndTooSmallOnesAreReleasedAndAskedForAgain) {
  WantWorkers(1);
  Exchange();
  EXPECT_THAT(Exchange({Granted(2, 1, 128), Granted(3, 99)}).grants, IsEmpty());
  Exchange();
  EXPECT_THAT(sent.release, ElementsAre(YarnId(2), YarnId(3)));
  EXPECT_THAT(RowsIn(sent), ElementsAre("1/1 *=1"));
  EXPECT_THAT(Exchange({Granted(4, 1, 1024), Granted(5)}, {2, 3}).grants, SizeIs(1));
  Exchange();
  EXPECT_THAT(sent.release, ElementsAre(YarnId(5)));
}

TEST_F(YarnAsksTest, AGrantWithoutItsGpuIsTooSmall) {
  asks.Want(AskFor(Attempt(0), {.memory_mb = 256, .gpus = 2}));
  Exchange();
  EXPECT_EQ(sent.asks[0].resource.others.at(kGpuType), 2);
  EXPECT_THAT(Exchange({Granted(2)}).grants, IsEmpty());
  auto granted = Granted(3);
  granted.resource.others[kGpuType] = 2;
  EXPECT_THAT(Exchange({granted}).grants, SizeIs(1));
}

// As a CapacityScheduler does as it comes: it counts memory alone.
TEST_F(YarnAsksTest, AGrantWithFewerVcoresIsTaken) {
  asks.Want(AskFor(Attempt(0), {.memory_mb = 256, .vcores = 4}));
  Exchange();
  EXPECT_THAT(Exchange({Granted(2)}).grants, SizeIs(1));
}

TEST_F(YarnAsksTest, AContainerThatIsGrantedTwiceIsGivenOnce) {
  WantWorkers(2);
  Exchange();
  EXPECT_THAT(Exchange({Granted(2)}).grants, SizeIs(1));
  EXPECT_THAT(Exchange({Granted(2)}).grants, IsEmpty());
  EXPECT_EQ(asks.Waiting(), 1);
  Exchange();
  EXPECT_THAT(sent.release, IsEmpty());
}

TEST_F(YarnAsksTest, AReleaseIsRepeatedUntilItsEndIsHeard) {
  asks.Release(YarnId(7));
  Exchange();
  Exchange();
  EXPECT_THAT(sent.release, ElementsAre(YarnId(7)));
  Exchange({}, {7});
  Exchange();
  EXPECT_THAT(sent.release, IsEmpty());
}

TEST_F(YarnAsksTest, AReleaseThatNobodyKnowsIsGivenUp) {
  asks.Release(YarnId(7));
  for (int i = 0; i < 20; ++i) {  // does not count: nobody answers
    asks.Next();
    asks.Unanswered();
  }
  int exchanges = 1;
  while (Exchange().forgotten.empty()) ++exchanges;
  EXPECT_EQ(exchanges, 10);
  Exchange();
  EXPECT_THAT(sent.release, IsEmpty());
}

TEST_F(YarnAsksTest, WhatMayNotHaveBeenReadIsSentAgain) {
  WantWorkers(2);
  asks.Next();
  asks.Unanswered();
  hadoop::Allocation repeated;
  repeated.may_be_repeated = true;
  EXPECT_THAT(RowsIn(asks.Next()), ElementsAre("1/1 *=2"));
  asks.Answered(repeated);
  EXPECT_THAT(RowsIn(asks.Next()), ElementsAre("1/1 *=2"));
  asks.Answered({});
  EXPECT_THAT(RowsIn(asks.Next()), IsEmpty());
}

TEST_F(YarnAsksTest, ForAResourceManagerThatBeganAnewAllIsSaidAgain) {
  asks.SetNodes({NodeOf("n1", 8192)});
  WantWorkers(2);
  asks.Release(YarnId(7));
  Exchange();
  asks.BeginAnew();
  Exchange();
  EXPECT_THAT(RowsIn(sent), ElementsAre("1/1 /rack=2", "1/1 n1=2", "1/1 *=2"));
  EXPECT_THAT(sent.release, ElementsAre(YarnId(7)));
  EXPECT_FALSE(asks.HasNews());
  for (const AttemptId& attempt : {Attempt(0), Attempt(1)}) asks.Withdraw(attempt);
  Exchange();
  asks.BeginAnew();
  EXPECT_TRUE(asks.HasNews()) << "the release";
}

TEST_F(YarnAsksTest, AWithdrawnAttemptGetsNothing) {
  WantWorkers(2);
  Exchange();
  asks.Withdraw(Attempt(0));
  const auto news = Exchange({Granted(2), Granted(3)});
  EXPECT_THAT(RowsIn(sent), ElementsAre("1/1 *=1"));
  ASSERT_THAT(news.grants, SizeIs(1));
  EXPECT_EQ(news.grants[0].attempt, Attempt(1));
  Exchange();
  EXPECT_THAT(sent.release, ElementsAre(YarnId(3)));
}

TEST_F(YarnAsksTest, ARefusedLineIsGivenUpAndOthersAreNot) {
  WantWorkers(1);
  Exchange();
  asks.Want(AskFor(Attempt(0, "ps"), {.memory_mb = 1 << 20}));
  asks.Next();
  EXPECT_THAT(asks.Refused(), ElementsAre(Attempt(0, "ps")));
  EXPECT_EQ(asks.Waiting(), 1);
  Exchange();
  EXPECT_THAT(RowsIn(sent), IsEmpty());
}

// ---- Schedules by seed: whatever a ResourceManager does, each attempt that is wanted ends up with one container of its
// size, and nothing else is held or asked for.

constexpr int kSeeds = kSanitized ? 500 : 3000;
constexpr int kSteps = 40;
constexpr int kCalmSteps = 30;  // ten answers until a release is given up, and as many for what comes of it

class Schedule {
 public:
  explicit Schedule(uint64_t seed) : rm_(seed) { ShowNodes(); }

  void Run() {
    for (int step = 0; step < kSteps; ++step) {
      if (rm_.Chance(30)) Change();
      Step();
    }
    rm_.BeOrderly();
    for (int step = 0; step < kCalmSteps; ++step) Step();
    CheckEnd();
  }

 private:
  static ContainerAsk AskOf(const AttemptId& attempt) {
    Resources size{.memory_mb = attempt.task.role == "ps" ? 512 : 256};
    size.gpus = attempt.task.role == "worker" ? 1 : 0;
    if (attempt.number % 3 == 0) size.memory_mb *= 2;
    return AskFor(attempt, size, "", attempt.task.role == "ps" ? Placement::kSpread : Placement::kPack);
  }

  void Want() {
    const AttemptId attempt = Attempt(++attempts_, rm_.Chance(50) ? "worker" : "ps", 1 + rm_.Below(3));
    wanted_.insert(attempt);
    asks_.Want(AskOf(attempt));
  }
  void Change() {
    switch (rm_.Below(6)) {
      case 0:
      case 1:
        for (int more = rm_.Below(8); more > 0; --more) Want();
        return;
      case 2:
        return Withdraw();
      case 3:
        return GiveBack();
      case 4:
        return ShowNodes();
      case 5:
        return Avoid();
    }
  }
  void Withdraw() {
    if (wanted_.empty()) return;
    const AttemptId attempt = *wanted_.begin();
    wanted_.erase(attempt);
    asks_.Withdraw(attempt);
  }
  // By the master before it was launched, or it ends.
  void GiveBack() {
    if (held_.empty()) return;
    const hadoop::ContainerId id = held_.begin()->first;
    if (rm_.Chance(50)) {
      held_.erase(id);
      asks_.Release(id);
    } else {
      rm_.EndOne(id);
    }
  }
  void ShowNodes() {
    std::vector<hadoop::NodeReport> nodes;
    for (int i = rm_.Below(5); i > 0; --i) {
      nodes.push_back(NodeOf(StrCat("n", rm_.Below(4)), 8192, rm_.Below(8192)));
      nodes.back().capability.others["yarn.io/gpu"] = 4;
    }
    asks_.SetNodes(nodes);
  }

  // Two of four at most, so that there is one with GPUs that is not avoided.
  void Avoid() {
    avoided_.clear();
    for (int i = rm_.Below(3); i > 0; --i) avoided_.insert(StrCat("n", rm_.Below(4)));
    asks_.Avoid(avoided_);
  }

  void Step() {
    rm_.Heartbeat();
    const hadoop::Asked asked = asks_.Next();
    for (const hadoop::ContainerId& id : std::exchange(to_release_, {}))
      EXPECT_TRUE(std::ranges::count(asked.release, id)) << ToString(id) << " is held for longer than an exchange";
    const auto reply = rm_.Allocate(asked);
    if (std::holds_alternative<SimulatedRm::Lost>(reply)) return asks_.Unanswered();
    if (std::holds_alternative<hadoop::NotRegistered>(reply)) {
      rm_.Register();
      return asks_.BeginAnew();
    }
    Take(std::get<hadoop::Allocation>(reply));
  }

  void Take(const hadoop::Allocation& allocation) {
    const YarnAsks::News news = asks_.Answered(allocation);
    for (const YarnGrant& grant : news.grants) {
      EXPECT_EQ(wanted_.erase(grant.attempt), 1u) << ToString(grant.attempt) << " does not wait";
      const ContainerAsk ask = AskOf(grant.attempt);
      EXPECT_GE(grant.container.resource.memory_mib, ask.resources.memory_mb);
      EXPECT_EQ(grant.container.resource.others.size(), ask.resources.gpus > 0 ? 1u : 0u);
      EXPECT_TRUE(held_.emplace(grant.container.id, grant.attempt).second);
      seen_.insert(grant.container.id);
    }
    for (const hadoop::Container& container : allocation.granted) {
      if (seen_.insert(container.id).second) to_release_.insert(container.id);
    }
    for (const hadoop::ContainerStatus& status : allocation.ended) {
      held_.erase(status.id);
      to_release_.erase(status.id);
    }
  }

  void CheckEnd() {
    EXPECT_TRUE(wanted_.empty()) << wanted_.size() << " attempts have no container";
    EXPECT_EQ(asks_.Waiting(), 0);
    EXPECT_FALSE(asks_.HasNews());
    EXPECT_TRUE(asks_.Next().release.empty());
    EXPECT_EQ(rm_.OpenRows(), 0);
    EXPECT_EQ(rm_.avoided(), avoided_);
    for (const auto& [id, container] : rm_.running()) EXPECT_TRUE(held_.contains(id)) << ToString(id) << " is left";
  }

  SimulatedRm rm_;
  YarnAsks asks_;
  int attempts_ = 0;
  std::set<AttemptId> wanted_;  // and have no container
  std::set<std::string> avoided_;
  std::map<hadoop::ContainerId, AttemptId> held_;
  std::set<hadoop::ContainerId> seen_, to_release_;
};

TEST(YarnAsksSeedsTest, EachWantedAttemptHasOneContainerInTheEndAndNothingElseIsHeld) {
  for (uint64_t seed = 1; seed <= kSeeds; ++seed) {
    Schedule(seed).Run();
    ASSERT_FALSE(testing::Test::HasFailure()) << "seed " << seed;
  }
}

}  // namespace
}  // namespace tony
