#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <filesystem>
#include <fstream>
#include <map>

#include "executor/task_logs.h"
#include "runtime/base/strings.h"
#include "runtime/logs/log_source.h"
#include "runtime/os/files.h"
#include "runtime/records/attempt_folder.h"
#include "tests/support/fake_process_runner.h"
#include "tests/support/run_until.h"
#include "tests/support/temp_folder.h"
#include "tests/unit/executor/executor_bed.h"

namespace tony::executor {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

TEST(LogFilesTest, LastLinesReturnsATextOfTwoLinesUnchanged) { EXPECT_EQ(LastLines("one\ntwo\n"), "one\ntwo\n"); }

TEST(LogFilesTest, LastLinesAddsAMissingFinalLineBreak) { EXPECT_EQ(LastLines("one\ntwo"), "one\ntwo\n"); }

TEST(LogFilesTest, LastLinesOfAnEmptyOrBlankTextAreEmpty) {
  EXPECT_EQ(LastLines(""), "");
  EXPECT_EQ(LastLines("\n\n"), "");
}

TEST(LogFilesTest, LastLinesReturnsTheLast20Of30Lines) {
  std::string text, expected;
  for (int i = 1; i <= 30; ++i) {
    text += StrCat("line ", i, "\n");
    if (i > 10) expected += StrCat("line ", i, "\n");
  }
  EXPECT_EQ(LastLines(text), expected);
}

TEST(LogFilesTest, LastLinesKeepsEmptyLinesExceptAtTheEndOfTheText) {
  EXPECT_EQ(LastLines("one\n\ntwo\n\n"), "one\n\ntwo\n");
}

TEST(LogFilesTest, LastLinesReturnsAtMost4KibWithoutSplittingACharacter) {
  std::string text;
  for (int i = 0; i < 3000; ++i) text += "\u00fc";
  const std::string tail = LastLines("x" + text);
  EXPECT_LE(tail.size(), 4096u);
  EXPECT_GE(tail.size(), 4094u);
  EXPECT_EQ(tail.substr(0, 2), "\u00fc");
}

TEST(LogFilesTest, LastLinesReplacesBytesThatAreNotUtf8) {
  EXPECT_EQ(LastLines("a\xff\x62"), "a\uFFFDb\n");
  EXPECT_EQ(LastLines("\xc3"), "\uFFFD\n") << "a character that was cut";
  EXPECT_EQ(LastLines("\xc0\xaf"), "\uFFFD\uFFFD\n") << "an overlong form";
  EXPECT_EQ(LastLines("\xed\xa0\x80"), "\uFFFD\uFFFD\uFFFD\n") << "a surrogate";
  EXPECT_EQ(LastLines("\u20ac \U0001F600"), "\u20ac \U0001F600\n");
}

TEST(LogFilesTest, LastLinesRemovesControlCharactersAndColours) {
  EXPECT_EQ(LastLines(std::string("a\0b\x07\tc\x7f\xc2\x85", 9)), "ab\tc\n");
  EXPECT_EQ(LastLines("\x1b[1;31merror\x1b[0m: x\n"), "error: x\n");
}

TEST(LogFilesTest, LastLinesKeepsOnlyTheLastStateOfAProgressBar) {
  EXPECT_EQ(LastLines("10%\r20%\r30%\r\ndone\r\n"), "30%\ndone\n");
}

TEST(LogFilesTest, TheLast20LinesOfALongLogFileAreRead) {
  const TempFolder folder;
  const auto file = folder.path() / "stderr";
  {
    std::ofstream out(file);
    for (int i = 0; i < 100'000; ++i) out << "line " << i << "\n";
  }
  const std::string tail = ReadLogTail(file).lines;
  EXPECT_TRUE(tail.starts_with("line 99980\n")) << tail;
  EXPECT_TRUE(tail.ends_with("line 99999\n")) << tail;
}

TEST(LogFilesTest, ALogTailOf501LinesContainsAllLinesWithColourCodesRemoved) {
  std::string text = "\x1b[31mValueError: x\x1b[0m\n", expected = "ValueError: x\n";
  for (int i = 0; i < 500; ++i) text += "noise\n", expected += "noise\n";
  EXPECT_EQ(LogTailOf(text).text, expected);
  EXPECT_EQ(LogTailOf("").text, "");
}

TEST(LogFilesTest, AMissingLogFileHasNoLastLines) { EXPECT_EQ(ReadLogTail("/nowhere/stderr").lines, ""); }

// Otherwise the content of a file that a task puts in place of its log would get into the outcome.
TEST(LogFilesTest, ALogFileThatIsALinkAPipeOrAFolderIsNotRead) {
  const TempFolder folder;
  std::ofstream(folder.path() / "secret") << "secret\n";
  ASSERT_EQ(ReadLogTail(folder.path() / "secret").lines, "secret\n");
  std::filesystem::create_symlink("secret", folder.path() / "stderr");
  EXPECT_EQ(ReadLogTail(folder.path() / "stderr").lines, "");
  ASSERT_EQ(mkfifo((folder.path() / "stdout").c_str(), 0600), 0);
  EXPECT_EQ(ReadLogTail(folder.path() / "stdout").lines, "");
  EXPECT_EQ(ReadLogTail(folder.path()).lines, "") << "a folder";
}

// ---- log answers

const TaskId kTask{"worker", 3};

class LogAnswersTest : public testing::Test {
 protected:
  LogAnswersTest() { EXPECT_TRUE(MakeFolder(Folder(1)).ok()); }
  std::filesystem::path Folder(int attempt) const { return AttemptFolder(temp_.path(), {kTask, attempt}).logs; }
  void Write(const std::string& text, const std::string& stream = "stdout", int attempt = 1) {
    std::ofstream(Folder(attempt) / stream, std::ios::app) << text;
  }
  // Returns the answer if it comes at once.
  std::optional<LogNews> AskAtOnce(const LogWant& want, int64_t most = 1000) {
    answers_.Take({{++last_id_, {want}, most, Duration(0)}});
    return sent_.contains(last_id_) ? std::optional(sent_[last_id_].front()) : std::nullopt;
  }
  static LogWant Stdout(int64_t offset, int attempt = 1) { return {{kTask, attempt}, "stdout", offset}; }

  const TempFolder temp_;
  EventLoop loop_;
  int64_t last_id_ = 0;
  std::map<int64_t, std::vector<LogNews>> sent_;
  PendingLogRequests answers_{loop_,
                              {temp_.path(), kTask, LogNames(2)},
                              [this](int64_t id, const std::vector<LogNews>& news) { sent_[id] = news; }};
};

TEST_F(LogAnswersTest, ALogQueryReturnsAtMostTheRequestedBytesFromTheRequestedOffset) {
  Write("one\ntwo\n");
  const auto news = AskAtOnce(Stdout(4));
  ASSERT_TRUE(news);
  EXPECT_EQ(news->text, "two\n");
  EXPECT_EQ(news->size, 8);
  EXPECT_FALSE(news->ended);
  EXPECT_EQ(AskAtOnce(Stdout(4), 2)->text, "tw") << "no more than was asked for";
}

TEST_F(LogAnswersTest, SecretsAreMaskedEvenIfALogPieceBeginsOrEndsInsideASecret) {
  PendingLogRequests answers(loop_, {temp_.path(), kTask, LogNames(1), SecretMask({"s3cret"})},
                             [this](int64_t id, const std::vector<LogNews>& news) { sent_[id] = news; });
  const auto read = [&](int64_t offset, int64_t most) {
    answers.Take({{++last_id_, {Stdout(offset)}, most, Duration(0)}});
    return sent_.at(last_id_).front().text;
  };
  Write("a s3cret b\n");
  for (int64_t most = 1; most < 12; ++most) {
    std::string all;
    while (all.size() < 11) all += read(static_cast<int64_t>(all.size()), most);
    EXPECT_EQ(all, "a ****** b\n") << most;
  }
  Write("c s3cr");
  EXPECT_EQ(read(11, 100), "c ") << "the rest of a secret may come";
  Write("et\n");
  EXPECT_EQ(read(13, 100), "******\n");
  EXPECT_EQ(ExcerptsOf(Folder(1), 0, SecretMask({"s3cret"})).front().parts.front().text, "a ****** b\nc ******\n");
}

TEST_F(LogAnswersTest, AWaitingLogQueryIsAnsweredWhenALineIsWritten) {
  Write("one\n");
  answers_.Take({{7, {Stdout(4)}, 1000, Duration(10'000)}});
  EXPECT_THAT(sent_, IsEmpty());
  Write("two\n");
  ASSERT_TRUE(RunUntil(loop_, [&] { return !sent_.empty(); }));
  EXPECT_EQ(sent_[7].front().text, "two\n");
}

TEST_F(LogAnswersTest, AWaitingLogQueryReturnsAnEmptyAnswerAtItsTimeout) {
  Write("one\n");
  answers_.Take({{7, {Stdout(4)}, 1000, Duration(50)}});
  ASSERT_TRUE(RunUntil(loop_, [&] { return !sent_.empty(); }));
  EXPECT_EQ(sent_[7].front().text, "");
}

TEST_F(LogAnswersTest, ALogQueryForAnEndedAttemptIsAnsweredAtOnce) {
  Write("one\n");
  ASSERT_TRUE(AttemptFolder(temp_.path(), {kTask, 1}).WriteOutcome({}).ok());
  answers_.Take({{7, {Stdout(4)}, 1000, Duration(10'000)}});
  ASSERT_TRUE(sent_.contains(7));
  EXPECT_TRUE(sent_[7].front().ended);
}

TEST_F(LogAnswersTest, AnExecutorReturnsOnlyLogFilesOfItsOwnTask) {
  Write("secret", "token");
  EXPECT_FALSE(AskAtOnce({{kTask, 1}, "token", 0})->is_there);
  EXPECT_FALSE(AskAtOnce({{kTask, 1}, "../1/stdout", 0})->is_there);
  Write("text");
  EXPECT_FALSE(AskAtOnce({{{"worker", 2}, 1}, "stdout", 0})->is_there);
  std::filesystem::create_symlink("/etc/hostname", Folder(1) / "stderr");
  EXPECT_FALSE(AskAtOnce({{kTask, 1}, "stderr", 0})->is_there) << "a link that the task put there";
}

TEST_F(LogAnswersTest, ALogQueryWithoutAnOffsetReturnsTheSizeAndTheAttemptsWithoutTheText) {
  Write("text");
  ASSERT_TRUE(MakeFolder(Folder(2)).ok());
  const auto news = AskAtOnce(Stdout(-1));
  EXPECT_EQ(news->text, "");
  EXPECT_EQ(news->size, 4);
  EXPECT_THAT(news->parts, ElementsAre(LogSpan{0, 4}));
  EXPECT_THAT(news->attempts, ElementsAre(1, 2));
  EXPECT_GT(news->changed, Instant{});
  EXPECT_THAT(AskAtOnce(Stdout(-1, 5))->attempts, ElementsAre(1, 2)) << "also where that attempt is not there";
}

TEST_F(LogAnswersTest, ALogAnswerContainsTheNumberOfBytesThatWereCutFromTheMiddleOfTheLog) {
  constexpr int64_t kBlock = 1 << 20;
  Write(std::string(kBlock, 'a'));
  std::filesystem::resize_file(Folder(1) / "stdout", 3 * kBlock);  // a hole
  Write("end\n");
  EXPECT_EQ(AskAtOnce(Stdout(kBlock - 2))->text, "aa") << "what is before a cut is a piece of its own";
  const auto news = AskAtOnce(Stdout(kBlock));
  EXPECT_EQ(news->cut, 2 * kBlock);
  EXPECT_EQ(news->text, "end\n");
  EXPECT_THAT(AskAtOnce(Stdout(-1))->parts, ElementsAre(LogSpan{0, kBlock}, LogSpan{3 * kBlock, 3 * kBlock + 4}));
}

TEST_F(LogAnswersTest, TheSizeLimitOfALogAnswerAppliesToTheTotalOfAllRequestedLogs) {
  Write("1234");
  Write("5678", "stderr-1");
  answers_.Take({{7, {Stdout(0), {{kTask, 1}, "stderr-1", 0}}, 6, Duration(0)}});
  EXPECT_EQ(sent_[7][0].text, "1234");
  EXPECT_EQ(sent_[7][1].text, "56");
}

TEST_F(LogAnswersTest, LogQueriesOfAnEarlierMasterAreNotAnswered) {
  answers_.Take({{7, {Stdout(0)}, 1000, Duration(10'000)}});
  answers_.Forget();
  Write("text");
  answers_.Look();
  EXPECT_THAT(sent_, IsEmpty());
}

TEST_F(LogAnswersTest, ExcerptsOfALongLogAreTheBeginningAndTheEndOfTheLog) {
  const std::string text(static_cast<size_t>(kExcerptHead + kExcerptTail) + 5, 'x');
  Write("a" + text + "z");
  const auto excerpts = ExcerptsOf(Folder(1), 0);
  ASSERT_EQ(excerpts.size(), 1u) << "there is no stderr";
  const LogExcerpt& log = excerpts.front();
  EXPECT_EQ(log.size, static_cast<int64_t>(text.size()) + 2);
  ASSERT_EQ(log.parts.size(), 2u);
  EXPECT_EQ(log.parts[0].begin, 0);
  EXPECT_EQ(log.parts[0].text.front(), 'a');
  EXPECT_EQ(static_cast<int64_t>(log.parts[0].text.size()), kExcerptHead);
  EXPECT_EQ(log.parts[1].begin, log.size - kExcerptTail);
  EXPECT_EQ(log.parts[1].text.back(), 'z');
  Write("short", "stderr-1");
  EXPECT_THAT(ExcerptsOf(Folder(1), 1), ElementsAre(LogExcerpt{"stderr-1", 5, {{0, "short"}}}));
}

class ExecutorLogsTest : public testing::Test {
 protected:
  void Fail() {
    ASSERT_TRUE(bed_.Start(processes_));
    ASSERT_TRUE(bed_.Until([&] { return !processes_.started.empty(); }));
    std::ofstream(processes_.started.front().stdout_file) << "hello\n";
    processes_.Exit(kPid, {ExitStatus::Kind::kExited, 3});
    ASSERT_TRUE(bed_.Reported());
  }

  static constexpr pid_t kPid = 5'000'001;  // the fake's first process id
  ExecutorBed bed_{"python3 train.py"};
  FakeProcessRunner processes_{bed_.loop};
};

TEST_F(ExecutorLogsTest, TheExecutorSendsLogsWhenTheAmAnswersAnAwaitCallWithALogQuery) {
  ASSERT_TRUE(bed_.Start(processes_));
  ASSERT_TRUE(bed_.Until([&] { return !processes_.started.empty(); }));
  std::ofstream(processes_.started.front().stdout_file) << "hello\n";
  ASSERT_TRUE(bed_.Order({.logs = {{5, {{bed_.attempt, "stdout", 0}}, 100, Duration(0)}}}));
  ASSERT_TRUE(bed_.Until([&] { return !bed_.am.sent_logs.empty() && !bed_.am.awaits.empty(); }));
  EXPECT_EQ(bed_.am.sent_logs.front().argument.first, 5);
  EXPECT_EQ(bed_.am.sent_logs.front().argument.second.front().text, "hello\n");
  EXPECT_EQ(bed_.am.sent_logs.front().caller.token, "secret");
}

TEST_F(ExecutorLogsTest, AFailureIsReportedWithoutLogExcerptsByDefault) {
  Fail();
  EXPECT_THAT(bed_.am.reported_logs, IsEmpty());
}

TEST_F(ExecutorLogsTest, AnExecutorConfiguredToSendLogExcerptsReportsAFailureWithLogExcerpts) {
  bed_.sends_log_excerpts = true;
  Fail();
  EXPECT_THAT(bed_.am.reported_logs, ElementsAre(LogExcerpt{"stdout", 6, {{0, "hello\n"}}}));
}

}  // namespace
}  // namespace tony::executor
