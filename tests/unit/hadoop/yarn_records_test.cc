#include "runtime/hadoop/yarn_records.h"

#include <gtest/gtest.h>

#include "runtime/hadoop/wire_records.h"
#include "tests/unit/hadoop/hex.h"

namespace tony::hadoop {
namespace {

constexpr ApplicationId kSomeApplication{1700000000000, 1};

TEST(YarnIdsTest, IdsAreWrittenAsHadoopWritesThem) {
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

TEST(YarnIdsTest, OtherTextsAreNotIds) {
  for (const char* text : {"", "application_1", "application_1_x", "application_1_-1", "job_1_1", "application_1_1_1",
                           "application_1_4294967296"})
    EXPECT_FALSE(ParseApplicationId(text)) << text;
  for (const char* text : {"", "container_", "container_e", "container_e03", "container_1_1_1", "container_ex_1_1_1_1",
                           "container_1_1_1_1099511627776", "container_e9999999_1_1_1_1", "container_1_4294967296_1_1",
                           "container_e03_1_1_1", "x_1_1_1_1"})
    EXPECT_FALSE(ParseContainerId(text)) << text;
}

TEST(WireRecordsTest, AContainersApplicationIsWithinItsAttempt) {
  const ContainerId id{{kSomeApplication, 1}, 2};
  const wire::ContainerId message = ToWire(id);
  EXPECT_FALSE(message.has_app_id());
  EXPECT_EQ(FromWire(message), id);
}

TEST(WireRecordsTest, MemoryAndCoresInTheResourceMapAreIgnored) {
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

TEST(WireRecordsTest, AnEmptyMessageIsAValueOfDefaults) {
  EXPECT_EQ(FromWire(wire::ContainerStatus()).exit_status, -1000);
  EXPECT_EQ(FromWire(wire::ContainerStatus()).state, ContainerStatus::State::kNew);
  EXPECT_EQ(FromWire(wire::Container()).request_id, -1);
  EXPECT_EQ(FromWire(wire::Resource()), Resource{});
  EXPECT_EQ(FromWire(wire::NodeReport()).state, NodeReport::State::kNew);
}

}  // namespace
}  // namespace tony::hadoop
