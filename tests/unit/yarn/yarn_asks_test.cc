#include "runtime/yarn/yarn_asks.h"

#include <gmock/gmock.h>

#include "runtime/base/strings.h"
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

}  // namespace
}  // namespace tony
