#include <gtest/gtest.h>

#include <vector>

#include "runtime/page/live_page.h"
#include "tests/support/run_until.h"

namespace tony {
namespace {

class StatusFeedTest : public testing::Test {
 protected:
  StatusFeedTest()
      : feed(loop, [this](auto answer) {
          ++asked;
          if (silent) return;
          loop.Post([this, answer] { broken ? answer(Error{ErrorCode::kUnavailable, "x"}) : answer(status); });
        }) {}

  StatusFeed::Answer Note() {
    return [this](const std::shared_ptr<ShownStatus>& shown) { heard.push_back(shown); };
  }
  bool Heard(size_t count) {
    return RunUntil(loop, [&] { return heard.size() >= count; });
  }

  EventLoop loop;
  JobStatus status{.seq = 5};
  bool silent = false, broken = false;
  int asked = 0;
  std::vector<std::shared_ptr<ShownStatus>> heard;
  StatusFeed feed;
};

TEST_F(StatusFeedTest, AHundredSimultaneousRequestsShareOneQuery) {
  for (int i = 0; i < 100; ++i) feed.Latest(Note());
  ASSERT_TRUE(Heard(100));
  feed.Latest(Note());
  EXPECT_EQ(asked, 1);
  EXPECT_EQ(heard.size(), 101u);
  for (const auto& shown : heard) EXPECT_EQ(shown, heard[0]);
}

TEST_F(StatusFeedTest, AHundredWatchersReceiveTheNextStatusChangeFromOneQuery) {
  feed.Latest(Note());
  ASSERT_TRUE(Heard(1));
  for (int i = 0; i < 100; ++i) feed.Next(5, std::chrono::seconds(30), Note());
  EXPECT_EQ(heard.size(), 1u);
  status.seq = 6;
  ASSERT_TRUE(Heard(101));
  EXPECT_EQ(heard.back()->status.seq, 6);
  EXPECT_EQ(heard[1], heard.back());
  EXPECT_EQ(asked, 2);
}

TEST_F(StatusFeedTest, AClientThatMissedAStatusChangeReceivesTheNewStatusAtOnce) {
  feed.Latest(Note());
  ASSERT_TRUE(Heard(1));
  feed.Next(4, std::chrono::seconds(30), Note());
  EXPECT_EQ(heard.size(), 2u);
}

TEST_F(StatusFeedTest, AWatcherReceivesTheUnchangedStatusAfterItsTimeout) {
  feed.Next(5, Duration(50), Note());
  ASSERT_TRUE(Heard(1));
  EXPECT_EQ(heard[0]->status.seq, 5);
}

TEST_F(StatusFeedTest, WithoutWatchersTheJobIsNotQueried) {
  feed.Next(5, Duration(10), Note());
  ASSERT_TRUE(Heard(1));
  const int before = asked;
  bool later = false;
  const auto timer = loop.After(Duration(1200), [&] { later = true; });
  ASSERT_TRUE(RunUntil(loop, [&] { return later; }));
  EXPECT_EQ(asked, before);
}

TEST_F(StatusFeedTest, TheFinalStatusIsSentToAllWaitingAndLaterRequests) {
  silent = true;
  feed.Latest(Note());
  feed.Next(5, std::chrono::seconds(30), Note());
  JobStatus last{.seq = 9};
  last.verdict = Verdict{};
  feed.End(last);
  ASSERT_EQ(heard.size(), 2u);
  feed.Next(9, std::chrono::seconds(30), Note());
  feed.Latest(Note());
  ASSERT_EQ(heard.size(), 4u);
  for (const auto& shown : heard) EXPECT_EQ(shown->status.seq, 9);
}

TEST_F(StatusFeedTest, AFailedStatusQueryFailsItsRequestWhileWatchersKeepWaiting) {
  broken = true;
  feed.Latest(Note());
  feed.Next(5, std::chrono::seconds(30), Note());
  ASSERT_TRUE(Heard(1));
  EXPECT_EQ(heard[0], nullptr);
  broken = false;
  status.seq = 6;
  ASSERT_TRUE(Heard(2));
  EXPECT_EQ(heard[1]->status.seq, 6);
}

TEST_F(StatusFeedTest, AStatusThatArrivesAfterTheFeedWasDestroyedIsDropped) {
  std::function<void(Result<JobStatus>)> late;
  {
    StatusFeed gone(loop, [&](auto answer) { late = answer; });
    gone.Latest(Note());
  }
  late(status);
  EXPECT_TRUE(heard.empty());
}

}  // namespace
}  // namespace tony
