#include "runtime/os/boost_process_runner.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <pthread.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <optional>

#include "runtime/base/strings.h"
#include "runtime/os/process_tree.h"
#include "tests/support/run_until.h"
#include "tests/support/temp_folder.h"

namespace tony {
namespace {

using ::testing::AllOf;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::StartsWith;
using Kind = ExitStatus::Kind;

class BoostProcessRunnerTest : public ::testing::Test {
 protected:
  std::string File(const std::string& name) const { return (folder_.path() / name).string(); }
  std::string Content(const std::string& name) const {
    std::ifstream in(File(name));
    return {std::istreambuf_iterator<char>(in), {}};
  }
  ProcessSpec Shell(const std::string& command) const {
    return {{"/bin/sh", "-c", command}, {"PATH=/usr/bin:/bin"}, folder_.path().string(), File("out"), File("err")};
  }
  ExitStatus RunToEnd(const ProcessSpec& spec) {
    std::optional<ExitStatus> ended;
    const auto pid = runner_.Start(spec, [&](ExitStatus status) { ended = status; });
    EXPECT_TRUE(pid.ok()) << pid.error().message;
    EXPECT_TRUE(RunUntil(loop_, [&] { return ended.has_value(); }));
    return ended.value_or(ExitStatus{Kind::kExited, -1});
  }
  Error StartError(const ProcessSpec& spec) {
    const auto pid = runner_.Start(spec, [](ExitStatus) { ADD_FAILURE() << "it never ran"; });
    EXPECT_FALSE(pid.ok());
    errno = 0;
    EXPECT_EQ(waitpid(-1, nullptr, WNOHANG), -1) << "a child is left";
    EXPECT_EQ(errno, ECHILD);
    return pid.ok() ? Error{} : pid.error();
  }

