// Roles that wait for each other, TonY's stages, groups that others may not outlive, and the preprocessing task.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "runtime/job/cluster_spec.h"
#include "tests/unit/job/parse_properties.h"

namespace tony {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

using Given = std::map<std::string, std::string>;

constexpr Dependency::Until kReady = Dependency::Until::kReady;

// With one task of each of these roles.
auto Parse(const std::vector<std::string>& roles, Given given) {
  for (const std::string& role : roles) given.emplace("tony." + role + ".instances", "1");
  return ParseWith({given.begin(), given.end()});
}

std::vector<Dependency> Of(const std::string& role, const std::vector<std::string>& roles, const Given& given) {
  const auto parsed = Parse(roles, given);
  EXPECT_TRUE(parsed.ok()) << (parsed.ok() ? "" : parsed.error().message);
  return parsed.ok() ? parsed->spec.FindRole(role)->depends_on : std::vector<Dependency>();
}

std::string Refusal(const std::vector<std::string>& roles, const Given& given) {
  const auto parsed = Parse(roles, given);
  return parsed.ok() ? "" : parsed.error().message;
}

TEST(DependencyParserTest, ARoleNamesThoseForWhichItWaits) {
  const Given given = {{"tony.worker.depends-on", "index, data ,head:ready"}};
  EXPECT_THAT(Of("worker", {"data", "head", "index", "worker"}, given),
              ElementsAre(Dependency{"data"}, Dependency{"head", kReady}, Dependency{"index"}));
}

TEST(DependencyParserTest, ACircleIsNamed) {
  EXPECT_THAT(
      Refusal({"a", "b", "c"}, {{"tony.a.depends-on", "b"}, {"tony.b.depends-on", "c"}, {"tony.c.depends-on", "b"}}),
      HasSubstr("tony.b.depends-on: \"c\" (from -conf): roles wait for each other: b -> c -> b"));
  EXPECT_THAT(Refusal({"a"}, {{"tony.a.depends-on", "a:ready"}}), HasSubstr("a -> a"));
}

TEST(DependencyParserTest, WhatCannotBeWaitedForIsRefused) {
  EXPECT_THAT(Refusal({"worker"}, {{"tony.worker.depends-on", "date"}}),
              HasSubstr("tony.worker.depends-on: \"date\" (from -conf): the job has no role \"date\""));
  EXPECT_THAT(Refusal({"ps", "worker"}, {{"tony.worker.depends-on", "ps"}}),
              HasSubstr("role ps is untracked, so nobody waits for its end; expected a tracked role, or ps:ready"));
  EXPECT_EQ(Refusal({"ps", "worker"}, {{"tony.worker.depends-on", "ps:ready"}}), "");
  EXPECT_THAT(Refusal({"ps", "worker"}, {{"tony.worker.depends-on", "ps:started"}}),
              HasSubstr("expected ROLE, or ROLE:ready"));
}

TEST(DependencyParserTest, NobodyWaitsForASidecarToBeReady) {
  EXPECT_THAT(Refusal({"board", "worker"},
                      {{"tony.worker.depends-on", "board:ready"}, {"tony.application.sidecar.jobtypes", "board"}}),
              HasSubstr("role board is a sidecar, for which nobody waits"));
}

// ---- TonY's two stages

TEST(DependencyParserTest, EveryRoleOfTheTrainingStageWaitsForEveryTrackedOneOfThePrepareStage) {
  const Given given = {{"tony.application.prepare-stage", " loader , ps, index"},
                       {"tony.application.training-stage", "worker,chief"}};
  for (const std::string role : {"chief", "worker"})
    EXPECT_THAT(Of(role, {"chief", "index", "loader", "ps", "worker"}, given),
                ElementsAre(Dependency{"index"}, Dependency{"loader"}));
  EXPECT_THAT(Of("ps", {"chief", "index", "loader", "ps", "worker"}, given), IsEmpty());
}

TEST(DependencyParserTest, OfAStageThatIsNotGivenAreAllOtherRoles) {
  EXPECT_THAT(Of("worker", {"loader", "worker"}, {{"tony.application.prepare-stage", "loader"}}),
              ElementsAre(Dependency{"loader"}));
  EXPECT_THAT(Of("worker", {"loader", "worker"}, {{"tony.application.training-stage", "worker"}}),
              ElementsAre(Dependency{"loader"}));
}

TEST(DependencyParserTest, StagesAreAddedToWhatRolesSayThemselves) {
  EXPECT_THAT(Of("worker", {"chief", "loader", "worker"},
                 {{"tony.application.prepare-stage", "loader"}, {"tony.worker.depends-on", "chief:ready"}}),
              ElementsAre(Dependency{"chief", kReady}, Dependency{"loader"}));
}

TEST(DependencyParserTest, EachRoleIsOfOneStage) {
  const auto refusal = [](const std::string& prepare, const std::string& training) {
    return Refusal({"loader", "ps", "worker"},
                   {{"tony.application.prepare-stage", prepare}, {"tony.application.training-stage", training}});
  };
  EXPECT_THAT(refusal("loader", "worker"), HasSubstr("role ps is neither in it nor in tony.application.prepare-stage"));
  EXPECT_THAT(refusal("loader,ps", "ps,worker"), HasSubstr("role ps is in tony.application.prepare-stage, too"));
  EXPECT_THAT(refusal("loader,pz", "worker"), HasSubstr("the job has no role \"pz\""));
  EXPECT_EQ(refusal("loader,ps", "worker"), "");
}

TEST(DependencyParserTest, StagesOfWhichNobodyHasToWaitAreToldOf) {
  const auto parsed = Parse({"ps", "worker"}, {{"tony.application.prepare-stage", "ps"}});
  ASSERT_TRUE(parsed.ok());
  EXPECT_THAT(parsed->warnings, ElementsAre(HasSubstr("no role of the first stage is tracked")));
}

// ---- how long roles may run on

TEST(DependencyParserTest, EveryDependencyTimeoutOfARoleIsKept) {
  const auto parsed = Parse({"chief", "evaluator", "worker"},
                            {{"tony.application.group.A", "chief,worker"},
                             {"tony.application.group.B", "chief"},
                             {"tony.application.dependency.evaluator.timeout.after.A", "3600"},
                             {"tony.application.dependency.evaluator.timeout.after.B", "60"},
                             {"tony.application.dependency.evaluator.timeout.after.B.ignored", "true"}});
  ASSERT_TRUE(parsed.ok()) << parsed.error().message;
  EXPECT_THAT(parsed->warnings, IsEmpty());
  EXPECT_THAT(parsed->spec.FindRole("evaluator")->outlives,
              ElementsAre(Outliving{"A", {"chief", "worker"}, Duration(3'600'000), false},
                          Outliving{"B", {"chief"}, Duration(60'000), true}));
}

TEST(DependencyParserTest, ADependencyTimeoutWithoutEffectIsToldOf) {
  const std::string key = "tony.application.dependency.worker.timeout.after.A";
  const auto warning = [&](Given given) {
    given.emplace(key, "5");
    const auto parsed = Parse({"worker"}, given);
    EXPECT_TRUE(parsed.ok());
    EXPECT_THAT(parsed->spec.FindRole("worker")->outlives, IsEmpty());
    return testing::PrintToString(parsed->warnings);
  };
  EXPECT_THAT(warning({}), HasSubstr("tony.application.group.A is not set"));
  EXPECT_THAT(warning({{"tony.application.group.A", "cheif"}}), HasSubstr("the job has no role \\\"cheif\\\""));
  EXPECT_THAT(warning({{"tony.application.group.A", "worker"}}), HasSubstr("role worker is of that group itself"));
  EXPECT_THAT(Refusal({"worker"}, {{key, "soon"}}), HasSubstr("expected a whole number of seconds"));
}

// The second is a fuzzer's, shortened: its value was read by a row of the table of keys that there is not.
TEST(DependencyParserTest, ADependencyTimeoutOfOtherNamesIsIgnored) {
  for (const std::string end : {"A1", "A.ignored for whoever", "A1.ignored"}) {
    const std::string key = "tony.application.dependency.worker.timeout.after." + end;
    for (const std::string value : {"5", "soon"}) {
      const auto parsed = Parse({"chief", "worker"}, {{key, value}, {"tony.application.group.A1", "chief"}});
      ASSERT_TRUE(parsed.ok()) << parsed.error().message;
      EXPECT_THAT(parsed->spec.FindRole("worker")->outlives, IsEmpty());
      const std::string of_group =
          "group.A1 (from -conf): ignored, as in TonY: a role's name has lower-case letters only";
      EXPECT_THAT(parsed->warnings, ElementsAre(HasSubstr(key + " (from -conf): "), HasSubstr(of_group)));
    }
  }
}

// ---- preprocessing

TEST(DependencyParserTest, PreprocessingIsATaskBeforeAllOthers) {
  const auto parsed = Parse(
      {"ps", "worker"},
      {{"tony.application.enable-preprocess", "true"}, {"tony.am.command", "prepare.sh"}, {"tony.am.memory", "3g"}});
  ASSERT_TRUE(parsed.ok()) << parsed.error().message;
  const RoleSpec& role = *parsed->spec.FindRole("preprocess");
  EXPECT_EQ(role.command, "prepare.sh");
  EXPECT_EQ(role.resources.memory_mb, 3072);
  EXPECT_TRUE(IsPreprocess(role));
  for (const std::string name : {"ps", "worker"})
    EXPECT_THAT(parsed->spec.FindRole(name)->depends_on, ElementsAre(Dependency{"preprocess"}));
}

TEST(DependencyParserTest, PreprocessingNeedsRolesAndItsName) {
  const auto alone = Parse({}, {{"tony.application.enable-preprocess", "true"}, {"tony.worker.instances", "0"}});
  ASSERT_TRUE(alone.ok()) << alone.error().message;
  EXPECT_THAT(alone->warnings, ElementsAre(HasSubstr("the job has no roles, so its command runs once anyway")));
  EXPECT_THAT(Refusal({"preprocess", "worker"}, {{"tony.application.enable-preprocess", "true"}}),
              HasSubstr("a role preprocess of its own"));
  EXPECT_THAT(Refusal({"worker"}, {{"tony.application.enable-preprocess", "yes"}}),
              HasSubstr("expected true or false"));
}

// ---- what follows from them

TEST(DependenciesTest, WhoIsBeforeWhomFollowsThroughAnyNumber) {
  JobSpec spec;
  for (const char* name : {"a", "b", "c", "d", "e"}) spec.roles.push_back({.name = name, .command = "true"});
  spec.roles[1].depends_on = {{"a"}};
  spec.roles[2].depends_on = {{"b", kReady}};
  spec.roles[3].depends_on = {{"c"}};
  EXPECT_TRUE(IsBefore(spec, "a", "b"));
  EXPECT_TRUE(IsBefore(spec, "a", "c"));
  EXPECT_TRUE(IsBefore(spec, "a", "d"));
  EXPECT_FALSE(IsBefore(spec, "b", "c"));
  EXPECT_FALSE(IsBefore(spec, "b", "d"));  // b may run on
  EXPECT_FALSE(IsBefore(spec, "a", "e"));
  const auto one_each = [](const RoleSpec&) { return 1; };
  EXPECT_EQ(MostAtOnce(spec, one_each), 3);  // b, c or d, e
}

}  // namespace
}  // namespace tony
