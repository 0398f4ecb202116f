// What a job asks of YARN beside its containers.
#include <gmock/gmock.h>

#include "tests/unit/job/parse_properties.h"

namespace tony {
namespace {

YarnSpec SpecWith(Settings settings) {
  settings.insert(settings.begin(), {"tony.scheduler", "yarn"});
  const auto parsed = ParseWith(settings);
  return parsed.ok() ? parsed->spec.yarn : YarnSpec{.queue = parsed.error().message};
}

TEST(YarnSpecTest, ItsMasterIsSmallUnlessTheJobSaysOtherwise) {
  EXPECT_EQ(SpecWith({}), (YarnSpec{.queue = "default", .am_memory_mb = 512, .am_vcores = 1}));
  EXPECT_EQ(SpecWith({{"tony.am.memory", "2g"}, {"tony.am.vcores", "3"}, {"tony.yarn.queue", " ml "}}),
            (YarnSpec{.queue = "ml", .am_memory_mb = 2048, .am_vcores = 3}));
}

TEST(YarnSpecTest, WithoutRolesTheAmsAmountsAreItsOnlyTasks) {
  const auto parsed = ParseJobSpec(PropertiesOf({{"tony.scheduler", "yarn"},
                                                 {"tony.containers.command", "true"},
                                                 {"tony.am.memory", "3g"},
                                                 {"tony.am.vcores", "2"}}),
                                   "/work");
  ASSERT_TRUE(parsed.ok()) << parsed.error().message;
  EXPECT_EQ(parsed->spec.roles.front().resources.memory_mb, 3072);
  EXPECT_EQ(parsed->spec.yarn, YarnSpec());
}

TEST(YarnSpecTest, ElsewhereAJobHasNone) {
  const auto parsed = ParseWith({{"tony.yarn.queue", "ml"}, {"tony.am.memory", "2g"}});
  ASSERT_TRUE(parsed.ok());
  EXPECT_EQ(parsed->spec.yarn, YarnSpec());
}

TEST(YarnSpecTest, RolesArePackedOrSpreadAndGangsHaveAHold) {
  const auto parsed =
      ParseWith({{"tony.scheduler", "yarn"}, {"tony.worker.placement", "spread"}, {"tony.yarn.gang-hold", "0"}});
  ASSERT_TRUE(parsed.ok()) << parsed.error().message;
  EXPECT_EQ(parsed->spec.FindRole("worker")->placement, Placement::kSpread);
  EXPECT_EQ(parsed->spec.yarn.gang_hold, Duration(0));
  const auto read = JobSpecFromJson(ToJson(parsed->spec));
  ASSERT_TRUE(read.ok()) << read.error().message;
  EXPECT_EQ(*read, parsed->spec);
  EXPECT_THAT(ErrorWith({{"tony.worker.placement", "apart"}}), testing::HasSubstr("expected pack or spread"));
  EXPECT_THAT(ErrorWith({{"tony.scheduler", "yarn"}, {"tony.yarn.gang-hold", "240001"}}),
              testing::HasSubstr("expected at most 240000, in milliseconds"));
}

TEST(YarnSpecTest, WhatCannotBeIsNamed) {
  EXPECT_EQ(ErrorWith({{"tony.scheduler", "yarn"}, {"tony.am.vcores", "0"}}).substr(0, 20), "tony.am.vcores: \"0\" ");
  EXPECT_EQ(ErrorWith({{"tony.scheduler", "yarn"}, {"tony.yarn.queue", "a\nb"}}),
            "tony.yarn.queue: \"a?b\" (from -conf): expected the name of a queue");
}

TEST(YarnSpecTest, TheSpecsJsonKeepsIt) {
  const auto parsed = ParseWith({{"tony.scheduler", "yarn"}, {"tony.yarn.queue", "ml"}, {"tony.am.memory", "1g"}});
  ASSERT_TRUE(parsed.ok());
  const auto read = JobSpecFromJson(ToJson(parsed->spec));
  ASSERT_TRUE(read.ok()) << read.error().message;
  EXPECT_EQ(read->yarn, (YarnSpec{.queue = "ml", .am_memory_mb = 1024, .am_vcores = 1}));
}

}  // namespace
}  // namespace tony
