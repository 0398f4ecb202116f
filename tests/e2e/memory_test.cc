// The kernel's OOM killer at the memory limit of a container, and the messages about it.
#include "runtime/base/strings.h"
#include "tests/e2e/tony_test.h"
#include "tests/support/cgroup_look.h"

namespace tony {
namespace {

// The limit in MB. Executors with sanitizers need more than 64 MB themselves.
std::string MemoryLimit() { return SanitizedPrograms() ? "400" : "64"; }
// Fills the memory: `tail` keeps all its input, because the input has no line ends.
std::string TakeTooMuch() {
  return StrCat("head -c ", SanitizedPrograms() ? "900M" : "300M", " /dev/zero | tail > /dev/null");
}

class MemoryTest : public TonyTest {
 protected:
  void SetUp() override {
    if (LookForCgroups().limits.empty()) GTEST_SKIP() << "no cgroup with a memory limit can be made";
  }
  Ran Run(const std::string& command) const {
    return box_.Tony(One(command, {StrCat("tony.worker.memory=", MemoryLimit(), "m")}));
  }
  static testing::Matcher<std::string> NamesTheLimit() {
    return HasSubstr(StrCat("out of memory: the container's limit of ", MemoryLimit(), " MB was reached (peak "));
  }
};

TEST_F(MemoryTest, AnOomVerdictNamesTheMemoryLimitAndThePeak_NeedsWritableCgroup) {
  const Ran ran = Run(TakeTooMuch());
  EXPECT_EQ(ran.exit, 1) << ran.err;
  const auto status = Status();
  EXPECT_EQ(Text(status, "/verdict/class"), "oom");
  EXPECT_THAT(Text(status, "/verdict/message"),
              AllOf(NamesTheLimit(), HasSubstr("killed by the kernel; tony.worker.memory sets the limit")));
  EXPECT_THAT(ran.err, HasSubstr(StrCat("the container's limit of ", MemoryLimit(), " MB was reached")));
  ExpectNothingLeft();
}

TEST_F(MemoryTest, ATaskBelowItsMemoryLimitSucceeds_NeedsWritableCgroup) {
  const Ran ran = Run("head -c 20M /dev/zero | tail > /dev/null");
  EXPECT_EQ(ran.exit, 0) << ran.err;
}

TEST_F(MemoryTest, TheVerdictIsNotOomIfTheProgramSurvivesTheOomKillOfAChild_NeedsWritableCgroup) {
  const Ran ran = Run("(" + TakeTooMuch() + ") 2> /dev/null; exit 3");
  EXPECT_EQ(ran.exit, 1) << ran.err;
  EXPECT_EQ(Text(Status(), "/verdict/class"), "user_error");
}

TEST_F(MemoryTest, OnlyTheTaskAboveItsMemoryLimitIsReportedAsOom_NeedsWritableCgroup) {
  Fails(1, Workers(2,
                   "if [ $TASK_INDEX = 1 ]; then " + TakeTooMuch() + "; else until grep -q -s oom " +
                       box_.File("never") + "; do sleep 0.02; done; fi",
                   {StrCat("tony.worker.memory=", MemoryLimit(), "m")}));
  const auto status = Status();
  ExpectJson(status, {{"/verdict/task", "worker:1"}, {"/tasks/0/outcome/class", "killed"}});
}

// The kernel frees no memory by killing the process that wrote the file, so it kills more processes until it reaches
// the executor.
TEST_F(MemoryTest, AFileInDevShmAboveTheMemoryLimitFailsTheTaskAsOom_NeedsWritableCgroup) {
  const std::string file = StrCat("/dev/shm/tony-test-", getpid());
  const Ran ran = Run(StrCat("head -c 900M /dev/zero > ", file));
  fs::remove(file);
  EXPECT_EQ(ran.exit, 1) << ran.err;
  const auto status = Status();
  EXPECT_EQ(Text(status, "/verdict/class"), "oom");
  EXPECT_THAT(
      Text(status, "/verdict/message"),
      AllOf(NamesTheLimit(), HasSubstr("MB in /dev/shm and other shared memory"), HasSubstr("tony.worker.memory")));
  EXPECT_EQ(Number(status, "/tasks/0/attempt"), 1);
  ExpectNothingLeft();
}

// Each process is smaller than the executor, which survives and reports the end. The shell exits with 137, the code of
// a killed process.
TEST_F(MemoryTest, TheExecutorSurvivesTheOomKillsOfManySmallProcesses_NeedsWritableCgroup) {
  const Ran ran = Run(StrCat("mkfifo wait; v=$(head -c 700000 /dev/zero | tr '\\0' x); for i in $(seq $((2 * ",
                             MemoryLimit(), "))); do (v=$v$i; read -r x <>wait) & done; exit 137"));
  EXPECT_EQ(ran.exit, 1) << ran.err;
  EXPECT_EQ(Text(Status(), "/verdict/class"), "oom");
  // With sanitizers an executor becomes larger than the size from which it computed the OOM scores of its processes.
  if (!SanitizedPrograms())
    EXPECT_THAT(Text(Status(), "/verdict/message"), HasSubstr("tony.worker.memory sets the limit"))
        << "by the executor";
  ExpectNothingLeft();
}

class SharedMemoryE2eTest : public TonyTest {
 protected:
  void SetUp() override {
    if (access("/dev/shm", W_OK) != 0) GTEST_SKIP() << "no /dev/shm to write to";
  }
  ~SharedMemoryE2eTest() override {
    for (const char* file : {"one", "two", "both", "closed"}) fs::remove(Shared(file));
  }
  static std::string Shared(const std::string& name) { return StrCat("/dev/shm/tony-test-", getpid(), "-", name); }
  static bool IsThere(const std::string& name) { return fs::exists(Shared(name)); }
  std::string Submit(const std::string& name) {
    const std::string command = StrCat("echo > ", Shared("closed"), "; exec 3>", Shared(name), " 4>", Shared("both"),
                                       "; touch ", box_.File(name), "; sleep 1000");
    auto words = One(command);
    words.emplace_back("--detach");
    const Ran ran = box_.Tony(words);
    EXPECT_TRUE(WaitForFile(box_.File(name))) << ran.err;
    return ran.out.substr(0, ran.out.find('\n'));
  }
};

TEST_F(SharedMemoryE2eTest, ASharedMemoryFileIsRemovedWhenTheLastJobThatUsesTheFileIsKilled) {
  const std::string one = Submit("one"), two = Submit("two");
  box_.Tony({"kill", one});
  box_.Tony({"wait", one});
  EXPECT_FALSE(IsThere("one"));
  EXPECT_TRUE(IsThere("two") && IsThere("both")) << "the other job has them open";
  box_.Tony({"kill", two});
  box_.Tony({"wait", two});
  EXPECT_FALSE(IsThere("two") || IsThere("both"));
  EXPECT_TRUE(IsThere("closed")) << "nobody that was ended had it open";
  ExpectNothingLeft();
}

}  // namespace
}  // namespace tony
