#include "runtime/yarn/yarn_scheduler.h"

#include <gtest/gtest.h>

#include <optional>

#include "runtime/base/result.h"
#include "runtime/base/strings.h"
#include "tests/support/run_until.h"
#include "tests/support/script.h"
#include "tests/unit/base/event_loop_fixture.h"
#include "tests/unit/yarn/fake_yarn.h"

namespace tony {
namespace {

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
                               [](const ContainersPending& e) { return StrCat("delayed: ", e.reason); },
                               [](const SchedulerReached& e) { return StrCat("reached ", e.running.size()); },
                               [](const SchedulerLost& e) { return StrCat("lost: ", e.reason); }},
                    event);
}

class SchedulerWorld : public EventLoopTest {
 public:
  void TestBody() override {}
  void Begin(Duration lease = Duration(10'000)) {
    scheduler.emplace(YarnSchedulerInputs{
        .loop = loop,
        .names = names,
        .resource_managers = {{"127.0.0.1", rm->server.port()}},
        .token = kFakeToken,
        .address = {"n1", 4242, "http://n1:1/"},
        .page_after_end = "http://kept:1/",
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
              context.command = StrCat("run ", Short(id), " ", ToString(what.attempt), " on ", host);
              commands.push_back(context.command);
              return context;
            },
        .over = [this](const std::string& reason) { over = reason; },
        .list_nodes = list_nodes,
        .read_queue = read_queue,
        .quick = Duration(5),
        .usual = Duration(20),
        .gang_hold = gang_hold,
        .lost_after = Duration(50),
        .earlier = std::exchange(saved, {}),
        .save = [this](const MasterState& state) { saved = state; },
        .is_known = [this](const ContainerId& id) { return !unknown.contains(id); }});
  }
  void Await(const std::string& event) {
    EXPECT_TRUE(RunUntil(loop, [&] { return std::ranges::count(events, event) > 0; }))
        << event << "\nin: " << Join(events, "\n    ");
  }
  void AwaitExchanges(size_t more) {
    const size_t enough = rm->exchanges.size() + more;
    EXPECT_TRUE(RunUntil(loop, [&] { return rm->exchanges.size() >= enough; }));
  }
  void Until(const std::function<bool()>& condition) {
    EXPECT_TRUE(RunUntil(loop, condition)) << "in: " << Join(events, "\n    ");
  }
  // Returns the container with this number, or the last one that was granted.
  ContainerId ContainerOf(const Words& its) const { return its[1] == "last" ? last : Container(its.Number(1)); }
  void Tell(const std::function<void(const FakeRpcServer::Call&)>& on_call) { rm->server.on_call = on_call; }
  template <class Each>
  static std::string Listed(const std::string& what, const Each& each) {
    std::string text = what;
    for (const auto& one : each) text += StrCat(" ", one);
    return text;
  }
  static Deeds<SchedulerWorld> Its();
  static ContainerId Container(int64_t number) { return {ToString(YarnId(number))}; }

  FakeNode node{loop};
  std::optional<FakeRm> rm{std::in_place, loop, node};
  HostResolver names{loop};
  std::vector<std::string> events, commands;
  ContainerId last;
  // The link to the logs of `last`.
  std::string log_url;
  std::string over;
  std::function<void(YarnSchedulerInputs::OnNodes)> list_nodes;
  std::function<void(const std::string&, YarnSchedulerInputs::OnQueue)> read_queue;
  Duration gang_hold{0};
  MasterState saved;
  // Containers that no decision of the job names.
  std::set<ContainerId> unknown;
  std::optional<YarnScheduler> scheduler;
  bool done = false;  // true once Finish() has completed
};

