#include "runtime/logs/log_choice.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>

namespace tony {
namespace {

using testing::ElementsAre;

// The logs of a job whose task worker:0 has these attempts.
class ListedLogs : public LogSource {
 public:
  explicit ListedLogs(std::vector<int> numbers) : numbers_(std::move(numbers)) {}
  std::vector<AttemptId> Attempts(const std::optional<TaskId>&) const override {
    std::vector<AttemptId> attempts;
    for (const int number : numbers_) attempts.push_back({{"worker", 0}, number});
    return attempts;
  }
  std::unique_ptr<LogStream> Open(const AttemptId&, std::string_view) const override { return nullptr; }
  int Processes(const TaskId&) const override { return 1; }
  std::optional<Files> List(const AttemptId&) const override { return std::nullopt; }
  std::unique_ptr<LogWatch> Watch(EventLoop&, const std::optional<TaskId>&, LogWatchSink) const override {
    return nullptr;
  }

 private:
  const std::vector<int> numbers_;
};

std::vector<int> Chosen(const std::vector<int>& there, const std::string& begun, const LogChoice& choice = {}) {
  LogCursor cursor;
  EXPECT_TRUE(cursor.Set(begun).ok());
  std::vector<int> numbers;
  for (const AttemptId& attempt : ChosenAttempts(ListedLogs(there), choice, cursor)) numbers.push_back(attempt.number);
  return numbers;
}

TEST(LogChoiceTest, ACursorSelectsTheAttemptThatTheCursorNamesAndAllLaterAttempts) {
  EXPECT_THAT(Chosen({1, 2, 3}, ""), ElementsAre(3));
  EXPECT_THAT(Chosen({1, 2, 3}, "worker:0#2/stdout=4"), ElementsAre(2, 3));
  EXPECT_THAT(Chosen({1, 2, 3}, "worker:0#2/stdout=4", LogChoice::Of({"worker", 0}, 1)), ElementsAre(1));
}

// A task can make folders with any number, and a client can change its cursor.
TEST(LogChoiceTest, ACursorSelectsOnlyAttemptsThatExist) {
  ASSERT_THAT(Chosen({1, 4}, "worker:0#1/stdout=4"), ElementsAre(1, 4));
  constexpr int kHighest = std::numeric_limits<int>::max();
  EXPECT_THAT(Chosen({1, 1'700'000'000, kHighest}, "worker:0#1/stdout=4"), ElementsAre(1, 1'700'000'000, kHighest));
  EXPECT_THAT(Chosen({1, 2}, "worker:0#-2000000000/stdout=4"), ElementsAre(1, 2));
}

}  // namespace
}  // namespace tony
