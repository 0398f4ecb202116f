#include "runtime/keeper/attention_without_am.h"

#include <gtest/gtest.h>

#include <map>
#include <random>

#include "am/core/ownership.h"
#include "runtime/base/strings.h"

namespace tony::keeper {
namespace {

using std::chrono_literals::operator""s;

constexpr Instant kBegin{1000s};

ClaimRecord Told(const std::string& owner, const std::string& watcher = "", Duration timeout = Duration(0)) {
  return {.epoch = {1}, .claim = {{owner}, timeout}, .watcher = {watcher}};
}
KillRequest IfOwner(const std::string& owner, Instant due = {}) { return {.if_owner = {owner}, .due = due}; }
KillRequest IfWatcher(const std::string& watcher, Instant due = {}) { return {.if_watcher = {watcher}, .due = due}; }

class AttentionWithoutAmTest : public testing::Test {
 protected:
  void Know(const ClaimRecord& told) {
    attention_.Wake(now_);
    attention_.Know(told, now_);
  }
  void Pass(Duration time) {
    for (const Instant end = now_ + time; now_ < end;) attention_.Wake(now_ += 1s);
  }
  std::optional<KillAnswer> Hear(const std::string& name, const KillRequest& request) {
    return attention_.Hear(name, request, now_);
  }

