// Tasks that behave badly, and folders that cannot be written: the job still ends with a correct verdict, and no
// process is left. bad_input_test.cc, staging_test.cc and ledger_test.cc also test input that is refused before a job
// is stored.
#include <sched.h>
#include <sys/mount.h>

#include "tests/e2e/tony_test.h"

namespace tony {
namespace {

int64_t LineBytes() { return SanitizedPrograms() ? 40'000'000 : 200'000'000; }
long MostClientMemoryKb() { return (SanitizedPrograms() ? 2048 : 64) * 1024; }
// A limit for tests that take ten seconds, with room for a busy machine.
constexpr Limit kLong{100'000};

class RoughTest : public TonyTest {
 protected:
  void ExpectVerdict(const std::string& state, const std::string& outcome_class) const {
    const auto status = Status();
    ExpectJson(status, {{"/verdict/state", state}, {"/verdict/class", outcome_class}});
  }
  void ExpectKillEnds(Background& client) const {
    const Ran kill = Succeeds({"kill", Job()});
    EXPECT_FALSE(kill.timed_out);
    EXPECT_EQ(client.Wait().exit, 1) << client.err();
    ExpectVerdict("KILLED", "killed");
    ExpectNothingLeft();
  }
  void ExpectRefused(const Words& arguments, int exit, const testing::Matcher<std::string>& message,
                     const Sandbox::Variables& variables = {}) const {
    const Ran ran = box_.Tony(arguments, variables);
    EXPECT_EQ(ran.exit, exit) << ran.err;
    EXPECT_EQ(CountLines(ran.err), 1u) << ran.err;
    EXPECT_THAT(ran.err, AllOf(StartsWith("tony: "), message));
    EXPECT_THAT(ran.out, IsEmpty());
    EXPECT_THAT(box_.Jobs(), IsEmpty());
    ExpectNothingLeft();
  }
};

class LongLineTest : public RoughTest {
 protected:
  // A command that prints LineBytes() bytes and the word END, without a line end.
  static std::string WriteIt() {
    return "head -c " + std::to_string(LineBytes()) + " /dev/zero | tr '\\0' x; printf END";
  }
  // Starts `tony` and counts its output with wc. If this process kept the output, each program that it starts would
  // begin with the same memory peak.
  std::unique_ptr<Background> StartCounting(const Words& arguments) const {
    const Words counted = {"/bin/bash", "-c", "exec \"$@\" > >(wc -c)", "bash", ProgramFolder() + "/tony"};
    return std::make_unique<Background>(counted + arguments, box_.Environment(), box_.folder());
  }
  static void ExpectAll(Background& counting) {
    const Ran ran = counting.Wait(kLong);
    EXPECT_EQ(ran.exit, 0) << ran.err;
    const int64_t bytes = std::atoll(ran.out.c_str());
    EXPECT_GE(bytes, LineBytes() + 3);
    EXPECT_LE(bytes, LineBytes() + LineBytes() / 100) << "the name of its task before each piece, no more";
    EXPECT_LT(ran.peak_memory_kb, MostClientMemoryKb());
  }
};

TEST_F(LongLineTest, TheLogsCommandPrintsAVeryLongLineWholeInBoundedMemory) {
  Succeeds(Workers(2, "if [ $TASK_INDEX = 0 ]; then " + WriteIt() + "; else echo short; fi") + Words{"--detach"});
  ExpectAll(*StartCounting({"logs", "-f", Job()}));
  Succeeds({"wait", Job()});
  ExpectVerdict("SUCCEEDED", "success");
  ExpectNothingLeft();
  ExpectAll(*StartCounting({"logs", Job()}));
  ExpectAll(*StartCounting({"logs", Job(), "worker:0", "--stdout"}));
}

TEST_F(LongLineTest, ALineLongerThanTheLogLimitKeepsOnlyItsBeginningAndItsEnd) {
  const Ran submit = box_.Tony(One(WriteIt(), {"tony.task.log-limit=16m"}), {}, kLong);
  ASSERT_EQ(submit.exit, 0) << submit.err;
  const fs::path folder = box_.JobFolder(Job()) / "logs/worker-0/1";
  struct stat info {};
  ASSERT_EQ(stat((folder / "stdout").c_str(), &info), 0);
  EXPECT_EQ(info.st_size, LineBytes() + 3);
  if (ReadText(folder / "executor.log").find("tony.task.log-limit has no effect") != std::string::npos)
    GTEST_SKIP() << "this file system frees no part of a file";
  EXPECT_LE(info.st_blocks * 512, 19 << 20) << "16 and the first one, and what is freed in whole megabytes";
  const Ran logs = box_.Tony({"logs", Job()}, {}, kLong);
  EXPECT_EQ(logs.exit, 0) << logs.err;
  EXPECT_LT(logs.out.size(), 20u << 20);
  EXPECT_NE(logs.out.find(" cut ..."), std::string::npos);
  EXPECT_NE(logs.out.rfind("xEND"), std::string::npos);
  ExpectVerdict("SUCCEEDED", "success");
  ExpectNothingLeft();
}

class RoughTaskTest : public RoughTest {};

TEST_F(RoughTaskTest, ATaskThatClosesItsOutputSucceeds) {
  const auto client = Hold(One("exec >&- 2>&-; " + HoldUntilGo()));
  const auto logs = box_.StartTony({"logs", "-f", Job()});
  EXPECT_EQ(Text(Status(), "/tasks/0/attempt_state"), "running");
  GoAndEnd(*client);
  const Ran followed = Ends(*logs);
  EXPECT_EQ(followed.out, "");
  ExpectVerdict("SUCCEEDED", "success");
  ExpectNothingLeft();
}

TEST_F(RoughTaskTest, ATaskThatIgnoresSigtermHasExitedWhenTheKillCommandReturns) {
  const auto client = Hold(One("trap '' TERM; exec >&- 2>&-; " + HoldUntilGo(), {"tony.task.stop-grace-ms=300"}));
  ExpectKillEnds(*client);
}

// Half of the children become orphans, which the executor has to reap.
TEST_F(RoughTaskTest, ATaskThatForksTenThousandShortChildrenSucceeds) {
  const Ran ran = box_.Tony(One("for ((i = 0; i < 5000; ++i)); do (: &); done; echo all"), {}, kLong);
  EXPECT_EQ(ran.exit, 0) << ran.err;
  EXPECT_EQ(LogText("worker-0", "stdout"), "all\n");
  EXPECT_EQ(LogText("worker-0", "stderr"), "");
  ExpectVerdict("SUCCEEDED", "success");
  ExpectNothingLeft();
}

class SleepersTest : public RoughTest {
 protected:
  static std::string LeaveThem() { return "for ((i = 0; i < 1000; ++i)); do (setsid sleep 1000 &); done; "; }
};

TEST_F(SleepersTest, AThousandBackgroundSessionsHaveExitedWhenTheJobSucceeds) {
  const Ran ran = box_.Tony(One(LeaveThem() + "true", {"tony.task.background=end"}), {}, kLong);
  EXPECT_EQ(ran.exit, 0) << ran.err;
  ExpectVerdict("SUCCEEDED", "success");
  ExpectNothingLeft();
}

TEST_F(SleepersTest, AThousandBackgroundSessionsHaveExitedWhenTheKillCommandReturns) {
  const auto client = box_.StartTony(One(LeaveThem() + HoldUntilGo()));
  ASSERT_TRUE(WaitFor([&] { return !ReadText(Running("worker-0")).empty(); }, kLong)) << client->err();
  ExpectKillEnds(*client);
}

class RoughVenvTest : public RoughTest {
 protected:
  RoughVenvTest() { fs::create_directories(Program().parent_path()); }
  fs::path Program() const { return box_.folder() / "env/bin/python3"; }
  Words Job() const {
    return One("train.py") + Words{"-python_venv", box_.File("env"), "-python_binary_path", "bin/python3"};
  }
};

TEST_F(RoughVenvTest, APythonVenvWhoseInterpreterLinkIsBrokenIsRefused) {
  fs::create_symlink("/opt/none/python3.7", Program());
  ExpectRefused(
      Job(), 65,
      AllOf(HasSubstr("venv/bin/python3: the link leads to /opt/none/python3.7"), HasSubstr("another Python")));
}

TEST_F(RoughVenvTest, APythonVenvWithANonExecutableInterpreterIsRefused) {
  box_.Write("env/bin/python3",
             "\x7f"
             "ELF");
  ExpectRefused(Job(), 65, HasSubstr("venv/bin/python3: the program is not executable"));
}

TEST_F(RoughTest, AResourceThatCannotBeReadIsRefused) {
  std::string resource = box_.Write("data", "x");
  fs::permissions(resource, fs::perms::none);
  // Root can read all files except those whose reads fail.
  if (geteuid() == 0) resource = "/proc/self/mem";
  ExpectRefused(One("true", {"tony.containers.resources=" + resource}), 65, HasSubstr(resource));
}

// Small file systems that only this process and its children see.
class SmallDiskTest : public RoughTest {
 protected:
  void SetUp() override {
    if (unshare(CLONE_NEWNS) != 0 || mount("none", "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0)
      GTEST_SKIP() << "needs to be root, to mount a small disk";
    fs::create_directories(place_);
  }
  void TearDown() override { umount2(place_.c_str(), MNT_DETACH); }

  void Mount(const std::string& options, unsigned long flags = 0) const {
    ASSERT_EQ(mount("none", place_.c_str(), "tmpfs", flags, options.c_str()), 0);
  }
  // Fills the file system up to the last `left` bytes.
  void Fill(const std::string& name, int64_t left = 0) const {
    std::ofstream filler(place_ / name, std::ios::binary);
    while (filler << std::string(512, 'x') << std::flush) continue;
    filler.close();
    if (left > 0) fs::resize_file(place_ / name, fs::file_size(place_ / name) - static_cast<uintmax_t>(left));
  }

  fs::path place_ = box_.folder() / "home";
};

TEST_F(SmallDiskTest, ASubmitIsRefusedIfTheDiskOfTheHomeIsFull_RootOnly) {
  Mount("mode=700,size=1m");
  Fill("filler");
  ExpectRefused(One("true"), 73, AllOf(HasSubstr(place_.string()), HasSubstr("no space left on device")));
  EXPECT_TRUE(fs::is_empty(place_ / "jobs"));
}

TEST_F(SmallDiskTest, ASubmitIsRefusedIfTheDiskOfTheHomeHasNoRoomForTheJobFolder_RootOnly) {
  Mount("mode=700,size=1m");
  Fill("filler", 32 * 1024);
  ExpectRefused(One("true"), 73, AllOf(HasSubstr(place_.string()), HasSubstr("no space left on device")));
  EXPECT_TRUE(!fs::exists(place_ / "jobs") || fs::is_empty(place_ / "jobs"));
}

TEST_F(SmallDiskTest, ASubmitIsRefusedIfTheHomeIsReadOnly_RootOnly) {
  Mount("", MS_RDONLY);
  ExpectRefused(One("true"), 73, AllOf(HasSubstr(place_.string()), HasSubstr("read-only file system")));
}

class FilledByItsTaskTest : public SmallDiskTest {
 protected:
  void SetUp() override {
    SmallDiskTest::SetUp();
    if (!IsSkipped()) Mount("mode=700,size=16m");
  }
  // The error message of the task has room in the block that the line "begin" has allocated.
  static std::string FillIt() { return "echo begin >&2; cat /dev/zero > big; "; }
};

// The space that was reserved for the job is enough to record its end.
TEST_F(FilledByItsTaskTest, AJobWhoseTaskFillsTheDiskFailsWithTheErrorOfTheTask_RootOnly) {
  const auto client = box_.StartTony(One(FillIt() + "exit 3"));
  const Ran ran = Ends(*client, 1);
  ExpectVerdict("FAILED", "user_error");
  EXPECT_EQ(Number(Status(), "/verdict/exit_code"), 3);
  EXPECT_THAT(ran.out, HasSubstr("No space left on device"));
  EXPECT_TRUE(fs::exists(box_.JobFolder(Job()) / "work/worker-0/1/big"));
  ExpectNothingLeft();
}

TEST_F(FilledByItsTaskTest, AJobWhoseTaskHasFilledTheDiskCanBeKilled_RootOnly) {
  const auto client = box_.StartTony(One(FillIt() + "sleep 600"));
  ASSERT_TRUE(WaitFor([&] { return fs::space(place_).available == 0; }));
  ExpectKillEnds(*client);
}

class SmallLedgerTest : public SmallDiskTest {
 protected:
  SmallLedgerTest() { place_ = box_.ledger(); }
  std::unique_ptr<Background> SubmitWithoutRoom() const {
    Mount("mode=700,size=1m");
    box_.SetMachine(R"({"memory_mb":1000000000})");
    Fill("filler");
    auto client = box_.StartTony(One("true"));
    EXPECT_TRUE(WaitFor([&] { return TimesSaid(*client) == 1; })) << client->err();
    EXPECT_THAT(client->err(), HasAll({place_.string(), "no space left on device"}));
    return client;
  }
  static size_t TimesSaid(const Background& client) {
    size_t times = 0;
    const std::string text = client.err(), said = "waits for the ledger, which cannot be used";
    for (size_t at = text.find(said); at != std::string::npos; at = text.find(said, at + 1)) ++times;
    return times;
  }
};

TEST_F(SmallLedgerTest, ASubmitIsRefusedIfTheLedgerIsReadOnly_RootOnly) {
  Mount("", MS_RDONLY);
  ExpectRefused(One("true"), 73, AllOf(HasSubstr(place_.string()), HasSubstr("read-only file system")));
}

TEST_F(SmallLedgerTest, AFullLedgerDiskIsReportedOnceAndTheWaitingJobCanBeKilled_RootOnly) {
  const auto client = SubmitWithoutRoom();
  EXPECT_FALSE(WaitFor([&] { return TimesSaid(*client) > 1; }, Limit(2500))) << client->err();
  ExpectKillEnds(*client);
}

TEST_F(SmallLedgerTest, AWaitingJobStartsWhenAFullLedgerDiskHasSpaceAgain_RootOnly) {
  const auto client = SubmitWithoutRoom();
  fs::remove(place_ / "filler");
  Ends(*client);
  ExpectVerdict("SUCCEEDED", "success");
  ExpectNothingLeft();
}

}  // namespace
}  // namespace tony
