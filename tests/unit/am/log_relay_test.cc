#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "am/parked_calls.h"
#include "tests/support/run_until.h"
#include "tests/unit/am/master_test.h"

namespace tony::am {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

const TaskId kFirst{"worker", 0}, kSecond{"worker", 1};

LogWant Want(const TaskId& task, int64_t offset = 0) { return {{task, 1}, "stdout", offset}; }
LogNews Text(const std::string& text) {
  return {.is_there = true, .text = text, .size = static_cast<int64_t>(text.size())};
}

class LogRelayTest : public testing::Test {
 protected:
  std::shared_ptr<Answered<LogAnswer>> Read(std::vector<LogWant> wants, Duration wait = Duration(0)) {
    auto answer = std::make_shared<Answered<LogAnswer>>();
    relay_.Read({.wants = std::move(wants), .wait = wait}, Reply<LogAnswer>(answer));
    return answer;
  }
  LogAsk Taken(const TaskId& task) {
    const auto asks = relay_.TakeAsks(task);
    EXPECT_THAT(asks, SizeIs(1));
    return asks.empty() ? LogAsk{} : asks.front();
  }
  bool IsAnswered(const std::shared_ptr<Answered<LogAnswer>>& answer) {
    return RunUntil(loop_, [&] { return !answer->open(); });
  }

