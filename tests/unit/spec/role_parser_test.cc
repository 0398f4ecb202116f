#include <gtest/gtest.h>

#include "tests/unit/job/parse_properties.h"

namespace tony {
namespace {

TEST(RoleParserTest, RolesAreSortedAndCarryTheirOwnSettings) {
  const auto parsed = ParseWith({{"tony.worker.instances", " 3 "},
                                 {"tony.worker.memory", "4g"},
                                 {"tony.worker.vcores", "2"},
                                 {"tony.worker.gpus", "1"},
                                 {"tony.ps.instances", "1"},
                                 {"tony.ps.command", "ps.sh"},
                                 {"tony.tensorboard.instances", "1"}});
  ASSERT_TRUE(parsed.ok()) << parsed.error().message;
  std::vector<RoleSpec> expected = {{"ps", 1, {2048, 1, 0}, "ps.sh", Completion::kUntracked},
                                    {"tensorboard", 1, {2048, 1, 0}, "true", Completion::kSidecar},
                                    {"worker", 3, {4096, 2, 1}, "true", Completion::kTracked}};
  expected[1].outlives_restarts = true;
  EXPECT_EQ(parsed->spec.roles, expected);
  EXPECT_TRUE(parsed->warnings.empty());
}

TEST(RoleParserTest, ARoleWithZeroInstancesIsLeftOutWithoutAWord) {
  const auto parsed = ParseWith({{"tony.ps.instances", "0"}, {"tony.ps.memory", "1g"}});
  ASSERT_TRUE(parsed.ok());
  EXPECT_EQ(parsed->spec.roles.size(), 1u);
  EXPECT_TRUE(parsed->warnings.empty());
}

TEST(RoleParserTest, WithoutRolesThereIsOneDriverWithTheAmsResources) {
  const auto parsed = ParseWith({{"tony.worker.instances", "0"},
                                 {"tony.am.memory", "3g"},
                                 {"tony.am.vcores", "2"},
                                 {"tony.am.gpus", "1"},
                                 {"tony.application.framework", "pytorch"}});
  ASSERT_TRUE(parsed.ok()) << parsed.error().message;
  const std::vector<RoleSpec> expected = {{.name = "driver",
                                           .instances = 1,
                                           .resources = {3072, 2, 1},
                                           .command = "true",
                                           .completion = Completion::kTracked,
                                           .key_prefix = "tony.am"}};
  EXPECT_EQ(parsed->spec.roles, expected);
  EXPECT_EQ(parsed->spec.framework, FrameworkKind::kStandalone);
  EXPECT_EQ(ParseWith({{"tony.worker.instances", "0"}, {"tony.am.command", "own"}})->spec.roles[0].command, "own");
}

TEST(RoleParserTest, MemoryIsANumberOfMegabytesOrHasAUnit) {
  const auto memory = [](const std::string& text) {
    const auto parsed = ParseWith({{"tony.worker.memory", text}});
    return parsed.ok() ? parsed->spec.roles[0].resources.memory_mb : -1;
  };
  EXPECT_EQ(memory("2g"), 2048);
  EXPECT_EQ(memory("2G"), 2048);
  EXPECT_EQ(memory("2gb"), 2048);
  EXPECT_EQ(memory("2GiB"), 2048);
  EXPECT_EQ(memory("512MiB"), 512);
  EXPECT_EQ(memory("2048m"), 2048);
  EXPECT_EQ(memory("2048MB"), 2048);
  EXPECT_EQ(memory(" 2048 "), 2048);
  EXPECT_EQ(memory("1"), 1);
}

TEST(RoleParserTest, BadMemoryIsRefusedWithKeyValueOriginAndExpectation) {
  for (const std::string text :
       {"1.5g", "1.5x", "", "g", "2t", "2 g", "-", "two", "2gg", "2b", "0x10", "1e3", "99999999999999999999"}) {
    EXPECT_EQ(ErrorWith({{"tony.worker.memory", text}}),
              "tony.worker.memory: \"" + text +
                  "\" (from -conf): expected a whole number of MB, or a number followed by m or g");
  }
  for (const std::string text : {"0", "0g", "-1", "-2g", "1000000001", "999999999g"}) {
    EXPECT_EQ(ErrorWith({{"tony.worker.memory", text}}),
              "tony.worker.memory: \"" + text + "\" (from -conf): expected from 1 to 1000000000 MB");
  }
}

TEST(RoleParserTest, NumbersOutOfRangeAreNamed) {
  const auto refused = [](const std::string& key, const std::string& value, const std::string& range) {
    EXPECT_EQ(ErrorWith({{key, value}}),
              key + ": \"" + value + "\" (from -conf): expected a whole number from " + range);
  };
  for (const std::string value : {"-1", "10001", "two", "1.5", "", "+2", "9999999999999999999999"}) {
    refused("tony.worker.instances", value, "0 to 10000");
  }
  refused("tony.worker.vcores", "0", "1 to 1000000");
  refused("tony.worker.vcores", "1000001", "1 to 1000000");
  refused("tony.worker.gpus", "-1", "0 to 100000");
  refused("tony.worker.max-instances", "-2", "-1 to 10000");
  refused("tony.task.max-total-instances", "many", "-1 to 9223372036854775807");
}

TEST(RoleParserTest, ATaskHasAsManyProcessesAsAskedForOrAsGpus) {
  const auto processes = [](const std::string& text, const std::string& gpus) {
    const auto parsed = ParseWith({{"tony.application.framework", "pytorch"},
                                   {"tony.worker.instances", "2"},
                                   {"tony.worker.gpus", gpus},
                                   {"tony.worker.nproc-per-node", text}});
    return parsed.ok() ? std::to_string(parsed->spec.FindRole("worker")->processes) : parsed.error().message;
  };
  EXPECT_EQ(processes("4", "0"), "4");
  EXPECT_EQ(processes("gpu", "2"), "2");
  EXPECT_EQ(
      processes("gpu", "0"),
      "tony.worker.nproc-per-node: \"gpu\" (from -conf): the task has no GPUs; expected tony.worker.gpus as well");
  for (const std::string bad : {"0", "65", "-1", "auto", "2.0"}) {
    EXPECT_EQ(processes(bad, "2"), "tony.worker.nproc-per-node: \"" + bad +
                                       "\" (from -conf): expected 1 to 64, or gpu for as many as the task's GPUs");
  }
}

TEST(RoleParserTest, OnlyASidecarOutlivesRestartsAndOnlyTensorBoardUnasked) {
  const auto outlives = [](const std::string& value, const std::string& sidecars) {
    Settings set = {{"tony.board.instances", "1"}};
    if (!value.empty()) set.push_back({"tony.board.outlives-restarts", value});
    if (!sidecars.empty()) set.push_back({"tony.application.sidecar.jobtypes", sidecars});
    const auto parsed = ParseWith(set);
    if (!parsed.ok()) return parsed.error().message;
    return std::string(parsed->spec.FindRole("board")->outlives_restarts ? "yes" : "no");
  };
  EXPECT_EQ(outlives("", "board"), "no");
  EXPECT_EQ(outlives(" True ", "board"), "yes");
  EXPECT_EQ(outlives("false", ""), "no");
  EXPECT_EQ(outlives("true", ""),
            "tony.board.outlives-restarts: \"true\" (from -conf): only a sidecar may, which board is not; see "
            "tony.application.sidecar.jobtypes");
  EXPECT_EQ(outlives("yes", "board"), "tony.board.outlives-restarts: \"yes\" (from -conf): expected true or false");
  const auto off = ParseWith({{"tony.tensorboard.instances", "1"}, {"tony.tensorboard.outlives-restarts", "false"}});
  ASSERT_TRUE(off.ok());
  EXPECT_FALSE(off->spec.FindRole("tensorboard")->outlives_restarts);
}

TEST(RoleParserTest, ALoneCommandHasNoTensorBoardBesideIt) {
  const auto parsed = ParseWith({{"tony.application.tensorboard-log-dir", "/logs"}, {"tony.worker.instances", "0"}});
  ASSERT_TRUE(parsed.ok());
  EXPECT_EQ(parsed->warnings, std::vector<std::string>{
                                  "tony.application.tensorboard-log-dir: \"/logs\" (from -conf): a job without roles "
                                  "has no TensorBoard beside it; its command finds TB_LOG_DIR and TB_PORT"});
}

TEST(RoleParserTest, TensorBoardsFolderIsOneForAllTasks) {
  EXPECT_EQ(WarningsWith({{"tony.application.tensorboard-log-dir", "logs"}}),
            "tony.application.tensorboard-log-dir: \"logs\" (from -conf): each task has such a folder in its own, and "
            "TensorBoard sees none of theirs; expected an absolute path\n");
  EXPECT_EQ(WarningsWith({{"tony.application.tensorboard-log-dir", " /logs"}}), "");
  EXPECT_EQ(WarningsWith({{"tony.application.tensorboard-log-dir", "hdfs://n:9000/logs"}}), "");
}

TEST(RoleParserTest, ARoleWithoutACommandIsRefusedWithBothKeys) {
  const auto parsed = ParseJobSpec(PropertiesOf({{"tony.worker.instances", "1"}}), "/");
  ASSERT_FALSE(parsed.ok());
  EXPECT_EQ(parsed.error().message,
            "role worker has no command: set tony.worker.command or tony.containers.command (-executes)");
  const auto blank = ParseWith({{"tony.containers.command", "  "}});
  ASSERT_FALSE(blank.ok());
  EXPECT_EQ(ParseJobSpec({}, "/").error().message,
            "role driver has no command: set tony.am.command or tony.containers.command (-executes)");
}

TEST(RoleParserTest, ACommandThatTheKernelWouldRefuseIsRefusedHere) {
  EXPECT_EQ(ErrorWith({{"tony.worker.command", std::string(131071, 'x')}}), "accepted");
  EXPECT_EQ(
      ErrorWith({{"tony.worker.command", std::string(131072, 'x')}}),
      "tony.worker.command: \"" + std::string(60, 'x') +
          "...\" (from -conf): the command has 131072 bytes, and the kernel takes at most 131071 in one argument; "
          "put it into a script");
  EXPECT_EQ(ErrorWith({{"tony.containers.command", std::string("a\0b", 3)}}),
            "tony.containers.command: \"a?b\" (from -conf): the command holds a NUL character");
}

TEST(RoleParserTest, ListsOfRolesAreTrimmed) {
  const auto parsed = ParseWith({{"tony.evaluator.instances", "1"},
                                 {"tony.ps.instances", "1"},
                                 {"tony.application.untracked.jobtypes", " ps , evaluator ,,"}});
  ASSERT_TRUE(parsed.ok());
  EXPECT_EQ(parsed->spec.FindRole("evaluator")->completion, Completion::kUntracked);
  EXPECT_EQ(parsed->spec.FindRole("ps")->completion, Completion::kUntracked);
}

TEST(RoleParserTest, AnEmptyListMakesEveryRoleTracked) {
  const auto parsed = ParseWith({{"tony.ps.instances", "1"}, {"tony.application.untracked.jobtypes", ""}});
  EXPECT_EQ(parsed->spec.FindRole("ps")->completion, Completion::kTracked);
}

TEST(RoleParserTest, ARoleInBothListsIsASidecar) {
  const auto parsed = ParseWith({{"tony.ps.instances", "1"}, {"tony.application.sidecar.jobtypes", "ps"}});
  EXPECT_EQ(parsed->spec.FindRole("ps")->completion, Completion::kSidecar);
}

TEST(RoleParserTest, AListedRoleThatDoesNotExistIsAWarningOnlyIfItWasSet) {
  EXPECT_EQ(WarningsWith({}), "");
  EXPECT_EQ(WarningsWith({{"tony.application.untracked.jobtypes", "ps"}, {"tony.application.sidecar.jobtypes", "tb"}}),
            "tony.application.untracked.jobtypes: \"ps\" (from -conf): the job has no role \"ps\"\n"
            "tony.application.sidecar.jobtypes: \"tb\" (from -conf): the job has no role \"tb\"\n");
}

TEST(RoleParserTest, AJobThatCouldNeverEndIsRefused) {
  EXPECT_EQ(ErrorWith({{"tony.application.untracked.jobtypes", "worker"}}),
            "no role is tracked, so the job could never end: take one out of tony.application.untracked.jobtypes or "
            "tony.application.sidecar.jobtypes");
}

TEST(RoleParserTest, LimitsOfTheUserAreEnforced) {
  EXPECT_EQ(ErrorWith({{"tony.worker.instances", "3"}, {"tony.worker.max-instances", "2"}}),
            "tony.worker.instances: \"3\" (from -conf): expected at most 2, as tony.worker.max-instances says");
  EXPECT_EQ(ErrorWith({{"tony.worker.instances", "2"}, {"tony.worker.max-instances", "2"}}), "accepted");
  EXPECT_EQ(
      ErrorWith({{"tony.worker.instances", "3"}, {"tony.ps.instances", "1"}, {"tony.task.max-total-instances", "3"}}),
      "tony.task.max-total-instances: \"3\" (from -conf): the job asks for 4");
  // TonY compared the sum of squares here.
  EXPECT_EQ(ErrorWith({{"tony.worker.instances", "4"}, {"tony.task.max-total-instances", "10"}}), "accepted");
  EXPECT_EQ(ErrorWith({{"tony.worker.instances", "3"}, {"tony.task.max-total-memory", "6000"}}),
            "tony.task.max-total-memory: \"6000\" (from -conf): the job asks for 6144");
  EXPECT_EQ(ErrorWith({{"tony.worker.instances", "3"}, {"tony.task.max-total-vcores", "2"}}),
            "tony.task.max-total-vcores: \"2\" (from -conf): the job asks for 3");
  EXPECT_EQ(ErrorWith({{"tony.worker.instances", "3"}, {"tony.worker.gpus", "2"}, {"tony.task.max-total-gpus", "5"}}),
            "tony.task.max-total-gpus: \"5\" (from -conf): the job asks for 6");
}

TEST(RoleParserTest, TheLimitsAreOfRolesAndAJobWithoutAnyIsBelowThem) {
  const auto parsed = ParseWith({{"tony.worker.instances", "0"}, {"tony.task.max-total-instances", "0"}});
  ASSERT_TRUE(parsed.ok());
  EXPECT_EQ(parsed->spec.TotalTasks(), 1);
}

TEST(RoleParserTest, MoreThanTenThousandTasksAreRefused) {
  EXPECT_EQ(ErrorWith({{"tony.worker.instances", "10000"}}), "accepted");
  EXPECT_EQ(ErrorWith({{"tony.worker.instances", "10000"}, {"tony.chief.instances", "1"}}),
            "the job has 10001 tasks, and at most 10000 are supported");
}

TEST(RoleParserTest, NamesThatMeanSomethingElseAreNoRoles) {
  EXPECT_EQ(ErrorWith({{"tony.task.instances", "1"}}),
            "tony.task.instances: \"1\" (from -conf): \"task\" cannot be a role: tony.task.* keys mean something else");
  const std::string longest(64, 'a');
  EXPECT_EQ(ErrorWith({{"tony." + longest + ".instances", "1"}}),
            "tony." + longest + ".instances: \"1\" (from -conf): a role's name has at most 63 letters");
}

// The job with no other role than these properties ask for; the error, or "accepted".
std::string ErrorOfOnly(Settings settings) {
  settings.emplace_back("tony.containers.command", "true");
  const auto parsed = ParseJobSpec(PropertiesOf(settings), "/");
  return parsed.ok() ? "accepted" : parsed.error().message;
}

TEST(RoleParserTest, ANameThatIsNoRoleIsRefusedWhereItIsAllThatWasAskedFor) {
  for (const std::string role : {"Worker", "worker1", "my-role", "a.b"}) {
    EXPECT_EQ(ErrorOfOnly({{"tony." + role + ".instances", "2"}}),
              "tony." + role +
                  ".instances: \"2\" (from -conf): the job has no other role, and this is none; expected "
                  "tony.<role>.instances, where a role's name has lower-case letters only, as worker");
  }
  EXPECT_NE(ErrorOfOnly({{"tony.Worker.instances", "two"}}), "accepted");
  EXPECT_NE(ErrorOfOnly({{"tony.Worker.instances", "2"}, {"tony.worker.instances", "0"}}), "accepted");
  EXPECT_EQ(ErrorOfOnly({{"tony.Worker.instances", " 0 "}}), "accepted") << "it asks for nothing";
  EXPECT_EQ(
      ErrorOfOnly(
          {{"tony.Worker.instances", "2"}, {"tony.ps.instances", "1"}, {"tony.application.untracked.jobtypes", "x"}}),
      "accepted")
      << "as in TonY";
}

TEST(RoleParserTest, AnOutputOfAnEarlierStepIsNoRole) {
  EXPECT_EQ(
      ErrorOfOnly({{"tony.output.instances", "5"}, {"tony.output.a.instances", "5"}, {"tony.output.memory", "x"}}),
      "accepted");
  EXPECT_EQ(WarningsWith({{"tony.output.instances", "5"},
                          {"tony.output.Model Path", "x"},
                          {"tony.job.id", "local-1"},
                          {"tony.job.url", "file:///h"},
                          {"tony.job.logs", "/l"},
                          {"tony.model.path", "/m"}}),
            "");
}

}  // namespace
}  // namespace tony
