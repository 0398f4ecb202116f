#include "runtime/hadoop/yarn_records.h"

#include <gtest/gtest.h>

#include "runtime/base/strings.h"
#include "runtime/hadoop/wire_records.h"
#include "tests/unit/hadoop/hex.h"

namespace tony::hadoop {
namespace {

constexpr ApplicationId kSomeApplication{1700000000000, 1};

TEST(YarnIdsTest, YarnIdsAreFormattedAsInHadoop) {
  EXPECT_EQ(ToString(kSomeApplication), "application_1700000000000_0001");
  EXPECT_EQ(ToString(ApplicationId{1700000000000, 12345}), "application_1700000000000_12345");
  EXPECT_EQ(ToString(AttemptId{kSomeApplication, 2}), "appattempt_1700000000000_0001_000002");
  EXPECT_EQ(ToString(ContainerId{{kSomeApplication, 1}, 2}), "container_1700000000000_0001_01_000002");
  EXPECT_EQ(ToString(ContainerId{{kSomeApplication, 1}, (int64_t{3} << 40) | 2}),
            "container_e03_1700000000000_0001_01_000002");
  EXPECT_EQ(ToString(NodeId{"n1", 45454}), "n1:45454");
}

TEST(YarnIdsTest, IdsAreReadBackAsWritten) {
  for (const int64_t number : {int64_t{1}, int64_t{1234567}, (int64_t{3} << 40) | 2, INT64_MAX}) {
    const ContainerId id{{kSomeApplication, 17}, number};
    EXPECT_EQ(ParseContainerId(ToString(id)), id) << ToString(id);
  }
  EXPECT_EQ(ParseApplicationId(ToString(kSomeApplication)), kSomeApplication);
}

TEST(YarnIdsTest, MalformedIdsAreRejected) {
  for (const char* text : {"", "application_1", "application_1_x", "application_1_-1", "job_1_1", "application_1_1_1",
                           "application_1_4294967296"})
    EXPECT_FALSE(ParseApplicationId(text)) << text;
  for (const char* text : {"", "container_", "container_e", "container_e03", "container_1_1_1", "container_ex_1_1_1_1",
                           "container_1_1_1_1099511627776", "container_e9999999_1_1_1_1", "container_1_4294967296_1_1",
                           "container_e03_1_1_1", "x_1_1_1_1"})
    EXPECT_FALSE(ParseContainerId(text)) << text;
}

TEST(WireRecordsTest, AnEncodedContainerIdHasNoSeparateApplicationIdAndIsReadBack) {
  const ContainerId id{{kSomeApplication, 1}, 2};
  const wire::ContainerId message = ToWire(id);
  EXPECT_FALSE(message.has_app_id());
  EXPECT_EQ(FromWire(message), id);
}

TEST(WireRecordsTest, AMemoryEntryInTheResourceMapIsNotReadAsACustomResource) {
  wire::Resource message = ToWire(Resource{2048, 2, {{"yarn.io/gpu", 1}}});
  wire::ResourceInformation& memory = *message.add_resource_value_map();
  memory.set_key("memory-mb");
  memory.set_value(2048);
  EXPECT_EQ(FromWire(message), (Resource{2048, 2, {{"yarn.io/gpu", 1}}}));
}

TEST(WireRecordsTest, ALaunchContextHasFilesVariablesCommandAndTokens) {
  LaunchContext context;
  context.files["tool"] = {.scheme = "hdfs",
                           .host = "nn",
                           .port = 8020,
                           .path = "/x/tool",
                           .size = 7,
                           .modified = FromMillis(1700000000123),
                           .kind = LocalResource::Kind::kArchive,
                           .visibility = LocalResource::Visibility::kPrivate};
  context.environment["A"] = "b";
  context.command = "./tool";
  const wire::ContainerLaunchContext without = ToWire(context);
  EXPECT_FALSE(without.has_tokens());
  context.credentials.secrets["s"] = "x";
  const wire::ContainerLaunchContext message = ToWire(context);
  EXPECT_EQ(message.tokens(), EncodeCredentials(context.credentials));
  ASSERT_EQ(message.localresources_size(), 1);
  const wire::LocalResource& file = message.localresources(0).value();
  EXPECT_EQ(message.localresources(0).key(), "tool");
  EXPECT_EQ(file.resource().host() + file.resource().file(), "nn/x/tool");
  EXPECT_EQ(file.timestamp(), 1700000000123);
  EXPECT_EQ(file.type(), wire::ARCHIVE);
  EXPECT_EQ(file.visibility(), wire::PRIVATE);
  EXPECT_EQ(message.environment(0).key() + message.environment(0).value(), "Ab");
  EXPECT_EQ(message.command(0), "./tool");
}

TEST(WireRecordsTest, AnEmptyMessageIsDecodedToDefaultValues) {
  EXPECT_EQ(FromWire(wire::ContainerStatus()).exit_status, -1000);
  EXPECT_EQ(FromWire(wire::ContainerStatus()).state, ContainerStatus::State::kNew);
  EXPECT_EQ(FromWire(wire::Container()).request_id, -1);
  EXPECT_EQ(FromWire(wire::Resource()), Resource{});
  EXPECT_EQ(FromWire(wire::NodeReport()).state, NodeReport::State::kNew);
}

// ---- the reason in diagnostics

constexpr const char* kAll = "yarn application -status ID";

// Texts of daemons of Hadoop 3.4.3.
TEST(DiagnosticsTest, YarnDiagnosticsAreReducedToTheReasonOfTheFailure) {
  const struct {
    std::string said, told;
  } kEnds[] = {
      {"", ""},
      {"N/A", ""},
      {"killed by user admin", "killed by user admin"},
      {"Application application_1700000000000_0001 failed 1 times (global limit =2; local limit is =1) due to AM "
       "Container for appattempt_1700000000000_0001_000001 exited with  exitCode: 126\n"
       "Failing this attempt.Diagnostics: [2026-11-21 07:44:31.200]Exception from container-launch.\n"
       "Container id: container_1700000000000_0001_01_000001\nExit code: 126\n\n"
       "[2026-11-21 07:44:31.250]Container exited with a non-zero exit code 126. Error file: prelaunch.err.\n"
       "Last 4096 bytes of prelaunch.err :\nLast 4096 bytes of stderr :\n"
       "/bin/bash: line 1: ./tony-am/loader: Permission denied\n\n\n"
       "[2026-11-21 07:44:31.250]Container exited with a non-zero exit code 126. Error file: prelaunch.err.\n"
       "Last 4096 bytes of prelaunch.err :\nLast 4096 bytes of stderr :\n"
       "/bin/bash: line 1: ./tony-am/loader: Permission denied\n\n\n"
       "For more detailed output, check the application tracking page: http://rm:8088/cluster/app/x Then click on "
       "links to logs of each attempt.\n. Failing the application.",
       "exit code 126; /bin/bash: line 1: ./tony-am/loader: Permission denied"},
      {"[2026-11-21 07:44:31.200]Container [pid=71,containerID=container_1_0001_01_000002] is running 90112B beyond "
       "the 'PHYSICAL' memory limit. Current usage: 256.1 MB of 256 MB physical memory used. Killing container.\n"
       "Dump of the process-tree for container_1_0001_01_000002 :\n"
       "\t|- PID PPID PGRPID SESSID CMD_NAME USER_MODE_TIME(MILLIS) FULL_CMD_LINE\n"
       "\t|- 71 70 71 71 (python3) 90 12 305 70000 python3 -c 'x'\n\n"
       "[2026-11-21 07:44:31.250]Container killed on request. Exit code is 143\n"
       "[2026-11-21 07:44:31.260]Container exited with a non-zero exit code 143.\n",
       StrCat(
           "Container [pid=71,containerID=container_1_0001_01_000002] is running 90112B beyond the 'PHYSICAL' memory "
           "limit. Current usage: 256.1 MB of 256 MB physical memory used. Killing container. (",
           kAll, " shows the whole text)")},
      {"Error launching appattempt_1_0001_000001. Got exception: java.net.ConnectException: Call From n1/10.0.0.1 to "
       "n2:8041 failed on connection exception: java.net.ConnectException: Connection refused\n"
       "\tat sun.reflect.NativeConstructorAccessorImpl.newInstance0(Native Method)\n"
       "Caused by: java.net.ConnectException: Connection refused\n\t... 12 more\n. Failing the application.",
       StrCat("ConnectException: Call From n1/10.0.0.1 to n2:8041 failed on connection exception: ConnectException: "
              "Connection refused (",
              kAll, " shows the whole text)")},
      {"Exception from container-launch.\nContainer id: container_1_0001_01_000002\nExit code: 255\n"
       "Exception message: Launch container failed\nShell error output: Could not open /var/lib: No space left\n"
       "Shell output: main : command provided 1\nmain : run as user is root\nmain : requested yarn user is root\n",
       "exit code 255; Could not open /var/lib: No space left"},
      {"token org.apache.hadoop.security.token.SecretManager$InvalidToken: expired at org.example.com/x.y",
       "token InvalidToken: expired at org.example.com/x.y"},
      {"AM Container for appattempt_1_0001_000001 exited with  exitCode: -104\nFailing this attempt.Diagnostics: [x] "
       "beyond its limit",
       "[x] beyond its limit"},
      {"AM Container for appattempt_1_0001_000001 exited with  exitCode: -105", "exit code -105"},
      {"a\x01"
       "b\nbad \xff byte",
       "ab; bad \xEF\xBF\xBD byte"}};
  for (const auto& [said, told] : kEnds) EXPECT_EQ(ReasonIn(said, kAll), told) << said;
}

TEST(DiagnosticsTest, ALongReasonIsCutAtACharacterBoundaryAndNamesTheCommandForTheFullText) {
  std::string said;
  while (said.size() < 1000) said += "\xC3\xA4";
  for (const char* begin : {"", "x"}) {
    const std::string told = ReasonIn(begin + said);
    EXPECT_LE(told.size(), kLongestReason);
    EXPECT_GE(told.size(), kLongestReason - 1);
    EXPECT_TRUE(IsUtf8(told)) << told;
    EXPECT_TRUE(told.ends_with("...")) << told;
    EXPECT_EQ(ReasonIn(begin + said, kAll), StrCat(told, " (", kAll, " shows the whole text)"));
  }
}

TEST(DiagnosticsTest, AStackTraceIsLeftOutOfTheReason) {
  std::string said = "java.io.IOException: first";
  for (int i = 0; i < 1000; ++i) said += "\n\tat org.apache.hadoop.X.y(X.java:1)";
  EXPECT_EQ(ReasonIn(said), "IOException: first");
}

}  // namespace
}  // namespace tony::hadoop
