#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <functional>
#include <future>
#include <map>
#include <thread>

#include "runtime/logs/log_follower.h"
#include "runtime/logs/log_reader.h"
#include "runtime/os/files.h"
#include "runtime/records/journal_format.h"
#include "runtime/records/kept_outputs.h"
#include "runtime/yarn/node_logs.h"
#include "runtime/yarn/yarn_ends.h"
#include "runtime/yarn/yarn_log_reader.h"
#include "tests/support/https_end.h"
#include "tests/support/results.h"
#include "tests/support/run_until.h"
#include "tests/support/scripted_http_server.h"
#include "tests/support/temp_folder.h"
#include "tests/unit/rpc/fake_am_service.h"

namespace tony {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

// Plays a master and its executors on a thread of its own.
class PlayedMaster : public FakeAmService {
 public:
  PlayedMaster(const JobRecords& records, JobStatus status, const std::string& its_token, Epoch epoch = {1}) {
    token = its_token;
    job = std::move(status);
    std::promise<void> started;
    thread_ = std::thread([this, &records, &started, epoch] {
      loop_.Post([&] {
        auto server = StartRpcServer(loop_, {.folder = records.place(), .at = {SocketOf(epoch)}}, *this);
        EXPECT_TRUE(server.ok());
        server_ = *std::move(server);
        started.set_value();
      });
      loop_.Run();
      parked_.clear();
      server_ = nullptr;
    });
    started.get_future().wait();
  }
  ~PlayedMaster() override {
    loop_.Stop();
    thread_.join();
  }

  void Write(const AttemptId& attempt, const std::string& text) {
    Do([&] {
      logs_[attempt] += text;
      AnswerParked();
    });
  }
  void Note(const AttemptId& attempt, const std::string& line) {
    Do([&] { notes_[attempt] += line; });
  }
  void EndAttempt(const AttemptId& attempt) {
    Do([&] {
      over_.insert(attempt);
      AnswerParked();
    });
  }
  void Leave(const AttemptId& attempt) {
    Do([&] {
      gone_.insert(attempt);
      AnswerParked();
    });
  }
  void Return(const AttemptId& attempt) {
    Do([&] { gone_.erase(attempt); });
  }
  void Tell(const std::function<void(JobStatus&)>& change) {
    Do([&] {
      change(job);
      ++job.seq;
      for (const auto& reply : std::exchange(watching, {})) reply.Success(Status());
    });
  }
  int queries() {
    size_t number = 0;
    Do([&] { number = log_queries.size(); });
    return static_cast<int>(number);
  }

  void ReadLogs(const std::string&, const LogQuery& query, Reply<LogAnswer> reply) override {
    log_queries.push_back(query);
    const LogAnswer answer = AnswerTo(query);
    if (query.wait == Duration(0) || IsNews(query, answer)) return reply.Success(answer);
    parked_.emplace_back(query, reply);
  }

 private:
  void Do(const std::function<void()>& fn) {
    std::promise<void> done;
    loop_.Post([&] {
      fn();
      done.set_value();
    });
    done.get_future().wait();
  }
  LogAnswer AnswerTo(const LogQuery& query) {
    LogAnswer answer;
    for (size_t i = 0; i < query.wants.size(); ++i) {
      const LogWant& want = query.wants[i];
      LogNews news;
      if (gone_.contains(want.attempt)) {
        news.problem = "no executor of " + ToString(want.attempt.task) + " is there";
      } else {
        const std::string& log = want.stream == "stdout"         ? logs_[want.attempt]
                                 : want.stream == "stdout.times" ? notes_[want.attempt]
                                                                 : nothing_;
        news = {.is_there = true, .size = static_cast<int64_t>(log.size()), .ended = over_.contains(want.attempt)};
        if (want.offset < 0) {
          news.parts = {{0, news.size}};
          for (const auto& [attempt, text] : logs_)
            if (attempt.task == want.attempt.task) news.attempts.push_back(attempt.number);
        } else if (want.offset < news.size) {
          news.text = log.substr(static_cast<size_t>(want.offset));
        }
      }
      answer.emplace_back(i, news);
    }
    return answer;
  }
  static bool IsNews(const LogQuery& query, const LogAnswer& answer) {
    for (const auto& [index, news] : answer)
      if (!news.text.empty() || news.ended || !news.problem.empty()) return true;
    return query.wants.empty();
  }
  void AnswerParked() {
    for (auto& [query, reply] : std::exchange(parked_, {})) {
      const LogAnswer answer = AnswerTo(query);
      if (IsNews(query, answer)) {
        reply.Success(answer);
      } else {
        parked_.emplace_back(query, reply);
      }
    }
  }

