#include "runtime/yarn/yarn_nodes.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <deque>

#include "runtime/base/strings.h"
#include "runtime/yarn/gang_hold.h"
#include "runtime/yarn/yarn_requests.h"
#include "tests/support/run_until.h"
#include "tests/support/sanitized.h"
#include "tests/unit/base/event_loop_fixture.h"
#include "tests/unit/yarn/fake_yarn.h"
#include "tests/unit/yarn/yarn_fixture.h"

namespace tony {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

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
  std::vector<int64_t> answered_stops;
  YarnNodes nodes{
      loop,
      names,
      {.started = [this](const auto& id) { told.push_back(StrCat("started ", id.number)); },
       .refused = [this](const auto& id,
                         const auto& why) { told.push_back(StrCat("refused ", id.number, ": ", why)); },
       .stop_answered = [this](const auto& id) { answered_stops.push_back(id.number); },
       .not_stopped = [this](const auto& id) { told.push_back(StrCat("not stopped ", id.number)); }}};
};

TEST_F(YarnNodesTest, RequestsMadeInOneEventLoopIterationAreSentToTheNodeInOneCall) {
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

TEST_F(YarnNodesTest, ARefusedContainerStartIsReportedWithTheNodesReason) {
  node.refused = {3};
  Start(2);
  Start(3);
  Await(2);
  EXPECT_THAT(told, ElementsAre("started 2", "refused 3: This token is expired"));
}

TEST_F(YarnNodesTest, AContainerStartWhoseAnswerWasLostIsConfirmedByAStatusQuery) {
  node.is_lost = true;
  Start(2);
  Await(1);
  EXPECT_THAT(node.calls, ElementsAre("start 2", "statuses 2"));
  EXPECT_THAT(told, ElementsAre("started 2"));
}

TEST_F(YarnNodesTest, AStartContainersCallThatTheNodeDidNotReadIsRetried) {
  node.is_deaf = true;
  Start(2);
  EXPECT_TRUE(RunUntil(loop, [&] { return node.server.calls.size() == 1; }));
  node.is_deaf = false;
  Await(1);
  EXPECT_THAT(node.calls, ElementsAre("statuses 2", "start 2"));
  EXPECT_THAT(told, ElementsAre("started 2"));
}

TEST_F(YarnNodesTest, StartingAContainerThatAlreadyRunsIsReportedAsStarted) {
  node.running = {2};
  Start(2);
  Await(1);
  EXPECT_THAT(told, ElementsAre("started 2"));
}

TEST_F(YarnNodesTest, AContainerStoppedBeforeItsStartCallIsNeverStarted) {
  Start(2);
  EXPECT_FALSE(Stop(2));
  Settle();
  EXPECT_THAT(node.calls, IsEmpty());
}

TEST_F(YarnNodesTest, AStopRequestedDuringAStartCallIsSentAfterTheStartCallIsAnswered) {
  node.is_slow = true;
  Start(2);
  EXPECT_TRUE(RunUntil(loop, [&] { return node.server.calls.size() == 1; }));
  EXPECT_TRUE(Stop(2));
  node.GoOn();
  EXPECT_TRUE(RunUntil(loop, [&] { return node.calls.size() == 2; }));
  EXPECT_THAT(node.calls, ElementsAre("start 2", "stop 2"));
  EXPECT_TRUE(RunUntil(loop, [&] { return answered_stops.size() == 1; }));
  EXPECT_THAT(told, ElementsAre("started 2"));
}

TEST_F(YarnNodesTest, AStopRequestedDuringAStartCallIsSentAfterAStatusQueryIfTheAnswerIsLost) {
  node.is_slow = node.is_lost = true;
  Start(2);
  EXPECT_TRUE(RunUntil(loop, [&] { return node.server.calls.size() == 1; }));
  EXPECT_TRUE(Stop(2));
  node.GoOn();
  EXPECT_TRUE(RunUntil(loop, [&] { return node.calls.size() == 3; }));
  EXPECT_THAT(node.calls, ElementsAre("start 2", "statuses 2", "stop 2"));
}

TEST_F(YarnNodesTest, AStartCallThatTheNodeDidNotReadIsNotRetriedIfTheContainerWasStopped) {
  node.is_slow = true;
  Start(2);
  EXPECT_TRUE(RunUntil(loop, [&] { return node.server.calls.size() == 1; }));
  EXPECT_TRUE(Stop(2));
  node.is_slow = false;
  node.server.CloseAll();
  Await(1);
  EXPECT_THAT(told, ElementsAre("refused 2: the container was stopped before it was started"));
  EXPECT_THAT(node.calls, ElementsAre("statuses 2"));
  EXPECT_THAT(node.running, IsEmpty());
}

TEST_F(YarnNodesTest, AStopOfAnUnknownContainerIsReportedAsFailed) {
  EXPECT_TRUE(Stop(9));
  Await(1);
  EXPECT_THAT(told, ElementsAre("not stopped 9"));
  EXPECT_THAT(answered_stops, ElementsAre(9));
}

TEST_F(YarnNodesTest, AContainerStartWithAWrongTokenIsReportedAsRejected) {
  nodes.Use({node.id(), {"an identifier", "wrong", "", ""}});
  Start(2);
  EXPECT_TRUE(RunUntil(loop, [&] { return !told.empty(); }));
  EXPECT_TRUE(told[0].starts_with("refused 2: ")) << told[0];
}

TEST_F(YarnNodesTest, AContainerThatTheCallerWithdrawsBeforeTheStartCallIsNeitherStartedNorReported) {
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

// There are more nodes than allowed connections, so each node waits for its turn.
TEST_F(YarnNodesTest, AtMost64ConnectionsToNodesAreOpenAtATime) {
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

// ---- bad nodes

constexpr Instant kBegin{std::chrono::hours(1)};

TEST(BadNodesTest, ANodeIsAvoidedWhileTwoOfItsFailuresAreYoungerThan10Minutes) {
  FailingNodes nodes;
  nodes.Failed("n1", kBegin);
  nodes.Failed("n2", kBegin);
  EXPECT_THAT(nodes.ToAvoid(4, kBegin), IsEmpty());
  nodes.Failed("n1", kBegin + std::chrono::minutes(9));
  EXPECT_THAT(nodes.ToAvoid(4, kBegin + std::chrono::minutes(9)), ElementsAre("n1"));
  EXPECT_THAT(nodes.ToAvoid(4, kBegin + std::chrono::minutes(10)), IsEmpty());
}

TEST(BadNodesTest, NoNodeIsAvoidedIfMoreThanHalfOfTheNodesFail) {
  FailingNodes nodes;
  for (const char* host : {"n1", "n2"}) {
    for (int i = 0; i < 2; ++i) nodes.Failed(host, kBegin);
  }
  EXPECT_THAT(nodes.ToAvoid(4, kBegin), ElementsAre("n1", "n2"));
  EXPECT_THAT(nodes.ToAvoid(3, kBegin), IsEmpty());
}

// ---- never granted

const ContainerLimits kLimits{.maximum = {8192, 4, {}}};

TEST(NeverGrantedTest, ARequestUpToTheMaximumOfTheClusterIsNotRejected) {
  EXPECT_FALSE(WhyNeverGranted(Resources{.memory_mb = 8192, .vcores = 4}, kLimits));
}

TEST(NeverGrantedTest, ARequestAboveTheMaximumIsRejectedWithTheRequestedAndTheMaximumAmount) {
  EXPECT_EQ(WhyNeverGranted(Resources{.memory_mb = 65536}, kLimits),
            "65536 MB of memory is above 8192 MB, the maximum for a container in this cluster");
  EXPECT_EQ(WhyNeverGranted(Resources{.vcores = 5}, kLimits),
            "5 vcores is above 4, the maximum for a container in this cluster");
}

TEST(NeverGrantedTest, AGpuRequestIsRejectedIfTheClusterHasNoGpusOrAllowsFewerPerContainer) {
  EXPECT_EQ(WhyNeverGranted(Resources{.gpus = 1}, kLimits),
            "this cluster has no resource of the type yarn.io/gpu; it has memory-mb, vcores");
  ContainerLimits limits = kLimits;
  limits.types = {"yarn.io/gpu"};
  EXPECT_FALSE(WhyNeverGranted(Resources{.gpus = 9}, limits)) << "how many is not known";
  limits.types = {};
  limits.maximum.others = {{"yarn.io/gpu", 2}};
  EXPECT_FALSE(WhyNeverGranted(Resources{.gpus = 2}, limits));
  EXPECT_EQ(WhyNeverGranted(Resources{.gpus = 3}, limits),
            "3 GPUs is above 2, the maximum for a container in this cluster");
}

TEST(NeverGrantedTest, CustomResourceAmountsAreCheckedInTheUnitOfTheCluster) {
  ContainerLimits limits = kLimits;
  limits.maximum.others = {{"disk", {4, "G"}}, {"yarn.io/fpga", 2}};
  const auto why = [&](const std::string& type, const Amount& amount) {
    Resources wanted;
    wanted.others = {{type, amount}};
    return WhyNeverGranted(wanted, limits).value_or("may be granted");
  };
  EXPECT_EQ(why("disk", 4), "may be granted") << "without a unit it is the cluster's";
  EXPECT_EQ(why("disk", {4000, "M"}), "may be granted");
  EXPECT_EQ(why("disk", 5), "5 of disk is above 4G, the maximum for a container in this cluster");
  EXPECT_EQ(why("disk", {5000, "M"}), "5000M of disk is above 4G, the maximum for a container in this cluster");
  EXPECT_EQ(why("disk", {500, "M"}), "500M is not a whole number of G: this cluster counts disk in whole G");
  EXPECT_EQ(why("yarn.io/fpga", {500, "m"}),
            "500m is not a whole number of units: this cluster counts yarn.io/fpga in whole units");
  EXPECT_EQ(why("none", 1),
            "this cluster has no resource of the type none; it has disk, memory-mb, vcores, yarn.io/fpga");
}

TEST(NeverGrantedTest, AJobSpecAboveTheMaximumIsRejectedWithItsConfigurationKey) {
  JobSpec spec;
  spec.roles = {{.name = "ps"}, {.name = "worker", .resources = {.memory_mb = 65536}}};
  EXPECT_EQ(WhyNeverGranted(spec, kLimits),
            "tony.worker.memory: 65536 MB of memory is above 8192 MB, the maximum for a container in this cluster");
  spec.roles.pop_back();
  EXPECT_FALSE(WhyNeverGranted(spec, kLimits));
  spec.roles[0].resources.others = {{"disk", 1}};
  EXPECT_EQ(WhyNeverGranted(spec, kLimits),
            "tony.ps.resource.disk: this cluster has no resource of the type disk; it has memory-mb, vcores");
}

TEST(NeverGrantedTest, AGangIsReportedIfItNeedsMoreOfACustomResourceThanAllNodesHaveTogether) {
  JobSpec spec;
  spec.roles = {{.name = "worker", .instances = 3}};
  spec.roles[0].resources.others = {{"disk", {2, "G"}}};
  std::vector<hadoop::NodeReport> nodes(2);
  nodes[0].capability.others = {{"disk", {4000, "M"}}};
  EXPECT_EQ(WhyTooMuch(spec, nodes),
            "the tasks start together and request 6000M of disk; the running nodes have 4000M: the job waits until the "
            "nodes have more");
  nodes[1].capability.others = {{"disk", {2000, "M"}}};
  EXPECT_FALSE(WhyTooMuch(spec, nodes));
}

TEST(NeverGrantedTest, AGangIsReportedIfItNeedsMoreGpusThanAllNodesHaveTogether) {
  JobSpec spec;
  spec.roles = {{.name = "ps"}, {.name = "worker", .instances = 3, .resources = {.gpus = 2}}};
  std::vector<hadoop::NodeReport> nodes(2);
  nodes[0].capability.others = {{"yarn.io/gpu", 5}};
  EXPECT_TRUE(RequestsOtherResources(spec));
  EXPECT_EQ(
      WhyTooMuch(spec, nodes),
      "the tasks start together and request 6 GPUs; the running nodes have 5: the job waits until the nodes have more");
  nodes[1].capability.others = {{"yarn.io/gpu", 1}};
  EXPECT_FALSE(WhyTooMuch(spec, nodes));
  nodes.clear();
  spec.mode = DistributedMode::kFcfs;
  EXPECT_FALSE(WhyTooMuch(spec, nodes)) << "one after the other may have them";
}

// ---- gang hold

constexpr Duration kHold{1000};

YarnGrant Grant(int index, int64_t number) { return {Attempt(index), {.id = YarnId(number), .node = {"n1", 8041}}}; }

std::vector<int> ReadyIn(const GangHold::News& news) {
  std::vector<int> ready;
  for (const YarnGrant& grant : news.ready) ready.push_back(grant.attempt.task.index);
  return ready;
}

class GangHoldTest : public testing::Test {
 protected:
  void SetUp() override { EXPECT_THAT(gangs.Want({AskFor(Attempt(0)), AskFor(Attempt(1))}).want, SizeIs(2)); }

  GangHold gangs{kHold, 1};
  const Instant begin = FromMillis(1'000'000);
};

TEST_F(GangHoldTest, ContainersOfAGangAreHandedOutOnceTheGangIsComplete) {
  EXPECT_THAT(gangs.Granted({Grant(1, 2)}, begin).ready, IsEmpty());
  EXPECT_EQ(gangs.Kept(), 1);
  EXPECT_THAT(ReadyIn(gangs.Granted({Grant(0, 3)}, begin)), ElementsAre(0, 1));
  EXPECT_EQ(gangs.Kept(), 0);
  EXPECT_FALSE(gangs.NextLook());
}

TEST_F(GangHoldTest, NewTasksInALaterRequestCallFormASeparateGang) {
  EXPECT_THAT(gangs.Want({AskFor(Attempt(1)), AskFor(Attempt(2))}).want, SizeIs(1));
  EXPECT_THAT(ReadyIn(gangs.Granted({Grant(2, 2), Grant(0, 3)}, begin)), ElementsAre(2));
}

TEST_F(GangHoldTest, EachContainerIsHandedOutAtOnceIfTheHoldTimeIsZero) {
  GangHold each(Duration(0), 1);
  each.Want({AskFor(Attempt(0)), AskFor(Attempt(1))});
  EXPECT_THAT(ReadyIn(each.Granted({Grant(1, 2)}, begin)), ElementsAre(1));
  EXPECT_THAT(ReadyIn(each.Granted({Grant(0, 3)}, begin)), ElementsAre(0));
  EXPECT_FALSE(each.NextLook());
}

TEST_F(GangHoldTest, ContainersOfAnIncompleteGangAreReleasedAfterTheHoldTimeAndRequestedLater) {
  gangs.Granted({Grant(1, 2)}, begin);
  const Instant end = gangs.NextLook().value();
  EXPECT_GE(end, begin + kHold);
  EXPECT_LE(end, begin + 2 * kHold);
  EXPECT_THAT(gangs.Look(end - Duration(1)).release, IsEmpty());

  const auto given_back = gangs.Look(end);
  EXPECT_THAT(given_back.release, ElementsAre(YarnId(2)));
  EXPECT_THAT(given_back.withdraw, ElementsAre(Attempt(0)));
  EXPECT_THAT(gangs.RestReason(), HasSubstr("released 1 of 2 containers at 1970-01-01T"));

  const Instant again = gangs.NextLook().value();
  EXPECT_GE(again, end + kHold / 2);
  EXPECT_THAT(gangs.Look(again).want, SizeIs(2));
  EXPECT_EQ(gangs.RestReason(), "");
  EXPECT_FALSE(gangs.NextLook()) << "a hold begins with a container";
  EXPECT_THAT(ReadyIn(gangs.Granted({Grant(0, 4), Grant(1, 5)}, again)), ElementsAre(0, 1));
}

TEST_F(GangHoldTest, EachGrantedContainerRestartsTheHoldTimeOfItsGang) {
  gangs.Want({AskFor(Attempt(2)), AskFor(Attempt(3)), AskFor(Attempt(4))});
  gangs.Granted({Grant(2, 2)}, begin);
  gangs.Granted({Grant(3, 3)}, begin + 10 * kHold);
  EXPECT_GE(gangs.NextLook(), begin + 11 * kHold);
}

TEST_F(GangHoldTest, PausesBetweenTriesToCompleteAGangGrowToAtMostEightTimesTheHoldTime) {
  Instant now = begin;
  Duration longest{0};
  for (int64_t i = 0; i < 20; ++i) {
    gangs.Granted({Grant(1, 2 + i)}, now);
    now = gangs.NextLook().value();
    gangs.Look(now);
    const Instant again = gangs.NextLook().value();
    longest = std::max(longest, again - now);
    now = again;
    gangs.Look(now);
  }
  EXPECT_GT(longest, 4 * kHold);
  EXPECT_LE(longest, 8 * kHold);
}

TEST_F(GangHoldTest, AContainerThatEndsBeforeItsGangIsCompleteIsRequestedAgain) {
  gangs.Granted({Grant(1, 2)}, begin);
  GangHold::News news;
  EXPECT_FALSE(gangs.Ended(YarnId(3), news));
  EXPECT_TRUE(gangs.Ended(YarnId(2), news));
  ASSERT_THAT(news.want, SizeIs(1));
  EXPECT_EQ(news.want[0].attempt, Attempt(1));
  EXPECT_FALSE(gangs.NextLook()) << "nothing is kept";
}

TEST_F(GangHoldTest, AGangBecomesCompleteWhenItsLastMissingAttemptIsWithdrawn) {
  gangs.Granted({Grant(1, 2)}, begin);
  const auto news = gangs.Withdraw({Attempt(0)});
  EXPECT_THAT(news.withdraw, ElementsAre(Attempt(0)));
  EXPECT_THAT(ReadyIn(news), ElementsAre(1));
}

TEST_F(GangHoldTest, HeldContainersOfAWithdrawnGangAreReleased) {
  gangs.Granted({Grant(1, 2)}, begin);
  const auto news = gangs.Withdraw({Attempt(0), Attempt(1)});
  EXPECT_THAT(news.release, ElementsAre(YarnId(2)));
  EXPECT_THAT(news.ready, IsEmpty());
  EXPECT_FALSE(gangs.NextLook());
  EXPECT_THAT(gangs.Granted({Grant(0, 3)}, begin).release, ElementsAre(YarnId(3))) << "granted all the same";
}

TEST_F(GangHoldTest, HeldContainersAreReleasedAndRequestedAgainAfterAResourceManagerRestart) {
  gangs.Granted({Grant(1, 2)}, begin);
  const auto news = gangs.HandleRmRestart();
  EXPECT_THAT(news.release, ElementsAre(YarnId(2)));
  EXPECT_THAT(news.want, SizeIs(1));
  EXPECT_FALSE(gangs.NextLook());
  EXPECT_THAT(ReadyIn(gangs.Granted({Grant(1, 3), Grant(0, 4)}, begin)), ElementsAre(0, 1));
}

// Jobs share a cluster that has no room for two of them. Whatever is granted to which job, all of them run in the end.
class Cluster {
 public:
  explicit Cluster(uint64_t seed) : random_(seed), free_(4 + Below(20)) {
    const int all = free_;
    for (int i = 2 + Below(3); i > 0; --i) jobs_.push_back({GangHold(kHold, random_()), all / 2 + 1 + Below(all / 2)});
    for (Job& job : jobs_) {
      std::vector<ContainerRequest> asks;
      for (int i = 0; i < job.size; ++i) asks.push_back(AskFor(Attempt(i)));
      Take(job, job.gangs.Want(asks));
    }
  }
  // Returns the time until all jobs are done.
  Duration Run() {
    const Instant begin = now_;
    while (std::ranges::any_of(jobs_, [](const Job& job) { return !job.is_done; }) && now_ < begin + 1000 * kHold) {
      now_ += Duration(100);
      for (Job& job : jobs_) {
        if (const auto next = job.gangs.NextLook(); next && *next <= now_) Take(job, job.gangs.Look(now_));
        if (job.ends && *job.ends <= now_) {
          free_ += job.size;
          job.is_done = true;
          job.ends.reset();
        }
      }
      for (int grants = Below(4); grants > 0; --grants) GrantOne();
    }
    return now_ - begin;
  }

 private:
  struct Job {
    GangHold gangs;
    int size;
    std::deque<AttemptId> waiting;
    std::optional<Instant> ends;
    bool is_done = false;
  };
  int Below(int bound) { return static_cast<int>(random_() % static_cast<uint64_t>(bound)); }
  void GrantOne() {
    Job& job = jobs_[static_cast<size_t>(Below(static_cast<int>(jobs_.size())))];
    if (free_ == 0 || job.waiting.empty()) return;
    --free_;
    const YarnGrant grant{job.waiting.front(), {.id = YarnId(++last_)}};
    job.waiting.pop_front();
    Take(job, job.gangs.Granted({grant}, now_));
  }
  void Take(Job& job, const GangHold::News& news) {
    for (const AttemptId& attempt : news.withdraw) std::erase(job.waiting, attempt);
    free_ += static_cast<int>(news.release.size());
    for (const ContainerRequest& ask : news.want) job.waiting.push_back(ask.attempt);
    if (news.ready.empty()) return;
    EXPECT_EQ(std::ssize(news.ready), job.size);
    job.ends = now_ + Duration(Below(5000));
  }

  std::mt19937_64 random_;
  int free_;
  std::vector<Job> jobs_;
  Instant now_ = FromMillis(1'000'000);
  int64_t last_ = 1;
};

TEST(GangHoldSeedsTest, GangsThatEachNeedMoreThanHalfOfAClusterAllRunEventually) {
  for (uint64_t seed = 1; seed <= (kSanitized ? 300 : 3000); ++seed)
    ASSERT_LT(Cluster(seed).Run(), 300 * kHold) << "seed " << seed;
}

}  // namespace
}  // namespace tony
