// Real jobs of this and earlier releases left the journals in tests/journals. A replay leads to the states that those
// jobs reported, independent of today's policy.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "am/core/job.h"
#include "runtime/base/strings.h"
#include "runtime/records/decisions.h"
#include "runtime/records/journal_format.h"
#include "tests/support/places.h"

namespace tony::am {
namespace {

namespace fs = std::filesystem;

std::string ReadText(const fs::path& path) {
  std::ostringstream text;
  text << std::ifstream(path, std::ios::binary).rdbuf();
  return text.str();
}

std::vector<std::string> Recorded() {
  std::vector<std::string> names;
  for (const auto& entry : fs::directory_iterator(fs::path(SourceFolder()) / "tests" / "journals")) {
    if (entry.is_directory()) names.push_back(entry.path().filename().string());
  }
  std::ranges::sort(names);
  return names;
}

class CorpusTest : public testing::TestWithParam<std::string> {
 protected:
  void SetUp() override { Load(GetParam()); }
  void Load(const std::string& name) {
    const fs::path folder = fs::path(SourceFolder()) / "tests" / "journals" / name;
    auto journal = DecodeJournal(ReadText(folder / "journal"));
    ASSERT_TRUE(journal.ok()) << journal.error().message;
    decisions_ = std::move(journal->decisions);
    auto spec = JobSpecFromJson(ReadText(folder / "spec.json"));
    ASSERT_TRUE(spec.ok()) << spec.error().message;
    spec_ = *std::move(spec);
    auto told = JobStatusFromJson(ReadText(folder / "status.json"));
    ASSERT_TRUE(told.ok()) << told.error().message;
    told_ = *std::move(told);
    events_ = ReadText(folder / "events.txt");
  }

  // Replays the first `decisions` decisions, as a new AM does.
  std::unique_ptr<Job> Replay(const JobSpec& spec, size_t decisions) const {
    auto job = std::make_unique<Job>(told_.job, spec);
    for (size_t i = 0; i < decisions; ++i) {
      const auto evolved = job->Evolve(decisions_[i]);
      EXPECT_TRUE(evolved.ok()) << "decision " << i + 1 << ", " << Name(decisions_[i]);
      if (!evolved.ok()) break;
    }
    return job;
  }
  std::string StatusOf(const Job& job) const {
    JobStatus status = job.Snapshot(told_.user, told_.submitted);
    // from the submission, like user and time
    status.request = told_.request;
    status.number = told_.number;
    return ToJson(status);
  }

  // Returns the same job under a policy without restart budgets and with minimal timeouts.
  JobSpec UnderAnotherPolicy() const {
    JobSpec spec = spec_;
    for (RestartBudget& level : spec.restart.levels) level = {};
    spec.restart.lost = {};
    spec.restart.settle = Duration(0);
    spec.timers = {
        .suspect_after = Duration(2), .cutoff_after = Duration(3), .grace = Duration(1), .lost_after = Duration(5)};
    spec.timeout = Duration(1);
    return spec;
  }

  std::vector<Decision> decisions_;
  JobSpec spec_;
  JobStatus told_;
  std::string events_;
};

TEST_P(CorpusTest, ARecordedJournalReplaysToTheStatusThatTheJobReported) {
  EXPECT_EQ(StatusOf(*Replay(spec_, decisions_.size())), ToJson(told_));
}

TEST_P(CorpusTest, ARecordedJournalReplaysToTheSameStatusUnderAnotherRestartPolicy) {
  EXPECT_EQ(StatusOf(*Replay(UnderAnotherPolicy(), decisions_.size())), ToJson(told_));
}

TEST_P(CorpusTest, TheEventsOfARecordedJournalHaveTheSameTextAsWhenRecorded) {
  std::string text;
  for (const Decision& decision : decisions_) text += EventLine(decision, decisions_.front().time) + "\n";
  EXPECT_EQ(text, events_);
}

INSTANTIATE_TEST_SUITE_P(Journals, CorpusTest, testing::ValuesIn(Recorded()), [](const auto& recorded) {
  std::string name = recorded.param;
  std::ranges::replace_if(
      name, [](char c) { return c == '-' || c == '.'; }, '_');
  return name;
});

// Shows that the other policy really differs: it would not have decided the restart that it replays.
class PolicyTest : public CorpusTest {};

TEST_P(PolicyTest, ARecordedJobStopsInsteadOfRestartingUnderAPolicyWithoutRestartBudgets) {
  const auto restart = std::ranges::find_if(
      decisions_, [](const Decision& d) { return std::holds_alternative<RestartDecided>(d.body); });
  ASSERT_NE(restart, decisions_.end());
  const auto before = static_cast<size_t>(restart - decisions_.begin());

  const auto then = Replay(spec_, before)->Consequence(restart->time);
  const auto now = Replay(UnderAnotherPolicy(), before)->Consequence(restart->time);

  ASSERT_TRUE(then);
  EXPECT_TRUE(std::holds_alternative<RestartDecided>(*then));
  ASSERT_TRUE(now);
  EXPECT_TRUE(std::holds_alternative<JobStopping>(*now));
}

INSTANTIATE_TEST_SUITE_P(Journals, PolicyTest, testing::Values("v1-gang-restart", "v1-task-restart"),
                         [](const auto& recorded) { return recorded.param.substr(3, 4); });

TEST(CorpusListTest, CorpusHasJournalsOfTheFirstReleaseAndOfRestarts) {
  const std::vector<std::string> names = Recorded();
  for (const char* name : {"v1-first-success", "v1-first-failure", "v1-first-am-killed", "v1-first-killed",
                           "v1-gang-restart", "v1-task-restart"}) {
    EXPECT_EQ(std::ranges::count(names, name), 1) << name;
  }
}

}  // namespace
}  // namespace tony::am
