// The keeper (supervisor of a job) and its AM: how the AM is started, watched and replaced, and how the job ends.
#include <fcntl.h>
#include <gmock/gmock.h>
#include <poll.h>
#include <sys/fsuid.h>
#include <sys/resource.h>
#include <sys/socket.h>

#include "runtime/keeper/keeper_protocol.h"
#include "runtime/keeper/message_channel.h"
#include "runtime/os/file_system.h"
#include "tests/support/results.h"
#include "tests/unit/keeper/keeper_script.h"

namespace tony {
namespace {

namespace fs = std::filesystem;
using ::testing::IsEmpty;
using ::testing::SizeIs;

const TestRow kAms[] = {
    {"TheAmStartsWithTheJobsEnvironmentAndWithItsEpochAsAnArgument",
     {{"master env|sort; pwd; echo $# $1 $2; >$1/ams; exec sleep 1000 | keeper | file ams", ""},
      {"says am.log FROM=job | says am.log TONY_JOB_ID=# | says am.log \n@\n | says am.log 2 @ 1\n",
       "yes | yes | yes | yes"}}},
    {"AKilledAmIsRestartedUnderTheNextEpochAndContainersKeepRunning",
     {{"begin | launch 1-1 sleep 1000 | launch 1-2 exit 4 | started 1-1 | end 1-2", "code 4"},
      {"kill-am | ams 1,2 | text epoch | am 2 | running", "2, | runs 1-1"},
      {"end 1-2 | keeper-lives", "code 4 | yes"}}},  // the new AM receives all ends
    {"AJobStartedBeforeTheLastBootFailsAsNodeLostWithoutStartingAnAm",
     {{"boot another | keeper | ended | text ams | verdict", "yes | nothing | ^FAILED node_lost"}}},
    {"AnAmThatSendsTheKeeperNoRenewalsIsReplaced", {{"limit SILENCE=1500 | keeper | next-am", ""}}},
    {"ASecondKeeperOfTheSameJobExitsAtOnce", {{"keeper | file ams | second-keeper | text ams", "1,"}}},
    {"ACrashedAmIsReplacedByAnAmWithTheNextEpoch",
     {{"master echo $2 >>$1/ams; echo bad >&2; [ $2 = 3 ] || exit 70; exec sleep 1000 | keeper | ams 1,2,3", ""}}},
};
TABLE_TEST(KeeperAmTest, kAms, ScriptIn<KeeperWorld>());
constexpr char kHopeless[] = "echo $2 >>$1/ams; echo 'bad journal' >&2; [ -e $1/good ] && exec sleep 1000; exit 70";
const TestRow kHopelessAms[] = {
    {"FiveCrashesOfTheAmFailTheJobWithTheFailureClassInfra",
     {{"write good | begin | launch 1-1 setsid sleep 1000 & sleep 1000 | processes 1-1 3 | hang-up", ""},
      {"remove good | kill-am | ended", "yes"},
      // The first AM was killed from outside, which does not count as a crash.
      {"text ams", "1,2,3,4,5,6,"},
      {"verdict | stderr",
       "FAILED infra: the application master crashed 5 times within 5 min; the last cause: exit code 70 | ~bad "
       "journal"},
      // The next keeper finds nothing to do and ends.
      {"of-job | keeper | ended | text ams", "0 | yes | 1,2,3,4,5,6,"}}},
    {"AMissingAmProgramFailsTheJobWithAVerdictThatNamesTheProgram",
     {{"no-master | keeper | ended | verdict", "yes | ~tony-am: no such file or directory"}}},
};
TABLE_TEST(HopelessAmTest, kHopelessAms, ScriptIn<KeeperWorld>(std::string(kHopeless)));
// AMs that hang from their start. The waits are shorter than the 30 s after which a silent AM counts as hung.
const TestRow kUnheardAms[] = {
    {"AKillRequestEndsTheJobOfAHangingAm",
     {{"keeper | filled ams | ask-to-end | ended | of-job | verdict", "yes | 0 | ~: enough"}}},
    {"AKillRequestThatRequiresAnotherOwnerIsIgnoredWhileTheAmHangs",
     {{"start-limit 3000 | keeper | ask-to-end-if-of another | ended | of-job | verdict", "yes | 0 | ^FAILED"}}},
    {"AJobFailsWhenItsAmHasNotStartedWithinTheStartupTimeout",
     {{"start-limit 300 | keeper | ended | of-job | verdict",
       "yes | 0 | ^FAILED timeout: the application master had not started 0.3 s after the submission "
       "(tony.am.startup-timeout=300)"}}},
};
TABLE_TEST(KeeperUnheardTest, kUnheardAms, ScriptIn<KeeperWorld>());
// A keeper writes a record before it acts or reports, so that the next keeper knows. Here the disk refuses the record.
const TestRow kOrders[] = {
    {"AnExecutorIsNotStartedIfItsContainerRecordCannotBeWritten",
     {{"begin | folder containers/1-1 | launch 1-1 >ran | end 1-1 | is ran", "~containers/1-1 | no"}}},
    {"TheFinishedFileOfAJobIsWrittenBeforeTheAmIsNotified",
     {{"limit FAREWELL=300 | begin | folder finished | finish | comes-to-say keeper.log @/finished | finished-early",
       "no"},
      {"remove finished | finished | ended", "yes"}}},
    {"TheFinishedFileOfAJobIsWrittenOnlyAfterTheVerdict",
     {{"limit STOP_MARGIN=50 | folder status.json | begin | hang-up | kill-am | signal-keeper SIGTERM", ""},
      {"comes-to-say keeper.log @/status.json | exists-early finished", "no"},
      {"remove status.json | ended | verdict", "yes | ^KILLED"}}},
};
TABLE_TEST(KeeperOrderTest, kOrders, ScriptIn<KeeperWorld>());
const TestRow kEnds[] = {
    {"AFinishedJobLeavesNoProcessesAndNoKeeper",
     {{"limit FAREWELL=300 | begin | launch 1-1 setsid sleep 1000 & setsid env -i sleep 1000 & sleep 1000", ""},
      // The end is recorded before the AM is notified.
      {"processes 1-1 3 | finish | finished | is finished", "yes"},
      {"ended | of-job | text ams | is keeper.sock | locked", "yes | 0 | 1, | no | no"},
      // A keeper that has finished its job is not restarted.
      {"keepers", "1"}}},
    {"TheKeeperOfAFinishedJobExitsWhenTheAmDies",
     {{"limit FAREWELL=100000 | begin | finish | finished | kill-am | ended", "yes"}}},
    {"ANewKeeperOfAFinishedJobStartsNoAmAndEndsAllProcesses",
     {{"limit FAREWELL=300 | begin | launch 1-1 setsid sleep 1000 & sleep 1000 | processes 1-1 3 | hang-up", ""},
      {"kill-keeper | write finished | keeper | ended | text ams | of-job", "yes | 1, | 0"}}},
    {"SigtermMakesTheKeeperRequestAJobKillAndKeepLaunchingContainers",
     {{"begin | signal-keeper SIGTERM | asked-to-end | signal-keeper SIGHUP | signal-keeper SIGTERM", ""},
      {"comes-to-say keeper.log is already ending the job | kill-reason",
       StrCat("the job's keeper got SIGTERM from process ", getpid(), " of uid ", getuid())},
      {"launch 1-1 exit 0 | end 1-1 | keeper-lives", "code 0 | yes"}}},  // the keeper continues to serve
    {"SigtermToTheKeeperEndsTheJobEvenIfTheAmHangs",
     {{"limit FAREWELL=300 | limit STOP_MARGIN=50 | grace 50 | begin", ""},
      {"launch 1-1 trap '' TERM; while :; do sleep 0.01; done | started 1-1 | hang-up | signal-keeper SIGTERM", ""},
      {"ended | verdict | is finished", "yes | ~: the job's keeper got SIGTERM from process  | yes"},
      {"verdict | text ams | of-job", "^KILLED | 1, | 0"}}},  // no second AM was started
    {"SigtermToTheKeeperGivesTasksTheirGracePeriodEvenIfTheAmHangs",
     {{"limit FAREWELL=300 | grace 60000 | write kill-requests | begin", ""},
      {"launch 1-1 trap 'touch saved; exit 0' TERM; touch runs; while :; do sleep 0.01; done | file runs | hang-up",
       ""},
      {"signal-keeper SIGTERM | ended | is saved | verdict", "yes | yes | ^KILLED"}}},
    {"ALaunchRequestAfterTheEndOfTheJobIsRefused",
     {{"begin | finish | launch 1-1 >ran | end 1-1 | is ran", "unseen: launch: the job has ended | no"}}},
};
TABLE_TEST(KeeperEndTest, kEnds, ScriptIn<KeeperWorld>());

class KeeperSocketTest : public KeeperWorld {
 protected:
  // Connects as `user`. The kernel takes the effective user as the peer's identity, and the file system user to
  // decide who may open the socket's file.
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

TEST_F(KeeperSocketTest, AConnectionOfAnotherUserIsNotServed_NeedsRoot) {
  if (geteuid() != 0) GTEST_SKIP() << "needs root, to be another user";
  StartKeeper();
  constexpr uid_t kAnotherUser = 54321;  // no user has this number
  EXPECT_FALSE(IsAnswered(ConnectAs(kAnotherUser)));
  EXPECT_TRUE(IsAnswered(ConnectAs(geteuid())));
}

TEST_F(KeeperSocketTest, GarbageOnAConnectionClosesOnlyThatConnection) {
  Begin();
  for (const std::string& garbage :
       {std::string("GET / HTTP/1.1\r\n"), std::string(100'000, 'x'), std::string("\x01\x02", 2)}) {
    const auto socket = Must(ConnectToKeeper(records_));
    ASSERT_GT(send(socket.get(), garbage.data(), garbage.size(), MSG_NOSIGNAL), 0);
    char byte;
    EXPECT_TRUE(WaitFor([&] { return recv(socket.get(), &byte, 1, MSG_DONTWAIT) == 0; }));
  }
  Launch("1-1", "exit 0");
  EXPECT_EQ(EndOf("1-1"), "code 0");
  EXPECT_THAT(Told<SchedulerReached>(), SizeIs(1));
}

TEST_F(KeeperSocketTest, AnAmThatSendsRenewalsIsNotReplaced) {
  SetLimits({"QUICK_KEEPER_SILENCE=3000"});
  StartKeeper();
  BecomeAm({1}, Duration(1800));
  ASSERT_TRUE(WaitFor([&] { return Content("ams") == "1\n"; }));
  EXPECT_FALSE(RunUntil(
      loop_, [&] { return Content("ams") != "1\n"; }, Duration(4500)));
  EXPECT_THAT(Told<SchedulerLost>(), IsEmpty());
  scheduler_.reset();  // the AM hangs
  EXPECT_TRUE(WaitFor([&] { return Content("ams").starts_with("1\n2\n"); }));
}

TEST_F(KeeperSocketTest, AConnectionOfAnAmWithAnotherEpochIsRefused) {
  StartKeeper();
  for (const int64_t epoch : {0, 2}) {
    SpeakAsAm({epoch}, Duration(200));
    Launch("1-1", ">ran");
    ASSERT_TRUE(WaitFor([&] { return !Told<SchedulerLost>().empty(); }));
    EXPECT_THAT(Told<SchedulerReached>(), IsEmpty());
  }
  EXPECT_EQ(keepers_started_, 1);
  EXPECT_FALSE(fs::exists(At("ran")));
}

class OpenFilesTest : public KeeperWorld {
 protected:
  OpenFilesTest() : KeeperWorld("echo $2 >>$1/ams; ulimit -Sn >>$1/limit; exec sleep 1000") {
    getrlimit(RLIMIT_NOFILE, &before_);
    rlimit low = before_;
    low.rlim_cur = 500;
    setrlimit(RLIMIT_NOFILE, &low);  // the keeper inherits the limit
  }
  ~OpenFilesTest() override { setrlimit(RLIMIT_NOFILE, &before_); }
  rlimit before_{};
};

TEST_F(OpenFilesTest, TheAmGetsARaisedOpenFileLimitAndTasksGetTheSubmittersLimit) {
  auto submission = *records_.ReadSubmission();
  submission.open_files = 321;
  std::ofstream(At("submission.json")) << ToJson(submission);
  Begin();
  EXPECT_GT(PidIn("limit"), 500);
  Launch("1-1", "until [ $(ulimit -Sn) = 321 ]; do sleep 0.01; done");
  EXPECT_EQ(EndOf("1-1"), "code 0");
}

TEST_F(KeeperSocketTest, TheEndOfAContainerIsRecordedBeforeItIsReportedToTheAm) {
  Begin();
  // A process that opens the pipe for writing waits until a reader opens it.
  Launch("1-1",
         "until grep -q started containers/1-1; do sleep 0.01; done; rm containers/1-1; mkfifo containers/1-1; exit 3");
  const fs::path record = At("containers/1-1");
  ASSERT_TRUE(WaitFor([&] { return fs::is_fifo(record) && Marked("1-1").empty(); }));
  EXPECT_EQ(WithinAMoment([&] { return Exit("1-1"); }), "no");
  const UniqueFd reader(open(record.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC));
  EXPECT_EQ(EndOf("1-1"), "code 3");
  char text[64] = {};
  EXPECT_GT(read(reader.get(), text, sizeof text - 1), 0);
  EXPECT_STREQ(text, "exited 3 \n");
  fs::remove(record);
}

}  // namespace
}  // namespace tony
