#include <gtest/gtest.h>

#include <fstream>

#include "runtime/os/users.h"
#include "tests/support/temp_folder.h"
#include "tests/unit/job/parse_properties.h"

namespace tony {
namespace {

RestartRules RestartRulesWith(const Settings& settings) {
  const auto parsed = ParseWith(settings);
  EXPECT_TRUE(parsed.ok()) << parsed.error().message;
  return parsed.ok() ? parsed->spec.restart : RestartRules();
}

RestartBudget Level(const RestartRules& rules, RestartScope scope) { return rules.levels[static_cast<size_t>(scope)]; }

RoleSpec WorkerWith(const Settings& settings) {
  const auto parsed = ParseWith(settings);
  EXPECT_TRUE(parsed.ok()) << parsed.error().message;
  return parsed.ok() ? *parsed->spec.FindRole("worker") : RoleSpec();
}

TEST(RestartParserTest, TheDefaultsAreThoseOfTheSpec) {
  const auto parsed = ParseWith({});
  EXPECT_EQ(parsed->spec.restart, RestartRules());
  EXPECT_EQ(parsed->spec.checkpoint, CheckpointSpec());
  EXPECT_EQ(WorkerWith({}).restart_scope, std::nullopt);
  EXPECT_EQ(WorkerWith({}).restarts, std::nullopt);
}

TEST(RestartParserTest, EveryLevelHasItsBudgetAndItsWindow) {
  const RestartRules rules = RestartRulesWith({{"tony.restart.task.budget", "1"},
                                               {"tony.restart.task.window-ms", "10"},
                                               {"tony.restart.role.budget", "2"},
                                               {"tony.restart.role.window-ms", "20"},
                                               {"tony.restart.gang.budget", "3"},
                                               {"tony.restart.gang.window-ms", "30"},
                                               {"tony.restart.job.budget", "4"},
                                               {"tony.restart.job.window-ms", "40"},
                                               {"tony.restart.lost.budget", "5"},
                                               {"tony.restart.lost.window-ms", "50"},
                                               {"tony.restart.backoff-ms", "6"},
                                               {"tony.restart.longest-backoff-ms", "7"},
                                               {"tony.restart.settle-ms", "8"}});
  RestartRules expected{
      .lost = {5, Duration(50)}, .backoff = Duration(6), .longest_backoff = Duration(7), .settle = Duration(8)};
  expected.levels = {{{1, Duration(10)}, {2, Duration(20)}, {3, Duration(30)}, {4, Duration(40)}}};
  EXPECT_EQ(rules, expected);
}

TEST(RestartParserTest, ValuesOutOfBoundsAreRefusedByKeyValueAndOrigin) {
  EXPECT_EQ(ErrorWith({{"tony.restart.gang.budget", "-1"}}),
            "tony.restart.gang.budget: \"-1\" (from -conf): expected a whole number from 0 to 1000000");
  EXPECT_EQ(ErrorWith({{"tony.restart.lost.budget", "many"}}),
            "tony.restart.lost.budget: \"many\" (from -conf): expected a whole number from 0 to 1000000");
  EXPECT_EQ(ErrorWith({{"tony.restart.task.window-ms", "-1"}}),
            "tony.restart.task.window-ms: \"-1\" (from -conf): expected a whole number of milliseconds from 0 to "
            "315360000000, or one with a unit, as 30s, 10m, 2h");
  EXPECT_EQ(ErrorWith({{"tony.worker.restart.budget", "1.5"}}),
            "tony.worker.restart.budget: \"1.5\" (from -conf): expected a whole number from 0 to 1000000");
  EXPECT_EQ(ErrorWith({{"tony.am.retry-count", "-1"}}),
            "tony.am.retry-count: \"-1\" (from -conf): expected a whole number from 0 to 1000000");
}

TEST(RestartParserTest, TheLongestBackoffIsAtLeastTheFirst) {
  EXPECT_EQ(ErrorWith({{"tony.restart.backoff-ms", "500"}, {"tony.restart.longest-backoff-ms", "499"}}),
            "tony.restart.longest-backoff-ms: \"499\" (from -conf): expected at least tony.restart.backoff-ms (500)");
  EXPECT_EQ(RestartRulesWith({{"tony.restart.backoff-ms", "90000"}}).longest_backoff, Duration(90'000));
  EXPECT_EQ(
      RestartRulesWith({{"tony.restart.backoff-ms", "0"}, {"tony.restart.longest-backoff-ms", "0"}}).longest_backoff,
      Duration(0));
}

TEST(RestartParserTest, TonysRetriesAreRestartsOfTheJob) {
  const RestartRules rules = RestartRulesWith({{"tony.am.retry-count", "2"}, {"tony.restart.job.window-ms", "5"}});
  EXPECT_EQ(Level(rules, RestartScope::kJob), (RestartBudget{2, Duration(5)}));
  EXPECT_EQ(Level(rules, RestartScope::kGang), RestartBudget());
  EXPECT_EQ(WarningsWith({{"tony.am.retry-count", "2"}}), "");
}

TEST(RestartParserTest, OurOwnKeyForRestartsOfTheJobGoesBeforeTonys) {
  const Settings both = {{"tony.am.retry-count", "2"}, {"tony.restart.job.budget", "0"}};
  EXPECT_EQ(Level(RestartRulesWith(both), RestartScope::kJob).most, 0);
  EXPECT_EQ(WarningsWith(both),
            "tony.am.retry-count: \"2\" (from -conf): no effect, as tony.restart.job.budget is set\n");
}

TEST(RestartParserTest, TheScopeIsTheJobsUnlessTheRoleHasItsOwn) {
  EXPECT_EQ(WorkerWith({{"tony.restart.scope", "Role"}}).restart_scope, RestartScope::kRole);
  EXPECT_EQ(WorkerWith({{"tony.restart.scope", "framework"}}).restart_scope, std::nullopt);
  EXPECT_EQ(WorkerWith({{"tony.restart.scope", "job"}, {"tony.worker.restart.scope", "task"}}).restart_scope,
            RestartScope::kTask);
  EXPECT_EQ(WorkerWith({{"tony.restart.scope", "job"}, {"tony.worker.restart.scope", "framework"}}).restart_scope,
            std::nullopt);
  EXPECT_EQ(WorkerWith({{"tony.ps.instances", "1"}, {"tony.ps.restart.scope", "gang"}}).restart_scope, std::nullopt);
  EXPECT_EQ(ErrorWith({{"tony.worker.restart.scope", "gagn"}}),
            "tony.worker.restart.scope: \"gagn\" (from -conf): expected framework, task, role, gang or job");
}

TEST(RestartParserTest, ARoleMayHaveItsOwnBudget) {
  EXPECT_EQ(WorkerWith({{"tony.worker.restart.budget", "0"}}).restarts, 0);
  EXPECT_EQ(WorkerWith({{"tony.restart.task.budget", "3"}}).restarts, std::nullopt);
}

TEST(RestartParserTest, AJobWithoutRolesListensToTheJobsKeysOnly) {
  const Settings settings = {{"tony.containers.command", "true"},
                             {"tony.restart.scope", "job"},
                             {"tony.driver.restart.scope", "task"},
                             {"tony.driver.restart.budget", "4"}};
  const auto parsed = ParseJobSpec(PropertiesOf(settings), "/");
  ASSERT_TRUE(parsed.ok()) << parsed.error().message;
  EXPECT_EQ(parsed->spec.roles[0].restart_scope, RestartScope::kJob);
  EXPECT_EQ(parsed->spec.roles[0].restarts, std::nullopt);
  EXPECT_EQ(parsed->warnings.size(), 2u);
}

TEST(RestartParserTest, WordsOfOurKeysAreNoRoles) {
  for (const std::string name : {"restart", "checkpoint", "failure"}) {
    EXPECT_EQ(ErrorWith({{"tony." + name + ".instances", "1"}}), "tony." + name + ".instances: \"1\" (from -conf): \"" +
                                                                     name + "\" cannot be a role: tony." + name +
                                                                     ".* keys mean something else");
  }
}

TEST(CheckpointParserTest, APathAndAPatternAreAsLongAsThePathOfAFile) {
  const std::string longest(4095, 'a');
  const std::string path = "/" + longest.substr(1);
  EXPECT_EQ(ParseWith({{"tony.checkpoint.dir", path}})->spec.checkpoint.directory, path);
  EXPECT_FALSE(ParseWith({{"tony.checkpoint.dir", path + "a"}}).ok());
  EXPECT_EQ(ParseWith({{"tony.checkpoint.dir", "~/ck"}})->spec.checkpoint.directory, ExpandTilde("~/ck"));
  EXPECT_EQ(ExpandTilde("~/ck").find('~'), std::string::npos);
  const Settings fits = {{"tony.checkpoint.dir", "/saved"}, {"tony.checkpoint.pattern", longest}};
  EXPECT_EQ(ParseWith(fits)->spec.checkpoint.pattern, longest);
  EXPECT_FALSE(ParseWith({{"tony.checkpoint.dir", "/saved"}, {"tony.checkpoint.pattern", longest + "a"}}).ok());
}

TEST(CheckpointParserTest, TheFolderIsMadeAbsoluteAndNeedNotBeThere) {
  const TempFolder folder;
  std::ofstream(folder.path() / "file") << "x";
  const auto directory = [&](const std::string& text) {
    const auto parsed = ParseWith({{"tony.checkpoint.dir", text}}, folder.path());
    return parsed.ok() ? parsed->spec.checkpoint.directory : parsed.error().message;
  };
  const std::string here = folder.path().string();
  EXPECT_EQ(directory("saved/run-1/"), here + "/saved/run-1");
  EXPECT_EQ(directory(" ./a/../b "), here + "/b");
  EXPECT_EQ(directory("/mnt/saved"), "/mnt/saved");
  EXPECT_EQ(directory("."), here);
  EXPECT_EQ(directory(""), "");
  EXPECT_EQ(directory("file"), "tony.checkpoint.dir: \"file\" (from -conf): " + here + "/file is not a folder");
}

TEST(CheckpointParserTest, AFolderIsOfThisMachineOrOnYarnInHdfs) {
  for (const std::string url : {"s3://bucket/x", "file:///tmp"}) {
    EXPECT_EQ(ErrorWith({{"tony.checkpoint.dir", url}}),
              "tony.checkpoint.dir: \"" + url +
                  "\" (from -conf): expected the path of a folder, or on YARN hdfs://HOST:PORT/PATH");
  }
  EXPECT_EQ(ErrorWith({{"tony.checkpoint.dir", "hdfs:///models"}}),
            "tony.checkpoint.dir: \"hdfs:///models\" (from -conf): only a job on YARN has files of HDFS "
            "(tony.scheduler=yarn); expected the path of a file or folder on this machine");
  const auto on_yarn = [](const std::string& url) {
    const auto parsed = ParseWith({{"tony.scheduler", "yarn"}, {"tony.checkpoint.dir", url}});
    return parsed.ok() ? parsed->spec.checkpoint.directory : parsed.error().message;
  };
  EXPECT_EQ(on_yarn("hdfs:/a/../models/"), "hdfs:///models");
  EXPECT_EQ(on_yarn("hdfs://nn/models"), "hdfs://nn:8020/models");
  EXPECT_EQ(on_yarn("hdfs://models"),
            "tony.checkpoint.dir: \"hdfs://models\" (from -conf): expected "
            "hdfs://HOST:PORT/PATH, or hdfs:///PATH for the cluster's own HDFS");
  EXPECT_EQ(ErrorWith({{"tony.checkpoint.dir", std::string("a\0b", 3)}}),
            "tony.checkpoint.dir: \"a?b\" (from -conf): a path cannot hold a NUL character");
  EXPECT_EQ(ErrorWith({{"tony.checkpoint.dir", "/" + std::string(4096, 'x')}}),
            "tony.checkpoint.dir: \"/" + std::string(59, 'x') + "...\" (from -conf): the path is too long");
}

TEST(CheckpointParserTest, APatternIsOfNames) {
  const auto parsed = ParseWith({{"tony.checkpoint.dir", "/x"},
                                 {"tony.checkpoint.pattern", " ckpt-*.npz "},
                                 {"tony.checkpoint.fruitless-restarts", "5"},
                                 {"tony.checkpoint.resume", " Latest "}});
  ASSERT_TRUE(parsed.ok()) << parsed.error().message;
  EXPECT_EQ(parsed->spec.checkpoint, (CheckpointSpec{"/x", "ckpt-*.npz", 5, true}));
  EXPECT_EQ(ErrorWith({{"tony.checkpoint.resume", "newest"}}),
            "tony.checkpoint.resume: \"newest\" (from -conf): expected own or latest");
  EXPECT_EQ(ErrorWith({{"tony.checkpoint.pattern", "../*"}}),
            "tony.checkpoint.pattern: \"../*\" (from -conf): expected a pattern of names in tony.checkpoint.dir, "
            "without /");
  EXPECT_EQ(ErrorWith({{"tony.checkpoint.fruitless-restarts", "0"}}),
            "tony.checkpoint.fruitless-restarts: \"0\" (from -conf): expected a whole number from 1 to 1000000");
}

TEST(CheckpointParserTest, APatternWithoutAFolderHasNoEffect) {
  EXPECT_EQ(WarningsWith({{"tony.checkpoint.pattern", "ckpt-*"}, {"tony.checkpoint.fruitless-restarts", "2"}}),
            "tony.checkpoint.pattern: \"ckpt-*\" (from -conf): no effect, as tony.checkpoint.dir is not set\n"
            "tony.checkpoint.fruitless-restarts: \"2\" (from -conf): no effect, as tony.checkpoint.dir is not set\n");
}

}  // namespace
}  // namespace tony
