#include <gmock/gmock.h>
#include <poll.h>
#include <sys/fsuid.h>
#include <sys/resource.h>
#include <sys/socket.h>

#include <csignal>
#include <fstream>

#include "runtime/base/strings.h"
#include "runtime/keeper/keeper_protocol.h"
#include "runtime/keeper/message_channel.h"
#include "runtime/os/file_system.h"
#include "runtime/os/process_tree.h"
#include "runtime/records/job_folder.h"
#include "runtime/records/job_records.h"
#include "tests/unit/keeper/keeper_fixture.h"

namespace tony {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

using KeeperAmTest = KeeperFixture;

TEST_F(KeeperAmTest, AmStartsWithTheJobsEnvironmentAndItsEpoch) {
  std::ofstream(temp_.path() / "bin/tony-am")
      << "#!/bin/sh\nenv | sort; pwd; echo $# $1 $2; >$1/ams; exec sleep 1000\n";
  StartKeeper();
  ASSERT_TRUE(WaitForFile("ams"));
  EXPECT_THAT(Content("am.log"), HasSubstr("FROM=job\n"));
  EXPECT_THAT(Content("am.log"), HasSubstr("TONY_JOB_ID=" + records_.job().value + "\n"));
  EXPECT_THAT(Content("am.log"), HasSubstr("\n" + records_.place().string() + "\n"));
  EXPECT_THAT(Content("am.log"), HasSubstr(StrCat("2 ", records_.place().string(), " 1\n")));
}

TEST_F(KeeperAmTest, CrashedAmIsRestartedUnderTheNextEpochAndContainersLiveOn) {
  const pid_t keeper = StartKeeper();
  BecomeAm({1});
  Launch("1-1", "sleep 1000");
  Launch("1-2", "exit 4");
  ASSERT_TRUE(WaitFor([&] { return Started("1-1") && Exit("1-2"); }));
  KillAm();
  ASSERT_TRUE(WaitFor([&] { return Content("ams") == "1\n2\n"; }));
  EXPECT_EQ(Content("epoch"), "2\n");
  BecomeAm({2});
  EXPECT_EQ(Told<SchedulerReached>()[0].running, std::vector<ContainerId>{{"1-1"}});
  ASSERT_TRUE(WaitFor([&] { return Exit("1-2"); })) << "the new AM learns of all ends";
  EXPECT_EQ(Exit("1-2")->status->value, 4);
  EXPECT_FALSE(keepers_[keeper]);
}

class StrangerToKeeperTest : public KeeperFixture {
 protected:
  void SetUp() override {
    if (geteuid() != 0) GTEST_SKIP() << "needs root, to be another user";
    StartKeeper();
  }
  // The kernel takes the effective user for who connects, and the file system's user for who may open the socket's
  // file.
  UniqueFd ConnectAs(uid_t user) const {
    EXPECT_EQ(seteuid(user), 0);
    setfsuid(0);
    auto socket = ConnectToKeeper(records_);
    EXPECT_EQ(seteuid(0), 0);
    EXPECT_TRUE(socket.ok());
    return *std::move(socket);
  }
  static bool IsAnswered(const UniqueFd& socket) {
    const std::string hello = Encode(AmHello{{1}});
    (void)send(socket.get(), hello.data(), hello.size(), MSG_NOSIGNAL);
    pollfd look{socket.get(), POLLIN, 0};
    EXPECT_EQ(poll(&look, 1, 30'000), 1) << "neither answered nor closed";
    char answer[4096];
    return recv(socket.get(), answer, sizeof answer, MSG_DONTWAIT) > 0;
  }
};

TEST_F(StrangerToKeeperTest, AnotherUserWhoReachesTheSocketIsNotHeard_NeedsRoot) {
  constexpr uid_t kAnotherUser = 54321;  // nobody has this number
  EXPECT_FALSE(IsAnswered(ConnectAs(kAnotherUser)));
  EXPECT_TRUE(IsAnswered(ConnectAs(geteuid())));
}

class OpenFilesTest : public KeeperFixture {
 protected:
  OpenFilesTest() : KeeperFixture("echo $2 >>$1/ams; ulimit -Sn >>$1/limit; exec sleep 1000") {
    getrlimit(RLIMIT_NOFILE, &before_);
    rlimit low = before_;
    low.rlim_cur = 500;
    setrlimit(RLIMIT_NOFILE, &low);  // inherited by the keeper
  }
  ~OpenFilesTest() override { setrlimit(RLIMIT_NOFILE, &before_); }
  rlimit before_{};
};

TEST_F(OpenFilesTest, KeeperAndAmMayHaveManyAndTasksWhatTheirSubmitterHad) {
  auto submission = *records_.ReadSubmission();
  submission.open_files = 321;
  std::ofstream(records_.place() / "submission.json") << ToJson(submission);
  StartKeeper();
  BecomeAm({1});
  ASSERT_TRUE(WaitFor([&] { return !Content("limit").empty(); }));
  EXPECT_GT(*ParseInt(Trim(Content("limit"))), 500);
  Launch("1-1", "until [ $(ulimit -Sn) = 321 ]; do sleep 0.01; done");
  EXPECT_TRUE(WaitFor([&] { return Exit("1-1"); }));
}

TEST_F(KeeperAmTest, AJobOfAnEarlierBootIsEndedAndNothingStarted) {
  ASSERT_TRUE(JobFolder(records_).WriteBoot("another").ok());
  ASSERT_TRUE(KeeperEnded(StartKeeper()));
  EXPECT_EQ(Content("ams"), "");
  EXPECT_EQ((*records_.ReadStatus())->verdict->cls, OutcomeClass::kNodeLost);
}

class CrashingAmTest : public KeeperFixture {
 protected:
  CrashingAmTest()
      : KeeperFixture("echo $2 >>$1/ams; echo \"bad journal\" >&2; [ $2 = 3 ] || exit 70; exec sleep 1000") {}
};

TEST_F(CrashingAmTest, ComesBackAfterEachCrash) {
  StartKeeper();
  EXPECT_TRUE(WaitFor([&] { return Content("ams") == "1\n2\n3\n"; }));
}

class HopelessAmTest : public KeeperFixture {
 protected:
  HopelessAmTest()
      : KeeperFixture("echo $2 >>$1/ams; echo 'bad journal' >&2; [ -e $1/good ] && exec sleep 1000; exit 70") {}
};

TEST_F(HopelessAmTest, FiveCrashesEndTheJobAsInfra) {
  std::ofstream(records_.place() / "good") << "";
  const pid_t keeper = StartKeeper();
  BecomeAm({1});
  Launch("1-1", "setsid sleep 1000 & sleep 1000");
  ASSERT_TRUE(WaitFor([&] { return Marked("1-1").size() == 3; }));
  scheduler_.reset();
  std::filesystem::remove(records_.place() / "good");
  KillAm();
  ASSERT_TRUE(KeeperEnded(keeper));
  EXPECT_EQ(Content("ams"), "1\n2\n3\n4\n5\n6\n") << "the first was killed, which is no crash of its own";
  const auto status = records_.ReadStatus();
  ASSERT_TRUE(status.ok() && *status);
  EXPECT_EQ((*status)->state, "FAILED");
  EXPECT_EQ((*status)->verdict->cls, OutcomeClass::kInfra);
  EXPECT_EQ((*status)->verdict->message, "the application master crashed 5 times within 5 min, at last: exit code 70");
  EXPECT_THAT((*status)->verdict->stderr_tail, HasSubstr("bad journal"));
  EXPECT_THAT(OfJob(), IsEmpty());
  EXPECT_TRUE(KeeperEnded(StartKeeper())) << "nothing is left to keep";
  EXPECT_EQ(Content("ams"), "1\n2\n3\n4\n5\n6\n") << "the first was killed, which is no crash of its own";
}

TEST_F(HopelessAmTest, MissingAmProgramEndsTheJobAsInfraToo) {
  std::filesystem::remove(temp_.path() / "bin/tony-am");
  ASSERT_TRUE(KeeperEnded(StartKeeper()));
  EXPECT_THAT((*records_.ReadStatus())->verdict->message, HasSubstr("tony-am: no such file or directory"));
}

TEST_F(KeeperAmTest, AmThatNeverRenewsIsKilled) {
  SetLimits({"QUICK_KEEPER_SILENCE=1500"});
  StartKeeper();
  EXPECT_TRUE(WaitFor([&] { return Content("ams").starts_with("1\n2\n"); }));
}

TEST_F(KeeperAmTest, AmThatRenewsLivesOn) {
  SetLimits({"QUICK_KEEPER_SILENCE=3000"});
  StartKeeper();
  BecomeAm({1}, Duration(1800));
  ASSERT_TRUE(WaitFor([&] { return Content("ams") == "1\n"; }));
  EXPECT_FALSE(RunUntil(
      loop_, [&] { return Content("ams") != "1\n"; }, Duration(4500)));
  EXPECT_THAT(Told<SchedulerLost>(), IsEmpty());
  scheduler_.reset();  // it hangs
  EXPECT_TRUE(WaitFor([&] { return Content("ams").starts_with("1\n2\n"); }));
}

TEST_F(KeeperAmTest, AmOfAnEarlierEpochIsNotListenedTo) {
  StartKeeper();
  for (const int64_t epoch : {0, 2}) {
    SpeakAsAm({epoch}, Duration(200));
    Launch("1-1", ">ran");
    ASSERT_TRUE(WaitFor([&] { return !Told<SchedulerLost>().empty(); }));
    EXPECT_THAT(Told<SchedulerReached>(), IsEmpty());
  }
  EXPECT_EQ(keepers_started_, 1);
  EXPECT_FALSE(std::filesystem::exists(records_.place() / "ran"));
}

TEST_F(KeeperAmTest, GarbageEndsItsConnectionAndNothingElse) {
  StartKeeper();
  BecomeAm({1});
  for (const std::string& garbage :
       {std::string("GET / HTTP/1.1\r\n"), std::string(100'000, 'x'), std::string("\x01\x02", 2)}) {
    const auto socket = ConnectToKeeper(records_);
    ASSERT_TRUE(socket.ok());
    ASSERT_GT(send(socket->get(), garbage.data(), garbage.size(), MSG_NOSIGNAL), 0);
    char byte;
    EXPECT_TRUE(WaitFor([&] { return recv(socket->get(), &byte, 1, MSG_DONTWAIT) == 0; }));
  }
  Launch("1-1", "exit 0");
  EXPECT_TRUE(WaitFor([&] { return Exit("1-1"); }));
  EXPECT_THAT(Told<SchedulerReached>(), SizeIs(1));
}

TEST_F(KeeperAmTest, SecondKeeperLeavesAtOnce) {
  StartKeeper();
  ASSERT_TRUE(WaitForFile("ams"));
  ASSERT_TRUE(Start(records_).ok());
  ASSERT_TRUE(
      WaitFor([&] { return std::ranges::any_of(keepers_, [](const auto& k) { return k.second.has_value(); }); }));
  EXPECT_EQ(Content("ams"), "1\n");
}

}  // namespace
}  // namespace tony
