#include "runtime/yarn/gang_hold.h"

#include <gmock/gmock.h>

#include <deque>

#include "tests/support/sanitized.h"
#include "tests/unit/yarn/yarn_fixture.h"

namespace tony {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

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

TEST_F(GangHoldTest, AGangIsHandedOutWhenAllOfItIsThere) {
  EXPECT_THAT(gangs.Granted({Grant(1, 2)}, begin).ready, IsEmpty());
  EXPECT_EQ(gangs.Kept(), 1);
  EXPECT_THAT(ReadyIn(gangs.Granted({Grant(0, 3)}, begin)), ElementsAre(0, 1));
  EXPECT_EQ(gangs.Kept(), 0);
  EXPECT_FALSE(gangs.NextLook());
}

TEST_F(GangHoldTest, ThoseOfAnotherCallAreAnotherGang) {
  EXPECT_THAT(gangs.Want({AskFor(Attempt(1)), AskFor(Attempt(2))}).want, SizeIs(1));
  EXPECT_THAT(ReadyIn(gangs.Granted({Grant(2, 2), Grant(0, 3)}, begin)), ElementsAre(2));
}

TEST_F(GangHoldTest, WithoutAHoldEachIsHandedOutAsItComes) {
  GangHold each(Duration(0), 1);
  each.Want({AskFor(Attempt(0)), AskFor(Attempt(1))});
  EXPECT_THAT(ReadyIn(each.Granted({Grant(1, 2)}, begin)), ElementsAre(1));
  EXPECT_THAT(ReadyIn(each.Granted({Grant(0, 3)}, begin)), ElementsAre(0));
  EXPECT_FALSE(each.NextLook());
}

TEST_F(GangHoldTest, WhatDoesNotBecomeWholeIsGivenBackAndAskedForLater) {
  gangs.Granted({Grant(1, 2)}, begin);
  const Instant end = gangs.NextLook().value();
  EXPECT_GE(end, begin + kHold);
  EXPECT_LE(end, begin + 2 * kHold);
  EXPECT_THAT(gangs.Look(end - Duration(1)).release, IsEmpty());

  const auto given_back = gangs.Look(end);
  EXPECT_THAT(given_back.release, ElementsAre(YarnId(2)));
  EXPECT_THAT(given_back.withdraw, ElementsAre(Attempt(0)));
  EXPECT_THAT(gangs.WhyItRests(), HasSubstr("gave 1 of 2 containers back at 1970-01-01T"));

  const Instant again = gangs.NextLook().value();
  EXPECT_GE(again, end + kHold / 2);
  EXPECT_THAT(gangs.Look(again).want, SizeIs(2));
  EXPECT_EQ(gangs.WhyItRests(), "");
  EXPECT_FALSE(gangs.NextLook()) << "a hold begins with a container";
  EXPECT_THAT(ReadyIn(gangs.Granted({Grant(0, 4), Grant(1, 5)}, again)), ElementsAre(0, 1));
}

TEST_F(GangHoldTest, AHoldBeginsAnewWithEachContainer) {
  gangs.Want({AskFor(Attempt(2)), AskFor(Attempt(3)), AskFor(Attempt(4))});
  gangs.Granted({Grant(2, 2)}, begin);
  gangs.Granted({Grant(3, 3)}, begin + 10 * kHold);
  EXPECT_GE(gangs.NextLook(), begin + 11 * kHold);
}

TEST_F(GangHoldTest, RestsGrowUpToALimit) {
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

TEST_F(GangHoldTest, OneThatEndsWhileItIsKeptIsAskedForAgain) {
  gangs.Granted({Grant(1, 2)}, begin);
  GangHold::News news;
  EXPECT_FALSE(gangs.Ended(YarnId(3), news));
  EXPECT_TRUE(gangs.Ended(YarnId(2), news));
  ASSERT_THAT(news.want, SizeIs(1));
  EXPECT_EQ(news.want[0].attempt, Attempt(1));
  EXPECT_FALSE(gangs.NextLook()) << "nothing is kept";
}

TEST_F(GangHoldTest, WhatIsWithdrawnIsNotMissing) {
  gangs.Granted({Grant(1, 2)}, begin);
  const auto news = gangs.Withdraw({Attempt(0)});
  EXPECT_THAT(news.withdraw, ElementsAre(Attempt(0)));
  EXPECT_THAT(ReadyIn(news), ElementsAre(1));
}

TEST_F(GangHoldTest, AWithdrawnGangHandsNothingOut) {
  gangs.Granted({Grant(1, 2)}, begin);
  const auto news = gangs.Withdraw({Attempt(0), Attempt(1)});
  EXPECT_THAT(news.release, ElementsAre(YarnId(2)));
  EXPECT_THAT(news.ready, IsEmpty());
  EXPECT_FALSE(gangs.NextLook());
  EXPECT_THAT(gangs.Granted({Grant(0, 3)}, begin).release, ElementsAre(YarnId(3))) << "granted all the same";
}

TEST_F(GangHoldTest, AResourceManagerThatBeganAnewIsAskedForWhatWasKept) {
  gangs.Granted({Grant(1, 2)}, begin);
  const auto news = gangs.BeginAnew();
  EXPECT_THAT(news.release, ElementsAre(YarnId(2)));
  EXPECT_THAT(news.want, SizeIs(1));
  EXPECT_FALSE(gangs.NextLook());
  EXPECT_THAT(ReadyIn(gangs.Granted({Grant(1, 3), Grant(0, 4)}, begin)), ElementsAre(0, 1));
}

// Jobs on one cluster, none of which leaves room for another: whoever is granted what, all of them run in the end.
class Cluster {
 public:
  explicit Cluster(uint64_t seed) : random_(seed), free_(4 + Below(20)) {
    const int all = free_;
    for (int i = 2 + Below(3); i > 0; --i) jobs_.push_back({GangHold(kHold, random_()), all / 2 + 1 + Below(all / 2)});
    for (Job& job : jobs_) {
      std::vector<ContainerAsk> asks;
      for (int i = 0; i < job.size; ++i) asks.push_back(AskFor(Attempt(i)));
      Take(job, job.gangs.Want(asks));
    }
  }
  // How long it takes.
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
    for (const ContainerAsk& ask : news.want) job.waiting.push_back(ask.attempt);
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

TEST(GangHoldSeedsTest, GangsThatNeedMoreThanHalfOfAClusterAllRun) {
  for (uint64_t seed = 1; seed <= (kSanitized ? 300 : 3000); ++seed)
    ASSERT_LT(Cluster(seed).Run(), 300 * kHold) << "seed " << seed;
}

}  // namespace
}  // namespace tony
