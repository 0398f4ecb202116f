#include <gmock/gmock.h>

#include "runtime/history/ended_log.h"

namespace tony {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::Pair;

class EndedQueryTest : public ::testing::Test {
 protected:
  EndedQueryTest() {
    for (int i = 0; i < 6; ++i) {
      EndedJob job{.job = {std::string(1, static_cast<char>('a' + i))}, .name = i % 2 ? "odd\t" : "even"};
      job.user = i < 3 ? "ana" : "ben";
      job.request = {i == 4 ? "k\tey" : ""};
      job.state = i < 4 ? FinalState::kSucceeded : FinalState::kFailed;
      job.cls = i < 4 ? OutcomeClass::kSuccess : i == 4 ? OutcomeClass::kOom : OutcomeClass::kUserError;
      job.submitted = FromMillis(1000 * i);
      job.ended = FromMillis(1000 * i + 100 * (i + 1));
      job.tasks = i;
      job.restarts = 1;
      log_ += ToLine(job);
    }
  }
  std::vector<std::string> Find(const EndedFilter& filter, size_t limit = 50) {
    found_ = FindEnded(log_, filter, limit);
    std::vector<std::string> ids;
    for (const EndedJob& job : found_.jobs) ids.push_back(job.job.value);
    return ids;
  }
  std::string log_;
  EndedFound found_;
};

TEST_F(EndedQueryTest, AQueryWithoutAFilterReturnsAllEndedJobs) {
  EXPECT_THAT(Find({}), ElementsAre("f", "e", "d", "c", "b", "a"));
  EXPECT_TRUE(found_.complete);
}

TEST_F(EndedQueryTest, ASearchStopsAtItsLimitAndReportsThatMoreJobsExist) {
  EXPECT_THAT(Find({}, 2), ElementsAre("f", "e"));
  EXPECT_FALSE(found_.complete);
  EXPECT_EQ(Find({}, 6).size(), 6u);
  EXPECT_TRUE(found_.complete) << "exactly as many as there are";
}

TEST_F(EndedQueryTest, EachFilterOfEndedJobsSelectsTheMatchingJobs) {
  EXPECT_THAT(Find({.state = FinalState::kFailed}), ElementsAre("f", "e"));
  EXPECT_THAT(Find({.cls = OutcomeClass::kOom}), ElementsAre("e"));
  EXPECT_THAT(Find({.user = "ana"}), ElementsAre("c", "b", "a"));
  EXPECT_THAT(Find({.request = "k\tey"}), ElementsAre("e"));
  EXPECT_THAT(Find({.name = "even"}), ElementsAre("e", "c", "a"));
  EXPECT_THAT(Find({.name = "odd\t"}), ElementsAre("f", "d", "b"));
  EXPECT_THAT(Find({.name = "o?[c-e]*"}), ElementsAre("f", "d", "b"));
  EXPECT_THAT(Find({.name = "od"}), IsEmpty());
  EXPECT_THAT(Find({.since = FromMillis(4500)}), ElementsAre("f", "e"));
  EXPECT_THAT(Find({.until = FromMillis(1200)}), ElementsAre("b", "a"));
  EXPECT_THAT(Find({.user = "ben", .until = FromMillis(4500)}), ElementsAre("e", "d"));
}

TEST_F(EndedQueryTest, AQueryIgnoresAnEarlierLineOfAJobThatHasALaterLine) {
  EndedJob job{.job = {"e"}, .name = "even"};
  log_ += ToLine(job);
  EXPECT_THAT(Find({.cls = OutcomeClass::kOom}), IsEmpty());
}

TEST_F(EndedQueryTest, StatsCountOnlyJobsThatPassTheFilter) {
  const EndedStats stats = StatsOfEnded(log_, {.user = "ben"});
  EXPECT_EQ(stats.jobs, 3);
  EXPECT_EQ(stats.tasks, 12);
  EXPECT_EQ(stats.restarts, 3);
  EXPECT_THAT(stats.by_state, ElementsAre(Pair("FAILED", 2), Pair("SUCCEEDED", 1)));
  EXPECT_THAT(stats.by_class, ElementsAre(Pair("oom", 1), Pair("success", 1), Pair("user_error", 1)));
  EXPECT_EQ(stats.mean, Duration(500));
  EXPECT_EQ(stats.longest, Duration(600));
  EXPECT_EQ(stats.longest_job, "f");
  EXPECT_EQ(StatsOfEnded("", {}).jobs, 0);
}

}  // namespace
}  // namespace tony
