// Kills of a job whose journal is damaged, and jobs whose folder is removed while they run.
#include "tests/e2e/tony_test.h"

namespace tony {
namespace {

class WithoutAmTest : public TonyTest {
 protected:
  Words SubmitWords(const std::string& owner, const std::string& watch_timeout = "600") const {
    return One(HoldUntilGo()) + more_ + Words{"--detach", "--json", "--request-id",    "engine://run/1",
                                              "--owner",  owner,    "--watch-timeout", watch_timeout};
  }
  std::string Submit(const std::string& owner, const std::string& watch_timeout = "600") {
    Succeeds(SubmitWords(owner, watch_timeout));
    EXPECT_TRUE(WaitForRunning(1));
    return Job();
  }
  value Kill(const std::string& owner, const Words& more = {}) const {
    return Json(Words{"kill", "--request-id", "engine://run/1", "--if-owner", owner, "--reason", "no use"} + more);
  }
  void Strike(const std::string& program, int signal) const { SignalAll(program, signal); }
  // Kills the AM and damages its journal while the keeper is stopped. Returns once the status reports the damage.
  void Damage() {
    Strike("tony-keeper", SIGSTOP);
    Strike("tony-am", SIGKILL);
    ASSERT_TRUE(WaitFor([&] { return box_.Pids("tony-am").empty(); }));
    std::fstream journal(box_.JobFolder(Job()) / "journal", std::ios::in | std::ios::out | std::ios::binary);
    ASSERT_TRUE(journal);
    journal.seekp(40);
    journal.put('\x7f');
    journal.close();
    Strike("tony-keeper", SIGCONT);
    ASSERT_TRUE(WaitFor([&] { return Stored().find("damaged at byte") != std::string::npos; }));
  }
  // Reading the file does not count as client activity.
  std::string Stored() const { return ReadText(box_.JobFolder(Job()) / "status.json"); }
  bool TaskRuns() const { return kill(std::stoi(ReadText(Running("worker-0"))), 0) == 0; }
  void ExpectEnded(const std::string& state, const std::string& message) {
    ASSERT_TRUE(WaitFor([&] { return box_.Processes().empty(); })) << ToString(box_.Processes());
    const auto status = Json({"status", Job()});
    EXPECT_EQ(Text(status, "/state"), state);
    EXPECT_THAT(Text(status, "/verdict/message"), HasSubstr(message));
  }

  Words more_;
};

TEST_F(WithoutAmTest, OnlyAnUnconditionalKillEndsAJobWithADamagedJournal) {
  const std::string job = Submit("o1");
  EXPECT_EQ(At(Kill("o1", {"--delay", "2", "--no-wait"}), "/planned"), value(true));
  Damage();
  for (const Words& condition : {Words{"--if-owner", "o1"}, Words{"--if-watcher", "w1"}, Words{"--delay", "1"}}) {
    const Ran ran = Fails(69, Words{"kill", job} + condition);
    EXPECT_THAT(ran.err, HasSubstr("only an application master knows the owner and the watchers of the job"));
    EXPECT_THAT(ran.err, HasSubstr("damaged at byte"));
    EXPECT_THAT(ran.err, HasSubstr("to end the job, kill it without --if-owner, --if-watcher and --delay"));
  }
  EXPECT_TRUE(TaskRuns());
  EXPECT_EQ(At(Json({"kill", job, "--reason", "no use"}), "/killed"), value(true));
  ExpectEnded("KILLED", "no use");
  ExpectNothingLeft();
}

class RemovedFolderTest : public WithoutAmTest {
 protected:
  // By default an executor waits 15 seconds for a new master, and a keeper 30 seconds.
  RemovedFolderTest() {
    more_ = Confs({"tony.am.lease-ms=700", "tony.task.heartbeat-interval-ms=100", "tony.task.record-fresh-ms=500",
                   "tony.task.cutoff-after-ms=2200", "tony.task.stop-grace-ms=500"});
  }
  void Remove(const std::string& job) {
    ASSERT_TRUE(WaitFor([&] {
      std::error_code error;
      fs::remove_all(box_.JobFolder(job), error);
      return !fs::exists(box_.JobFolder(job));
    }));
  }
  bool EverythingLeft() const {
    return WaitFor([&] { return box_.Processes().empty(); }, Limit(60'000));
  }
};

TEST_F(RemovedFolderTest, AllProcessesOfAJobExitAfterTheJobFolderIsRemoved) {
  Remove(Submit("o1"));
  EXPECT_TRUE(EverythingLeft()) << ToString(box_.Processes());
}

TEST_F(RemovedFolderTest, AMasterWithoutAKeeperExitsWithItsExecutorsAfterTheJobFolderIsRemoved) {
  const std::string job = Submit("o1");
  Strike("tony-am", SIGSTOP);
  Strike("tony-keeper", SIGKILL);
  Remove(job);
  Strike("tony-am", SIGCONT);
  EXPECT_TRUE(EverythingLeft()) << ToString(box_.Processes());
}

}  // namespace
}  // namespace tony