  EventLoop loop_;
  std::unique_ptr<RpcServer> server_;
  std::map<AttemptId, std::string> logs_, notes_;
  std::set<AttemptId> over_, gone_;
  std::vector<std::pair<LogQuery, Reply<LogAnswer>>> parked_;
  const std::string nothing_;
  std::thread thread_;
};

class NobodyRules : public Arbiter {
 public:
  ArbiterView Look(const JobRecords&) const override { return {.oldest_epoch = {oldest_epoch}}; }
  Result<std::optional<JobStatus>> UnwrittenEnd(const JobRecords&) const override { return std::optional<JobStatus>(); }
  Status Settle(const JobRecords&) const override { return Ok(); }
  std::string KeeperFailureHint(const JobRecords&) const override { return ""; }
  std::atomic<int64_t> oldest_epoch = 0;
};

// No node listens at port 1.
constexpr const char* kLink = "http://127.0.0.1:1/node/containerlogs/container_1_0001_01_000002/eve";

const AttemptId kFirst{{"worker", 0}, 1}, kOther{{"worker", 1}, 1};

JobStatus Running() {
  JobStatus status;
  status.job = {"application_1_0001"};
  status.state = "RUNNING";
  status.seq = 1;
  for (const AttemptId& attempt : {kFirst, kOther}) {
    TaskStatus task;
    task.id = attempt.task;
    task.state = "active";
    task.attempt = 1;
    task.attempt_state = "running";
    status.tasks.push_back(task);
  }
  return status;
}

void End(JobStatus& status) {
  status.state = "SUCCEEDED";
  status.verdict = Verdict{.state = FinalState::kSucceeded};
  status.ended = FromMillis(1000);
}

class YarnLogsTest : public testing::Test {
 protected:
  YarnLogsTest() {
    EXPECT_TRUE(WriteNewFile(records_.place() / "token", token_, false).ok());
    EXPECT_TRUE(records_.WriteLease({{1}, {SocketOf({1})}, 1}).ok());
    master_ = std::make_unique<PlayedMaster>(records_, Running(), token_);
    logs_ = MakeYarnLogs(records_, arbiter_, fetch_moved_);
  }
  std::string Text(const LogChoice& choice) {
    LogCursor cursor;
    std::string text;
    LogReader(*logs_, choice, cursor).Read(1 << 20, true, [&](const LogText& log) { text += log.text; });
    return text;
  }
  std::string Unread() const {
    const Status unread = logs_->Unread();
    return unread.ok() ? "" : unread.error().message;
  }
  // Ends the job with this final status; its master leaves.
  void EndJob(JobStatus status = Running()) {
    End(status);
    EXPECT_TRUE(records_.WriteStatus(status, Durability::kLostWithPower).ok());
    has_ended_ = true;
    master_->Tell(End);
  }
  void Follow() {
    follower_.emplace(loop_, LogFollower::Job{*logs_, [this] { return has_ended_; }}, LogChoice{}, cursor_,
                      [this](const LogText& log) { followed_[log.attempt] += log.text; });
    follower_->Start([this] { is_done_ = true; });
  }
  bool Until(const std::function<bool()>& condition) { return RunUntil(loop_, condition); }

