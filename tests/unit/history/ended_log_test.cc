#include "runtime/history/ended_log.h"

#include <gmock/gmock.h>

#include <cstdio>
#include <fstream>

#include "runtime/history/jhist.h"
#include "runtime/os/files.h"
#include "runtime/records/local_job_store.h"
#include "tests/support/temp_folder.h"

namespace tony {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

EndedJob Job(const std::string& id, int64_t ended = 0) {
  return {.job = {id}, .name = "n", .user = "u", .framework = "jax", .ended = FromMillis(ended), .tasks = 1};
}

std::string Checksum(const std::string& body) {
  char text[16];
  std::snprintf(text, sizeof text, "%08x", Crc32(body));
  return text;
}

class EndedLogTest : public ::testing::Test {
 protected:
  std::string Path() const { return (temp_.path() / "history/ended.log").string(); }
  std::string Bytes() const { return *ReadFile(Path()); }
  void Add(const std::string& bytes) const { std::ofstream(Path(), std::ios::app) << bytes; }
  void Append(const EndedJob& job) const {
    const Status appended = log_.Append(job);
    ASSERT_TRUE(appended.ok()) << appended.error().message;
  }
  // The jobs as a reader gets them.
  std::vector<EndedJob> Jobs() {
    const auto text = log_.Read();
    EXPECT_TRUE(text.ok());
    std::vector<EndedJob> jobs;
    scan_ = ForEachEnded(text->text(), [&](const EndedLine& line) {
      jobs.push_back(ToEndedJob(line));
      return true;
    });
    return jobs;
  }
  std::vector<std::string> Ids() {
    std::vector<std::string> ids;
    for (const EndedJob& job : Jobs()) ids.push_back(job.job.value);
    return ids;
  }

