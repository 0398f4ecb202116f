#include "runtime/yarn/yarn_nodes.h"

#include <gmock/gmock.h>

#include "runtime/base/strings.h"
#include "tests/support/run_until.h"
#include "tests/unit/base/event_loop_fixture.h"
#include "tests/unit/yarn/fake_yarn.h"

namespace tony {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

class YarnNodesTest : public EventLoopTest {
 protected:
  YarnNodesTest() { nodes.Use({node.id(), kFakeToken}); }
  void Start(int64_t number) { nodes.Start(node.Offer(number), {}); }
  bool Stop(int64_t number) { return nodes.Stop(node.id(), YarnId(number)); }
  void Await(size_t events) {
    EXPECT_TRUE(RunUntil(loop, [&] { return told.size() >= events; }));
    Settle();
  }

  FakeNode node{loop};
  HostResolver names{loop};
  std::vector<std::string> told;
  YarnNodes nodes{
      loop,
      names,
      {[this](const auto& id) { told.push_back(StrCat("started ", id.number)); },
       [this](const auto& id, const auto& why) { told.push_back(StrCat("refused ", id.number, ": ", why)); },
       [this](const auto& id) { told.push_back(StrCat("not stopped ", id.number)); }}};
};

TEST_F(YarnNodesTest, WhatIsAskedInOneTurnGoesInOneCall) {
  for (int64_t number : {2, 3, 4}) Start(number);
  EXPECT_THAT(told, IsEmpty());
  Await(3);
  EXPECT_THAT(node.calls, ElementsAre("start 2 3 4"));
  EXPECT_THAT(told, ElementsAre("started 2", "started 3", "started 4"));
  Stop(2);
  Stop(4);
  EXPECT_TRUE(RunUntil(loop, [&] { return node.calls.size() == 2; }));
  EXPECT_EQ(node.calls[1], "stop 2 4");
  EXPECT_THAT(node.running, ElementsAre(3));
}

TEST_F(YarnNodesTest, WhatIsRefusedIsToldWithItsReason) {
  node.refused = {3};
  Start(2);
  Start(3);
  Await(2);
  EXPECT_THAT(told, ElementsAre("started 2", "refused 3: This token is expired"));
}

TEST_F(YarnNodesTest, AStartWhoseAnswerWasLostIsFoundByItsStatus) {
  node.is_lost = true;
  Start(2);
  Await(1);
  EXPECT_THAT(node.calls, ElementsAre("start 2", "statuses 2"));
  EXPECT_THAT(told, ElementsAre("started 2"));
}

TEST_F(YarnNodesTest, AStartThatTheNodeDidNotReadIsRepeated) {
  node.is_deaf = true;
  Start(2);
  EXPECT_TRUE(RunUntil(loop, [&] { return node.server.calls.size() == 1; }));
  node.is_deaf = false;
  Await(1);
  EXPECT_THAT(node.calls, ElementsAre("statuses 2", "start 2"));
  EXPECT_THAT(told, ElementsAre("started 2"));
}

TEST_F(YarnNodesTest, WhatTheNodeHasStartedBeforeIsStarted) {
  node.running = {2};
  Start(2);
  Await(1);
  EXPECT_THAT(told, ElementsAre("started 2"));
}

TEST_F(YarnNodesTest, AStopBeforeTheCallKeepsItFromStarting) {
  Start(2);
  EXPECT_FALSE(Stop(2));
  Settle();
  EXPECT_THAT(node.calls, IsEmpty());
}

TEST_F(YarnNodesTest, AStopDuringTheCallComesAfterIt) {
  node.is_slow = true;
  Start(2);
  EXPECT_TRUE(RunUntil(loop, [&] { return node.server.calls.size() == 1; }));
  EXPECT_TRUE(Stop(2));
  node.GoOn();
  EXPECT_TRUE(RunUntil(loop, [&] { return node.calls.size() == 2; }));
  EXPECT_THAT(node.calls, ElementsAre("start 2", "stop 2"));
  EXPECT_THAT(told, ElementsAre("started 2"));
}

TEST_F(YarnNodesTest, AStopDuringACallWhoseAnswerIsLostComesAfterIt) {
  node.is_slow = node.is_lost = true;
  Start(2);
  EXPECT_TRUE(RunUntil(loop, [&] { return node.server.calls.size() == 1; }));
  EXPECT_TRUE(Stop(2));
  node.GoOn();
  EXPECT_TRUE(RunUntil(loop, [&] { return node.calls.size() == 3; }));
  EXPECT_THAT(node.calls, ElementsAre("start 2", "statuses 2", "stop 2"));
}

TEST_F(YarnNodesTest, AStopDuringACallThatIsNotReadKeepsItFromStarting) {
  node.is_slow = true;
  Start(2);
  EXPECT_TRUE(RunUntil(loop, [&] { return node.server.calls.size() == 1; }));
  EXPECT_TRUE(Stop(2));
  node.is_slow = false;
  node.server.CloseAll();
  Await(1);
  EXPECT_THAT(told, ElementsAre("refused 2: stopped before it was started"));
  EXPECT_THAT(node.calls, ElementsAre("statuses 2"));
  EXPECT_THAT(node.running, IsEmpty());
}

TEST_F(YarnNodesTest, WhatTheNodeDoesNotHaveIsNotStopped) {
  EXPECT_TRUE(Stop(9));
  Await(1);
  EXPECT_THAT(told, ElementsAre("not stopped 9"));
}

TEST_F(YarnNodesTest, AWrongTokenIsFinal) {
  nodes.Use({node.id(), {"an identifier", "wrong", "", ""}});
  Start(2);
  EXPECT_TRUE(RunUntil(loop, [&] { return !told.empty(); }));
  EXPECT_TRUE(told[0].starts_with("refused 2: ")) << told[0];
}

TEST_F(YarnNodesTest, OfAForgottenContainerNothingIsTold) {
  Start(2);
  Start(3);
  nodes.Forget(node.id(), YarnId(2));
  Await(1);
  EXPECT_THAT(node.calls, ElementsAre("start 3"));
  Start(4);
  nodes.Forget(node.id());
  Settle();
  EXPECT_THAT(told, ElementsAre("started 3"));
}

// More nodes than connections: each has its turn.
TEST_F(YarnNodesTest, ConnectionsAreBounded) {
  std::vector<std::unique_ptr<FakeNode>> many;
  for (int i = 0; i < YarnNodes::kMostConnections + 20; ++i) {
    many.push_back(std::make_unique<FakeNode>(loop));
    nodes.Use({many.back()->id(), kFakeToken});
    nodes.Start(many.back()->Offer(i + 2), {});
  }
  int most = 0;
  EXPECT_TRUE(RunUntil(loop, [&] {
    most = std::max(most, nodes.connections());
    return told.size() == many.size();
  })) << Join(told, "\n");
  EXPECT_EQ(most, YarnNodes::kMostConnections);
}

}  // namespace
}  // namespace tony
