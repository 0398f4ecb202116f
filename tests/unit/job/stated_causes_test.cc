#include "runtime/job/stated_causes.h"

#include <gtest/gtest.h>

#include <chrono>
#include <csignal>

#include "runtime/base/strings.h"
#include "runtime/job/failure_rules.h"

namespace tony {
namespace {

std::string Raising(const std::string& exception) {
  return StrCat("Traceback (most recent call last):\n  File \"x.py\", line 1, in <module>\n    f()\n", exception, "\n");
}

const std::string kReal = Raising("ValueError: real");
const std::string kGone = Raising("ImportError: gone");

std::string Prefixed(const std::string& prefix, const std::string& text) {
  std::string prefixed;
  for (const auto& line : Split(text, '\n')) prefixed += line.empty() ? "" : StrCat(prefix, line, "\n");
  return prefixed;
}

std::string MessageOf(const std::string& stderr_text, int code = 1) {
  const auto kind = code < 0 ? ExitStatus::Kind::kSignaled : ExitStatus::Kind::kExited;
  return Classify({.exit = ExitStatus{kind, std::abs(code)}, .stderr_tail = stderr_text}, {}).message;
}

TEST(StatedCausesTest, ATracebackOfAThreadOrExitHandlerOrLoggerDoesNotReplaceTheMainException) {
  const std::string in_group =
      "  + Exception Group Traceback (most recent call last):\n  |   File \"x\", line 1\n  | ExceptionGroup: g (1 "
      "sub-exception)\n  +-+---------------- 1 ----------------\n    | ImportError: gone\n    +----\n";
  for (const std::string& label :
       {"Exception ignored in: <function A.__del__ at 0x7f>\n", "Exception ignored in: <Foo(\n  a=1,\n)>\n",
        "Exception ignored while calling deallocator <function A.__del__ at 0x7f>:\n",
        "Exception ignored in thread started by: <function f at 0x7f>\n",
        "Exception ignored in atexit callback: <function close at 0x7f>\n", "Error in atexit._run_exitfuncs:\n",
        "--- Logging error ---\n", "Exception in thread Thread-2 (daemon):\n", "Process ForkPoolWorker-1:\n",
        "2026-11-28 10:00:00,1 - x - ERROR - could not close\n"}) {
    EXPECT_EQ(MessageOf(kReal + label + kGone), "ValueError: real") << label;
    EXPECT_EQ(MessageOf(kReal + label + in_group), "ValueError: real") << label;
    EXPECT_TRUE(MessageOf(label + kGone + kReal).starts_with("ValueError: real")) << label;
  }
}

TEST(StatedCausesTest, LinePrefixesFromLaunchersAndLoggersAreRemoved) {
  for (const std::string& prefix :
       {"[rank1]: ", "[default0]:", "[1,0]<stderr>:", "[prterun-node1-4242@1,1]<stderr>: ", "1: ", "worker_1  | ",
        "2026-11-28T10:00:00.123Z stderr F ", "Fri Nov 28 10:00:00 2026[0]<stderr>:"}) {
    EXPECT_EQ(MessageOf(Prefixed(prefix, kReal + "Exception ignored in: <x>\n" + kGone)), "ValueError: real") << prefix;
  }
}

TEST(StatedCausesTest, InterleavedTracebacksOfTwoRanksAreSeparatedByTheirPrefixes) {
  const auto a = Split(Raising("RuntimeError: Connection closed by peer [127.0.0.1]:1"), '\n'), b = Split(kReal, '\n');
  std::string text;
  for (size_t i = 0; i + 1 < a.size(); ++i) text += StrCat("[rank0]: ", a[i], "\n[rank1]: ", b[i], "\n");
  EXPECT_EQ(MessageOf(text + Raising("x.errors.ChildFailedError: ")), "ValueError: real");
}

TEST(StatedCausesTest, TheFirstFailedRankIsNamedIfOnlyOtherRanksPrintATraceback) {
  const std::string victim = Prefixed("[rank0]: ", Raising("RuntimeError: Connection closed by peer [127.0.0.1]:1"));
  const std::string report =
      "Root Cause (first observed failure):\n[0]:\n  time      : 1\n  rank      : 1 (local_rank: 1)\n"
      "  exitcode  : 3 (pid: 7)\n  error_file: <N/A>\n  traceback : To enable traceback see: https://x\n";
  const std::string message = MessageOf(victim + Raising("x.errors.ChildFailedError: ") + report);
  EXPECT_TRUE(
      message.starts_with("RuntimeError: Connection closed by peer [127.0.0.1]:1 (the first failed process: rank 1, "
                          "exit code 3)"))
      << message;
}

TEST(StatedCausesTest, TheErrorOfALaunchedProcessTakesPrecedenceOverTheReportOfTheLauncher) {
  const std::string deepspeed =
      "[2026-11-28 10:00:00,000] [INFO] [launch.py:319:sigkill_handler] Killing subprocess 123\n"
      "[2026-11-28 10:00:00,001] [ERROR] [launch.py:325:sigkill_handler] ['python', 'x.py'] exits with return code = "
      "1\n";
  EXPECT_EQ(MessageOf(kReal + deepspeed), "ValueError: real");
  EXPECT_EQ(MessageOf("no data\n" + deepspeed), "its last line: no data");
  const std::string horovod = Raising("RuntimeError: Horovod detected that one or more processes exited:");
  const std::string lost = Raising("horovod.common.exceptions.HorovodInternalError: Connection reset by peer");
  EXPECT_EQ(MessageOf(Prefixed("[1,0]<stderr>:", lost) + Prefixed("[1,1]<stderr>:", kReal) + horovod),
            "ValueError: real");
  EXPECT_EQ(MessageOf(kReal + "srun: error: node1: task 1: Exited with exit code 1\n"), "ValueError: real");
}

TEST(StatedCausesTest, TheRootCauseOfAJavaStackTraceIsReported) {
  EXPECT_EQ(MessageOf("Exception in thread \"main\" a.b.OuterException: first\nsecond\n\tat a.B.c(B.java:1)\n"
                      "Caused by: a.b.RootException: real\nwith more\n\tat a.B.d(B.java:2)\n\t... 10 more\n"),
            "a.b.RootException: real (the cause of a.b.OuterException: first)");
  EXPECT_EQ(MessageOf("26/11/28 10:00:00 WARN TaskSetManager: Lost task 0.0: java.net.ConnectException: Connection "
                      "refused\n\tat a.B.c(B.java:1)\n\n26/11/28 10:00:01 ERROR Main: failed\n"
                      "a.b.RealException: real\n\tat a.B.c(B.java:1)\n26/11/28 10:00:02 INFO Hook: bye\n"),
            "a.b.RealException: real");
  EXPECT_EQ(MessageOf(Raising("py4j.protocol.Py4JJavaError: An error occurred while calling o5.show.") +
                      ": a.b.SparkException: Job aborted\n\tat a.B.c(B.java:1)\nCaused by: a.PythonException: " +
                      kReal + "\n\tat a.B.c(B.java:1)\n\t... 1 more\n"),
            "ValueError: real");
}

TEST(StatedCausesTest, ErrorsOfRAndPanicsOfGoAndRustAreRecognized) {
  EXPECT_EQ(MessageOf("Error in f(x) : \n  a long message\nCalls: g -> f\nExecution halted\n"),
            "Error in f(x) : a long message");
  EXPECT_EQ(MessageOf("Error in `f()`:\nCaused by error in `g()`:\n! no x\nBacktrace:\n 1. f()\nExecution halted\n"),
            "Caused by error in `g()`: no x (the cause of Error in `f()`: Caused by error in `g()`:)");
  EXPECT_EQ(MessageOf("panic: real [recovered]\n\tpanic: Connection refused\n\ngoroutine 1 [running]:\nmain.main()\n"
                      "\t/p.go:8 +0x1d\nexit status 2\n",
                      2),
            "panic: real [recovered]");
  EXPECT_EQ(MessageOf("thread 'main' panicked at 'real', src/main.rs:2:5\nnote: run with `RUST_BACKTRACE=1`\n", 101),
            "thread 'main' panicked at 'real', src/main.rs:2:5");
}

// The frames of an uncaught exception begin at the module.
TEST(StatedCausesTest, ACaughtAndPrintedExceptionIsTheCauseOnlyIfNoLineFollows) {
  const std::string printed =
      "Traceback (most recent call last):\n  File \"x.py\", line 3, in load\nImportError: gone\n";
  EXPECT_EQ(MessageOf(printed + "step 7\nno data for today\n"), "no data for today (ImportError: gone)");
  EXPECT_EQ(MessageOf("2026-11-28 10:00:00 [error    ] failed  step=3\n" + kGone + "no data\n"),
            "no data (ImportError: gone)");
  EXPECT_TRUE(MessageOf(printed).starts_with("ImportError: gone"));
  EXPECT_EQ(MessageOf(printed + kReal), "ValueError: real");
  EXPECT_EQ(MessageOf(kReal + printed), "ValueError: real");
  EXPECT_EQ(MessageOf(printed + "\nDuring handling of the above exception, another exception occurred:\n\n" + kReal),
            "ValueError: real (while handling ImportError: gone)");
}

TEST(StatedCausesTest, ACrashIsAttributedToNativeCodeUnlessAnExceptionEndedPythonFirst) {
  EXPECT_EQ(MessageOf(kReal + "terminate called without an active exception\n", -SIGABRT),
            "ValueError: real (its last line: terminate called without an active exception)");
  EXPECT_EQ(MessageOf("ERROR:root:x\n" + kReal + "step 8\n", -SIGSEGV),
            "native code used memory that does not belong to it");
  EXPECT_EQ(MessageOf("what():  real\nFatal Python error: Aborted\n\nCurrent thread 0x7f (most recent call first):\n",
                      -SIGABRT),
            "what():  real (Fatal Python error: Aborted): native code did not catch an exception");
}

TEST(StatedCausesTest, AnIncompleteTracebackIsIgnored) {
  const std::string header = "Traceback (most recent call last):\n";
  for (const std::string& text : {header, header + "  File x\n", header + "  File x\n\nnoise 1\n", std::string()})
    EXPECT_TRUE(ReadStatedCauses(text).causes.empty()) << text;
}

TEST(StatedCausesTest, ALongTracebackIsShownWithoutTheFramesOfLibraries) {
  std::string traceback = "Traceback (most recent call last):\n  File \"mine.py\", line 3, in <module>\n    f()\n";
  for (int i = 0; i < 3000; ++i)
    traceback += StrCat("  File \"/v/lib/python3.11/site-packages/deep.py\", line ", i, ", in g\n    h()\n");
  const StatedCauses stated = ReadStatedCauses(traceback + "RecursionError: too deep\n");
  ASSERT_EQ(stated.causes.size(), 1u);
  EXPECT_EQ(stated.causes[0].shown,
            "Traceback (most recent call last):\n  File \"mine.py\", line 3, in <module>\n    f()\n"
            "RecursionError: too deep\n");
}

TEST(StatedCausesTest, TheStderrTailShowsTheFramesOfTheProgramInALongTraceback) {
  std::string traceback = "Traceback (most recent call last):\n  File \"mine.py\", line 3, in <module>\n    f()\n";
  for (int i = 0; i < 20; ++i)
    traceback += "  File \"/v/lib/python3.11/site-packages/deep.py\", line 1, in g\n    h()\n";
  const Outcome outcome = Classify({.exit = ExitStatus{ExitStatus::Kind::kExited, 1},
                                    .stderr_tail = "    h()\nValueError: x\n",
                                    .stderr_text = traceback + "ValueError: x\n"},
                                   {});
  EXPECT_TRUE(outcome.stderr_tail.starts_with("Traceback (most recent call last):\n  File \"mine.py\", line 3"))
      << outcome.stderr_tail;
}

TEST(StatedCausesTest, AnExceptionInAnActorOfRayIsTheCause) {
  const std::string begin =
      "Traceback (most recent call last):\n  File \"train.py\", line 77, in main\n    ray.get(calls)\n"
      "ray.exceptions.RayTaskError(ValueError): ray::Learner.gradient() (pid=5768, ip=192.0.2.2)\n";
  const std::string end = "  File \"train.py\", line 45, in gradient\n    raise ValueError('real')\nValueError: real\n";
  EXPECT_EQ(MessageOf(begin + end), "ValueError: real");
  EXPECT_EQ(MessageOf(StrCat(begin, "           ^^^^^^\n           ~~^~~\n", end)), "ValueError: real");
}

TEST(StatedCausesTest, HostileLogTextIsReadWithinTenSeconds) {
  const auto begun = std::chrono::steady_clock::now();
  for (const std::string& line :
       {"Traceback (most recent call last):\n", "  Traceback (most recent call last):\n  File \"x\"\n",
        "\u256D Traceback (most recent call last)\n", "  + Exception Group Traceback (most recent call last):\n",
        "\tat a.b(c:1)\n", "Caused by: Traceback (most recent call last):\n\tat a.b(c:1)\n", "Error in f(x) :\n",
        "panic: x\n", "EEEEEEEEEEEEEEEEEEEEEEEEEEEEEEEEEEEE Exception:\n", "[1,0]<stderr>:[1,0]<stderr>:x\n",
        "------------------------------------------------\nmpirun\n", "During handling of the above exception\n"}) {
    std::string text;
    while (text.size() < (128 << 10)) text += line;
    ReadStatedCauses(text);
  }
  EXPECT_LT(std::chrono::steady_clock::now() - begun, std::chrono::seconds(10));
}

}  // namespace
}  // namespace tony
