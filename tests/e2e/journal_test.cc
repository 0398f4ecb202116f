// A journal on a full disk, a damaged journal, a truncated journal, and the history of a job that has ended.
#include <sched.h>
#include <sys/mount.h>

#include "tests/e2e/tony_test.h"

namespace tony {
namespace {

class JournalE2eTest : public TonyTest {
 protected:
  // Starts two workers that run until Go(). While the file "full" exists, the AM, and no other process, gets "no space
  // left".
  void Begin() {
    fs::create_directory(box_.File("shim"));
    BeginWith(WithShim("crash_shim", {{"SHIM_FOLDER", box_.File("shim")}, {"SHIM_FULL_WHILE", box_.File("full")}}));
  }
  void BeginWith(const Sandbox::Variables& variables) {
    client_ = box_.StartTony(Workers(2, HoldUntilGo()), variables);
    ASSERT_TRUE(WaitForRunning(2)) << client_->err();
    ASSERT_TRUE(WaitFor([&] { return StatusText().find("RUNNING") != std::string::npos; }));
    for (const char* task : {"worker-0", "worker-1"}) pids_.push_back(std::stoi(ReadText(Running(task))));
  }
  std::string StatusText() { return box_.Tony({"status", Job()}).out; }
  bool TasksLive() const {
    return std::ranges::all_of(pids_, [](pid_t pid) { return kill(pid, 0) == 0; });
  }
  bool TasksGone() const {
    return std::ranges::all_of(pids_, [](pid_t pid) { return kill(pid, 0) != 0; });
  }
  void Fill() const { box_.Write("full", ""); }
  void MakeRoom() const { fs::remove(box_.File("full")); }
  bool ClientSays(const std::string& words) {
    return WaitFor([&] { return client_->err().find(words) != std::string::npos; });
  }
  fs::path Journal() const { return box_.JobFolder(Job()) / "journal"; }

  // Kills the AM and changes its journal before the next AM starts.
  void ReplaceAm(const std::function<void(std::string& journal)>& change) {
    const std::vector<pid_t> keeper = box_.Pids("tony-keeper");
    ASSERT_EQ(keeper.size(), 1u);
    kill(keeper[0], SIGSTOP);
    const std::vector<pid_t> masters = box_.Pids("tony-am");
    for (const pid_t pid : masters) kill(pid, SIGKILL);
    ASSERT_TRUE(WaitFor([&] { return box_.Pids("tony-am").empty(); }));
    changed_ = ReadText(Journal());
    change(changed_);
    std::ofstream(Journal(), std::ios::binary | std::ios::trunc) << changed_;
    kill(keeper[0], SIGCONT);
  }
  // Checks that an unusable journal is reported, and that the tasks run on and the journal stays as it is until a
  // client kills the job.
  void ExpectTasksUntouched(const std::string& complaint) {
    ASSERT_TRUE(WaitFor([&] { return StatusText().find(complaint) != std::string::npos; })) << StatusText();
    EXPECT_TRUE(TasksLive());
    EXPECT_EQ(ReadText(Journal()), changed_) << "nothing is cut off or written";
    EXPECT_THAT(ReadText(box_.JobFolder(Job()) / "am.log"), HasSubstr(complaint));
    Succeeds({"kill", Job()});
    EXPECT_TRUE(TasksGone());
    client_->Wait();
    EXPECT_EQ(ReadText(Journal()), changed_);
    ExpectNothingLeft();
  }

