#include "runtime/yarn/yarn_ends.h"

#include <gtest/gtest.h>

#include "runtime/base/strings.h"
#include "tests/unit/yarn/yarn_fixture.h"

namespace tony {
namespace {

ContainerExited Exited(int exit_status, bool stopped = false, const std::string& diagnostics = "N/A") {
  return ExitedOf({.id = YarnId(2), .exit_status = exit_status, .diagnostics = diagnostics}, stopped);
}

TEST(YarnEndsTest, AnExitCodeIsTheProcesss) {
  const auto exited = Exited(3, false, "Exception from container-launch.\n[x] a stack trace");
  EXPECT_EQ(exited.container.value, "container_1700000000000_0001_01_000002");
  EXPECT_EQ(exited.status, (ExitStatus{ExitStatus::Kind::kExited, 3}));
  EXPECT_EQ(exited.error, "");
  EXPECT_FALSE(exited.cls);
  EXPECT_EQ(Exited(0).status, (ExitStatus{ExitStatus::Kind::kExited, 0}));
}

TEST(YarnEndsTest, AShellsCodeOfASignalIsTheSignal) {
  EXPECT_EQ(Exited(137).status, (ExitStatus{ExitStatus::Kind::kSignaled, 9}));
  EXPECT_EQ(Exited(143).status, (ExitStatus{ExitStatus::Kind::kSignaled, 15}));
  EXPECT_EQ(Exited(128).status, (ExitStatus{ExitStatus::Kind::kExited, 128}));
  EXPECT_EQ(Exited(255).status, (ExitStatus{ExitStatus::Kind::kExited, 255}));
  EXPECT_FALSE(Exited(154).status) << "its node began anew and did not see it";
}

TEST(YarnEndsTest, YarnsOwnCodesHaveAClassAndAReason) {
  const struct {
    int code;
    OutcomeClass cls;
  } kCodes[] = {{-1000, OutcomeClass::kInfra},    {-100, OutcomeClass::kNodeLost},   {-101, OutcomeClass::kInfra},
                {-102, OutcomeClass::kPreempted}, {-103, OutcomeClass::kOom},        {-104, OutcomeClass::kOom},
                {-105, OutcomeClass::kKilled},    {-106, OutcomeClass::kInfra},      {-107, OutcomeClass::kKilled},
                {-108, OutcomeClass::kPreempted}, {-109, OutcomeClass::kUserConfig}, {-1, OutcomeClass::kInfra},
                {-999, OutcomeClass::kInfra}};
  for (const auto& [code, cls] : kCodes) {
    const auto exited = Exited(code);
    EXPECT_FALSE(exited.status) << code;
    EXPECT_EQ(exited.cls, cls) << code;
    EXPECT_NE(exited.error, "") << code;
  }
  EXPECT_EQ(Exited(-104, false, "is running beyond\nits limit").error,
            "above its limit of memory: is running beyond its limit");
}

// What its NodeManager says of it are the same words each time.
TEST(YarnEndsTest, AnExecutorThatCannotBeStartedIsItsNodesTrouble) {
  EXPECT_EQ(Exited(126, false, "Exception from container-launch").error,
            "its node cannot start the executor: exit code 126");
  EXPECT_EQ(Exited(127).error, "its node cannot start the executor: exit code 127");
  EXPECT_EQ(Exited(126, /*stopped=*/true).error, "");
}

TEST(YarnEndsTest, OfALostNodeTheEndIsNotCertain) {
  EXPECT_FALSE(Exited(-100).certain);
  EXPECT_TRUE(Exited(-100, /*stopped=*/true).certain) << "it was released";
  EXPECT_TRUE(Exited(-101).certain);
}

TEST(YarnEndsTest, ANodesOwnTroubleIsNotThatOfTheJobOrTheQueue) {
  const auto is_of_node = [](int exit_status, const std::string& diagnostics = "") {
    return IsOfNode({.id = YarnId(2), .exit_status = exit_status, .diagnostics = diagnostics});
  };
  for (const int of_node : {-1000, -100, -101, -1, 126, 127}) EXPECT_TRUE(is_of_node(of_node)) << of_node;
  for (const int other : {-102, -103, -104, -105, -106, 0, 1, 137}) EXPECT_FALSE(is_of_node(other)) << other;
  EXPECT_FALSE(is_of_node(-1000, "File does not exist: hdfs://nn/data"));
}

TEST(YarnEndsTest, AFileThatNoNodeCanBringIsNamedAndNotTriedAgain) {
  const struct {
    const char* said;
    OutcomeClass cls;
    const char* told;
  } kEnds[] = {
      {"[2026-11-25 23:00:00.123]Resource hdfs://nn:8020/data/a b.txt changed on src filesystem - expected: "
       "\"2026-11-25T22:59:01.000+0000\", was: \"2026-11-25T22:59:02.000+0000\", current time: \"x\"\n"
       "java.io.IOException: Resource hdfs://nn:8020/data/a b.txt changed on src filesystem - expected\n\tat org.a.B\n",
       OutcomeClass::kUserConfig,
       "hdfs://nn:8020/data/a b.txt has changed since the job was submitted; submit it again"},
      {"[x]File does not exist: hdfs://nn:8020/data/x\njava.io.FileNotFoundException: File does not exist: hdfs://nn\n",
       OutcomeClass::kUserConfig, "hdfs://nn:8020/data/x is no longer there"},
      {"[x]Permission denied: user=eve, access=READ, inode=\"/x\":root:supergroup:-rw-------\n\tat org.apache.Y\n",
       OutcomeClass::kAuth, "Permission denied: user=eve, access=READ, inode=\"/x\":root:supergroup:-rw-------"},
      {"org.apache.hadoop.security.token.SecretManager$InvalidToken: token (token for eve: ...) can't be found in "
       "cache",
       OutcomeClass::kAuth, "SecretManager$InvalidToken: token (token for eve: ...) can't be found in cache"}};
  for (const auto& [said, cls, told] : kEnds) {
    const auto exited = Exited(-1000, false, said);
    EXPECT_EQ(exited.cls, cls) << said;
    EXPECT_EQ(exited.error, StrCat("its node did not start it: ", told));
    EXPECT_NE(Exited(-104, false, said).cls, cls) << "only of one that never ran";
  }
}

TEST(YarnEndsTest, ANodesOwnTroubleMayPass) {
  for (const char* said : {"No space available in any of the local directories.",
                           "java.io.FileNotFoundException: File file:/data/nm-local-dir/x does not exist",
                           "java.io.FileNotFoundException: /data/nm/x (Permission denied)",
                           "java.net.ConnectException: Call From n1 to nn:8020 failed on connection exception",
                           "[x]Exception from container-launch"})
    EXPECT_EQ(Exited(-1000, false, said).cls, OutcomeClass::kInfra) << said;
}

TEST(YarnEndsTest, WhatWasStoppedWasKilled) {
  for (const int code : {0, 3, 137, 143, -100, -105}) EXPECT_EQ(Exited(code, true).cls, OutcomeClass::kKilled) << code;
  EXPECT_EQ(Exited(-104, true).cls, OutcomeClass::kOom);
}

TEST(YarnEndsTest, TheVerdictIsTheApplications) {
  Verdict verdict{.state = FinalState::kFailed, .message = "worker:1 failed"};
  EXPECT_EQ(FinalStatusOf(verdict), hadoop::FinalStatus::kFailed);
  EXPECT_EQ(DiagnosticsOf(verdict), "worker:1 failed");
  verdict.attempt = Attempt(1);
  verdict.host = "n2";
  verdict.exit = ExitStatus{ExitStatus::Kind::kExited, 3};
  verdict.stderr_tail = "bad thing";
  EXPECT_EQ(DiagnosticsOf(verdict), "worker:1 failed\nworker:1#1 on n2: exit code 3\nbad thing");
  verdict.stderr_tail = std::string(1 << 20, 'x');
  EXPECT_LT(DiagnosticsOf(verdict).size(), 20'000u);
  verdict.state = FinalState::kKilled;
  EXPECT_EQ(FinalStatusOf(verdict), hadoop::FinalStatus::kKilled);
  verdict.state = FinalState::kSucceeded;
  EXPECT_EQ(FinalStatusOf(verdict), hadoop::FinalStatus::kSucceeded);
}

}  // namespace
}  // namespace tony