  Instant now_ = kBegin;
  AttentionWithoutAm attention_;
};

TEST_F(AttentionWithoutAmTest, NothingIsDecidedWhereNothingIsKnown) {
  EXPECT_EQ(Hear("k", IfOwner("o1")), std::nullopt);
  EXPECT_EQ(Hear("k", IfOwner("", now_ + 1s)), std::nullopt);
  Pass(3600s);
  EXPECT_EQ(attention_.AbandonedFor(now_), std::nullopt);
  EXPECT_FALSE(attention_.Due(now_));
}

TEST_F(AttentionWithoutAmTest, AKillIsTakenOnlyWhileItsConditionHolds) {
  Know(Told("o2", "w2"));
  EXPECT_EQ(Hear("a", IfOwner("o2")), KillAnswer::kTaken);
  EXPECT_EQ(Hear("b", IfOwner("o1")), KillAnswer::kFenced);
  EXPECT_EQ(Hear("c", IfWatcher("w2")), KillAnswer::kTaken);
  EXPECT_EQ(Hear("d", {.if_owner = {"o2"}, .if_watcher = {"w1"}}), KillAnswer::kFenced);
  EXPECT_EQ(Hear("e", {.if_owner = {"o1"}, .if_watcher = {"w2"}}), KillAnswer::kFenced);
}

TEST_F(AttentionWithoutAmTest, AJobWithoutAnOwnerIsNobodys) {
  Know(Told(""));
  EXPECT_EQ(Hear("a", IfOwner("o1")), KillAnswer::kFenced);
}

TEST_F(AttentionWithoutAmTest, APlanIsDueByItsFirstTime) {
  Know(Told("o1"));
  EXPECT_EQ(Hear("k", IfOwner("o1", now_ + 10s)), KillAnswer::kPlanned);
  Pass(5s);
  EXPECT_EQ(Hear("k", IfOwner("o1", now_ + 10s)), KillAnswer::kPlanned) << "it is read at each look";
  EXPECT_FALSE(attention_.Due(now_));
  Pass(5s);
  ASSERT_TRUE(attention_.Due(now_));
  EXPECT_EQ(attention_.Due(now_)->name, "k");
}

TEST_F(AttentionWithoutAmTest, TheFirstOfSeveralPlansIsDue) {
  Know(Told("o1"));
  Hear("late", IfOwner("o1", now_ + 9s));
  Hear("early", IfOwner("o1", now_ + 5s));
  Pass(20s);
  EXPECT_EQ(attention_.Due(now_)->name, "early");
}

TEST_F(AttentionWithoutAmTest, AnotherWatcherVoidsAPlanForGood) {
  Know(Told("o1", "w1"));
  Hear("k", IfWatcher("w1", now_ + 10s));
  Hear("other", IfOwner("o1", now_ + 20s));
  attention_.Look({"w1"}, now_);
  attention_.Look({}, now_);
  EXPECT_TRUE(attention_.TakeVoid().empty()) << "itself, and somebody without a name";
  attention_.Look({"w2"}, now_);
  const auto failed = attention_.TakeVoid();
  ASSERT_EQ(failed.size(), 1u);
  EXPECT_EQ(failed[0].name, "k");
  EXPECT_TRUE(attention_.TakeVoid().empty()) << "once";
  attention_.Look({"w1"}, now_);
  EXPECT_EQ(Hear("k", IfWatcher("w1", now_ + 10s)), KillAnswer::kFenced) << "its file may still be there";
  Pass(15s);
  EXPECT_FALSE(attention_.Due(now_));
  Pass(5s);
  EXPECT_EQ(attention_.Due(now_)->name, "other");
}

TEST_F(AttentionWithoutAmTest, WhatCameDueMeanwhileWaitsForThoseWhoMayVoidIt) {
  ClaimRecord told = Told("o1", "w1");
  told.planned = {IfWatcher("w1", now_ - 5s)};
  Know(told);
  EXPECT_FALSE(attention_.Due(now_));
  Pass(2s);
  EXPECT_TRUE(attention_.Due(now_));
  now_ += 60s;  // this process stood still
  attention_.Wake(now_);
  EXPECT_FALSE(attention_.Due(now_));
}

TEST_F(AttentionWithoutAmTest, AJobIsAbandonedWhenNobodyHasLookedForItsTimeoutAndAWhile) {
  Know(Told("o1", "", 10s));
  Pass(14s);
  EXPECT_EQ(attention_.AbandonedFor(now_), std::nullopt) << "a sign may be late";
  attention_.Look({}, now_);
  Pass(14s);
  EXPECT_EQ(attention_.AbandonedFor(now_), std::nullopt);
  Pass(1s);
  EXPECT_EQ(attention_.AbandonedFor(now_), Duration(10s));
}

TEST_F(AttentionWithoutAmTest, TheTimeThatThisProcessStoodStillDoesNotCount) {
  Know(Told("o1", "", 10s));
  now_ += 3600s;
  attention_.Wake(now_);
  EXPECT_EQ(attention_.AbandonedFor(now_), std::nullopt);
  Pass(15s);
  EXPECT_EQ(attention_.AbandonedFor(now_), Duration(10s));
}

TEST_F(AttentionWithoutAmTest, WithoutATimeoutNobodyNeedLook) {
  Know(Told("o1"));
  Pass(24 * 3600s);
  EXPECT_EQ(attention_.AbandonedFor(now_), std::nullopt);
}

// A life of the AM, its death between any two steps, and the keeper's part after it. Who came and who was told is kept
// apart from what either of them knows, and judges every kill.
class FencedLife {
 public:
  enum class Flaw { kNone, kWritesAfterTelling, kForgetsLooks, kForgetsVoid };
  FencedLife(unsigned seed, Flaw flaw) : random_(seed), flaw_(flaw) {}

  // Whether a kill has ended the job of somebody whom it does not name.
  bool GoesWrong() {
    Record();
    for (int steps = Below(12); steps > 0 && !dead_; --steps) Rule();
    keeper_.Wake(now_);
    keeper_.Know(record_, now_);
    for (int i = 0; i < 30 && !wrong_; ++i) Keep();
    return wrong_;
  }

 private:
  // Owners, or watchers, in the order in which they came.
  struct Came {
    std::string name;
    bool told = false;
  };
  struct Wish {
    KillRequest request;
    size_t watchers = 0;  // that had come before it
  };

  int Below(int limit) { return std::uniform_int_distribution<>(0, limit - 1)(random_); }
  void Record() { record_ = {{1}, am_.claim(), am_.watcher(), am_.Planned()}; }
  void Evolve(const std::vector<DecisionBody>& decisions) {
    const auto apply = [this](const auto& d) {
      if constexpr (requires { am_.Apply(d); }) return am_.Apply(d).ok();
      return false;
    };
    for (const DecisionBody& decision : decisions) EXPECT_TRUE(std::visit(apply, decision));
  }