  const std::string token_ = std::string(2 * kJobTokenBytes, 'a');
  const TempFolder temp_;
  const JobRecords records_ = LocalJobRecords(temp_.path());
  NobodyRules arbiter_;
  const YarnLogReader::FetchMoved fetch_moved_ = [this](const std::string& link,
                                                        const std::string& stream) -> Result<LogExcerpt> {
    EXPECT_EQ(link, kLink);
    const auto moved = moved_.find(stream);
    if (moved == moved_.end()) return Error{ErrorCode::kNotFound, "/logs: nothing was moved"};
    const std::string& text = moved->second;
    return LogExcerpt{.stream = stream, .size = static_cast<int64_t>(text.size()), .parts = {{0, text}}};
  };
  // Logs of the container of kLink, by their names.
  std::map<std::string, std::string> moved_;
  std::unique_ptr<PlayedMaster> master_;
  std::unique_ptr<LogSource> logs_;
  EventLoop loop_;
  LogCursor cursor_;
  bool has_ended_ = false, is_done_ = false;
  std::map<AttemptId, std::string> followed_;
  std::optional<LogFollower> follower_;
};

TEST_F(YarnLogsTest, TimesOfLogLinesAreReadFromTheExecutorAndAreUnknownForSavedLogs) {
  master_->Write(kFirst, "one\ntwo\n");
  master_->Note(kFirst, "1000 4\n");
  LogClock clock(*logs_);
  EXPECT_EQ(clock.TimesTo(kFirst, {"stdout"}, 4, FromMillis(5000)).At(4), FromMillis(1000));
  master_->Note(kFirst, "2000 8\n");
  EXPECT_EQ(clock.TimesTo(kFirst, {"stdout"}, 8, FromMillis(7000)).At(8), FromMillis(2000));
  ASSERT_TRUE(WriteKeptLogs(records_, kFirst, {{.stream = "stdout", .size = 5, .parts = {{0, "kept\n"}}}}).ok());
  EndJob();
  master_.reset();
  logs_ = MakeYarnLogs(records_, arbiter_, fetch_moved_);
  LogClock later(*logs_);
  EXPECT_EQ(later.TimesTo(kFirst, {"stdout"}, 5, FromMillis(9000)).At(5), std::nullopt);
}

TEST_F(YarnLogsTest, LogsOfARunningJobAreReadFromItsExecutors) {
  master_->Write(kFirst, "one\ntwo\n");
  master_->Write({kFirst.task, 2}, "of the next attempt\n");
  EXPECT_THAT(logs_->Attempts(kFirst.task), ElementsAre(kFirst, AttemptId{kFirst.task, 2}));
  EXPECT_EQ(Text(LogChoice::Of(kFirst.task, 1)), "one\ntwo\n");
  LogCursor cursor;
  ASSERT_TRUE(cursor.Set("worker:0#1/stdout=4").ok());
  std::string text;
  LogReader(*logs_, LogChoice::Of(kFirst.task, 1), cursor).Read(100, true, [&](const LogText& log) {
    text += log.text;
  });
  EXPECT_EQ(text, "two\n");
  LogReader reader(*logs_, LogChoice::Of(kFirst.task, 1), cursor);
  text.clear();
  reader.ReadLastLines(1, 100, true, [&](const LogText& log) { text += log.text; });
  EXPECT_EQ(text, "two\n");
}

TEST_F(YarnLogsTest, ALogFollowerReadsNewTextUntilTheJobEnds) {
  master_->Write(kFirst, "one\n");
  master_->Write(kOther, "");
  Follow();
  ASSERT_TRUE(Until([&] { return followed_[kFirst] == "one\n"; }));
  master_->Write(kOther, "other\n");
  ASSERT_TRUE(Until([&] { return followed_[kOther] == "other\n"; }));
  master_->Write(kFirst, "two");
  master_->EndAttempt(kFirst);
  ASSERT_TRUE(Until([&] { return followed_[kFirst] == "one\ntwo"; }))
      << "a line without an end, of an attempt that ended";
  master_->EndAttempt(kOther);
  EndJob();
  ASSERT_TRUE(Until([&] { return is_done_; }));
  EXPECT_EQ(followed_[kOther], "other\n");
}

// The first master stays connected, as on a node that the network has lost.
TEST_F(YarnLogsTest, ALogFollowerSwitchesToTheMasterThatTookOver) {
  master_->Write(kFirst, "one\n");
  Follow();
  ASSERT_TRUE(Until([&] { return followed_[kFirst] == "one\n"; }));
  PlayedMaster next(records_, Running(), token_, {2000});
  next.Write(kFirst, "one\ntwo\n");
  arbiter_.oldest_epoch = 2000;
  ASSERT_TRUE(records_.WriteLease({{2000}, {SocketOf({2000})}, 1}).ok());
  ASSERT_TRUE(Until([&] { return followed_[kFirst] == "one\ntwo\n"; }));
}

TEST_F(YarnLogsTest, ALogFollowerSendsNoQueriesWhileNoLogTextIsWritten) {
  master_->Write(kFirst, "one\n");
  master_->Write(kOther, "one\n");
  Follow();
  ASSERT_TRUE(Until([&] { return !followed_[kFirst].empty() && !followed_[kOther].empty(); }));
  bool over = false;
  const auto settle = loop_.After(Duration(200), [&] { over = true; });
  ASSERT_TRUE(Until([&] { return over; }));
  const int queries = master_->queries();
  over = false;
  const auto wait = loop_.After(Duration(500), [&] { over = true; });
  ASSERT_TRUE(Until([&] { return over; }));
  EXPECT_EQ(master_->queries(), queries);
}

TEST_F(YarnLogsTest, ALogFollowerReadsTheLogOfTheNextAttempt) {
  master_->Write(kFirst, "one\n");
  Follow();
  ASSERT_TRUE(Until([&] { return !followed_[kFirst].empty(); }));
  const AttemptId next{kFirst.task, 2};
  master_->Write(next, "two\n");
  master_->Tell([](JobStatus& status) { status.tasks[0].attempt = 2; });
  EXPECT_TRUE(Until([&] { return followed_[next] == "two\n"; }));
}

TEST_F(YarnLogsTest, TheSavedLogOfAnAttemptIsReadAfterItsExecutorHasExited) {
  ASSERT_TRUE(WriteKeptLogs(records_, kFirst, {{"stdout", 5, {{0, "kept\n"}}}}).ok());
  master_->Leave(kFirst);
  EXPECT_EQ(Text(LogChoice::Of(kFirst.task)), "kept\n");
}

TEST_F(YarnLogsTest, AnUnresponsiveExecutorDoesNotBlockLogsOfOtherExecutors) {
  master_->Write(kOther, "other\n");
  master_->Leave(kFirst);
  EXPECT_EQ(Text({}), "other\n");
}

TEST_F(YarnLogsTest, ALogFollowerContinuesOnceAnUnresponsiveExecutorAnswersAgain) {
  master_->Write(kFirst, "one\n");
  master_->Write(kOther, "");
  Follow();
  ASSERT_TRUE(Until([&] { return !followed_[kFirst].empty(); }));
  master_->Leave(kFirst);
  master_->Write(kOther, "other\n");
  ASSERT_TRUE(Until([&] { return !followed_[kOther].empty(); }));
  master_->Write(kFirst, "two\n");
  master_->Return(kFirst);
  EXPECT_TRUE(Until([&] { return followed_[kFirst] == "one\ntwo\n"; }));
}

TEST_F(YarnLogsTest, SavedLogsAreReadWithoutAMasterAfterTheJobHasEnded) {
  ASSERT_TRUE(WriteKeptLogs(records_, kFirst, {{"stdout", 20, {{0, "first\n"}, {15, "last\n"}}}}).ok());
  EndJob();
  master_ = nullptr;
  EXPECT_THAT(logs_->Attempts(std::nullopt), ElementsAre(kFirst, kOther));
  EXPECT_EQ(Text(LogChoice::Of(kFirst.task)), "first\n[... 1 kB cut ...]\nlast\n");
  EXPECT_EQ(Text(LogChoice::Of(kOther.task)), "") << "nobody tells of it";
}

TEST_F(YarnLogsTest, ALogThatYarnMovedAwayFromItsNodeIsReadAtItsNewLocation) {
  JobStatus status = Running();
  status.tasks[0].log_url = kLink;
  EndJob(status);
  master_ = nullptr;
  moved_ = {{"stdout", "moved\n"}, {"stderr", ""}};
  EXPECT_EQ(Text(LogChoice::Of(kFirst.task)), "moved\n");
  EXPECT_EQ(Unread(), "");
  moved_.clear();
  logs_ = MakeYarnLogs(records_, arbiter_, fetch_moved_);
  EXPECT_EQ(Text(LogChoice::Of(kFirst.task)), "") << "it is nowhere yet";
  EXPECT_EQ(Unread(), "") << "its program never ran, so it has no log";
}

// Three attempts ran in the container of kLink, and the last one is in the status.
class RestartedLogsTest : public YarnLogsTest {
 protected:
  static AttemptId Number(int number) { return {kFirst.task, number}; }
  void EndAfterRestarts() {
    std::vector<Decision> decisions = {{Instant(), ContainerAssigned{kFirst, {"c"}, "n1", kLink}},
                                       {Instant(), AttemptRan{kFirst, 7}}};
    for (const int number : {2, 3}) {
      decisions.push_back({Instant(), RestartBegan{number - 1, {{Number(number), {"c"}}}, {}}});
      decisions.push_back({Instant(), AttemptRan{Number(number), 7}});
    }
    EXPECT_TRUE(WriteNewFile(records_.place() / "journal", EncodeHeader() + EncodeTurn(decisions), false).ok());
    JobStatus status = Running();
    status.tasks.pop_back();
    status.tasks[0].attempt = 3;
    status.tasks[0].started = FromMillis(1);
    status.tasks[0].log_url = kLink;
    EndJob(status);
    master_ = nullptr;
  }
  std::string Of(int number) { return Text(LogChoice::Of(kFirst.task, number)); }
};

TEST_F(RestartedLogsTest, LogsOfEachAttemptInARestartedContainerAreReadAfterTheJobEnds) {
  EndAfterRestarts();
  moved_ = {{"stdout", "1\n"},   {"stderr", ""},   {"stdout.2", "2\n"},
            {"stderr.2", "e\n"}, {"stderr.3", ""}, {"stdout.3", "3\n"}};
  EXPECT_THAT(logs_->Attempts(kFirst.task), ElementsAre(Number(1), Number(2), Number(3)));
  EXPECT_EQ(Of(1), "1\n");
  EXPECT_EQ(Of(2), "2\ne\n");
  EXPECT_EQ(Of(3), "3\n");
  EXPECT_EQ(Unread(), "");
}

TEST_F(RestartedLogsTest, AttemptsWithUnreadableLogsAreNamedAndOtherLogsAreStillRead) {
  EndAfterRestarts();
  moved_ = {{"stdout", "1\n"}, {"stderr", ""}, {"stderr.3", "e\n"}};
  EXPECT_EQ(Of(1), "1\n");
  EXPECT_EQ(Of(2), "");
  EXPECT_EQ(Of(3), "e\n") << "its stdout is missing";
  EXPECT_THAT(Unread(), HasSubstr("the logs of worker:0#2, worker:0#3 cannot be read: "));
  EXPECT_THAT(Unread(), HasSubstr("; to try again: tony logs "));
}

TEST_F(RestartedLogsTest, SavedLogsAreReadEvenIfTheJournalIsUnreadable) {
  EndAfterRestarts();
  ASSERT_TRUE(WriteFileByRename(records_.place() / "journal", "damaged", false).ok());
  ASSERT_TRUE(WriteKeptLogs(records_, Number(2), {{"stdout", 5, {{0, "kept\n"}}}, {"stderr", 0, {}}}).ok());
  EXPECT_EQ(Of(2), "kept\n");
  EXPECT_EQ(Of(3), "");
  EXPECT_THAT(Unread(), HasSubstr("the logs of worker:0#3 cannot be read: "));
}

TEST_F(YarnLogsTest, SavedLogsOfOneProcessAreCombinedWithLogsOfTheOtherProcessFromTheNode) {
  JobSpec spec;
  spec.roles = {{.name = "worker", .instances = 2, .command = "true", .processes = 2}};
  ASSERT_TRUE(WriteNewFile(records_.place() / "spec.json", ToJson(spec), false).ok());
  ASSERT_TRUE(WriteKeptLogs(records_, kFirst, {{"stdout-1", 5, {{0, "kept\n"}}}, {"stderr-1", 0, {}}}).ok());
  JobStatus status = Running();
  status.tasks[0].log_url = kLink;
  status.tasks[0].started = FromMillis(1);
  EndJob(status);
  master_ = nullptr;
  moved_ = {{"stdout", "first\n"}, {"stderr", ""}};
  EXPECT_EQ(Text(LogChoice::Of(kFirst.task)), "first\nkept\n");
  EXPECT_EQ(Unread(), "");
  moved_.clear();
  logs_ = MakeYarnLogs(records_, arbiter_, fetch_moved_);
  EXPECT_EQ(Text(LogChoice::Of(kFirst.task)), "kept\n");
  EXPECT_THAT(Unread(), HasSubstr("the logs of worker:0#1 cannot be read: "));
}

TEST_F(YarnLogsTest, NoLogsAreListedBeforeTheFirstMasterStarts) {
  master_ = nullptr;
  ASSERT_TRUE(records_.store().Remove("am.lease").ok());
  const auto fresh = MakeYarnLogs(records_, arbiter_, fetch_moved_);
  EXPECT_THAT(fresh->Attempts(std::nullopt), IsEmpty());
}

// ---- node logs

std::string NodeAnswer(const std::string& length, const std::string& text) {
  return "Container: container_1_0001_01_000002 on node_1\nLogAggregationType: LOCAL\n====\nLogType:stdout\n"
         "LogLastModifiedTime:Thu\nLogLength:" +
         length + "\nLogContents:\n" + text + "\nEnd of LogType:stdout.\n";
}

TEST(NodeLogsTest, TheLogTextIsExtractedFromANodeManagersAnswer) {
  const auto log = Must(NodeLogIn(NodeAnswer("6", "hello\n"), "stdout"));
  EXPECT_EQ(log.size, 6);
  EXPECT_THAT(log.parts, ElementsAre(LogExcerpt::Part{0, "hello\n"}));
}

TEST(NodeLogsTest, HeaderLikeLinesInsideALogAreReturnedAsLogText) {
  const std::string text = "LogLength:7\nLogContents:\nx\n";
  const auto log = Must(NodeLogIn(NodeAnswer(std::to_string(text.size()), text), "stdout"));
  EXPECT_EQ(log.parts.front().text, text);
}

TEST(NodeLogsTest, TheTailOfALongLogIsReturnedWithItsOffset) {
  const std::string text(static_cast<size_t>(kMostOfNodeLog), 'x');
  const auto log = Must(NodeLogIn(NodeAnswer(std::to_string(kMostOfNodeLog + 10), text), "stdout"));
  EXPECT_EQ(log.size, kMostOfNodeLog + 10);
  ASSERT_EQ(log.parts.size(), 1u);
  EXPECT_EQ(log.parts.front().begin, 10);
  EXPECT_EQ(log.parts.front().text, text);
}

TEST(NodeLogsTest, AnEmptyLogHasSizeZeroAndNoText) {
  const auto log = Must(NodeLogIn(NodeAnswer("0", ""), "stdout"));
  EXPECT_EQ(log.size, 0);
  EXPECT_TRUE(log.parts.empty());
}

TEST(NodeLogsTest, AMalformedAnswerOfANodeManagerIsRejected) {
  for (const char* body : {"", "<html>", "\nLogContents:\n\nLogLength:3\n", "x\nLogLength:many\nLogContents:\n"})
    EXPECT_EQ(NodeLogIn(body, "stdout").error().code, ErrorCode::kInvalid) << body;
}

TEST(NodeLogsTest, ALogIsReadFromANodeWithHttps) {
  EventLoop loop;
  ScriptedHttpServer node(loop, [](const ServedRequest&) { return Answered(200, NodeAnswer("2", "ab")); }, HttpsEnd());
  const auto fetch = [&](const char* authority) {
    const std::string link = LinkToLogs(true, StrCat(kLoopback, ":", node.port()), "c", "eve");
    const FindTrust find_trust = [&]() -> Result<std::shared_ptr<const HttpTrust>> {
      return std::make_shared<const HttpTrust>(HttpTrust{authority, "trust.jks"});
    };
    auto log = std::async(std::launch::async, [&] { return FetchNodeLog(link, "stdout", find_trust); });
    EXPECT_TRUE(RunUntil(loop, [&] { return log.wait_for(Duration(0)) == std::future_status::ready; }));
    return log.get();
  };
  EXPECT_THAT(Must(fetch(kSiteAuthority)).parts, ElementsAre(LogExcerpt::Part{0, "ab"}));
  ExpectError(fetch(kOtherAuthority), ErrorCode::kNotPermitted, "~is not trusted");
}

TEST(NodeLogsTest, ALogLinkIsParsedIntoItsNodeAndContainer) {
  const std::string link = LinkToLogs(false, "node:8042", "container_1_0001_01_000002", "eve");
  EXPECT_EQ(link, "http://node:8042/node/containerlogs/container_1_0001_01_000002/eve");
  EXPECT_EQ(ParseLogLink(link).node, "http://node:8042");
  EXPECT_EQ(ParseLogLink(link).container, "container_1_0001_01_000002");
  EXPECT_EQ(LinkToLogs(true, "node:8044", "c", "eve"), "https://node:8044/node/containerlogs/c/eve");
  EXPECT_EQ(LinkToLogs(false, "", "container_1_0001_01_000002", "eve"), "") << "its address is not known";
  const auto log = FetchNodeLog("http://elsewhere/", "stdout", nullptr);
  EXPECT_THAT(log.error().message, HasSubstr("not a link to a node's logs"));
}

}  // namespace
}  // namespace tony
