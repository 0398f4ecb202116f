#include <gtest/gtest.h>

#include <algorithm>

#include "runtime/base/strings.h"
#include "runtime/yarn/yarn_requests.h"
#include "tests/support/sanitized.h"
#include "tests/support/script.h"
#include "tests/unit/yarn/simulated_rm.h"
#include "tests/unit/yarn/yarn_fixture.h"

namespace tony {
namespace {

std::string OrNothing(const std::vector<std::string>& texts) { return texts.empty() ? "nothing" : Join(texts, ", "); }

struct AsksWorld {
  // "n1:8192" is a node with 8192 MB; "n1:8192:4096" is a node that has 4096 MB of them in use.
  void SetNodes(const Words& its) {
    std::vector<hadoop::NodeReport> nodes;
    for (size_t i = 1; !its[i].empty(); ++i) {
      const auto parts = Split(its[i], ':');
      nodes.push_back(NodeOf(parts[0], *ParseInt(parts[1]), parts.size() > 2 ? *ParseInt(parts[2]) : 0));
      if (parts[0] == "labelled") nodes.back().labels = {"fast"};
      if (parts[0] == "sick") nodes.back().state = hadoop::NodeReport::State::kUnhealthy;
      if (parts[0] == "gpu") nodes.back().capability.others = {{kGpuType, 4}};
    }
    asks.SetNodes(nodes);
  }
  static AttemptId AttemptOf(const std::string& text) {  // e.g. "worker:1"
    const auto parts = Split(text, ':');
    return Attempt(static_cast<int>(*ParseInt(parts[1])), parts[0]);
  }
  // Words behind the attempt are "512MB", "4cores", "2gpus" or "spread"; any other word is a label.
  void Want(const Words& its) {
    Resources size{.memory_mb = 256};
    std::string label;
    Placement placement = Placement::kPack;
    for (size_t i = 2; !its[i].empty(); ++i) {
      const std::string word = its[i];
      const auto number = [&](std::string_view unit) {
        return static_cast<int>(*ParseInt(word.substr(0, word.size() - unit.size())));
      };
      if (word.ends_with("MB"))
        size.memory_mb = number("MB");
      else if (word.ends_with("cores"))
        size.vcores = number("cores");
      else if (word.ends_with("gpus"))
        size.gpus = number("gpus");
      else if (word == "spread")
        placement = Placement::kSpread;
      else
        label = word;
    }
    asks.Want(AskFor(AttemptOf(its[1]), size, label, placement));
  }
  // "+2" grants container 2 for request id 1 with 256 MB, "+2/LINE/MB/GPUS" for request id LINE with other sizes. "-7"
  // reports that container 7 has ended.
  std::string Exchange(const Words& its) {
    sent = asks.Next();
    hadoop::Allocation allocation;
    for (size_t i = 1; !its[i].empty(); ++i) {
      const auto parts = Split(its[i].substr(1), '/');
      const auto number = [&](size_t at, int64_t usual) { return at < parts.size() ? *ParseInt(parts[at]) : usual; };
      if (its[i][0] == '-') {
        allocation.ended.push_back({.id = YarnId(number(0, 0)), .exit_status = -100});
        continue;
      }
      hadoop::Container container{.id = YarnId(number(0, 0)), .node = {"n1", 8041}, .request_id = number(1, 1)};
      container.resource = {number(2, 256), 1, {}};
      if (parts.size() > 3) container.resource.others[kGpuType] = number(3, 0);
      allocation.granted.push_back(container);
    }
    const auto news = asks.Answered(allocation);
    forgotten = std::ssize(news.forgotten);
    std::vector<std::string> gave;
    for (const YarnGrant& grant : news.grants)
      gave.push_back(StrCat(grant.attempt.task.role, ":", grant.attempt.task.index, " in ", grant.container.id.number));
    return allocation.granted.empty() ? "" : "gave " + OrNothing(gave);
  }
  // Returns rows as "1/1 n1=2": priority, request id, place and count.
  std::string Sent() const {
    std::vector<std::string> rows;
    for (const hadoop::ContainerRequest& row : sent.asks)
      rows.push_back(StrCat(row.priority, "/", row.request_id, " ", row.place, "=", row.count));
    return OrNothing(rows);
  }
  static Deeds<AsksWorld> Its() {
    return {
        {"nodes", [](auto& w, auto& its) { w.SetNodes(its); }},
        {"want", [](auto& w, auto& its) { w.Want(its); }},
        {"workers",
         [](auto& w, auto& its) {
           for (int i = 0; i < its.Number(1); ++i) w.asks.Want(AskFor(Attempt(i)));
         }},
        {"withdraw", [](auto& w, auto& its) { w.asks.Withdraw(AttemptOf(its[1])); }},
        {"release", [](auto& w, auto& its) { w.asks.Release(YarnId(its.Number(1))); }},
        {"avoid",
         [](auto& w, auto& its) {
           w.asks.Avoid(its[1].empty() ? std::set<std::string>() : std::set<std::string>{its[1]});
         }},
        {"exchange", [](auto& w, auto& its) { return w.Exchange(its); }},
        {"next", [](auto& w, auto&) { w.sent = w.asks.Next(); }},
        {"unanswered", [](auto& w, auto&) { w.asks.Unanswered(); }},
        {"answered", [](auto& w, auto&) { w.asks.Answered({}); }},
        {"answered-as-before",
         [](auto& w, auto&) {
           hadoop::Allocation repeated;
           repeated.may_be_repeated = true;
           w.asks.Answered(repeated);
         }},
        {"begins-anew", [](auto& w, auto&) { w.asks.HandleRmRestart(); }},
        {"refused",
         [](auto& w, auto&) {
           std::vector<std::string> refused;
           for (const AttemptId& attempt : w.asks.Refused()) refused.push_back(ToString(attempt));
           return OrNothing(refused);
         }},
        {"waiting", [](auto& w, auto&) { return StrCat(w.asks.Waiting(), " wait"); }},
        {"has-news", [](auto& w, auto&) { return w.asks.HasNews() ? "news" : "no news"; }},
        {"sent", [](auto& w, auto&) { return w.Sent(); }},
        {"size",
         [](auto& w, auto& its) {
           const hadoop::Resource& size = w.sent.asks.at(static_cast<size_t>(its.Number(1))).resource;
           std::string text = StrCat(size.memory_mib, " MB, ", size.vcores, " cores");
           for (const auto& [type, count] : size.others) text += StrCat(", ", ToString(count), " ", type);
           return text;
         }},
        {"label",
         [](auto& w, auto& its) { return "label " + w.sent.asks.at(static_cast<size_t>(its.Number(1))).label; }},
        {"relaxed",
         [](auto& w, auto&) {
           return StrCat(std::ranges::count_if(w.sent.asks, [](const auto& row) { return row.relax; }), " relaxed");
         }},
        {"avoided",
         [](auto& w, auto&) {
           return OrNothing({w.sent.avoid.begin(), w.sent.avoid.end()});
         }},
        {"avoided-no-longer",
         [](auto& w, auto&) {
           return OrNothing({w.sent.no_longer_avoid.begin(), w.sent.no_longer_avoid.end()});
         }},
        {"released",
         [](auto& w, auto&) {
           std::vector<std::string> ids;
           for (const hadoop::ContainerId& id : w.sent.release) ids.push_back(StrCat(id.number));
           return OrNothing(ids);
         }},
        {"forgotten", [](auto& w, auto&) { return StrCat(w.forgotten, " forgotten"); }},
        {"unheard",
         [](auto& w, auto& its) {
           for (int i = 0; i < its.Number(1); ++i) {
             w.asks.Next();
             w.asks.Unanswered();
           }
         }},
        {"exchanges",
         [](auto& w, auto& its) {
           for (int i = 0; i < its.Number(1); ++i) w.Exchange({"exchange"});
         }},
    };
  }

