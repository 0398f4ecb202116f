// The settings of a job for YARN, apart from its containers.
#include <gmock/gmock.h>

#include "tests/unit/job/parse_properties.h"

namespace tony {
namespace {

YarnSpec SpecWith(Settings settings) {
  settings.insert(settings.begin(), {"tony.scheduler", "yarn"});
  const auto parsed = ParseWith(settings);
  return parsed.ok() ? parsed->spec.yarn : YarnSpec{.queue = parsed.error().message};
}

TEST(YarnSpecTest, TheMasterHas512MegabytesAndOneVcoreByDefault) {
  EXPECT_EQ(SpecWith({}), (YarnSpec{.queue = "default", .am_memory_mb = 512, .am_vcores = 1}));
  EXPECT_EQ(SpecWith({{"tony.am.memory", "2g"}, {"tony.am.vcores", "3"}, {"tony.yarn.queue", " ml "}}),
            (YarnSpec{.queue = "ml", .am_memory_mb = 2048, .am_vcores = 3}));
}

TEST(YarnSpecTest, ApplicationTypeAndPriorityAndAclsAreReadFromTheConfiguration) {
  const YarnSpec spec = SpecWith({{"tony.application.type", "training"},
                                  {"tony.yarn.priority", "7"},
                                  {"tony.yarn.view-acl", "eve,bob staff"},
                                  {"tony.yarn.modify-acl", " ops"}});
  EXPECT_EQ(spec, (YarnSpec{.type = "training", .priority = 7, .view_acl = "eve,bob staff", .modify_acl = " ops"}));
}

TEST(YarnSpecTest, TheConfiguredPortalUrlIsReadAndTonysDefaultUrlIsIgnored) {
  EXPECT_EQ(SpecWith({{"tony.portal.url", "https://portal.example.com:19886/"}}).portal_url,
            "https://portal.example.com:19886");
  EXPECT_EQ(SpecWith({{"tony.portal.url", "https://localhost:19886"}}).portal_url, "");
  EXPECT_THAT(SpecWith({{"tony.portal.url", "portal:19886"}}).queue, testing::HasSubstr("tony.portal.url"));
}

TEST(YarnSpecTest, TheAddressOfThePortalAndTheViewAclCountAlsoForAJobOfOneMachine) {
  const auto parsed = ParseWith({{"tony.page.url", "https://portal:1/"}, {"tony.yarn.view-acl", "bob"}});
  ASSERT_TRUE(parsed.ok()) << parsed.error().message;
  EXPECT_EQ(parsed->spec.page_url, "https://portal:1");
  EXPECT_EQ(parsed->spec.yarn.view_acl, "bob");
  EXPECT_EQ(parsed->warnings, std::vector<std::string>());
  EXPECT_THAT(ParseWith({{"tony.page.url", "portal:1"}}).error().message, testing::HasSubstr("tony.page.url"));
}

TEST(YarnSpecTest, TheNodeLabelOfTheApplicationAppliesToRolesWithoutANodeLabel) {
  const auto parsed = ParseWith({{"tony.scheduler", "yarn"},
                                 {"tony.application.node-label", "big"},
                                 {"tony.ps.instances", "1"},
                                 {"tony.ps.node-label", "small"}});
  ASSERT_TRUE(parsed.ok()) << parsed.error().message;
  EXPECT_EQ(parsed->spec.FindRole("worker")->node_label, "big");
  EXPECT_EQ(parsed->spec.FindRole("ps")->node_label, "small");
  EXPECT_EQ(parsed->spec.yarn, (YarnSpec{.node_label = "big", .am_node_label = "big"}));
  EXPECT_EQ(SpecWith({{"tony.application.node-label", "big"}, {"tony.am.node-label", "tiny"}}).am_node_label, "tiny");
}

TEST(YarnSpecTest, TheOnlyTaskOfAJobWithoutRolesGetsTheMemoryAndVcoresOfTheAm) {
  const auto parsed = ParseJobSpec(PropertiesOf({{"tony.scheduler", "yarn"},
                                                 {"tony.containers.command", "true"},
                                                 {"tony.am.memory", "3g"},
                                                 {"tony.am.vcores", "2"}}),
                                   "/work");
  ASSERT_TRUE(parsed.ok()) << parsed.error().message;
  EXPECT_EQ(parsed->spec.roles.front().resources.memory_mb, 3072);
  EXPECT_EQ(parsed->spec.yarn, YarnSpec());
}

TEST(YarnSpecTest, YarnKeysAreIgnoredForAJobOnAnotherScheduler) {
  const auto parsed = ParseWith({{"tony.yarn.queue", "ml"}, {"tony.am.memory", "2g"}});
  ASSERT_TRUE(parsed.ok());
  EXPECT_EQ(parsed->spec.yarn, YarnSpec());
}

TEST(YarnSpecTest, TheRolePlacementAndTheGangHoldTimeoutAreParsedAndValidated) {
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

TEST(YarnSpecTest, ARoleCanRequestCustomYarnResourceTypes) {
  const auto parsed = ParseWith({{"tony.scheduler", "yarn"},
                                 {"tony.worker.resource.yarn.io/fpga", "1"},
                                 {"tony.worker.resource.disk", " 4 Gi "},
                                 {"tony.worker.resource.none", "0"},
                                 {"tony.worker.resource.yarn.io/gpu", "2"}});
  ASSERT_TRUE(parsed.ok()) << parsed.error().message;
  const Resources& resources = parsed->spec.FindRole("worker")->resources;
  EXPECT_EQ(resources.others, (std::map<std::string, Amount>{{"disk", {4, "Gi"}}, {"yarn.io/fpga", 1}}));
  EXPECT_EQ(resources.gpus, 2) << "another name of the same";
  EXPECT_TRUE(parsed->warnings.empty());
  const std::string json = ToJson(parsed->spec);
  EXPECT_THAT(json, testing::HasSubstr(R"("resources":{"disk":"4Gi","yarn.io/fpga":"1"})"));
  const auto read = JobSpecFromJson(json);
  ASSERT_TRUE(read.ok()) << read.error().message;
  EXPECT_EQ(*read, parsed->spec);
}

TEST(YarnSpecTest, TheOnlyTaskOfAJobWithoutRolesRequestsTheCustomResourceTypesOfTheAm) {
  const auto parsed = ParseJobSpec(
      PropertiesOf(
          {{"tony.scheduler", "yarn"}, {"tony.containers.command", "true"}, {"tony.am.resource.yarn.io/fpga", "1"}}),
      "/work");
  ASSERT_TRUE(parsed.ok()) << parsed.error().message;
  EXPECT_EQ(parsed->spec.roles.front().resources.others, (std::map<std::string, Amount>{{"yarn.io/fpga", 1}}));
  EXPECT_EQ(parsed->spec.roles.front().Key("resource.yarn.io/fpga"), "tony.am.resource.yarn.io/fpga");
}

TEST(YarnSpecTest, CustomResourceTypesAreIgnoredWithAWarningIfTheJobIsNotOnYarn) {
  const auto parsed = ParseWith({{"tony.worker.resource.disk", "4Gi"}});
  ASSERT_TRUE(parsed.ok()) << parsed.error().message;
  EXPECT_TRUE(parsed->spec.FindRole("worker")->resources.others.empty());
  EXPECT_THAT(parsed->warnings, testing::Contains(testing::HasSubstr("no effect without tony.scheduler=yarn")));
}

TEST(YarnSpecTest, AnInvalidOrDuplicateAmountOfAResourceTypeIsRejected) {
  const auto error = [](const std::string& type, const std::string& amount, const std::string& gpus = "") {
    Settings settings = {{"tony.scheduler", "yarn"}, {"tony.worker.resource." + type, amount}};
    if (!gpus.empty()) settings.push_back({"tony.worker.gpus", gpus});
    return ErrorWith(settings);
  };
  EXPECT_EQ(
      error("disk", "1.5G"),
      "tony.worker.resource.disk: \"1.5G\" (from -conf): expected a whole number, or a whole number with one of the "
      "units p n u m k M "
      "G T P Ki Mi Gi Ti Pi");
  EXPECT_EQ(error("memory-mb", "4096"),
            "tony.worker.resource.memory-mb: \"4096\" (from -conf): set tony.worker.memory instead");
  EXPECT_EQ(error("vcores", "4"), "tony.worker.resource.vcores: \"4\" (from -conf): set tony.worker.vcores instead");
  EXPECT_EQ(error("yarn.io/gpu", "1", "1"),
            "tony.worker.resource.yarn.io/gpu: \"1\" (from -conf): this key sets the same amount as tony.worker.gpus; "
            "remove one of the "
            "two keys");
  EXPECT_EQ(error("yarn.io/gpu", "1k"),
            "tony.worker.resource.yarn.io/gpu: \"1k\" (from -conf): expected a whole number from 0 to 100000");
  EXPECT_EQ(error("yarn.io/gpu", "100001"),
            "tony.worker.resource.yarn.io/gpu: \"100001\" (from -conf): expected a whole number from 0 to 100000");
}

TEST(YarnSpecTest, TheErrorNamesTheInvalidYarnKeyAndValue) {
  EXPECT_EQ(ErrorWith({{"tony.scheduler", "yarn"}, {"tony.am.vcores", "0"}}).substr(0, 20), "tony.am.vcores: \"0\" ");
  EXPECT_EQ(ErrorWith({{"tony.scheduler", "yarn"}, {"tony.yarn.queue", "a\nb"}}),
            "tony.yarn.queue: \"a?b\" (from -conf): expected the name of a queue");
  EXPECT_EQ(ErrorWith({{"tony.scheduler", "yarn"}, {"tony.application.type", "twenty-one-characters"}}),
            "tony.application.type: \"twenty-one-characters\" (from -conf): expected at most 20 characters");
  EXPECT_EQ(ErrorWith({{"tony.scheduler", "yarn"}, {"tony.yarn.priority", "-1"}}).substr(0, 25),
            "tony.yarn.priority: \"-1\" ");
  for (const std::string acl :
       {"eve, bob, staff", "eve,,bob", ",eve", "eve, staff", "eve;bob", "*,bob", "* staff", "u:eve"})
    EXPECT_EQ(
        ErrorWith({{"tony.scheduler", "yarn"}, {"tony.yarn.modify-acl", acl}}),
        StrCat("tony.yarn.modify-acl: \"", acl, "\" (from -conf): expected USER,... GROUP,... with one blank, or *"));
}

TEST(YarnSpecTest, TheYarnSpecSurvivesARoundTripThroughJson) {
  const auto parsed = ParseWith({{"tony.scheduler", "yarn"}, {"tony.yarn.queue", "ml"}, {"tony.am.memory", "1g"}});
  ASSERT_TRUE(parsed.ok());
  const auto read = JobSpecFromJson(ToJson(parsed->spec));
  ASSERT_TRUE(read.ok()) << read.error().message;
  EXPECT_EQ(read->yarn, (YarnSpec{.queue = "ml", .am_memory_mb = 1024, .am_vcores = 1}));
  JobSpec full = parsed->spec;
  full.yarn = {.queue = "q",
               .type = "t",
               .priority = 3,
               .node_label = "a",
               .am_node_label = "b",
               .view_acl = "c",
               .modify_acl = "d"};
  EXPECT_EQ(JobSpecFromJson(ToJson(full))->yarn, full.yarn);
}

}  // namespace
}  // namespace tony