  TempFolder temp_;
  EndedLog log_{temp_.path()};
  EndedScan scan_;
};

TEST_F(EndedLogTest, AMissingLogIsReadAsEmpty) {
  EXPECT_THAT(Ids(), IsEmpty());
  EXPECT_TRUE(scan_.complete);
}

TEST_F(EndedLogTest, JobsAreReadNewestFirst) {
  for (const char* id : {"a", "b", "c"}) Append(Job(id));
  EXPECT_THAT(Ids(), ElementsAre("c", "b", "a"));
  EXPECT_EQ(scan_.skipped, 0u);
}

TEST_F(EndedLogTest, OnlyTheLastLineOfAJobIsReturned) {
  Append(Job("a", 1));
  Append(Job("b"));
  Append(Job("a", 2));
  EXPECT_THAT(Jobs(), ElementsAre(Job("a", 2), Job("b")));
}

TEST_F(EndedLogTest, TruncatedAndMalformedLinesAreSkippedAndCounted) {
  Append(Job("a"));
  const std::string line = Bytes();
  Add("a line of somebody else\n\n");
  // no line end; the next append adds one
  Add(line.substr(0, line.size() / 2));
  Append(Job("b"));
  Add(line.substr(0, 20));
  EXPECT_THAT(Ids(), ElementsAre("b", "a"));
  EXPECT_EQ(scan_.skipped, 3u);
}

TEST_F(EndedLogTest, AFlippedBitDropsOnlyTheAffectedLinesAndNeverYieldsAWrongLine) {
  const std::vector<EndedJob> jobs = {Job("a"), Job("b"), Job("c")};
  std::string text;
  for (const EndedJob& job : jobs) text += ToLine(job);
  for (size_t at = 0; at < text.size(); ++at) {
    for (int bit = 0; bit < 8; ++bit) {
      std::string flipped = text;
      flipped[at] = static_cast<char>(flipped[at] ^ (1 << bit));
      size_t seen = 0;
      const EndedScan scan = ForEachEnded(flipped, [&](const EndedLine& line) {
        ++seen;
        EXPECT_THAT(jobs, testing::Contains(ToEndedJob(line))) << at << " " << bit;
        return true;
      });
      EXPECT_GE(seen, text[at] == '\n' ? 1u : 2u) << at << " " << bit;
      EXPECT_GE(scan.skipped, at + 1 == text.size() ? 0u : 1u) << at << " " << bit;
    }
  }
}

TEST_F(EndedLogTest, ARewriteOfTheLogKeepsTheLastLineOfEachJobAndLinesOfLaterVersions) {
  Append(Job("late", 30));
  Append(Job("a", 1));
  Append(Job("a", 20));
  Add("rubbish\n");
  Add("9\tof a later version\t" + Checksum("9\tof a later version") + "\n");
  ASSERT_TRUE(log_.Rewrite({Job("b", 10)}, FromMillis(0)).ok());
  EXPECT_THAT(Ids(), ElementsAre("late", "a", "b"));
  EXPECT_EQ(scan_.skipped, 1u) << "the one that is whole and not ours to read";
  EXPECT_THAT(Bytes(), HasSubstr("of a later version"));
  EXPECT_THAT(Bytes(), Not(HasSubstr("rubbish")));
}

TEST_F(EndedLogTest, ARewriteOfTheLogDropsJobsThatEndedBeforeTheCutoff) {
  Append(Job("old", 10));
  Append(Job("new", 20));
  ASSERT_TRUE(log_.Rewrite({}, FromMillis(20)).ok());
  EXPECT_THAT(Ids(), ElementsAre("new"));
}

class RecordEndTest : public EndedLogTest {
 protected:
  RecordEndTest() {
    NewJob job;
    job.spec.name = "digits";
    job.spec.roles = {{.name = "worker", .command = "true"}};
    records_ = *LocalJobStore(temp_.path()).Create(job, FromMillis(1000));
  }
  JobStatus Document() const {
    JobStatus status{.job = records_.job(), .name = "digits", .state = "RUNNING", .submitted = FromMillis(1000)};
    status.tasks = {{.id = {"worker", 0}, .state = "done"}};
    return status;
  }
  JobRecords records_ = LocalJobRecords("");
};

TEST_F(RecordEndTest, AnEndedJobIsAppendedToTheLogWithItsOutcome) {
  JobStatus status = Document();
  status.state = "FAILED";
  status.verdict = Verdict{.state = FinalState::kFailed, .cls = OutcomeClass::kOom, .message = "too large"};
  status.ended = FromMillis(5000);
  status.restart_count = 3;
  status.request = {"k"};
  status.number = 7;
  ASSERT_TRUE(records_.WriteStatus(status, Durability::kLostWithPower).ok());
  ASSERT_TRUE(RecordEnd(records_).ok());
  EXPECT_THAT(Jobs(), ElementsAre(EndedJob{.job = records_.job(),
                                           .name = "digits",
                                           .state = FinalState::kFailed,
                                           .cls = OutcomeClass::kOom,
                                           .request = {"k"},
                                           .number = 7,
                                           .submitted = FromMillis(1000),
                                           .ended = FromMillis(5000),
                                           .tasks = 1,
                                           .restarts = 3,
                                           .cause = "too large"}));
}

TEST_F(RecordEndTest, ARunningJobIsRejectedAndNotAppendedToTheLog) {
  EXPECT_FALSE(RecordEnd(records_).ok());
  ASSERT_TRUE(records_.WriteStatus(Document(), Durability::kLostWithPower).ok());
  EXPECT_FALSE(RecordEnd(records_).ok());
  EXPECT_THAT(Ids(), IsEmpty());
}

TEST_F(RecordEndTest, AnUnwritableHistoryFolderIsNamedInTheError) {
  JobStatus status = Document();
  status.verdict = Verdict{};
  ASSERT_TRUE(records_.WriteStatus(status, Durability::kLostWithPower).ok());
  std::ofstream(temp_.path() / "history") << "a file";
  const Status recorded = RecordEnd(records_);
  ASSERT_FALSE(recorded.ok());
  EXPECT_THAT(recorded.error().message, HasSubstr((temp_.path() / "history").string()));
}

}  // namespace
}  // namespace tony
