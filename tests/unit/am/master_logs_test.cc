// Tests readers that get logs through the master, the logs that the master keeps, and the log places that the status
// shows.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "runtime/job/job_status.h"
#include "runtime/records/kept_outputs.h"
#include "tests/unit/am/master_test.h"

namespace tony::am {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::Not;
using testing::SizeIs;

class ReportedLogsTest : public ApplicationMasterTest {
 protected:
  using ApplicationMasterTest::ApplicationMasterTest;
  std::shared_ptr<Answered<std::monostate>> ReportWith(const std::string& task, const Outcome& outcome) {
    auto answer = std::make_shared<Answered<std::monostate>>();
    const LogExcerpt log{.stream = "stderr", .size = 4, .parts = {{0, "bad\n"}}};
    master_.ReportOutcome(CallerOf(task), {outcome, {}, {log}}, Reply<std::monostate>(answer));
    journal_.WriteAll();
    return answer;
  }
};

class MasterLogsTest : public ReportedLogsTest {
 protected:
  MasterLogsTest() {
    GrantBothAndRegisterOne();
    Register("worker:1");
    journal_.WriteAll();
  }
  std::shared_ptr<Answered<LogAnswer>> ReadLogs(const std::string& task, const std::string& token = kToken) {
    auto answer = std::make_shared<Answered<LogAnswer>>();
    master_.ReadLogs(token, {.wants = {{AttemptOf(task), "stdout", 0}}, .wait = Duration(10'000)},
                     Reply<LogAnswer>(answer));
    return answer;
  }
  void Send(const std::string& task, int64_t id, const LogNews& news) {
    auto answer = std::make_shared<Answered<std::monostate>>();
    master_.SendLog(CallerOf(task), id, {news}, Reply<std::monostate>(answer));
    EXPECT_TRUE(answer->value);
  }
  // Calls Await repeatedly, past answers with commands, until an answer has a log request for the executor.
  std::vector<LogAsk> AwaitAsks(const std::string& task) {
    for (int64_t since = 0;;) {
      auto answer = std::make_shared<Answered<Command>>();
      master_.Await(CallerOf(task), since, Reply<Command>(answer));
      journal_.WriteAll();
      EXPECT_TRUE(RunUntil(loop_, [&] { return !answer->open(); }));
      if (!answer->value || !answer->value->logs.empty())
        return answer->value ? answer->value->logs : std::vector<LogAsk>();
      since = answer->value->number;
    }
  }
};

TEST_F(MasterLogsTest, AnExecutorReceivesALogQueryInTheAnswerToItsAwaitCall) {
  const auto answer = ReadLogs("worker:1");
  const auto asks = AwaitAsks("worker:1");
  ASSERT_EQ(asks.size(), 1u);
  EXPECT_THAT(asks.front().wants, ElementsAre(LogWant{AttemptOf("worker:1"), "stdout", 0}));
  Send("worker:1", asks.front().id, {.is_there = true, .text = "hello\n", .size = 6});
  ASSERT_TRUE(answer->value);
  EXPECT_EQ(answer->value->front().second.text, "hello\n");
}

TEST_F(MasterLogsTest, AnExecutorIsReleasedWhenItsLogReaderHasTheWholeLog) {
  ReadLogs("worker:1");
  const auto asks = AwaitAsks("worker:1");
  ASSERT_EQ(asks.size(), 1u);
  Report("worker:1", {.exit = ExitStatus{}});
  journal_.WriteAll();
  const auto await = Await("worker:1");
  journal_.WriteAll();
  Pass(Duration(200));
  EXPECT_TRUE(await->open());
  Send("worker:1", asks.front().id, {.is_there = true, .text = "bye\n", .size = 4, .ended = true});
  ASSERT_TRUE(RunUntil(loop_, [&] { return !await->open(); }));
  EXPECT_EQ(await->value->kind, Command::Kind::kRelease);
}

TEST_F(MasterLogsTest, AnExecutorWithoutLogReadersIsReleasedAtOnce) {
  Report("worker:1", {.exit = ExitStatus{}});
  journal_.WriteAll();
  const auto await = Await("worker:1");
  journal_.WriteAll();
  ASSERT_TRUE(await->value);
  EXPECT_EQ(await->value->kind, Command::Kind::kRelease);
}

TEST_F(MasterLogsTest, ALogQueryWritesNothingToTheJournal) {
  const size_t appended = journal_.appended.size();
  ReadLogs("worker:1");
  AwaitAsks("worker:1");
  EXPECT_EQ(journal_.appended.size(), appended);
}

TEST_F(MasterLogsTest, ALogReadWithAWrongTokenOrAnUnknownTaskIsRejected) {
  EXPECT_EQ(ReadLogs("worker:1", std::string(64, 'x'))->refusal->reason, RefusalReason::kBadToken);
  EXPECT_EQ(ReadLogs("worker:2")->refusal->message, "the job has no task worker:2");
}

TEST_F(MasterLogsTest, LogExcerptsReportedWithAnOutcomeAreStoredInTheJobRecords) {
  ReportWith("worker:1", Failure(3));
  const auto kept = ReadKeptLogs(records_, AttemptOf("worker:1"));
  ASSERT_TRUE(kept.ok() && *kept);
  EXPECT_THAT(**kept, ElementsAre(LogExcerpt{.stream = "stderr", .size = 4, .parts = {{0, "bad\n"}}}));
  EXPECT_THAT(*ListKeptLogs(records_), ElementsAre(AttemptOf("worker:1")));
}

TEST_F(MasterLogsTest, AnOutcomeIsAcceptedEvenIfItsLogsCannotBeStored) {
  ASSERT_TRUE(WriteNewFile(records_.place() / "logs", "in the way", false).ok());
  EXPECT_TRUE(ReportWith("worker:1", Failure(3))->value);
}

TEST_F(ReportedLogsTest, TheStatusShowsTheLogUrlOfTheGrantedContainer) {
  master_.OnScheduler(ContainerGranted{{{"worker", 0}, 1}, ContainerOf("worker:0"), "node", "http://node:8042/x"});
  Grant("worker:1");
  journal_.WriteAll();
  EXPECT_EQ(master_.ShowStatus().tasks[0].log_url, "http://node:8042/x");
  EXPECT_EQ(master_.ShowStatus().tasks[1].log_url, "");
  const auto read = JobStatusFromJson(ToJson(master_.ShowStatus()));
  ASSERT_TRUE(read.ok());
  EXPECT_EQ(read->tasks[0].log_url, "http://node:8042/x");
}

class ManyLogsTest : public ReportedLogsTest {
 protected:
  ManyLogsTest() : ReportedLogsTest(JobBuilder().Role("worker", 66).Build()) {
    for (int i = 0; i < 66; ++i) Grant(StrCat("worker:", i));
    for (int i = 0; i < 66; ++i) Register(StrCat("worker:", i));
    journal_.WriteAll();
  }
  void Fail(int begin, int end) {
    for (int i = begin; i < end; ++i) ReportWith(StrCat("worker:", i), Failure(3));
    calls_.AnswerAll();
  }
  std::vector<AttemptId> Kept() const { return *ListKeptLogs(records_); }
};

TEST_F(ManyLogsTest, OnlyTheLogsOfTheLast64FailuresAreKept) {
  Fail(0, 64);
  EXPECT_THAT(Kept(), SizeIs(64));
  Fail(64, 66);
  EXPECT_THAT(Kept(), SizeIs(64));
  EXPECT_THAT(Kept(), Not(Contains(AttemptOf("worker:1"))));
}

TEST_F(ManyLogsTest, FailureLogsAreDroppedWhileEightEarlierWritesAreUnfinished) {
  calls_.at_once = false;
  Fail(0, 9);
  EXPECT_THAT(Kept(), SizeIs(8));
  Fail(9, 10);
  EXPECT_THAT(Kept(), Contains(AttemptOf("worker:9")));
}

}  // namespace
}  // namespace tony::am
