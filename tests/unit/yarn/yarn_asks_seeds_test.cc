// Schedules by seed: whatever a ResourceManager does, each attempt that is wanted ends up with one container of its
// size, and nothing else is held or asked for.
#include <gtest/gtest.h>

#include <algorithm>

#include "runtime/base/strings.h"
#include "runtime/yarn/yarn_asks.h"
#include "tests/support/sanitized.h"
#include "tests/unit/yarn/simulated_rm.h"
#include "tests/unit/yarn/yarn_fixture.h"

namespace tony {
namespace {

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
