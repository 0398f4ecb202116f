// Engines and a job whose journal is damaged: their kills are always fenced, and they may stop looking. And jobs whose
// folder is removed under them.
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
  // The AM is dead from the first line on, whatever it has just answered.
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
  std::string Stored() const { return ReadText(box_.JobFolder(Job()) / "status.json"); }  // reading it is no look
  bool TaskRuns() const { return kill(std::stoi(ReadText(Running("worker-0"))), 0) == 0; }
  void ExpectEnded(const std::string& state, const std::string& message) {
    ASSERT_TRUE(WaitFor([&] { return box_.Processes().empty(); })) << ToString(box_.Processes());
    const auto status = Json({"status", Job()});
    EXPECT_EQ(Text(status, "/state"), state);
    EXPECT_THAT(Text(status, "/verdict/message"), HasSubstr(message));
  }

  Words more_;
};

TEST_F(WithoutAmTest, ItsOwnerMayStillKillIt) {
  Submit("o1");
  Damage();
  const auto answer = Kill("o1");
  ExpectJson(answer, {{"/killed", true}, {"/verdict/message", "no use"}});
  ExpectNothingLeft();
}

TEST_F(WithoutAmTest, AnOwnerWhoWasFollowedMayNotAlsoWhereTheMasterDiedRightAfterItsAnswer) {
  Submit("o1");
  Succeeds(SubmitWords("o2"));
  Damage();
  const auto answer = Kill("o1");
  ExpectJson(answer, {{"/fenced", true}, {"/killed", false}, {"/owner", "o2"}});
  EXPECT_TRUE(TaskRuns());
  EXPECT_EQ(At(Kill("o2", {"--no-wait"}), "/killed"), value(true));
  ExpectEnded("KILLED", "no use");
}

TEST_F(WithoutAmTest, ADelayedKillIsPlannedAndComes) {
  Submit("o1");
  Damage();
  const auto answer = Kill("o1", {"--delay", "1", "--no-wait"});
  ExpectJson(answer, {{"/planned", true}, {"/killed", false}});
  ExpectEnded("KILLED", "no use");
}

TEST_F(WithoutAmTest, AKillThatTheMasterHadPlannedComesInTime) {
  Submit("o1");
  EXPECT_EQ(At(Kill("o1", {"--delay", "3", "--no-wait"}), "/planned"), value(true));
  Damage();
  EXPECT_TRUE(TaskRuns());
  ExpectEnded("KILLED", "no use");
}

TEST_F(WithoutAmTest, ANewOwnerIsNotTakenOnAndNotToldThatItIs) {
  Submit("o1");
  Damage();
  const auto newer = box_.StartTony(SubmitWords("o2"));
  ASSERT_TRUE(WaitForFile(box_.JobFolder(Job()) / "looked")) << newer->err();
  const std::string job = Job();
  EXPECT_EQ(At(Kill("o2"), "/fenced"), value(true));
  EXPECT_EQ(newer->out(), "");
  EXPECT_EQ(At(Kill("o1"), "/killed"), value(true));
  Go();
  const Ran ran = newer->Wait();
  EXPECT_EQ(ran.exit, 77) << "the kill of o2 came before there was a job of its own: " << ran.out << ran.err;
}

TEST_F(WithoutAmTest, WithoutAClaimRecordTheKillIsRefusedInWords) {
  const std::string job = Submit("o1");
  Strike("tony-am", SIGSTOP);
  fs::remove(box_.JobFolder(job) / "claim.json");
  Damage();
  const Ran ran = Fails(69, {"kill", job, "--if-owner", "o1"});
  EXPECT_THAT(ran.err, HasSubstr("claim.json: no such file or directory; a kill without a condition ends it"));
  EXPECT_TRUE(TaskRuns());
  Succeeds({"kill", job});
  ExpectNothingLeft();
}

TEST_F(WithoutAmTest, WhoWaitsKeepsItFromBeingAbandonedAndNobodyElseDoes) {
  const std::string job = Submit("o1", "1");
  const auto waits = box_.StartTony({"wait", job, "--json"});
  Damage();
  EXPECT_FALSE(WaitFor([&] { return box_.Pids("tony-keeper").empty(); }, Limit(8'000))) << Stored();
  EXPECT_TRUE(TaskRuns());
  waits->Signal(SIGKILL);
  ExpectEnded("KILLED", "nobody has asked for the job for 1.0 s (watch timeout)");
  EXPECT_EQ(Text(Json({"status", job}), "/verdict/class"), "abandoned");
}

TEST_F(WithoutAmTest, AnotherWatcherVoidsTheKillOfTheOneBefore) {
  const std::string job = Submit("o1");
  const auto first = box_.StartTony({"wait", job, "--json", "--watcher", "w1"});
  ASSERT_TRUE(WaitFor([&] { return Text(Json({"status", job}), "/watcher") == "w1"; })) << first->err();
  Damage();
  const auto second = box_.StartTony({"wait", job, "--json", "--watcher", "w2"});
  ASSERT_TRUE(WaitFor([&] { return ReadText(box_.JobFolder(job) / "looked").ends_with(" w2\n"); })) << second->err();
  EXPECT_EQ(At(Kill("o1", {"--if-watcher", "w1", "--no-wait"}), "/fenced"), value(true));
  EXPECT_TRUE(TaskRuns());
  EXPECT_EQ(At(Kill("o1", {"--if-watcher", "w2", "--no-wait"}), "/killed"), value(true));
  ExpectEnded("KILLED", "no use");
}

class RemovedFolderTest : public WithoutAmTest {
 protected:
  // By default an executor without a master waits 15 seconds, and a keeper 30.
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

TEST_F(RemovedFolderTest, EverythingOfTheJobLeaves) {
  Remove(Submit("o1"));
  EXPECT_TRUE(EverythingLeft()) << ToString(box_.Processes());
}

TEST_F(RemovedFolderTest, AMasterWithoutItsKeeperLeavesAsItsExecutorsDo) {
  const std::string job = Submit("o1");
  Strike("tony-am", SIGSTOP);
  Strike("tony-keeper", SIGKILL);
  Remove(job);
  Strike("tony-am", SIGCONT);
  EXPECT_TRUE(EverythingLeft()) << ToString(box_.Processes());
}

}  // namespace
}  // namespace tony