  YarnRequests asks;
  hadoop::Asked sent;  // the request of the last exchange
  int64_t forgotten = 0;
};

const TestRow kAsks[] = {
    {"WantedContainersAreRequestedOnce",
     {{"workers 2 | want worker:1 | waiting | has-news | exchange | sent", "2 wait | news | 1/1 *=2"},
      {"size 0 | has-news | exchange | sent", "256 MB, 1 cores | no news | nothing"}}},
    {"TheFullContainerCountIsRequestedOnEachHostAndOnItsRack",
     {{"nodes n1:8192 n2:8192:8192 | workers 3 | exchange | sent", "1/1 /rack=3, 1/1 n1=3, 1/1 n2=3, 1/1 *=3"}}},
    {"EachRoleHasItsOwnPriorityAndEachContainerSizeHasItsOwnRequestId",
     {{"want worker:0 | want ps:0 512MB | want worker:1 512MB | want worker:2 512MB gpu | exchange | sent | label 3",
       "1/1 *=1, 2/2 *=1, 1/3 *=1, 1/4 *=1 | label gpu"},
      {"exchange +2/3/512", "gave worker:1 in 2"}}},
    {"SpreadTasksAreDividedAmongHostsWithLocalityRelaxationDisabled",
     {{"nodes n1:8192 n2:8192:7936 n3:8192 | want worker:0 spread | want worker:1 spread | want worker:2 spread", ""},
      {"want worker:3 spread | want worker:4 spread | exchange | sent | relaxed",
       "1/1 /rack=5, 1/1 n1=2, 1/1 n2=1, 1/1 n3=2, 1/1 *=5 | 0 relaxed"}}},
    {"ALaterSpreadTaskIsRequestedOnTheHostWithTheFewestTasks",
     {{"nodes n1:8192 n2:4096 | want worker:0 spread | exchange | exchange +2 | exchange", "gave worker:0 in 2"},
      {"want worker:1 spread | exchange | sent", "1/1 /rack=1, 1/1 n2=1, 1/1 *=1"},
      {"exchange -2 | nodes n1:8192 n2:4096 | exchange | sent",  // container 2 has ended
       "1/1 /rack=1, 1/1 n1=1, 1/1 n2=0, 1/1 *=1"}}},
    {"SpreadTasksAreRequestedOnAnyHostIfNoHostIsKnown",
     {{"want worker:0 spread | exchange | sent | relaxed", "1/1 *=1 | 1 relaxed"}}},
    {"AvoidedHostsAreSentAgainUntilTheResourceManagerAnswers",
     {{"nodes n1:8192 n2:8192 | workers 1 | exchange | avoid n1 | next | avoided | sent",
       "n1 | 1/1 /rack=1, 1/1 n1=0, 1/1 n2=1, 1/1 *=1"},
      {"unanswered | exchange | avoided | exchange | avoided", "n1 | nothing"},
      {"avoid | exchange | avoided-no-longer | has-news", "n1 | no news"}}},
    {"NoContainerIsRequestedOnHostsThatCannotHoldTheTask",
     {{"nodes labelled:8192 sick:8192 gpu:8192 small:128 plain:8192 | want plain:0 | want fast:0 0MB fast", ""},
      // Only rows for "*" carry a label.
      {"want gpu:0 0MB 1gpus | exchange | sent | label 0 | label 4",
       "1/1 /rack=1, 1/1 gpu=1, 1/1 plain=1, 1/1 *=1, 2/2 /rack=1, 2/2 labelled=1, 2/2 *=1, 3/3 /rack=1, 3/3 gpu=1, "
       "3/3 *=1 | label  | label "}}},
    {"AGrantCausesNoRequestUpdateBecauseTheResourceManagerSubtractsGrants",
     {{"nodes n1:8192 | workers 3 | exchange | exchange +2 +3 | exchange | sent",
       "gave worker:0 in 2, worker:1 in 3 | nothing"}}},
    {"RequestedCountsAreSetToZeroOnceAllContainersAreGranted",
     {{"nodes n1:8192 n2:8192 | workers 1 | exchange | exchange +2 | exchange | sent | exchange | sent",
       "gave worker:0 in 2 | 1/1 /rack=0, 1/1 n1=0, 1/1 n2=0, 1/1 *=0 | nothing"}}},
    {"ContainerRequestsMoveFromAMissingHostToAHostWithFreeMemory",
     {{"nodes n1:8192 | workers 1 | exchange | nodes n2:8192 | exchange | sent | nodes n2:8192:256 | has-news",
       "1/1 /rack=1, 1/1 n1=0, 1/1 n2=1, 1/1 *=1 | no news"}}},
    // The grant answers an older row, whose count the newest row has overwritten.
    {"AGrantForASupersededRequestReducesTheRequestedContainerCount",
     {{"workers 3 | exchange +2 | exchange | sent", "gave worker:0 in 2 | 1/1 *=2"}}},
    {"SurplusContainersAreReleasedAndTooSmallContainersAreReplaced",
     {{"workers 1 | exchange | exchange +2/1/128 +3/99 | exchange | released | sent", "gave nothing | 2, 3 | 1/1 *=1"},
      {"exchange +4/1/1024 +5 -2 -3 | exchange | released", "gave worker:0 in 4 | 5"}}},
    {"AContainerGrantedWithoutTheRequestedGpusIsNotGivenToTheTask",
     {{"want worker:0 2gpus | exchange | size 0 | exchange +2 | exchange +3/1/256/2",
       "256 MB, 1 cores, 2 yarn.io/gpu | gave nothing | gave worker:0 in 3"}}},
    // A CapacityScheduler counts only memory by default.
    {"AGrantWithFewerVcoresIsAccepted", {{"want worker:0 4cores | exchange | exchange +2", "gave worker:0 in 2"}}},
    {"AContainerWhoseGrantIsReportedTwiceIsGivenToOnlyOneTask",
     {{"workers 2 | exchange | exchange +2 | exchange +2 | waiting | exchange | released",
       "gave worker:0 in 2 | gave nothing | 1 wait | nothing"}}},
    {"AReleaseIsSentAgainUntilTheEndOfTheContainerIsReported",
     {{"release 7 | exchange | exchange | released | exchange -7 | exchange | released", "7 | nothing"}}},
    // Exchanges without an answer do not count.
    {"AReleaseOfAnUnknownContainerIsDroppedAfterTenAnsweredAllocateCalls",
     {{"release 7 | unheard 20 | exchanges 9 | forgotten | exchange | forgotten | exchange | released",
       "0 forgotten | 1 forgotten | nothing"}}},
    {"AContainerRequestIsSentAgainUntilTheResourceManagerSendsANewResponse",
     {{"workers 2 | next | unanswered | next | sent | answered-as-before | next | sent | answered | next | sent",
       "1/1 *=2 | 1/1 *=2 | nothing"}}},
    {"AllRequestsAndReleasesAreSentAgainToARestartedResourceManager",
     {{"nodes n1:8192 | workers 2 | release 7 | exchange | begins-anew | exchange | sent | released | has-news",
       "1/1 /rack=2, 1/1 n1=2, 1/1 *=2 | 7 | no news"},
      // The release is repeated.
      {"withdraw worker:0 | withdraw worker:1 | exchange | begins-anew | has-news", "news"}}},
    {"AWithdrawnAttemptReceivesNoContainer",
     {{"workers 2 | exchange | withdraw worker:0 | exchange +2 +3 | sent | exchange | released",
       "gave worker:1 in 2 | 1/1 *=1 | 3"}}},
    {"ARejectedContainerRequestIsDroppedAndOtherRequestsContinue",
     {{"workers 1 | exchange | want ps:0 1048576MB | next | refused | waiting | exchange | sent",
       "ps:0#1 | 1 wait | nothing"}}},
};
TABLE_TEST(YarnAsksTest, kAsks, ScriptIn<AsksWorld>());

ContainerRequest Constrained(const AttemptId& attempt, const std::string& spec, std::vector<std::string> tags = {}) {
  ContainerRequest ask = AskFor(attempt);
  ask.placement_spec = spec;
  ask.allocation_tags = std::move(tags);
  return ask;
}

// Returns requests as "PRIORITY=COUNT", with their tags and "constrained", and the number of other rows.
std::string SentBy(const hadoop::Asked& asked) {
  std::vector<std::string> requests;
  for (const auto& each : asked.constrained)
    requests.push_back(
        StrCat(each.priority, "=", each.count, " [", Join(each.tags, ","), "]", each.constraint ? " constrained" : ""));
  std::ranges::sort(requests);
  return StrCat(OrNothing(requests), " | ", asked.asks.size(), " rows");
}

TEST(YarnConstraintsTest, EachAttemptWithAConstraintOrTagsHasARequestOfItsOwnAndNoRows) {
  YarnRequests requests;
  requests.SetNodes({NodeOf("n1", 8192), NodeOf("n2", 8192)});
  requests.Want(Constrained(Attempt(0, "ps"), "", {"ps"}));
  for (int i = 0; i < 2; ++i) requests.Want(Constrained(Attempt(i), "notin,node,train"));
  const hadoop::Asked asked = requests.Next();
  EXPECT_EQ(SentBy(asked), "1=1 [ps], 2=1 [] constrained, 2=1 [] constrained | 0 rows");
  const auto& first = asked.constrained.at(0);
  requests.Answered({});
  const hadoop::Container granted{
      .id = YarnId(5), .node = {"n1", 8041}, .resource = {256, 1, {}}, .request_id = first.request_id};
  EXPECT_EQ(requests.Answered({.granted = {granted}}).grants.size(), 1u);
  EXPECT_EQ(SentBy(requests.Next()),
            StrCat(first.priority, "=0 [", first.tags.at(0), "]", first.constraint ? " constrained" : "", " | 0 rows"))
      << "the ResourceManager keeps a request until it gets the count 0";
  requests.Answered({});
  EXPECT_FALSE(requests.HasNews());
  hadoop::Container surplus = granted;
  surplus.id = YarnId(6);
  EXPECT_TRUE(requests.Answered({.granted = {surplus}}).grants.empty());
  EXPECT_EQ(requests.Next().release, std::vector<hadoop::ContainerId>{surplus.id});
}

TEST(YarnConstraintsTest, ARequestIsNotSentAgainUnlessItWasDroppedOrTheResourceManagerHasRestarted) {
  YarnRequests requests;
  requests.Want(Constrained(Attempt(0), "notin,node,train"));
  const std::string sent = "1=1 [] constrained | 0 rows";
  const hadoop::Asked first = requests.Next();
  EXPECT_EQ(SentBy(first), sent);
  requests.Answered({});
  requests.SetNodes({NodeOf("n1", 8192)});
  EXPECT_FALSE(requests.HasNews());
  requests.Answered({.rejected = {first.constrained.at(0).request_id}});
  EXPECT_FALSE(requests.HasNews()) << "after one more exchange";
  requests.Answered({});
  EXPECT_EQ(SentBy(requests.Next()), sent);
  requests.Answered({});
  requests.HandleRmRestart();
  EXPECT_EQ(SentBy(requests.Next()), sent);
  requests.Answered({});
  EXPECT_EQ(requests.WhyWaiting({}),
            "the ResourceManager has found no free node yet that the placement constraint of role worker allows");
  requests.Withdraw(Attempt(0));
  EXPECT_EQ(SentBy(requests.Next()), "1=0 [] constrained | 0 rows");
}

TEST(YarnConstraintsTest, TheIdOfARequestBelongsToItsAttempt) {
  const auto id_after = [](int other) {
    YarnRequests requests;
    requests.Want(Constrained(Attempt(other), "in,node,a"));
    requests.Want(Constrained(Attempt(1), "in,node,a"));
    std::vector<int64_t> ids;
    for (const auto& each : requests.Next().constrained) ids.push_back(each.request_id);
    return ids;
  };
  const auto ids = id_after(1), others = id_after(2);
  ASSERT_EQ(ids.size(), 1u);
  EXPECT_EQ(others.size(), 2u);
  EXPECT_EQ(std::ranges::count(others, ids[0]), 1)
      << "the request that an earlier process of the AM sent is not refused";
}

TEST(YarnConstraintsTest, TheConstraintOfTheJobHoldsBesidesThatOfTheRole) {
  YarnRequests requests;
  ContainerRequest ask = Constrained(Attempt(0), "notin,node,a");
  ask.job_placement_spec = "os=linux";
  requests.Want(ask);
  EXPECT_EQ(requests.Next().constrained.at(0).constraint, *ParsePlacementConstraint("and(notin,node,a:os=linux)"));
}

TEST(YarnManyHostsTest, ContainersAreRequestedOnlyOnThe200Of1000HostsWithFreeMemory) {
  std::vector<hadoop::NodeReport> nodes;
  for (int i = 0; i < 1000; ++i) nodes.push_back(NodeOf(StrCat("n", i), 8192, i % 5 == 0 ? 0 : 8192));
  YarnRequests asks;
  asks.SetNodes(nodes);
  asks.Want(AskFor(Attempt(0)));
  const hadoop::Asked sent = asks.Next();
  ASSERT_EQ(sent.asks.size(), 202u);
  for (const auto& row : sent.asks) {
    const bool has_room = row.place.ends_with("0") || row.place.ends_with("5");
    EXPECT_TRUE(has_room || row.place == "*" || row.place == "/rack") << row.place;
  }
}

// ---- Random schedules by seed: whatever the ResourceManager does, each wanted attempt ends up with one container of
// its size, and nothing else is held or requested.

constexpr int kSeeds = kSanitized ? 500 : 3000;
constexpr int kSteps = 40;
// A release is given up after ten answers; its consequences may need as many again.
constexpr int kCalmSteps = 30;

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
  static ContainerRequest AskOf(const AttemptId& attempt) {
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
  // The master gives a container back that it has not launched, or the container ends.
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

  // Avoids at most two of the four nodes, so that a node with GPUs remains.
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
      return asks_.HandleRmRestart();
    }
    Take(std::get<hadoop::Allocation>(reply));
  }

  void Take(const hadoop::Allocation& allocation) {
    const YarnRequests::News news = asks_.Answered(allocation);
    for (const YarnGrant& grant : news.grants) {
      EXPECT_EQ(wanted_.erase(grant.attempt), 1u) << ToString(grant.attempt) << " does not wait";
      const ContainerRequest ask = AskOf(grant.attempt);
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
  YarnRequests asks_;
  int attempts_ = 0;
  std::set<AttemptId> wanted_;  // attempts without a container
  std::set<std::string> avoided_;
  std::map<hadoop::ContainerId, AttemptId> held_;
  std::set<hadoop::ContainerId> seen_, to_release_;
};

TEST(YarnAsksSeedsTest, EachRequestedAttemptEventuallyHasOneContainerAndNoSurplusContainerRemains) {
  for (uint64_t seed = 1; seed <= kSeeds; ++seed) {
    Schedule(seed).Run();
    ASSERT_FALSE(testing::Test::HasFailure()) << "seed " << seed;
  }
}

}  // namespace
}  // namespace tony
