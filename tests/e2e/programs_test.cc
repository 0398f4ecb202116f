// New programs are installed while a job runs: the job continues with the programs that it started with, even if its
// processes die.
#include <sys/mount.h>

#include "tests/e2e/tony_test.h"

namespace tony {
namespace {

class ProgramsE2eTest : public TonyTest {
 protected:
  // Makes an installation and a store of programs that no other test uses.
  void SetUp() override {
    fs::remove(box_.home() / "programs");
    fs::create_directory(bin_);
    for (const char* program : {"tony", "tony-am", "tony-executor", "tony-keeper"})
      fs::copy_file(fs::path(ProgramFolder()) / program, bin_ / program);
  }

  std::unique_ptr<Background> StartInstalled(const Words& arguments) const {
    return std::make_unique<Background>(Words{(bin_ / "tony").string()} + arguments, box_.Environment(), box_.folder());
  }
  Ran Installed(const Words& arguments) const { return StartInstalled(arguments)->Wait(); }

  // Replaces a program by a script that records its start and fails.
  void Replace(const fs::path& program, bool in_place) const {
    const fs::path written = in_place ? program : fs::path(program.string() + ".new");
    std::ofstream file(written, std::ios::trunc);
    file << "#!/bin/sh\necho \"$0 $*\" >> " << Replaced() << "\nexit 1\n";
    file.close();
    EXPECT_TRUE(file.good()) << written;
    fs::permissions(written, fs::perms(0755));
    if (!in_place) fs::rename(written, program);
  }
  void ReplaceAll(bool in_place) const {
    for (const auto& program : fs::directory_iterator(bin_)) Replace(program.path(), in_place);
  }
  // Has a line for each start of a replaced program.
  std::string Replaced() const { return box_.File("replaced"); }

  void Begin(const Words& more = {}) {
    const Ran ran = Installed(Workers(2, HoldUntilGo()) + more + Words{"--detach"});
    ASSERT_EQ(ran.exit, 0) << ran.err;
    ASSERT_TRUE(WaitForRunning(2)) << ran.err;
    pids_ = TaskPids();
  }

  // Returns the folders of the running programs of this name. A child that is about to run another program has the name,
  // too, and is left out if it runs that program when its file is read.
  std::vector<std::string> Folders(const std::string& program) const {
    std::vector<std::string> folders;
    for (const pid_t pid : box_.Pids(program)) {
      std::error_code gone;
      const fs::path file = fs::read_symlink(fs::path("/proc") / std::to_string(pid) / "exe", gone);
      if (file.filename().string().starts_with(program)) folders.push_back(file.parent_path());
    }
    return folders;
  }
  std::string Entry() const {
    const auto submission = ParseJson(ReadText(box_.JobFolder(Job()) / "submission.json"));
    return (fs::canonical(box_.home()) / "programs" / Text(submission, "/programs")).string();
  }

  void ExpectSuccess(Background& waiting) {
    EXPECT_EQ(TaskPids(), pids_) << "a task was restarted";
    Go();
    const Ran ran = waiting.Wait();
    EXPECT_EQ(ran.exit, 0) << ran.err << ran.out;
    EXPECT_EQ(ReadText(Replaced()), "");
    EXPECT_EQ(TaskPids(), pids_) << "a task was restarted";
    ExpectNothingLeft();
  }