  std::unique_ptr<Background> client_;
  std::vector<pid_t> pids_;
  std::string changed_;
};

TEST_F(JournalE2eTest, AJobContinuesWithTheSameMasterOnceAFullJournalDiskHasSpaceAgain) {
  Begin();
  Fill();
  Go();
  ASSERT_TRUE(ClientSays("no space left on device; new tasks start when the journal can be written again"))
      << client_->err();
  EXPECT_THAT(StatusText(),
              HasSubstr("no space left on device; new tasks start when the journal can be written again"));
  EXPECT_EQ(box_.Pids("tony-am").size(), 1u);

  MakeRoom();

  Ends(*client_);
  const auto status = Status();
  EXPECT_EQ(Number(status, "/epoch"), 1) << "it was the same application master all along";
  EXPECT_THAT(ReadText(box_.JobFolder(Job()) / "am.log"),
              HasSubstr("no longer degraded; the cause was: cannot write the journal: no space left on device"));
  ExpectNothingLeft();
}

TEST_F(JournalE2eTest, AKillEndsTheTasksWhileTheJournalDiskIsFull) {
  Begin();
  Fill();
  const auto killer = box_.StartTony({"kill", Job()});

  EXPECT_TRUE(WaitFor([&] { return TasksGone(); })) << "the disk is still full";

  MakeRoom();
  const Ran killed = Ends(*killer);
  EXPECT_THAT(killed.out, HasSubstr("KILLED"));
  client_->Wait();
  ExpectNothingLeft();
}

TEST_F(JournalE2eTest, AMasterRestartedOnAFullDiskLeavesTheTasksRunning) {
  Begin();
  Fill();
  SignalAll("tony-am", SIGKILL);
  const auto log = box_.JobFolder(Job()) / "am.log";
  ASSERT_TRUE(WaitFor([&] { return ReadText(log).find("journal: no space left") != std::string::npos; }));
  EXPECT_TRUE(TasksLive());

  MakeRoom();
  GoAndEnd(*client_);
  EXPECT_EQ(Number(Status(), "/epoch"), 2);
  ExpectNothingLeft();
}

TEST_F(JournalE2eTest, AFlippedBitInTheJournalIsReportedAndTheTasksKeepRunning) {
  BeginWith({});
  ReplaceAm(
      [](std::string& journal) { journal[journal.size() / 2] = static_cast<char>(journal[journal.size() / 2] ^ 4); });
  ExpectTasksUntouched("damaged at byte");
  const Ran history = Fails(65, {"history", Job()});
  EXPECT_THAT(history.err, HasSubstr("damaged at byte"));
}

TEST_F(JournalE2eTest, ATruncatedJournalIsReportedAndTheTasksKeepRunning) {
  BeginWith({});
  ReplaceAm([](std::string& journal) { journal.resize(journal.size() / 2); });
  ExpectTasksUntouched("the file ends here, but it had");
}

TEST_F(JournalE2eTest, AJournalOfALaterReleaseIsReportedAndTheTasksKeepRunning) {
  BeginWith({});
  ReplaceAm([](std::string& journal) { journal[8] = 9; });
  ExpectTasksUntouched("the journal has version 9 (at byte 8)");
}

TEST_F(JournalE2eTest, AnIncompleteRecordAtTheEndOfTheJournalIsRemovedAndTheJobContinues) {
  BeginWith({});
  ReplaceAm([](std::string& journal) { journal += journal.substr(12, 30); });
  ASSERT_TRUE(ClientSays("application master restarted (epoch 2)")) << client_->err();
  EXPECT_TRUE(TasksLive());
  GoAndEnd(*client_);
  EXPECT_THAT(ReadText(box_.JobFolder(Job()) / "am.log"), HasSubstr("the last 30 bytes were an incomplete record"));
  ExpectNothingLeft();
}

// A file system of one megabyte for the jobs, which only this process and its children see.
class JournalSmallDiskTest : public JournalE2eTest {
 protected:
  void SetUp() override {
    fs::create_directory(box_.home());
    const bool mounted = unshare(CLONE_NEWNS) == 0 && mount("none", "/", nullptr, MS_REC | MS_PRIVATE, nullptr) == 0 &&
                         mount("tmpfs", box_.home().c_str(), "tmpfs", 0, "mode=700,size=1m") == 0;
    if (!mounted) GTEST_SKIP() << "needs to be root, to mount a small disk";
    BeginWith({});
    std::ofstream filler(box_.home() / "filler", std::ios::binary);
    while (filler << std::string(512, 'x') << std::flush) continue;
  }
  void TearDown() override { umount2(box_.home().c_str(), MNT_DETACH); }
  void MakeRoom() const { fs::remove(box_.home() / "filler"); }
};

TEST_F(JournalSmallDiskTest, AMasterThatDiesOnAFullDiskIsReplacedOnceSpaceIsFreed_RootOnly) {
  SignalAll("tony-am", SIGKILL);
  ASSERT_TRUE(WaitFor([&] { return box_.Pids("tony-am").empty(); }));
  EXPECT_FALSE(WaitFor([&] { return !TasksLive(); }, Limit(1500))) << "longer than a crash-looping AM lasts";

  MakeRoom();
  GoAndEnd(*client_);
  ExpectNothingLeft();
}

TEST_F(JournalSmallDiskTest, AKillThatCannotBeRecordedOnAFullDiskStillEndsTheTasks_RootOnly) {
  const auto killer = box_.StartTony({"kill", Job()});
  EXPECT_TRUE(WaitFor([&] { return TasksGone(); })) << "the disk is still full";
  MakeRoom();
  const Ran killed = Ends(*killer);
  EXPECT_THAT(
      killed.err,
      HasSubstr("no space left on device; the kill is not recorded and is only sent to the application master"));
  client_->Wait();
  ExpectNothingLeft();
}

TEST_F(JournalE2eTest, TheHistoryCommandShowsTheVerdictTheAttemptsAndTheEventsOfAnEndedJob) {
  Fails(1, Workers(2, "[ $TASK_INDEX = 0 ] && exit 3; sleep 5"));
  ExpectNothingLeft();

  const Ran text = Succeeds({"history", Job()});
  EXPECT_THAT(text.out,
              HasAll({"job " + Job() + " FAILED after ", "first cause: worker:0 failed on 127.0.0.1: exit code 3"}));
  EXPECT_THAT(text.out, testing::ContainsRegex("worker:0#1 .*exit code 3, user_error"));
  EXPECT_THAT(text.out, testing::ContainsRegex("worker:1#1 .*killed"));

  const Ran events = box_.Tony({"history", Job(), "--events"});
  EXPECT_THAT(events.out, testing::ContainsRegex("generation_formed +generation 1"));
  EXPECT_THAT(events.out, testing::ContainsRegex("job_stopping +FAILED: worker:0 failed"));
}

TEST_F(JournalE2eTest, ThePhaseDurationsOfAJobAddUpToItsTotalTime) {
  Succeeds(One("sleep 0.2"));

  const auto told = ParseJson(box_.Tony({"history", Job(), "--json", "--events"}).out);
  int64_t sum = 0;
  for (const char* part : {"waiting", "running", "restarting", "stopping"})
    sum += Number(told, "/time/" + std::string(part) + "_ms");
  EXPECT_EQ(sum, Number(told, "/time/total_ms"));
  EXPECT_GE(Number(told, "/time/running_ms"), 200);
  const auto status = Status();
  EXPECT_EQ(Text(told, "/ended"), Text(status, "/ended"));
  EXPECT_EQ(Text(told, "/submitted"), Text(status, "/submitted"));
  ExpectJson(told, {{"/events/0/decision", "job_accepted"}, {"/torn_bytes", 0}});
}

TEST_F(JournalE2eTest, TheHistoryCommandRefusesAnUnknownJob) { FailsInALine(66, {"history", "local-nowhere"}); }

}  // namespace
}  // namespace tony
