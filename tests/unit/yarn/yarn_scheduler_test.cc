#include "runtime/yarn/yarn_scheduler.h"

#include <gmock/gmock.h>

#include <optional>

#include "runtime/base/result.h"
#include "runtime/base/strings.h"
#include "tests/support/run_until.h"
#include "tests/unit/base/event_loop_fixture.h"
#include "tests/unit/yarn/fake_yarn.h"

namespace tony {
namespace {

using testing::Contains;
using testing::Each;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using testing::StartsWith;

std::string Short(const ContainerId& id) {
  const auto yarn = hadoop::ParseContainerId(id.value);
  return yarn ? StrCat(yarn->number) : id.value;
}

std::string TextOf(const SchedulerEvent& event) {
  return std::visit(Overloaded{[](const ContainerGranted& e) {
                                 return StrCat("granted ", ToString(e.attempt), " ", Short(e.container), " on ",
                                               e.host);
                               },
                               [](const ContainerStarted& e) { return StrCat("started ", Short(e.container)); },
                               [](const ContainerExited& e) {
                                 return StrCat(e.certain ? "" : "maybe ", "exited ", Short(e.container), ": ",
                                               e.status ? ToString(*e.status) : e.error, e.cls ? ", " : "",
                                               e.cls ? ToString(*e.cls) : "");
                               },
                               [](const ContainerPreempting& e) { return StrCat("preempting ", Short(e.container)); },
                               [](const ContainersDelayed& e) { return StrCat("delayed: ", e.reason); },
                               [](const SchedulerReached& e) { return StrCat("reached ", e.running.size()); },
                               [](const SchedulerLost& e) { return StrCat("lost: ", e.reason); }},
                    event);
}

class YarnSchedulerTest : public EventLoopTest {
 protected:
  void Begin(Duration lease = Duration(10'000)) {
    scheduler.emplace(YarnSide{.loop = loop,
                               .names = names,
                               .resource_manager = {"127.0.0.1", rm->server.port()},
                               .token = kFakeToken,
                               .address = {"n1", 4242, "http://n1:1/"},
                               .kept_at = "http://kept:1/",
                               .user = "eve",
                               .am_lease = lease,
                               .sink =
                                   [this](const SchedulerEvent& event) {
                                     events.push_back(TextOf(event));
                                     if (const auto* granted = std::get_if<ContainerGranted>(&event))
                                       last = granted->container, log_url = granted->log_url;
                                   },
                               .context =
                                   [this](const ContainerId& id, const ExecutorLaunch& what, const std::string& host) {
                                     hadoop::LaunchContext context;
                                     context.command =
                                         StrCat("run ", Short(id), " ", ToString(what.attempt), " on ", host);
                                     commands.push_back(context.command);
                                     return context;
                                   },
                               .over = [this](const std::string& reason) { over = reason; },
                               .list_nodes = list_nodes,
                               .quick = Duration(5),
                               .usual = Duration(20),
                               .gang_hold = gang_hold,
                               .lost_after = Duration(50)});
  }
  void Await(const std::string& event) {
    EXPECT_TRUE(RunUntil(loop, [&] { return std::ranges::count(events, event) > 0; }))
        << event << "\nin: " << Join(events, "\n    ");
  }
  // "worker:0" runs in container 2.
  void RunOne() {
    Begin();
    scheduler->Request({AskFor(Attempt(0))});
    Await("granted worker:0#1 2 on 127.0.0.1");
    scheduler->Launch(Container(2), {Attempt(0), {}});
    Await("started 2");
  }
  // "worker:0" and "worker:1" are a gang, of which container 2 alone is granted.
  void AskForTwoOfWhichOneComes(Duration hold) {
    gang_hold = hold;
    rm->most_grants = 1;
    Begin();
    scheduler->Request({AskFor(Attempt(0)), AskFor(Attempt(1))});
    EXPECT_TRUE(RunUntil(loop, [&] { return rm->granted == 1; }));
  }
  void AwaitExchanges(size_t more) {
    const size_t enough = rm->exchanges.size() + more;
    EXPECT_TRUE(RunUntil(loop, [&] { return rm->exchanges.size() >= enough; }));
  }
  static ContainerId Container(int64_t number) { return {ToString(YarnId(number))}; }

  FakeNode node{loop};
  std::optional<FakeRm> rm{std::in_place, loop, node};
  HostResolver names{loop};
  std::vector<std::string> events, commands;
  ContainerId last;
  std::string log_url;  // of the same
  std::string over;
  std::function<void(YarnSide::OnNodes)> list_nodes;
  Duration gang_hold{0};
  std::optional<YarnScheduler> scheduler;
};

TEST_F(YarnSchedulerTest, ItIsReachedBeforeAnythingElse) {
  Begin();
  scheduler->Request({AskFor(Attempt(0))});
  EXPECT_THAT(events, IsEmpty());
  Await("granted worker:0#1 2 on 127.0.0.1");
  EXPECT_THAT(events, ElementsAre("reached 0", "granted worker:0#1 2 on 127.0.0.1"));
  EXPECT_TRUE(scheduler->Holds());
}

TEST_F(YarnSchedulerTest, AContainerRunsAndEndsOnce) {
  RunOne();
  EXPECT_THAT(commands, ElementsAre("run 2 worker:0#1 on 127.0.0.1"));
  scheduler->Launch(Container(2), {Attempt(0), {}});
  rm->End(2, 3);
  Await("exited 2: exit code 3");
  rm->End(2, 3);
  scheduler->Stop(Container(2), StopMode::kKill);
  AwaitExchanges(3);
  EXPECT_EQ(events.back(), "exited 2: exit code 3");
  EXPECT_THAT(node.calls, ElementsAre("start 2"));
}

TEST_F(YarnSchedulerTest, AContainerComesWithALinkToItsLogs) {
  RunOne();
  EXPECT_EQ(log_url, StrCat("http://n1:8042/node/containerlogs/", Container(2).value, "/eve"));
}

TEST_F(YarnSchedulerTest, RowsForHostsAreAskedWhereTheyAreKnown) {
  list_nodes = [](YarnSide::OnNodes done) { done(std::vector<hadoop::NodeReport>{NodeOf("n1", 8192)}); };
  Begin();
  scheduler->Request({AskFor(Attempt(0)), AskFor(Attempt(1))});
  Await("granted worker:1#1 3 on 127.0.0.1");
  const auto ask = std::ranges::find_if(rm->exchanges, [](const auto& exchange) { return exchange.ask_size() > 0; });
  ASSERT_NE(ask, rm->exchanges.end());
  EXPECT_EQ(ask->ask_size(), 3);
  EXPECT_EQ(ask->ask(1).resource_name(), "n1");
  EXPECT_EQ(ask->ask(1).num_containers(), 2);
}

TEST_F(YarnSchedulerTest, AStoppedContainerEndsWhenTheResourceManagerSaysSo) {
  RunOne();
  scheduler->Stop(Container(2), StopMode::kTerm);
  EXPECT_TRUE(RunUntil(loop, [&] { return node.calls.size() == 2; }));
  EXPECT_EQ(node.calls[1], "stop 2");
  AwaitExchanges(2);
  EXPECT_EQ(events.back(), "started 2");
  rm->End(2, -105);
  Await("exited 2: stopped, killed");
  EXPECT_THAT(rm->released, IsEmpty());
}

TEST_F(YarnSchedulerTest, WhatIsStoppedBeforeItsLaunchIsReleased) {
  Begin();
  scheduler->Request({AskFor(Attempt(0))});
  Await("granted worker:0#1 2 on 127.0.0.1");
  scheduler->Stop(Container(2), StopMode::kTerm);
  Await("exited 2: stopped before it was started, killed");
  scheduler->Launch(Container(2), {Attempt(0), {}});
  AwaitExchanges(3);
  EXPECT_THAT(rm->released, ElementsAre(2));
  EXPECT_THAT(node.calls, IsEmpty());
  EXPECT_EQ(events.back(), "exited 2: stopped before it was started, killed");
}

TEST_F(YarnSchedulerTest, AContainerThatNobodyKnowsIsToldToBeGoneOnce) {
  Begin();
  Await("reached 0");
  for (int i = 0; i < 2; ++i) scheduler->Stop(Container(7), StopMode::kKill);
  Await("exited 7: it was not there, killed");
  Settle();
  EXPECT_THAT(events, ElementsAre("reached 0", "exited 7: it was not there, killed"));
}

TEST_F(YarnSchedulerTest, ANodeThatRefusesAStartGetsItsContainerTaken) {
  node.refused = {2};
  Begin();
  scheduler->Request({AskFor(Attempt(0))});
  Await("granted worker:0#1 2 on 127.0.0.1");
  scheduler->Launch(Container(2), {Attempt(0), {}});
  Await("exited 2: This token is expired, infra");
  AwaitExchanges(3);
  EXPECT_THAT(rm->released, ElementsAre(2));
}

TEST_F(YarnSchedulerTest, AStopThatTheNodeCannotDoIsTheResourceManagers) {
  RunOne();
  node.running.clear();
  scheduler->Stop(Container(2), StopMode::kKill);
  EXPECT_TRUE(RunUntil(loop, [&] { return !rm->released.empty(); }));
  EXPECT_THAT(rm->released, ElementsAre(2));
  EXPECT_TRUE(RunUntil(loop, [&] { return events.back().starts_with("exited 2: "); }));
  EXPECT_THAT(events.back(), HasSubstr(", killed"));
}

TEST_F(YarnSchedulerTest, EndsOfNodesAndPreemptionAreTold) {
  RunOne();
  *rm->next.mutable_preempt()->mutable_strictcontract()->add_container()->mutable_id() = hadoop::ToWire(YarnId(2));
  Await("preempting 2");
  *rm->next.mutable_preempt()->mutable_strictcontract()->add_container()->mutable_id() = hadoop::ToWire(YarnId(2));
  AwaitExchanges(3);
  EXPECT_EQ(std::ranges::count(events, "preempting 2"), 1);
  auto& lost = *rm->next.add_updated_nodes();
  lost.set_node_state(wire::NS_LOST);
  lost.mutable_nodeid()->set_host(node.id().host);
  lost.mutable_nodeid()->set_port(node.id().port);
  rm->End(2, -100);
  Await("maybe exited 2: its node was lost, node_lost");
}

TEST_F(YarnSchedulerTest, TheEndOfALostNodesContainerIsCertainSomeTimeAfterItsStop) {
  RunOne();
  rm->End(2, -100);
  Await("maybe exited 2: its node was lost, node_lost");
  AwaitExchanges(5);
  EXPECT_EQ(events.back(), "maybe exited 2: its node was lost, node_lost");
  for (int i = 0; i < 2; ++i) scheduler->Stop(Container(2), StopMode::kKill);
  Await("exited 2: its node was lost, node_lost");
  AwaitExchanges(5);
  EXPECT_EQ(std::ranges::count(events, "exited 2: its node was lost, node_lost"), 1);
  EXPECT_THAT(node.calls, ElementsAre("start 2"));
}

TEST_F(YarnSchedulerTest, WhatIsNeverGrantedIsRefusedWithBothNumbers) {
  Begin();
  Await("reached 0");
  scheduler->Request({AskFor(Attempt(0), {.memory_mb = 65536})});
  Await("granted worker:0#1 refused-1 on ");
  scheduler->Launch(last, {Attempt(0), {}});
  Await(
      "exited refused-1: 65536 MB of memory is above 8192 MB, the most that this cluster gives a container, "
      "user_config");
}

TEST_F(YarnSchedulerTest, AnAskThatTheResourceManagerRefusesEndsItsAttempt) {
  rm->refusal = "InvalidLabelResourceRequestException";
  Begin();
  scheduler->Request({AskFor(Attempt(0), {.memory_mb = 256}, "nowhere")});
  Await("granted worker:0#1 refused-1 on ");
  scheduler->Launch(last, {Attempt(0), {}});
  EXPECT_TRUE(RunUntil(loop, [&] { return events.back().starts_with("exited refused-1: "); }));
  EXPECT_THAT(events.back(), HasSubstr("InvalidLabelResourceRequestException: not on this cluster, user_config"));
  scheduler->Request({AskFor(Attempt(1))});
  Await("granted worker:1#1 2 on 127.0.0.1");
}

TEST_F(YarnSchedulerTest, ATroubleThatMayPassIsNoRefusal) {
  rm->refusal = "YarnException";
  Begin();
  scheduler->Request({AskFor(Attempt(0))});
  Await("granted worker:0#1 2 on 127.0.0.1");
}

TEST_F(YarnSchedulerTest, WhatAnEarlierAttemptLeftIsRunningAndCanBeStopped) {
  rm->kept = {7};
  node.running = {7};
  Begin();
  Await("reached 1");
  scheduler->Stop(Container(7), StopMode::kTerm);
  EXPECT_TRUE(RunUntil(loop, [&] { return node.calls == std::vector<std::string>{"stop 7"}; }));
  rm->End(7, -105);
  Await("exited 7: stopped, killed");
  rm->has_begun_anew = true;  // and lists it once more
  EXPECT_TRUE(RunUntil(loop, [&] { return rm->registrations == 2; }));
  Settle();
  scheduler->Stop(Container(7), StopMode::kTerm);
  Settle();
  EXPECT_EQ(events.back(), "exited 7: stopped, killed");
  EXPECT_EQ(node.calls.size(), 1u);
}

TEST_F(YarnSchedulerTest, AWithdrawnAskIsTakenBack) {
  rm->is_granting = false;
  Begin();
  scheduler->Request({AskFor(Attempt(0))});
  AwaitExchanges(2);
  scheduler->Withdraw({Attempt(0)});
  AwaitExchanges(2);
  rm->is_granting = true;
  AwaitExchanges(3);
  EXPECT_THAT(events, ElementsAre("reached 0"));
}

TEST_F(YarnSchedulerTest, ADelayIsToldWithItsReasonUntilItIsOver) {
  RunOne();
  rm->is_granting = false;
  scheduler->Request({AskFor(Attempt(1)), AskFor(Attempt(2))});
  Await("delayed: waits for 2 of 3 containers: the queue has 0 MB of memory and 0 vcores left");
  rm->is_granting = true;
  Await("delayed: ");
}

TEST_F(YarnSchedulerTest, AGangIsHandedOutWhole) {
  AskForTwoOfWhichOneComes(Duration(60'000));
  AwaitExchanges(2);
  EXPECT_THAT(events, Each(Not(StartsWith("granted"))));
  Await("delayed: waits for 1 of 2 containers: the queue has 0 MB of memory and 0 vcores left");
  rm->most_grants = 2;
  Await("granted worker:0#1 2 on 127.0.0.1");
  Await("granted worker:1#1 3 on 127.0.0.1");
}

TEST_F(YarnSchedulerTest, AGangThatDoesNotBecomeWholeGivesBackAndAsksAgain) {
  AskForTwoOfWhichOneComes(Duration(50));
  EXPECT_TRUE(RunUntil(loop, [&] { return rm->released.contains(2); }));
  EXPECT_TRUE(RunUntil(loop, [&] { return events.back().starts_with("delayed: gave 1 of 2 containers back at "); }));
  rm->most_grants = 10;
  Await("granted worker:0#1 3 on 127.0.0.1");
  Await("granted worker:1#1 4 on 127.0.0.1");
}

TEST_F(YarnSchedulerTest, AKeptContainerThatEndsIsNoEndOfTheMasters) {
  AskForTwoOfWhichOneComes(Duration(60'000));
  AwaitExchanges(2);
  rm->End(2, -102);
  rm->most_grants = 3;
  Await("granted worker:0#1 4 on 127.0.0.1");
  EXPECT_EQ(std::ranges::count_if(events, [](const auto& event) { return event.starts_with("exited"); }), 0);
}

TEST_F(YarnSchedulerTest, ANodeThatFailsTwiceIsAvoided) {
  rm->cluster_nodes = 2;
  node.refused = {2, 3};
  Begin();
  for (const int number : {2, 3}) {
    scheduler->Request({AskFor(Attempt(number))});
    EXPECT_TRUE(RunUntil(loop, [&] { return last == Container(number); }));
    EXPECT_EQ(rm->avoided, std::set<std::string>());
    scheduler->Launch(Container(number), {Attempt(number), {}});
    EXPECT_TRUE(RunUntil(loop, [&] { return rm->released.contains(number); }));
  }
  EXPECT_TRUE(RunUntil(loop, [&] { return rm->avoided == std::set<std::string>{"127.0.0.1"}; }));
  const auto tells_it = [](const std::string& event) {
    return event.find("; 127.0.0.1 is avoided for 10 minutes, since 2 containers failed there") != std::string::npos;
  };
  EXPECT_EQ(std::ranges::count_if(events, tells_it), 1);
}

TEST_F(YarnSchedulerTest, ALostResourceManagerIsToldAndFoundAgain) {
  Begin(Duration(500));
  Await("reached 0");
  rm->is_silent = true;
  Await("lost: no answer from the ResourceManager for 500 ms");
  EXPECT_FALSE(scheduler->Holds());
  rm->is_silent = false;
  rm->server.CloseAll();
  EXPECT_TRUE(RunUntil(loop, [&] { return std::ranges::count(events, "reached 0") >= 2; }));
  EXPECT_TRUE(scheduler->Holds());
}

TEST_F(YarnSchedulerTest, AResourceManagerThatBeganAnewHearsAllAgain) {
  RunOne();
  rm->is_granting = false;
  scheduler->Request({AskFor(Attempt(1))});
  AwaitExchanges(2);
  rm->has_begun_anew = true;
  rm->is_granting = true;
  Await("granted worker:1#1 3 on 127.0.0.1");
  EXPECT_EQ(rm->registrations, 2);
  EXPECT_THAT(events, Contains("started 2"));
  rm->End(2, 0);
  Await("exited 2: exit code 0");
}

TEST_F(YarnSchedulerTest, AnAttemptThatIsOverRulesNoMore) {
  RunOne();
  rm->server.on_call = [&](const FakeRpcServer::Call& call) {
    rm->server.Fail(call, kYarnExceptions + "ApplicationAttemptNotFoundException", "killed by alice");
  };
  Await("lost: this attempt is over: killed by alice");
  EXPECT_TRUE(RunUntil(loop, [&] { return !over.empty(); }));
  EXPECT_EQ(over, "killed by alice");
  EXPECT_FALSE(scheduler->Holds());
  const size_t calls = rm->server.calls.size();
  Settle();
  EXPECT_EQ(rm->server.calls.size(), calls);
}

TEST_F(YarnSchedulerTest, TheEndIsToldUntilItIsRecorded) {
  RunOne();
  bool done = false;
  scheduler->Finish({.state = FinalState::kFailed, .message = "worker:0 failed"}, [&] { done = true; });
  EXPECT_FALSE(done);
  EXPECT_TRUE(RunUntil(loop, [&] { return done; }));
  ASSERT_EQ(rm->ends.size(), 2u);
  EXPECT_EQ(rm->ends[1].diagnostics(), "worker:0 failed");
  EXPECT_EQ(rm->ends[1].tracking_url(), "http://kept:1/") << "the master's own page ends with it";
  EXPECT_EQ(rm->ends[1].final_application_status(), wire::APP_FAILED);
  EXPECT_TRUE(scheduler->Holds());
}

TEST_F(YarnSchedulerTest, AnEndThatComesBeforeTheRegistrationIsTold) {
  Begin();
  bool done = false;
  scheduler->Finish({.state = FinalState::kKilled, .message = "killed by alice"}, [&] { done = true; });
  EXPECT_TRUE(RunUntil(loop, [&] { return done; }));
  EXPECT_EQ(rm->ends.back().final_application_status(), wire::APP_KILLED);
}

TEST_F(YarnSchedulerTest, ProgressGoesWithTheExchange) {
  Begin();
  scheduler->TellProgress(0.5);
  AwaitExchanges(1);
  EXPECT_EQ(rm->exchanges.back().progress(), 0.5F);
}

}  // namespace
}  // namespace tony