  const fs::path bin_ = box_.File("bin");
  std::string pids_;
};

class ReplacedProgramsTest : public ProgramsE2eTest, public testing::WithParamInterface<bool> {};

TEST_P(ReplacedProgramsTest, ARunningJobKeepsItsOldProgramsWhenMasterAndKeeperDieTogether) {
  Begin();
  ReplaceAll(GetParam());
  KillTogether();
  const auto waiting = box_.StartTony({"wait", Job()});
  ASSERT_TRUE(WaitFor([&] { return Epoch() >= 2; })) << waiting->err();
  EXPECT_EQ(Folders("tony-keeper"), Words{Entry()});
  EXPECT_EQ(Folders("tony-am"), Words{Entry()});
  ExpectSuccess(*waiting);
}

TEST_P(ReplacedProgramsTest, ARunningJobKeepsItsOldProgramsWhenMasterAndKeeperDieInTurn) {
  Begin();
  ReplaceAll(GetParam());
  for (int64_t epoch = 2; epoch <= 3; ++epoch) {
    KillTogether({"tony-am"});
    ASSERT_TRUE(WaitFor([&] { return Epoch() == epoch; }));
    const std::vector<pid_t> keeper = box_.Pids("tony-keeper");
    KillTogether({"tony-keeper"});
    ASSERT_TRUE(WaitFor([&] { return box_.Pids("tony-keeper").size() == 1 && box_.Pids("tony-keeper") != keeper; }));
  }
  const auto waiting = box_.StartTony({"wait", Job()});
  ExpectSuccess(*waiting);
}

TEST_P(ReplacedProgramsTest, ARunningJobKeepsItsOldProgramsWhenATaskIsRestarted) {
  Begin();
  ReplaceAll(GetParam());
  KillTogether({"tony-am"});
  ASSERT_TRUE(WaitFor([&] { return Epoch() == 2; }));
  const std::vector<pid_t> executors = box_.Pids("tony-executor");
  ASSERT_EQ(executors.size(), 2u);
  kill(executors[0], SIGKILL);
  const auto waiting = box_.StartTony({"wait", Job()});
  ASSERT_TRUE(WaitFor([&] {
    const auto status = Status();
    return Number(status, "/restart_count") == 1 && Text(status, "/state") == "RUNNING";
  })) << waiting->err();
  for (const std::string& folder : Folders("tony-executor")) EXPECT_EQ(folder, Entry());
  GoAndEnd(*waiting);
  EXPECT_EQ(ReadText(Replaced()), "");
  ExpectNothingLeft();
}

INSTANTIATE_TEST_SUITE_P(Ways, ReplacedProgramsTest, testing::Values(false, true),
                         [](const auto& test) { return test.param ? "InPlace" : "ByRename"; });

TEST_F(ProgramsE2eTest, KeeperAndMasterAreRestartedWithTheClientsProgramsIfTheJobHasNoStoredPrograms) {
  Begin();
  const fs::path file = box_.JobFolder(Job()) / "submission.json";
  auto submission = ParseJson(ReadText(file));
  ASSERT_EQ(submission.as_object().erase("programs"), 1u);
  std::ofstream(file) << json::serialize(submission);
  KillTogether();
  const auto waiting = box_.StartTony({"wait", Job()});
  ASSERT_TRUE(WaitFor([&] { return Epoch() >= 2; })) << waiting->err();
  EXPECT_EQ(Folders("tony-keeper"), Words{fs::canonical(ProgramFolder()).string()});
  EXPECT_EQ(Folders("tony-am"), Words{fs::canonical(ProgramFolder()).string()});
  ExpectSuccess(*waiting);
}

TEST_F(ProgramsE2eTest, TheKeeperIsRestartedWithTheClientsProgramsIfAStoredProgramWasRemoved) {
  Begin();
  KillTogether();
  fs::remove(fs::path(Entry()) / "tony-am");
  const auto waiting = box_.StartTony({"wait", Job()});
  ASSERT_TRUE(WaitFor([&] { return Epoch() >= 2; })) << waiting->err();
  EXPECT_THAT(waiting->err(), HasSubstr("are missing in " + Entry()));
  EXPECT_EQ(Folders("tony-keeper"), Words{fs::canonical(ProgramFolder()).string()});
  ExpectSuccess(*waiting);
}

TEST_F(ProgramsE2eTest, ASubmitWithARequestIdStoresTheProgramsOfTheJob) {
  const Ran ran = Installed(One("true") + Words{"--request-id", "k", "--owner", "o"});
  ASSERT_EQ(ran.exit, 0) << ran.err;
  EXPECT_TRUE(fs::exists(fs::path(Entry()) / "tony-am"));
}

TEST_F(ProgramsE2eTest, DamagedStoredProgramsAreRepairedByTheNextSubmit) {
  ASSERT_EQ(Installed(One("true")).exit, 0);
  const fs::path keeper = fs::path(Entry()) / "tony-keeper";
  fs::permissions(keeper, fs::perms(0700));
  fs::resize_file(keeper, 1000);
  const Ran ran = Installed(One("true"));
  EXPECT_EQ(ran.exit, 0) << ran.err;
  EXPECT_EQ(fs::file_size(keeper), fs::file_size(bin_ / "tony-keeper"));
}

TEST_F(ProgramsE2eTest, TheGcCommandKeepsStoredProgramsUntilTheirJobHasEnded) {
  Begin();
  // `tony gc` removes an entry whose name begins with a dot without a check of its age.
  fs::create_directory(box_.home() / "programs/.entry");
  const fs::path file = box_.JobFolder(Job()) / "submission.json";
  auto submission = ParseJson(ReadText(file));
  submission.as_object()["programs"] = ".entry";
  std::ofstream(file) << json::serialize(submission);
  Succeeds({"gc"});
  EXPECT_TRUE(fs::exists(box_.home() / "programs/.entry"));
  const auto waiting = box_.StartTony({"wait", Job()});
  ExpectSuccess(*waiting);
  const Ran gc = box_.Tony({"gc", "--json"});
  EXPECT_EQ(Text(ParseJson(gc.out), "/programs/0"), ".entry") << gc.out;
  EXPECT_FALSE(fs::exists(box_.home() / "programs/.entry"));
}

// A file system for the home that only this process and its children see.
class MountedHomeTest : public ProgramsE2eTest {
 protected:
  bool Mount(unsigned long flags, const char* options) const {
    return unshare(CLONE_NEWNS) == 0 && mount("none", "/", nullptr, MS_REC | MS_PRIVATE, nullptr) == 0 &&
           mount("tmpfs", box_.home().c_str(), "tmpfs", flags, options) == 0;
  }
  void TearDown() override { umount2(box_.home().c_str(), MNT_DETACH); }
};

TEST_F(MountedHomeTest, AJobInANoexecHomeRunsTheInstalledProgramsWithAWarning_RootOnly) {
  if (!Mount(MS_NOEXEC, "mode=700,size=64m")) GTEST_SKIP() << "needs to be root, to mount a file system";
  const Ran ran = Installed(One("true"));
  EXPECT_EQ(ran.exit, 0) << ran.err;
  EXPECT_THAT(ran.err, HasAll({"warning: the job has no copy of TonY's programs: ", "noexec",
                               "the job runs the programs in " + bin_.string()}));
  EXPECT_THAT(Installed({"doctor"}).out, HasSubstr("warn  programs: "));
}

TEST_F(MountedHomeTest, AJobRunsTheInstalledProgramsWithAWarningIfTheDiskOfTheHomeIsTooSmall_RootOnly) {
  if (!Mount(0, "mode=700,size=16m")) GTEST_SKIP() << "needs to be root, to mount a file system";
  const Ran ran = Installed(One("true"));
  EXPECT_EQ(ran.exit, 0) << ran.err;
  EXPECT_THAT(ran.err, HasSubstr("warning: the job has no copy of TonY's programs: "));
  EXPECT_EQ(At(ParseJson(ReadText(box_.JobFolder(Job()) / "submission.json")), "/programs"), value());
}

}  // namespace
}  // namespace tony