Deeds<SchedulerWorld> SchedulerWorld::Its() {
  return {
      // ---- Steps of the ResourceManager and its node
      {"nodes",
       [](auto& w, auto&) {
         w.list_nodes = [](YarnSchedulerInputs::OnNodes on) {
           on(std::vector<hadoop::NodeReport>{NodeOf("n1", 8192)});
         };
       }},
      {"headroom",
       [](auto& w, auto& its) {
         w.rm->headroom = {its.Number(1), static_cast<int32_t>(its.Number(2)), {}};
       }},
      {"queue-is",
       // The used and the largest part of the cluster, in percent.
       [](auto& w, auto& its) {
         w.read_queue = [used = its.Number(1), most = its.Number(2)](const std::string& name,
                                                                     const YarnSchedulerInputs::OnQueue& on) {
           hadoop::QueueReport queue{.path = name, .most = most / 100.0};
           queue.used = used / 100.0;
           on(queue);
         };
       }},
      {"cluster", [](auto& w, auto& its) { w.rm->cluster_nodes = static_cast<int>(its.Number(1)); }},
      {"grants", [](auto& w, auto& its) { w.rm->most_grants = static_cast<int>(its.Number(1)); }},
      {"granting", [](auto& w, auto& its) { w.rm->is_granting = its[1] == "yes"; }},
      {"silent", [](auto& w, auto& its) { w.rm->is_silent = its[1] == "yes"; }},
      {"refuses", [](auto& w, auto& its) { w.rm->refusal = its[1]; }},
      {"refuses-start", [](auto& w, auto& its) { w.node.refused.insert(its.Number(1)); }},
      {"kept",
       [](auto& w, auto& its) {
         w.rm->kept = {its.Number(1)};
         w.node.running = {its.Number(1)};
       }},
      {"forgets", [](auto& w, auto&) { w.rm->has_begun_anew = true; }},
      {"close", [](auto& w, auto&) { w.rm->server.CloseAll(); }},
      {"end", [](auto& w, auto& its) { w.rm->End(its.Number(1), static_cast<int>(its.Number(2))); }},
      {"preempt",
       [](auto& w, auto& its) {
         *w.rm->next.mutable_preempt()->mutable_strictcontract()->add_container()->mutable_id() =
             hadoop::ToWire(YarnId(its.Number(1)));
       }},
      {"wants-back",
       [](auto& w, auto& its) {
         *w.rm->next.mutable_preempt()->mutable_contract()->add_container()->mutable_id() =
             hadoop::ToWire(YarnId(its.Number(1)));
       }},
      {"lose-node",
       [](auto& w, auto&) {
         auto& lost = *w.rm->next.add_updated_nodes();
         lost.set_node_state(wire::NS_LOST);
         lost.mutable_nodeid()->set_host(w.node.id().host);
         lost.mutable_nodeid()->set_port(w.node.id().port);
       }},
      {"node-is", [](auto& w, auto& its) { w.node.is_slow = its[1] == "slow"; }},
      {"node-forgets", [](auto& w, auto&) { w.node.running.clear(); }},
      {"attempt-over",
       [](auto& w, auto&) {
         w.Tell([&w](const FakeRpcServer::Call& call) {
           w.rm->server.Fail(call, kYarnExceptions + "ApplicationAttemptNotFoundException", "killed by alice");
         });
       }},
      {"demands", [](auto& w, auto& its) { w.rm->server.challenge_qop = its[1]; }},
      // ---- Steps of the scheduler
      {"hold", [](auto& w, auto& its) { w.gang_hold = Duration(its.Number(1)); }},
      {"begin", [](auto& w, auto& its) { w.Begin(Duration(its.Number(1, 10'000))); }},
      {"unknown", [](auto& w, auto& its) { w.unknown.insert(Container(its.Number(1))); }},
      {"start-unsaved",
       // The AM process has not saved yet that its containers run.
       [](auto& w, auto&) {
         for (MasterState::Held& held : w.saved.held) held.is_running = false;
       }},
      {"next-process",
       // The AM process dies; the next one of the same attempt begins.
       [](auto& w, auto&) {
         w.scheduler.reset();
         w.events.clear();
         w.Begin();
       }},
      {"ask",
       // Requests containers for one or more workers as one gang; "512MB" and a label may follow.
       [](auto& w, auto& its) {
         std::vector<ContainerRequest> asks;
         Resources size{.memory_mb = 256};
         std::string label;
         for (size_t i = 1; !its[i].empty(); ++i) {
           if (its[i].ends_with("MB"))
             size.memory_mb = static_cast<int>(*ParseInt(its[i].substr(0, its[i].size() - 2)));
           if (its[i].starts_with("label=")) label = its[i].substr(6);
         }
         for (size_t i = 1; !its[i].empty() && isdigit(its[i][0]) && !its[i].ends_with("MB"); ++i)
           asks.push_back(AskFor(Attempt(static_cast<int>(its.Number(i))), size, label));
         w.scheduler->Request(asks);
       }},
      {"withdraw", [](auto& w, auto& its) { w.scheduler->Withdraw({Attempt(static_cast<int>(its.Number(1)))}); }},
      {"launch",
       [](auto& w, auto& its) {
         w.scheduler->Launch(w.ContainerOf(its), {Attempt(static_cast<int>(its.Number(2))), {}});
       }},
      {"run-one",
       [](auto& w, auto&) {  // Runs worker:0 in container 2.
         w.Begin();
         w.scheduler->Request({AskFor(Attempt(0))});
         w.Await("granted worker:0#1 2 on 127.0.0.1");
         w.scheduler->Launch(Container(2), {Attempt(0), {}});
         w.Await("started 2");
       }},
      {"term", [](auto& w, auto& its) { w.scheduler->Stop(w.ContainerOf(its), StopMode::kTerm); }},
      {"kill", [](auto& w, auto& its) { w.scheduler->Stop(w.ContainerOf(its), StopMode::kKill); }},
      {"finish",
       [](auto& w, auto& its) {
         w.scheduler->Finish(
             {.state = its[1] == "KILLED" ? FinalState::kKilled : FinalState::kFailed, .message = its.From(2)},
             [&w] { w.done = true; });
         EXPECT_FALSE(w.done);
       }},
      {"progress", [](auto& w, auto&) { w.scheduler->TellProgress(0.5); }},
      // ---- Steps that wait
      {"hears", [](auto& w, auto& its) { w.Await(its.From(1)); }},
      {"hears-begin",
       [](auto& w, auto& its) {
         w.Until([&] { return !w.events.empty() && w.events.back().starts_with(its.From(1)); });
         return w.events.back();
       }},
      {"hears-twice",
       [](auto& w, auto& its) { w.Until([&] { return std::ranges::count(w.events, its.From(1)) >= 2; }); }},
      {"exchanges", [](auto& w, auto& its) { w.AwaitExchanges(static_cast<size_t>(its.Number(1))); }},
      {"settle", [](auto& w, auto&) { w.Settle(); }},
      {"node-calls",
       [](auto& w, auto& its) { w.Until([&] { return w.node.calls.size() == static_cast<size_t>(its.Number(1)); }); }},
      {"granted-in-all", [](auto& w, auto& its) { w.Until([&] { return w.rm->granted == its.Number(1); }); }},
      {"last-granted", [](auto& w, auto& its) { w.Until([&] { return w.last == Container(its.Number(1)); }); }},
      {"releases", [](auto& w, auto& its) { w.Until([&] { return w.rm->released.contains(its.Number(1)); }); }},
      {"registers", [](auto& w, auto& its) { w.Until([&] { return w.rm->registrations == its.Number(1); }); }},
      {"avoids", [](auto& w, auto& its) { w.Until([&] { return w.rm->avoided == std::set<std::string>{its[1]}; }); }},
      {"done", [](auto& w, auto&) { w.Until([&] { return w.done; }); }},
      {"over",
       [](auto& w, auto&) {
         w.Until([&] { return !w.over.empty(); });
         return Replaced(w.over, StrCat(w.rm->server.port()), "PORT");
       }},
      // ---- Steps that return a result
      {"heard", [](auto& w, auto&) { return "heard: " + Join(w.events, "; "); }},
      {"last", [](auto& w, auto&) { return w.events.back(); }},
      {"times",
       [](auto& w, auto& its) {
         return StrCat(
             std::ranges::count_if(w.events, [&](const auto& e) { return e.find(its.From(1)) != std::string::npos; }),
             " times");
       }},
      {"holds", [](auto& w, auto&) { return w.scheduler->Holds() ? "holds" : "holds not"; }},
      {"calls", [](auto& w, auto&) { return "calls: " + Join(w.node.calls, "; "); }},
      {"commands", [](auto& w, auto&) { return Join(w.commands, "; "); }},
      {"released", [](auto& w, auto&) { return Listed("released", w.rm->released); }},
      {"avoided", [](auto& w, auto&) { return Listed("avoided", w.rm->avoided); }},
      {"registrations", [](auto& w, auto&) { return StrCat(w.rm->registrations, " registrations"); }},
      {"log-url", [](auto& w, auto&) { return Replaced(w.log_url, Container(2).value, "CONTAINER"); }},
      {"quiet",
       // Returns "quiet" if the ResourceManager gets no further call.
       [](auto& w, auto&) {
         const size_t calls = w.rm->server.calls.size();
         w.Settle();
         return w.rm->server.calls.size() == calls ? "quiet" : "calls";
       }},
      {"ends",
       [](auto& w, auto&) {
         const auto& end = w.rm->ends.back();
         return StrCat(w.rm->ends.size(), " ", wire::FinalApplicationStatus_Name(end.final_application_status()), " ",
                       end.diagnostics(), " ", end.tracking_url());
       }},
      {"progress-told",
       [](auto& w, auto&) { return w.rm->exchanges.back().progress() == 0.5F ? "a half" : "another"; }},
      {"first-ask",
       [](auto& w, auto&) {
         const auto ask =
             std::ranges::find_if(w.rm->exchanges, [](const auto& exchange) { return exchange.ask_size() > 0; });
         std::string text;
         for (const auto& row : ask->ask()) text += StrCat(row.resource_name(), "=", row.num_containers(), " ");
         return text;
       }},
  };
}

const TestRow kSchedules[] = {
    {"TheResourceManagerIsReportedAsReachableBeforeTheFirstGrant",
     {{"begin | ask 0 | heard | hears granted worker:0#1 2 on 127.0.0.1 | heard | holds",
       "heard:  | heard: reached 0; granted worker:0#1 2 on 127.0.0.1 | holds"}}},
    {"AContainerIsStartedOnceAndItsEndIsReportedOnce",
     {{"run-one | commands | launch 2 0 | end 2 3 | hears exited 2: exit code 3 | end 2 3 | kill 2 | exchanges 3 | "
       "last | calls",
       "run 2 worker:0#1 on 127.0.0.1 | exited 2: exit code 3 | calls: start 2"}}},
    {"AGrantedContainerHasALinkToItsLogs", {{"run-one | log-url", "http://n1:8042/node/containerlogs/CONTAINER/eve"}}},
    {"ContainersAreRequestedByHostAndRackIfHostsAreKnown",
     {{"nodes | begin | ask 0 1 | hears granted worker:1#1 3 on 127.0.0.1 | first-ask", "/rack=2 n1=2 *=2 "}}},
    {"AStoppedContainerIsReportedEndedOnlyAfterTheResourceManagerReportsTheEnd",
     {{"run-one | term 2 | node-calls 2 | calls | exchanges 2 | last", "calls: start 2; stop 2 | started 2"},
      {"end 2 -105 | hears exited 2: the application master stopped the container, killed | released", "released"}}},
    {"AContainerStoppedBeforeItsLaunchIsReleased",
     {{"begin | ask 0 | hears granted worker:0#1 2 on 127.0.0.1 | term 2", ""},
      {"hears exited 2: the container was stopped before it was started, killed | launch 2 0 | exchanges 3 | released "
       "| calls | last",
       "released 2 | calls:  | exited 2: the container was stopped before it was started, killed"}}},
    {"KillingAnUnknownContainerReportsItsExitOnce",
     {{"begin | hears reached 0 | kill 7 | kill 7 | hears exited 7: the container does not exist, killed | settle | "
       "heard",
       "heard: reached 0; exited 7: the container does not exist, killed"}}},
    {"AContainerWhoseStartIsRefusedIsReleased",
     {{"refuses-start 2 | begin | ask 0 | hears granted worker:0#1 2 on 127.0.0.1 | launch 2 0", ""},
      {"hears exited 2: This token is expired, infra | exchanges 3 | released", "released 2"}}},
    {"AContainerIsReleasedIfTheStopCallFailsOnItsNode",
     {{"run-one | node-forgets | kill 2 | releases 2 | released | hears-begin exited 2: ", "released 2 | ~, killed"}}},
    {"AContainerThatTheCapacitySchedulerWantsBackIsReportedAsPreemptedOnce",
     {{"run-one | wants-back 2 | hears preempting 2 | wants-back 2 | exchanges 3 | times preempting 2", "1 times"}}},
    {"ThePreemptionOfAContainerAndTheLossOfItsNodeAreReported",
     {{"run-one | preempt 2 | hears preempting 2 | preempt 2 | exchanges 3 | times preempting 2", "1 times"},
      {"lose-node | end 2 -100 | hears maybe exited 2: the node was lost, node_lost", ""}}},
    {"TheUncertainEndOfAContainerOnALostNodeBecomesCertainAfterAKill",
     {{"run-one | end 2 -100 | hears maybe exited 2: the node was lost, node_lost | exchanges 5 | last",
       "maybe exited 2: the node was lost, node_lost"},
      {"kill 2 | kill 2 | hears exited 2: the node was lost, node_lost | exchanges 5", ""},
      // The count includes the uncertain end.
      {"times exited 2: the node was lost, node_lost | calls", "2 times | calls: start 2"}}},
    {"TheEndOfAContainerOnALostNodeIsUncertainUntilATimeoutIfTheStopWasUnanswered",
     {{"run-one | node-is slow | kill 2 | exchanges 2 | end 2 -100", ""},
      {"hears-begin maybe exited 2 | hears exited 2: the node was lost, node_lost",
       "maybe exited 2: the node was lost, node_lost"}}},
    {"TheEndOfAContainerOnALostNodeIsCertainAtOnceIfTheNodeAnsweredTheStop",
     {{"run-one | kill 2 | node-calls 2 | exchanges 2 | end 2 -100 | hears exited 2: the node was lost, killed", ""},
      {"times maybe exited", "0 times"}}},
    {"AContainerRequestAboveTheMaximumEndsItsAttemptAndTheErrorNamesBothAmounts",
     {{"begin | hears reached 0 | ask 0 65536MB | hears granted worker:0#1 refused-1 on  | launch last 0", ""},
      {"hears exited refused-1: 65536 MB of memory is above 8192 MB, the maximum for a container in this cluster, "
       "user_config",
       ""}}},
    {"AContainerRequestThatYarnRejectsEndsItsAttempt",
     {{"refuses InvalidLabelResourceRequestException | begin | ask 0 label=nowhere", ""},
      {"hears granted worker:0#1 refused-1 on  | launch last 0 | hears-begin exited refused-1: ",
       "~InvalidLabelResourceRequestException: not on this cluster, user_config"},
      {"ask 1 | hears granted worker:1#1 2 on 127.0.0.1", ""}}},
    {"ARequestWithAConstraintThatYarnRejectsEndsItsAttempt",
     {{"refuses SchedulerInvalidResoureRequestException | begin | ask 0", ""},
      {"hears granted worker:0#1 refused-1 on  | launch last 0 | hears-begin exited refused-1: ",
       "~SchedulerInvalidResoureRequestException: not on this cluster, user_config"}}},
    {"AContainerRequestIsRetriedAfterATemporaryYarnError",
     {{"refuses YarnException | begin | ask 0 | hears granted worker:0#1 2 on 127.0.0.1", ""}}},
    {"ContainersOfAnEarlierMasterAttemptStayRunningAndCanBeStopped",
     {{"kept 7 | begin | hears reached 1 | term 7 | node-calls 1 | calls", "calls: stop 7"},
      {"end 7 -105 | hears exited 7: the application master stopped the container, killed | forgets | registers 2 | "
       "settle | term 7 | settle | last | calls",
       // The container was listed once more.
       "exited 7: the application master stopped the container, killed | calls: stop 7"}}},
    {"AContainerOfAnEarlierMasterAttemptIsReleasedIfNoTaskOwnsTheContainer",
     {{"kept 7 | unknown 7 | begin | hears reached 0 | releases 7 | settle | heard", "heard: reached 0"}}},
    {"AContainerThatEndedBetweenTwoMasterAttemptsIsReported",
     {{"end 7 3 | begin | hears exited 7: exit code 3 | end 7 3 | exchanges 3 | times exited", "1 times"},
      {"end 8 -100 | hears maybe exited 8: the node was lost, node_lost | kill 8", ""},
      {"hears exited 8: the node was lost, node_lost", ""}}},
    {"AMasterProcessRestartedAfterASingleAllocateCallReceivesContainers",
     {{"begin | exchanges 1 | next-process | ask 0 | hears granted worker:0#1 2 on 127.0.0.1", ""}}},
    {"ARestartedMasterProcessRetainsTheContainersOfItsAttempt",
     {{"run-one | exchanges 2 | next-process | hears reached 1 | kill 2 | node-calls 2 | calls",
       "calls: start 2; stop 2"},
      {"end 2 -105 | hears exited 2: the application master stopped the container, killed | released | registrations",
       "released | 2 registrations"}}},
    {"ARestartedMasterProcessStartsAContainerGrantedBeforeTheRestart",
     {{"begin | ask 0 | hears granted worker:0#1 2 on 127.0.0.1 | next-process | hears reached 0 | launch 2 0", ""},
      {"hears started 2 | calls", "calls: start 2"}}},
    {"ARestartedMasterProcessReportsAnAlreadyRunningContainerAsStarted",
     {{"run-one | start-unsaved | next-process | launch 2 0 | hears started 2 | commands | calls",
       "run 2 worker:0#1 on 127.0.0.1; run 2 worker:0#1 on 127.0.0.1 | calls: start 2; start 2"}}},
    {"ARestartedMasterProcessReleasesContainersThatNoTaskOwns",
     {{"begin | ask 0 | hears granted worker:0#1 2 on 127.0.0.1 | unknown 2 | next-process | releases 2 | heard",
       "~reached 0"}}},
    {"ARestartedMasterProcessReleasesContainersOfAnIncompleteGang",
     {{"hold 60000 | grants 1 | begin | ask 0 1 | granted-in-all 1 | exchanges 2 | unknown 2 | next-process | releases "
       "2",
       ""}}},
    {"NoContainerIsReportedAsGrantedForAWithdrawnRequest",
     {{"granting no | begin | ask 0 | exchanges 2 | withdraw 0 | exchanges 2 | granting yes | exchanges 3 | heard",
       "heard: reached 0"}}},
    {"ThePendingReasonIsReportedUntilTheContainersAreGranted",
     {{"run-one | granting no | ask 1 2", ""},
      {"hears delayed: waits for 2 of 3 containers: queue root.ml has 0 MB of memory left for the job, and a container "
       "requests 256 MB of memory",
       ""},
      {"granting yes | hears delayed: ", ""}}},
    {"ThePendingReasonNamesNoFullResourceIfNodesAndQueueHaveRoom",
     {{"nodes | headroom 8192 8 | granting no | begin | ask 0", ""},
      {"hears delayed: waits for 1 of 1 container: the ResourceManager has not granted them yet and does not report "
       "why",
       ""}}},
    {"APendingReasonNamesTheLimitOfTheQueue",
     {{"nodes | queue-is 50 50 | granting no | begin | ask 0", ""},
      {"hears delayed: waits for 1 of 1 container: queue root.ml has 0 MB of memory left for the job, and a container "
       "requests "
       "256 MB of memory: the queue is at its limit (maximum-capacity)",
       ""}}},
    // At first only container 2 of the gang's two is granted.
    {"ContainersOfAGangAreHandedOutOnceAllAreGranted",
     {{"hold 60000 | grants 1 | begin | ask 0 1 | granted-in-all 1 | exchanges 2 | times granted", "0 times"},
      {"hears delayed: waits for 1 of 2 containers: queue root.ml has 0 MB of memory left for the job, and a container "
       "requests 256 MB of memory",
       ""},
      {"grants 2 | hears granted worker:0#1 2 on 127.0.0.1 | hears granted worker:1#1 3 on 127.0.0.1", ""}}},
    {"ContainersOfAnIncompleteGangAreReleasedAndRequestedAgain",
     {{"hold 50 | grants 1 | begin | ask 0 1 | granted-in-all 1 | releases 2", ""},
      {"hears-begin delayed: released 1 of 2 containers at  | grants 10", "^delayed"},
      {"hears granted worker:0#1 3 on 127.0.0.1 | hears granted worker:1#1 4 on 127.0.0.1", ""}}},
    {"TheEndOfAContainerHeldForAnIncompleteGangIsNotReported",
     {{"hold 60000 | grants 1 | begin | ask 0 1 | granted-in-all 1 | exchanges 2 | end 2 -102 | grants 3", ""},
      {"hears granted worker:0#1 4 on 127.0.0.1 | times exited", "0 times"}}},
    {"ANodeThatFailsTwiceIsAvoided",
     {{"cluster 2 | refuses-start 2 | refuses-start 3 | begin", ""},
      {"ask 2 | last-granted 2 | avoided | launch 2 2 | releases 2", "avoided"},
      {"ask 3 | last-granted 3 | avoided | launch 3 3 | releases 3 | avoids 127.0.0.1", "avoided"},
      {"times ; 127.0.0.1 is avoided for 10 minutes, because 2 containers failed there", "1 times"}}},
    {"LosingAndRegainingContactWithTheResourceManagerIsReported",
     {{"begin 500 | hears reached 0 | silent yes | hears lost: no answer from the ResourceManager for 500 ms | holds",
       "holds not"},
      {"silent no | close | hears-twice reached 0 | holds", "holds"}}},
    {"ARestartedResourceManagerGetsAllRequestsAgain",
     {{"run-one | granting no | ask 1 | exchanges 2 | forgets | granting yes | hears granted worker:1#1 3 on 127.0.0.1",
       ""},
      {"registrations | times started 2 | end 2 0 | hears exited 2: exit code 0", "2 registrations | 1 times"}}},
    {"AMasterLosesLeadershipOnceYarnHasEndedItsAttempt",
     {{"run-one | attempt-over | hears lost: YARN has ended this attempt of the application: killed by alice | over | "
       "holds | quiet",
       "killed by alice | holds not | quiet"}}},
    {"AnUnsupportedRpcProtectionEndsTheMasterAttemptAtOnce",
     {{"demands auth-new | begin | over | holds | registrations",
       "registerApplicationMaster at 127.0.0.1:PORT: the server demands the protection auth-new "
       "(hadoop.rpc.protection, dfs.data.transfer.protection); "
       "only auth, auth-int, and auth-conf with 3des are supported | holds not | 0 registrations"}}},
    // The tracking URL changes at the end, because the master's own page ends with the master.
    {"TheFinalStatusIsSentAgainUntilTheResourceManagerRecordsIt",
     {{"run-one | finish FAILED worker:0 failed | done | ends | holds",
       "2 APP_FAILED worker:0 failed http://kept:1/ | holds"}}},
    {"TheFinalStatusIsSentEvenIfTheJobEndedBeforeTheMasterRegistered",
     {{"begin | finish KILLED killed by alice | done | ends", "~ APP_KILLED killed by alice"}}},
    {"JobProgressIsSentWithTheNextAllocateCall", {{"begin | progress | exchanges 1 | progress-told", "a half"}}},
};
TABLE_TEST(YarnSchedulerTest, kSchedules, ScriptIn<SchedulerWorld>());

const hadoop::Token kToken{std::string("a\0b", 3), "password", "NMToken", "10.0.0.1:8041"};

TEST(MasterStateTest, TheSavedMasterStateIsDecodedUnchanged) {
  MasterState state{.rm_token = kToken, .node_tokens = {{{"n1", 8041}, kToken}, {{"n1", 8042}, {}}}};
  state.held = {{{.id = YarnId(2), .node = {"n1", 8041}, .node_http = "n1:8042", .token = kToken}, true},
                {{.id = YarnId(3), .node = {"n2", 8041}}, false}};
  const auto decoded = DecodeMasterState(EncodeMasterState(state));
  ASSERT_TRUE(decoded.ok()) << decoded.error().message;
  EXPECT_EQ(decoded->rm_token, state.rm_token);
  EXPECT_EQ(decoded->node_tokens, state.node_tokens);
  ASSERT_EQ(decoded->held.size(), 2u);
  for (size_t i = 0; i < 2; ++i) {
    EXPECT_EQ(decoded->held[i].container.id, state.held[i].container.id);
    EXPECT_EQ(decoded->held[i].container.node, state.held[i].container.node);
    EXPECT_EQ(decoded->held[i].container.node_http, state.held[i].container.node_http);
    EXPECT_EQ(decoded->held[i].container.token, state.held[i].container.token);
    EXPECT_EQ(decoded->held[i].is_running, state.held[i].is_running);
  }
  EXPECT_FALSE(DecodeMasterState(EncodeMasterState({}))->rm_token);
}

TEST(MasterStateTest, TheErrorForADamagedMasterStateContainsNoToken) {
  const std::string good = EncodeMasterState({.rm_token = kToken});
  for (size_t length = 0; length < good.size(); ++length) {
    const auto decoded = DecodeMasterState(good.substr(0, length));
    EXPECT_TRUE(decoded.ok() || decoded.error().message.find("password") == std::string::npos) << length;
  }
  for (const char* alias : {"", "node n1", "node n1 x", "node n1 65536", "held c n1 8041 running ",
                            "held container_1700000000000_0001_01_000002 n1 -1 running ", "else n1 8041"}) {
    const auto decoded = DecodeMasterState(hadoop::EncodeCredentials({.tokens = {{alias, kToken}}, .secrets = {}}));
    ASSERT_FALSE(decoded.ok()) << alias;
    EXPECT_EQ(decoded.error().message, "an entry of the attempt's state is malformed");
  }
}

}  // namespace
}  // namespace tony