  EventLoop loop_;
  std::vector<TaskId> told_;
  bool has_ended_ = false;
  LogRelay relay_{
      loop_, {[this](const TaskId& task) { told_.push_back(task); }, [this](const AttemptId&) { return has_ended_; }}};
};

TEST_F(LogRelayTest, ALogQueryIsSentToTheExecutorOnceAndAnsweredWithTheExecutorsText) {
  const auto answer = Read({Want(kFirst, 7)});
  ASSERT_TRUE(RunUntil(loop_, [&] { return !told_.empty(); }));
  EXPECT_THAT(told_, ElementsAre(kFirst));
  const LogAsk ask = Taken(kFirst);
  EXPECT_THAT(ask.wants, ElementsAre(Want(kFirst, 7)));
  EXPECT_THAT(relay_.TakeAsks(kFirst), IsEmpty()) << "it has it";
  relay_.Take(kFirst, ask.id, {Text("line\n")});
  ASSERT_TRUE(answer->value);
  EXPECT_THAT(*answer->value, ElementsAre(std::pair(0, Text("line\n"))));
}

TEST_F(LogRelayTest, ALogReadWithZeroWaitIsAnsweredWhenAllExecutorsHaveReplied) {
  const auto answer = Read({Want(kFirst), Want(kSecond)});
  relay_.Take(kSecond, Taken(kSecond).id, {Text("b")});
  EXPECT_TRUE(answer->open());
  relay_.Take(kFirst, Taken(kFirst).id, {Text("a")});
  ASSERT_TRUE(answer->value);
  EXPECT_THAT(*answer->value, ElementsAre(std::pair(1, Text("b")), std::pair(0, Text("a"))));
}

TEST_F(LogRelayTest, ALogReadWithAWaitTimeIsAnsweredWhenTheFirstExecutorReplies) {
  const auto answer = Read({Want(kFirst), Want(kSecond)}, Duration(10'000));
  Taken(kFirst);
  relay_.Take(kSecond, Taken(kSecond).id, {Text("b")});
  ASSERT_TRUE(IsAnswered(answer));
  EXPECT_THAT(*answer->value, ElementsAre(std::pair(1, Text("b"))));
}

TEST_F(LogRelayTest, LaterLogReadsShareALogQueryThatIsStillUnanswered) {
  const auto first = Read({Want(kFirst), Want(kSecond)}, Duration(10'000));
  const LogAsk open = Taken(kFirst);
  relay_.Take(kSecond, Taken(kSecond).id, {Text("b")});
  ASSERT_TRUE(IsAnswered(first));
  const auto next = Read({Want(kFirst), Want(kSecond, 1)}, Duration(10'000));
  const auto other = Read({Want(kFirst), Want(kSecond, 1)}, Duration(10'000));
  EXPECT_THAT(relay_.TakeAsks(kFirst), IsEmpty()) << "the executor has that question";
  EXPECT_THAT(relay_.TakeAsks(kSecond), SizeIs(1));
  relay_.Take(kFirst, open.id, {Text("a")});
  ASSERT_TRUE(IsAnswered(next) && IsAnswered(other));
  EXPECT_THAT(*next->value, ElementsAre(std::pair(0, Text("a"))));
  EXPECT_EQ(*other->value, *next->value);
}

TEST_F(LogRelayTest, ALogReadWithZeroWaitDoesNotShareTheQueryOfAReaderThatWaitsForNews) {
  const auto waits = Read({Want(kFirst)}, Duration(10'000));
  EXPECT_GT(Taken(kFirst).wait, Duration(0));
  const auto at_once = Read({Want(kFirst)});
  EXPECT_EQ(Taken(kFirst).wait, Duration(0));
}

TEST_F(LogRelayTest, AMissingExecutorIsReportedOnlyForTheLogsOfItsTask) {
  has_ended_ = true;  // otherwise the relay would wait longer
  const auto answer = Read({Want(kFirst), Want(kSecond)});
  relay_.Take(kSecond, Taken(kSecond).id, {Text("b")});
  ASSERT_TRUE(IsAnswered(answer));
  ASSERT_THAT(*answer->value, SizeIs(2));
  EXPECT_EQ(answer->value->front(), std::pair(1, Text("b")));
  EXPECT_EQ(answer->value->back().second.problem, "no executor of worker:0 is connected to the application master");
}

TEST_F(LogRelayTest, ALogReadReportsAnExecutorThatDoesNotReply) {
  const auto answer = Read({Want(kFirst)});
  Taken(kFirst);
  ASSERT_TRUE(IsAnswered(answer));
  EXPECT_EQ(answer->value->front().second.problem, "the executor of worker:0 does not answer");
}

TEST_F(LogRelayTest, ALogReplyWithAWrongTaskOrQueryIdOrTextCountIsIgnored) {
  const auto answer = Read({Want(kFirst)});
  const LogAsk ask = Taken(kFirst);
  relay_.Take(kSecond, ask.id, {Text("x")});
  relay_.Take(kFirst, ask.id, {});
  relay_.Take(kFirst, ask.id + 1, {Text("x")});
  EXPECT_TRUE(answer->open());
}

TEST_F(LogRelayTest, ALogQueryBeyondTheLimitOfOpenQueriesPerExecutorIsRejected) {
  for (size_t i = 0; i < LogRelay::kMostAsksOfTask; ++i) Read({Want(kFirst, static_cast<int64_t>(i))});
  const auto more = Read({Want(kFirst, 99)});
  EXPECT_THAT(relay_.TakeAsks(kFirst), SizeIs(LogRelay::kMostAsksOfTask));
  ASSERT_TRUE(IsAnswered(more));
  EXPECT_THAT(more->value->front().second.problem, HasSubstr("other clients are reading the logs of worker:0"));
}

TEST_F(LogRelayTest, ARequestToReadALogIsRejectedIfTooManyReadersAreWaiting) {
  for (size_t i = 0; i < LogRelay::kMostCalls; ++i) Read({Want({"worker", static_cast<int>(i)})});
  const auto more = Read({Want({"worker", 99})});
  ASSERT_TRUE(more->value);
  EXPECT_THAT(more->value->front().second.problem, HasSubstr("other clients are reading logs"));
}

TEST_F(LogRelayTest, TheReleaseOfATaskWaitsUntilItsLogReaderHasTheWholeLog) {
  EXPECT_FALSE(relay_.DelaysRelease({kFirst, 1})) << "nobody reads it";
  Read({Want(kFirst)}, Duration(10'000));
  EXPECT_TRUE(relay_.DelaysRelease({kFirst, 1}));
  EXPECT_FALSE(relay_.DelaysRelease({kSecond, 1}));
  LogNews part = Text("a");
  part.ended = true;
  part.size = 2;
  relay_.Take(kFirst, Taken(kFirst).id, {part});
  EXPECT_TRUE(relay_.DelaysRelease({kFirst, 1}));
  Read({Want(kFirst, 1)}, Duration(10'000));
  part.text = "b";
  relay_.Take(kFirst, Taken(kFirst).id, {part});
  EXPECT_FALSE(relay_.DelaysRelease({kFirst, 1}));
}

TEST_F(LogRelayTest, AnUnansweredLogQueryDelaysTheReleaseOfATaskOnlyForALimitedTime) {
  Read({Want(kFirst)}, Duration(20'000));
  Taken(kFirst);
  EXPECT_TRUE(relay_.DelaysRelease({kFirst, 1}));
  EXPECT_TRUE(RunUntil(loop_, [&] { return !relay_.DelaysRelease({kFirst, 1}); }));
  EXPECT_TRUE(relay_.DelaysRelease({kFirst, 2})) << "another attempt has its own time";
}

TEST_F(LogRelayTest, ALogReaderThatStopsReadingDelaysTheReleaseOfATaskOnlyForALimitedTime) {
  const auto answer = Read({Want(kFirst)});
  relay_.Take(kFirst, Taken(kFirst).id, {Text("a")});
  EXPECT_TRUE(RunUntil(loop_, [&] { return !relay_.DelaysRelease({kFirst, 1}); }));
}

}  // namespace
}  // namespace tony::am
