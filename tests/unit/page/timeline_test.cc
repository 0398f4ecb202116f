#include "runtime/page/timeline.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "runtime/base/strings.h"

namespace tony {
namespace {

using testing::HasSubstr;
using testing::Not;

const Instant kStart = FromMillis(1763717415000);

Instant At(int64_t seconds) { return kStart + std::chrono::seconds(seconds); }

AttemptHistory Attempt(int index, int number, int64_t from, int64_t until, bool failed) {
  AttemptHistory attempt{.id = {{"worker", index}, number}, .started = At(from), .ended = At(until)};
  attempt.outcome = Outcome{};
  if (failed) attempt.outcome->cls = OutcomeClass::kUserError;
  return attempt;
}

size_t Occurrences(const std::string& text, const std::string& part) {
  size_t count = 0;
  for (size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++count;
  return count;
}

TEST(TimelineTest, PhasesAndAttemptsAreBarsInProportion) {
  JobStatus status;
  status.submitted = kStart;
  status.ended = At(100);
  JobHistory history;
  history.phases = {{JobPhaseKind::kWaiting, kStart, At(20)}, {JobPhaseKind::kRunning, At(20), At(100)}};
  history.attempts = {Attempt(0, 1, 20, 50, true), Attempt(0, 2, 60, 100, false), Attempt(1, 1, 20, 100, true)};
  const std::string html = TimelineHtml({.status = status, .history = &history});
  EXPECT_THAT(html, HasSubstr("<rect class=\"idle\" x=\"0\" width=\"2000\""));
  EXPECT_THAT(html, HasSubstr("<rect class=\"busy\" x=\"2000\" width=\"8000\""));
  EXPECT_THAT(html, HasSubstr("<rect class=\"lost\" x=\"2000\" width=\"3000\""));
  EXPECT_THAT(html, HasSubstr("worker:0#1, thrown away, ran 0:30"));
  EXPECT_THAT(html, HasSubstr("<rect class=\"good\" x=\"6000\" width=\"4000\""));
  EXPECT_THAT(html, HasSubstr("<rect class=\"bad\" x=\"2000\" width=\"8000\""));
  EXPECT_THAT(html, HasSubstr("replaced ran 0:30 together"));
}

TEST(TimelineTest, ShortPartsAreVisibleAndLongListsAreCut) {
  JobStatus status;
  status.submitted = kStart;
  status.ended = At(100'000);
  JobHistory history;
  history.phases = {{JobPhaseKind::kWaiting, kStart, At(100'000)}};
  for (int i = 0; i < 1000; ++i) history.attempts.push_back(Attempt(i, 1, 99'999, 100'000, false));
  const std::string html = TimelineHtml({.status = status, .history = &history});
  EXPECT_THAT(html, HasSubstr("x=\"9970\" width=\"30\""));
  EXPECT_EQ(Occurrences(html, "class=\"lane\""), 31u);
  EXPECT_THAT(html, HasSubstr("The 30 of 1000 tasks"));
  EXPECT_EQ(TimelineHtml({.status = status}), "");
  history.attempts[777] = Attempt(777, 1, 99'999, 100'000, true);
  const std::string failed = TimelineHtml({.status = status, .history = &history});
  EXPECT_LT(failed.find(">worker:777<"), failed.find(">worker:0<"));
}

TEST(TaskGridTest, AThousandTasksAreCellsWithFailedTasksFirst) {
  JobStatus status;
  for (int i = 0; i < 1000; ++i)
    status.tasks.push_back({.id = {"worker", i}, .state = "active", .attempt = 1, .attempt_state = "running"});
  status.tasks[777].state = "done";
  status.tasks[777].attempt_state = "failed";
  const std::string html = TaskGridHtml({.status = status});
  EXPECT_EQ(Occurrences(html, "<a "), 1000u);
  EXPECT_EQ(html.find("<a "), html.find("<a class=\"bad\" title=\"worker:777 failed\""));
  EXPECT_THAT(html, HasSubstr("href=\"logs/worker-777/1/stderr\""));
  EXPECT_LT(html.size(), 200'000u);
  status.tasks.resize(19);
  EXPECT_EQ(TaskGridHtml({.status = status}), "");
}

}  // namespace
}  // namespace tony