  KillRequest MakeWish() {
    KillRequest wish{.reason = StrCat("k", wishes_.size())};
    (Below(2) == 0 ? wish.if_owner.value : wish.if_watcher.value) = StrCat(Below(3));
    if (Below(2) == 0) wish.due = now_ + Duration(Below(6000) + 1);
    wishes_[wish.reason] = {wish, watchers_.size()};
    return wish;
  }

  // Decides, writes down, tells; it may die after each.
  void Rule() {
    now_ += Duration(Below(3000));
    std::vector<Came>* news = nullptr;
    const std::string name = StrCat(Below(3));
    switch (Below(3)) {
      case 0:
        Evolve(am_.DecideAttach({{name}, Duration(0)}));
        news = &owners_;
        break;
      case 1:
        Evolve(am_.DecideLook({name}, now_));
        news = &watchers_;
        break;
      default:
        if (const KillRequest wish = MakeWish(); am_.Allows(wish) && wish.due > now_) Evolve(am_.DecidePlan(wish));
    }
    if (news) news->push_back({name, flaw_ == Flaw::kWritesAfterTelling});
    dead_ = Below(8) == 0;
    if (dead_) return;
    Record();
    dead_ = Below(8) == 0;
    if (!dead_ && news) news->back().told = true;
  }

  void Keep() {
    keeper_.Wake(now_ += Duration(250));
    if (Below(4) == 0) {
      watchers_.push_back({StrCat(Below(3)), true});
      if (flaw_ != Flaw::kForgetsLooks) keeper_.Look({watchers_.back().name}, now_);
    }
    for (const auto& plan : keeper_.TakeVoid()) {
      if (flaw_ != Flaw::kForgetsVoid) continue;
      keeper_.Hear(plan.name + "again", {.reason = plan.request.reason, .due = plan.request.due + Duration(1000)},
                   now_);
    }
    if (Below(2) == 0) {
      const KillRequest wish = MakeWish();
      if (keeper_.Hear(wish.reason, wish, now_) == KillAnswer::kTaken) Judge(wish);
    }
    if (const auto due = keeper_.Due(now_)) Judge(due->request);
  }

  // Nobody else has been told of later than `name` came.
  static bool IsNewest(const std::vector<Came>& all, const std::string& name) {
    for (auto came = all.rbegin(); came != all.rend(); ++came) {
      if (came->name == name) return true;
      if (came->told) return false;
    }
    return false;
  }

  void Judge(const KillRequest& taken) {
    const Wish& wish = wishes_.at(taken.reason);
    const std::string& owner = wish.request.if_owner.value;
    const std::string& watcher = wish.request.if_watcher.value;
    if (!owner.empty() && !IsNewest(owners_, owner)) wrong_ = true;
    if (watcher.empty()) return;
    if (!IsNewest(watchers_, watcher)) wrong_ = true;
    for (size_t i = wish.watchers; i < watchers_.size(); ++i)
      if (watchers_[i].told && watchers_[i].name != watcher) wrong_ = true;  // void for good
  }

  std::mt19937 random_;
  const Flaw flaw_;
  Instant now_ = kBegin;
  am::Ownership am_;
  ClaimRecord record_;
  AttentionWithoutAm keeper_;
  bool dead_ = false, wrong_ = false;
  std::map<std::string, Wish> wishes_;
  std::vector<Came> owners_, watchers_;
};

bool AnyGoesWrong(FencedLife::Flaw flaw) {
  for (unsigned seed = 1; seed <= 1000; ++seed)
    if (FencedLife(seed, flaw).GoesWrong()) return true;
  return false;
}

TEST(FencedLifeTest, AFencedKillNeverEndsAJobWhoseOwnerOrWatcherItDoesNotName) {
  EXPECT_FALSE(AnyGoesWrong(FencedLife::Flaw::kNone));
}

TEST(FencedLifeTest, ItsCheckerFindsPlantedFlaws) {
  EXPECT_TRUE(AnyGoesWrong(FencedLife::Flaw::kWritesAfterTelling));
  EXPECT_TRUE(AnyGoesWrong(FencedLife::Flaw::kForgetsLooks));
  EXPECT_TRUE(AnyGoesWrong(FencedLife::Flaw::kForgetsVoid));
}

}  // namespace
}  // namespace tony::keeper