  TempFolder folder_;
  EventLoop loop_;
  BoostProcessRunner runner_{loop_};
};

TEST_F(BoostProcessRunnerTest, AnExitStatusDistinguishesExitCodesFromSignals) {
  EXPECT_EQ(RunToEnd(Shell("exit 0")), (ExitStatus{Kind::kExited, 0}));
  EXPECT_EQ(RunToEnd(Shell("exit 9")), (ExitStatus{Kind::kExited, 9}));
  EXPECT_EQ(RunToEnd(Shell("exit 255")), (ExitStatus{Kind::kExited, 255}));
  EXPECT_EQ(RunToEnd(Shell("kill -9 $$")), (ExitStatus{Kind::kSignaled, SIGKILL}));
  EXPECT_EQ(RunToEnd(Shell("kill -15 $$")), (ExitStatus{Kind::kSignaled, SIGTERM}));
}

TEST_F(BoostProcessRunnerTest, TheExitOfEachOfAHundredChildrenIsReportedOnce) {
  std::vector<int> told(100, -1);
  size_t ended = 0;
  for (size_t i = 0; i < told.size(); ++i) {
    const auto started = runner_.Start(Shell(StrCat("exit ", i)), [&, i](ExitStatus status) {
      EXPECT_EQ(told[i], -1);
      told[i] = status.value;
      ++ended;
    });
    ASSERT_TRUE(started.ok()) << started.error().message;
  }
  ASSERT_TRUE(RunUntil(loop_, [&] { return ended == told.size(); }));
  for (size_t i = 0; i < told.size(); ++i) EXPECT_EQ(told[i], static_cast<int>(i));
  EXPECT_EQ(waitpid(-1, nullptr, WNOHANG), -1) << "a zombie is left";
}

TEST_F(BoostProcessRunnerTest, AChildHasStdinStdoutAndStderrAndNoOtherDescriptors) {
  // The sockets are not close-on-exec, like sockets of a library.
  std::vector<UniqueFd> leaky;
  for (int i = 0; i < 50; ++i) leaky.emplace_back(socket(AF_UNIX, SOCK_STREAM, 0));
  const ProcessSpec list{{"/bin/ls", "/proc/self/fd"}, {}, "/", File("out"), File("err")};
  EXPECT_TRUE(RunToEnd(list).Succeeded());
  EXPECT_EQ(Content("out"), "0\n1\n2\n3\n") << "3 is the folder that ls reads, so it was free";
  EXPECT_TRUE(RunToEnd(Shell("readlink /proc/self/fd/0 >&2")).Succeeded());
  EXPECT_EQ(Content("err"), "/dev/null\n");
}

TEST_F(BoostProcessRunnerTest, AChildInheritsOnlyTheListedDescriptors) {
  std::ofstream(File("kept")) << "";
  const UniqueFd kept(open(File("kept").c_str(), O_RDONLY | O_CLOEXEC));
  const UniqueFd closed(open("/dev/null", O_RDONLY));
  ProcessSpec spec = Shell(StrCat("readlink /proc/$$/fd/", kept.get(), "; readlink /proc/$$/fd/", closed.get()));
  spec.inherited = {kept.get()};
  EXPECT_FALSE(RunToEnd(spec).Succeeded());
  EXPECT_EQ(Content("out"), File("kept") + "\n");
  EXPECT_NE(fcntl(kept.get(), F_GETFD) & FD_CLOEXEC, 0) << "still close-on-exec for all others";
}

TEST_F(BoostProcessRunnerTest, AChildGetsTheRequestedOomScoreAndTheCallersOomScoreStaysUnchanged) {
  ProcessSpec spec = Shell("cat /proc/self/oom_score_adj");
  EXPECT_TRUE(RunToEnd(spec).Succeeded());
  const std::string own = Content("out");
  spec.oom_score_adj = "517";
  EXPECT_TRUE(RunToEnd(spec).Succeeded());
  EXPECT_EQ(Content("out"), own + "517\n");
  spec.oom_score_adj = "what no kernel takes";
  EXPECT_TRUE(RunToEnd(spec).Succeeded()) << "that is no error";
  EXPECT_EQ(Content("out"), own + "517\n" + own);
}

TEST_F(BoostProcessRunnerTest, StartingAProcessFailsIfAnInheritedDescriptorIsClosed) {
  ProcessSpec spec = Shell("");
  spec.inherited = {999};
  EXPECT_THAT(StartError(spec).message, HasSubstr("bad file descriptor"));
}

TEST_F(BoostProcessRunnerTest, AChildStartsWithDefaultSignalHandlingInItsOwnSession) {
  std::signal(SIGPIPE, SIG_IGN);
  std::signal(SIGUSR1, SIG_IGN);
  const auto blocking = loop_.OnSignals({SIGTERM, SIGCHLD}, [](int) {});
  EXPECT_TRUE(RunToEnd(Shell("cat /proc/self/status | grep -E '^Sig(Blk|Ign|Cgt)' | cut -f2 | sort -u;"
                             "set -- $(cat /proc/self/stat); [ $5 = $6 ] && [ $5 = $$ ] && echo leads"))
                  .Succeeded());
  EXPECT_EQ(Content("out"), "0000000000000000\nleads\n");
}

TEST_F(BoostProcessRunnerTest, AChildHasExactlyTheGivenEnvironmentAndWorkingDirectory) {
  setenv("TONY_TEST_LEAK", "1", 1);
  ProcessSpec spec{{"/usr/bin/env"}, {"A=1", "B=two words"}, folder_.path().string(), File("out"), ""};
  EXPECT_TRUE(RunToEnd(spec).Succeeded());
  EXPECT_EQ(Content("out"), "A=1\nB=two words\n");
  EXPECT_TRUE(RunToEnd(Shell("pwd >&2")).Succeeded());
  EXPECT_EQ(Content("err"), folder_.path().string() + "\n");
}

TEST_F(BoostProcessRunnerTest, TheFirstArgumentMayDifferFromTheNameOfTheProgram) {
  ProcessSpec spec = Shell("");
  spec.program = "/bin/sh";
  spec.argv = {"fancy", "-c", "tr '\\0' ' ' < /proc/$$/cmdline > name"};
  EXPECT_EQ(RunToEnd(spec), (ExitStatus{Kind::kExited, 0}));
  EXPECT_THAT(Content("name"), StartsWith("fancy -c "));
}

TEST_F(BoostProcessRunnerTest, StartingAProcessLeavesTheSignalMaskOfTheCallerUnchanged) {
  sigset_t before, after;
  sigprocmask(SIG_SETMASK, nullptr, &before);
  RunToEnd(Shell("true"));
  sigprocmask(SIG_SETMASK, nullptr, &after);
  for (int signal = 1; signal < NSIG; ++signal) EXPECT_EQ(sigismember(&before, signal), sigismember(&after, signal));
}

TEST_F(BoostProcessRunnerTest, OutputOfAChildIsAppendedToAFileWithMode0600) {
  const mode_t before = umask(0);
  EXPECT_TRUE(RunToEnd(Shell("echo one")).Succeeded());
  EXPECT_TRUE(RunToEnd(Shell("echo two")).Succeeded());
  umask(before);
  EXPECT_EQ(Content("out"), "one\ntwo\n");
  struct stat info {};
  ASSERT_EQ(stat(File("out").c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 07777, 0600u);
}

TEST_F(BoostProcessRunnerTest, StdoutAndStderrOfAChildMayGoToTheSameFile) {
  ProcessSpec spec = Shell("echo first; echo second >&2; echo third");
  spec.stderr_file = spec.stdout_file;
  EXPECT_TRUE(RunToEnd(spec).Succeeded());
  EXPECT_EQ(Content("out"), "first\nsecond\nthird\n");
}

TEST_F(BoostProcessRunnerTest, AMissingProgramIsNamedInTheError) {
  ProcessSpec spec = Shell("");
  spec.argv = {"/no/such/program"};
  const Error error = StartError(spec);
  EXPECT_EQ(error.code, ErrorCode::kNotFound);
  EXPECT_EQ(error.message, "start /no/such/program: no such file or directory");
}

TEST_F(BoostProcessRunnerTest, AProgramWithoutExecutePermissionIsNamedInTheError) {
  std::ofstream(File("script")) << "#!/bin/sh\n";
  ProcessSpec spec = Shell("");
  spec.argv = {File("script")};
  EXPECT_EQ(StartError(spec).message, "start " + File("script") + ": permission denied");
  ASSERT_EQ(chmod(File("script").c_str(), 0700), 0);
  EXPECT_TRUE(RunToEnd(spec).Succeeded());
}

TEST_F(BoostProcessRunnerTest, AMissingInterpreterIsNamedInTheError) {
  std::ofstream(File("script")) << "#!/no/such/interpreter\n";
  ASSERT_EQ(chmod(File("script").c_str(), 0700), 0);
  ProcessSpec spec = Shell("");
  spec.argv = {File("script")};
  EXPECT_THAT(StartError(spec).message, HasSubstr("the interpreter in the script's first line"));
}

TEST_F(BoostProcessRunnerTest, ATooLongEnvironmentIsReportedWithItsLength) {
  ProcessSpec spec = Shell("");
  // The kernel allows 128 KiB for a single string.
  spec.env.push_back("HUGE=" + std::string(200'000, 'x'));
  const Error error = StartError(spec);
  EXPECT_EQ(error.code, ErrorCode::kInvalid);
  EXPECT_THAT(error.message,
              AllOf(StartsWith("start /bin/sh: argument list too long"), HasSubstr("200025 bytes of environment")));
}

TEST_F(BoostProcessRunnerTest, AnInvalidWorkingDirectoryIsNamedInTheErrorAndNothingRuns) {
  ProcessSpec spec = Shell("echo ran");
  spec.directory = File("missing");
  EXPECT_EQ(StartError(spec).message, "enter " + File("missing") + ": no such file or directory");
  std::ofstream(File("file")) << "";
  spec.directory = File("file");
  EXPECT_EQ(StartError(spec).message, "enter " + File("file") + ": not a directory");
  EXPECT_EQ(Content("out"), "");
}

TEST_F(BoostProcessRunnerTest, AnOutputFileThatCannotBeMadeIsNamedInTheError) {
  ProcessSpec spec = Shell("");
  spec.stdout_file = File("missing/out");
  const Error error = StartError(spec);
  EXPECT_EQ(error.code, ErrorCode::kCannotWrite);
  EXPECT_EQ(error.message, "open " + File("missing/out") + ": no such file or directory");
}

// Exits with 0 if the start was refused. A buffer holds text, and an exit handler adds to it.
[[noreturn]] void FailToStartWithABuffer(const std::string& path) {
  static FILE* file = std::fopen(path.c_str(), "w");
  std::fputs("once", file);
  std::atexit([] { std::fputs(" at exit", file); });
  EventLoop loop;
  BoostProcessRunner runner(loop);
  const ProcessSpec spec{{"/no/such/program"}, {}, "/", "", ""};
  const bool refused = !runner.Start(spec, [](ExitStatus) {}).ok();
  std::exit(refused ? 0 : 1);
}

// A child of the launcher that left by exit(3) would run the exit handlers that it inherited from this process.
TEST_F(BoostProcessRunnerTest, AFailedExecFlushesBuffersAndRunsExitHandlersOnlyInTheParent) {
  EXPECT_EXIT(FailToStartWithABuffer(File("buffered")), ::testing::ExitedWithCode(0), "");
  EXPECT_EQ(Content("buffered"), "once at exit");
}

TEST_F(BoostProcessRunnerTest, StartedProcessesKeepRunningWhenTheRunnerIsDestroyed) {
  pid_t pid = 0;
  {
    BoostProcessRunner runner(loop_);
    const auto started = runner.Start(Shell("exec sleep 1000"), [](ExitStatus) { ADD_FAILURE(); });
    ASSERT_TRUE(started.ok());
    pid = *started;
  }
  EXPECT_EQ(waitpid(pid, nullptr, WNOHANG), 0) << "it has ended";
  kill(pid, SIGKILL);
  EXPECT_EQ(waitpid(pid, nullptr, 0), pid);
}

TEST_F(BoostProcessRunnerTest, ReapingOrphansDoesNotLoseTheExitStatusOfStartedProcesses) {
  BecomeSubreaper();
  const auto on_child = loop_.OnSignals({SIGCHLD}, [&](int) { runner_.ReapAllChildren(); });
  std::vector<ExitStatus> ends;
  for (int i = 0; i < 20; ++i) {
    // The grandchild becomes our child when the shell has exited, and ends at about the same time.
    const auto started =
        runner_.Start(Shell("setsid true & setsid false & exit 7"), [&](ExitStatus status) { ends.push_back(status); });
    ASSERT_TRUE(started.ok());
  }
  // No child may be left, not even a zombie.
  ASSERT_TRUE(RunUntil(loop_, [&] { return ends.size() == 20 && waitpid(-1, nullptr, WNOHANG) == -1; }));
  EXPECT_THAT(ends, ::testing::Each(ExitStatus{Kind::kExited, 7}));
}

TEST_F(BoostProcessRunnerTest, AForkedCopyOfTheProgramHasItsOwnSessionAndNoInheritedDescriptors) {
  const UniqueFd held(open(File("held").c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600));
  std::optional<ExitStatus> ended;
  const auto pid = runner_.StartCopy(
      [&] {
        const bool is_closed = fcntl(held.get(), F_GETFD) < 0;  // checked before the number is reused
        std::ofstream out(File("told"));
        out << std::filesystem::current_path().string() << " " << (getsid(0) == getpid()) << " " << is_closed;
      },
      [&](ExitStatus status) { ended = status; });
  ASSERT_TRUE(pid.ok()) << pid.error().message;
  EXPECT_TRUE(runner_.Started(*pid));
  ASSERT_TRUE(RunUntil(loop_, [&] { return ended.has_value(); }));
  EXPECT_TRUE(ended->Succeeded());
  EXPECT_EQ(Content("told"), "/ 1 1");
  EXPECT_FALSE(runner_.Started(*pid));
}

bool g_copy_fills_its_descriptors = false;

void FillDescriptors() {
  if (!g_copy_fills_its_descriptors) return;
  rlimit limit{};
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0) std::abort();
  // The limit may be a billion, which would take too long to fill.
  limit.rlim_cur = 256;
  if (setrlimit(RLIMIT_NOFILE, &limit) != 0) std::abort();
  while (dup(0) >= 0) continue;
}

TEST_F(BoostProcessRunnerTest, AForkedCopyClosesInheritedDescriptorsEvenAtTheDescriptorLimit) {
  ASSERT_EQ(pthread_atfork(nullptr, nullptr, FillDescriptors), 0);
  const UniqueFd held(open(File("held").c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600));
  std::optional<ExitStatus> ended;
  g_copy_fills_its_descriptors = true;
  const auto pid = runner_.StartCopy([&] { _exit(fcntl(held.get(), F_GETFD) < 0 ? 0 : 1); },
                                     [&](ExitStatus status) { ended = status; });
  g_copy_fills_its_descriptors = false;
  ASSERT_TRUE(pid.ok()) << pid.error().message;
  ASSERT_TRUE(RunUntil(loop_, [&] { return ended.has_value(); }));
  EXPECT_EQ(*ended, (ExitStatus{Kind::kExited, 0}));
}

TEST_F(BoostProcessRunnerTest, AnExitIsReportedAndAZombieThatOtherCodeForkedIsNotReaped) {
  const pid_t stranger = fork();
  if (stranger == 0) _exit(0);
  siginfo_t info{};
  ASSERT_EQ(waitid(P_PID, stranger, &info, WEXITED | WNOWAIT), 0);
  EXPECT_EQ(RunToEnd(Shell("exit 3")), (ExitStatus{Kind::kExited, 3}));
  EXPECT_EQ(waitpid(stranger, nullptr, WNOHANG), stranger) << "it was not ours to reap";
}

TEST_F(BoostProcessRunnerTest, AForkedCopyIsKilledBySigtermEvenIfItsParentHandlesSigterm) {
  const auto signals = loop_.OnSignals({SIGTERM}, [](int) {});
  std::optional<ExitStatus> ended;
  const auto pid = runner_.StartCopy([] { pause(); }, [&](ExitStatus status) { ended = status; });
  ASSERT_TRUE(pid.ok()) << pid.error().message;
  kill(*pid, SIGTERM);
  ASSERT_TRUE(RunUntil(loop_, [&] { return ended.has_value(); }));
  EXPECT_EQ(*ended, (ExitStatus{Kind::kSignaled, SIGTERM}));
}

TEST_F(BoostProcessRunnerTest, TheExitCallbackMayStartTheNextProcess) {
  std::optional<ExitStatus> last;
  const auto first = runner_.Start(Shell("exit 1"), [&](ExitStatus) {
    const auto second = runner_.Start(Shell("exit 2"), [&](ExitStatus status) { last = status; });
    EXPECT_TRUE(second.ok());
  });
  ASSERT_TRUE(first.ok());
  ASSERT_TRUE(RunUntil(loop_, [&] { return last.has_value(); }));
  EXPECT_EQ(last->value, 2);
}

}  // namespace
}  // namespace tony
