#include "runtime/spec/job_spec_parser.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>

#include "runtime/base/strings.h"
#include "runtime/spec/property_values.h"
#include "tests/support/rounds.h"
#include "tests/unit/job/parse_properties.h"

namespace tony {
namespace {

TEST(JobSpecParserTest, AJobHasANameAndAFramework) {
  const auto parsed = ParseWith({{"tony.application.name", " train "}, {"tony.application.framework", " PyTorch "}});
  ASSERT_TRUE(parsed.ok()) << parsed.error().message;
  EXPECT_EQ(parsed->spec.name, "train");
  EXPECT_EQ(parsed->spec.framework, FrameworkKind::kPytorch);
  EXPECT_EQ(ParseWith({})->spec.framework, FrameworkKind::kTensorflow);
  EXPECT_EQ(ParseWith({})->spec.name, "TonyApplication");
}

TEST(JobSpecParserTest, FrameworksThatAreNotThereAreRefused) {
  constexpr std::string_view kExpected = "expected tensorflow, pytorch, jax, lightgbm, xgboost or standalone";
  for (const std::string name : {"horovod", "mxnet", "MPI"}) {
    EXPECT_EQ(ErrorWith({{"tony.application.framework", name}}),
              StrCat("tony.application.framework: \"", name, "\" (from -conf): not supported yet; ", kExpected));
  }
  for (const std::string name : {"torch", "staged"}) {
    EXPECT_EQ(ErrorWith({{"tony.application.framework", name}}),
              StrCat("tony.application.framework: \"", name, "\" (from -conf): ", kExpected));
  }
}

TEST(JobSpecParserTest, TasksStartAsAGangOrFirstComeFirstServed) {
  const auto mode = [](const std::string& text) {
    const auto parsed = ParseWith({{"tony.application.distributed-mode", text}});
    return parsed.ok() ? std::string(ToString(parsed->spec.mode)) : parsed.error().message;
  };
  EXPECT_EQ(ParseWith({})->spec.mode, DistributedMode::kGang);
  EXPECT_EQ(mode(" gang "), "GANG");
  EXPECT_EQ(mode("FCFS"), "FCFS");
  EXPECT_EQ(mode("Fcfs"), "FCFS");
  EXPECT_EQ(mode("x"), "tony.application.distributed-mode: \"x\" (from -conf): expected GANG or FCFS");
}

TEST(JobSpecParserTest, ALogHasALimitOrNone) {
  const auto limit = [](const std::string& text) {
    const auto parsed = ParseWith({{"tony.task.log-limit", text}});
    return parsed.ok() ? StrCat(parsed->spec.log_limit_mb) : parsed.error().message;
  };
  EXPECT_EQ(ParseWith({})->spec.log_limit_mb, 1024);
  EXPECT_EQ(limit("2g"), "2048");
  EXPECT_EQ(limit("10"), "10");
  EXPECT_EQ(limit("0"), "0");
  EXPECT_EQ(limit("0g"), "0");
  EXPECT_EQ(limit("-1"), "tony.task.log-limit: \"-1\" (from -conf): expected from 0 to 1000000000 MB");
  EXPECT_EQ(limit("big"),
            "tony.task.log-limit: \"big\" (from -conf): expected a whole number of MB, or a number followed by m or g");
}

TEST(JobSpecParserTest, TheWaitForAContainerHasNoLimitUnlessItIsSet) {
  EXPECT_EQ(ParseWith({})->spec.allocation_timeout, Duration(0));
  EXPECT_EQ(ParseWith({{"tony.container.allocation.timeout", "-1"}})->spec.allocation_timeout, Duration(0));
  EXPECT_EQ(ParseWith({{"tony.container.allocation.timeout", "5000"}})->spec.allocation_timeout, Duration(5000));
}

TEST(JobSpecParserTest, MemoryLimitsAreAutoOrOff) {
  EXPECT_TRUE(ParseWith({})->spec.memory_limits);
  EXPECT_FALSE(ParseWith({{"tony.local.memory-limits", "Off"}})->spec.memory_limits);
  EXPECT_EQ(ParseWith({{"tony.local.memory-limits", "no"}}).error().message,
            "tony.local.memory-limits: \"no\" (from -conf): expected auto or off");
}

TEST(JobSpecParserTest, APriorityIsANumberWithinItsBounds) {
  EXPECT_EQ(ParseWith({})->spec.priority, 0);
  EXPECT_EQ(ParseWith({{"tony.local.priority", "-7"}})->spec.priority, -7);
  EXPECT_THAT(ErrorWith({{"tony.local.priority", "1001"}}), testing::HasSubstr("tony.local.priority: \"1001\""));
}

TEST(JobSpecParserTest, ANameIsOneShortLine) {
  EXPECT_EQ(ErrorWith({{"tony.application.name", "a\nb"}}),
            "tony.application.name: \"a?b\" (from -conf): expected one line of text");
  EXPECT_EQ(ErrorWith({{"tony.application.name", std::string(257, 'n')}}),
            "tony.application.name: \"" + std::string(60, 'n') + "...\" (from -conf): expected at most 256 bytes");
}

TEST(JobSpecParserTest, TextThatIsNotUtf8IsRefused) {
  EXPECT_EQ(ErrorWith({{"tony.worker.command", "caf\xE9"}}),
            "tony.worker.command: \"caf\xEF\xBF\xBD\" (from -conf): not valid UTF-8");
  EXPECT_EQ(ErrorWith({{"other.key", "caf\xE9"}}), "accepted");
}

TEST(JobSpecParserTest, WhatIsParsedIsReadBackFromItsJson) {
  const auto parsed =
      ParseWith({{"tony.ps.instances", "2"}, {"tony.execution.env.A", "1,2"}, {"tony.application.timeout", "5"}});
  ASSERT_TRUE(parsed.ok());
  const auto read = JobSpecFromJson(ToJson(parsed->spec));
  ASSERT_TRUE(read.ok()) << read.error().message;
  EXPECT_EQ(*read, parsed->spec);
}

// Whatever stands in the properties: a spec that its own JSON gives back, or one line of error.
TEST(JobSpecParserTest, RandomPropertiesAreParsedOrRefused) {
  const std::vector<std::string> keys = {"tony.worker.instances",
                                         "tony.ps.instances",
                                         "tony.am.instances",
                                         "tony.x.instances",
                                         "tony..instances",
                                         "tony.instances",
                                         "tony.worker.memory",
                                         "tony.worker.command",
                                         "tony.execution.envs",
                                         "tony.execution.env.A",
                                         "tony.application.untracked.jobtypes",
                                         "tony.task.max-missed-heartbeats",
                                         "tony.task.lost-after-ms",
                                         "tony.",
                                         "tony.containers.command",
                                         "tony.task.max-total-instances",
                                         "tony.application.name",
                                         "tony.application.timeout",
                                         "tony.containers.resources",
                                         "tony.am.resources",
                                         "tony.worker.resources",
                                         "tony.python-venv"};
  const std::vector<std::string> values = {"",
                                           " ",
                                           "0",
                                           "1",
                                           "2g",
                                           "-1",
                                           "x",
                                           "A=1,B",
                                           "ps,worker",
                                           ",",
                                           "=",
                                           "/tmp,/tmp::a#archive",
                                           "/tmp::venv",
                                           "::#archive",
                                           "99999",
                                           "9223372036854775807",
                                           "9223372036854775808",
                                           "\xFF",
                                           std::string(200, 'q')};
  std::mt19937 random(20261121);
  const int rounds = Rounds(1500);
  int accepted = 0;
  for (int round = 0; round < rounds; ++round) {
    Properties properties = PropertiesOf({{"tony.containers.command", "true"}});
    for (size_t count = random() % 5; count > 0; --count) {
      properties.Set(keys[random() % keys.size()], values[random() % values.size()], "fuzz");
    }
    const auto parsed = ParseJobSpec(properties, "/");
    if (!parsed.ok()) {
      EXPECT_EQ(parsed.error().code, ErrorCode::kInvalid);
      for (const std::string& line : Split(parsed.error().message, '\n')) EXPECT_FALSE(line.empty());
      continue;
    }
    ++accepted;
    EXPECT_EQ(*JobSpecFromJson(ToJson(parsed->spec)), parsed->spec);
  }
  EXPECT_GT(accepted, rounds / 30);
}

TEST(JobSpecParserTest, TagsStandInTheirOrderEachOnce) {
  const auto tags = [](const std::string& text) { return ParseWith({{"tony.application.tags", text}})->spec.tags; };
  EXPECT_EQ(tags(" b, a,,b ,c:1"), (std::vector<std::string>{"b", "a", "c:1"}));
  EXPECT_TRUE(tags("").empty());
  EXPECT_EQ(WarningsWith({{"tony.application.tags", "a"}}), "");
  EXPECT_EQ(ErrorWith({{"tony.application.tags", "a\nb"}}),
            "tony.application.tags: \"a?b\" (from -conf): expected tags of one line, separated by commas");
}

TEST(JobSpecParserTest, AzkabansWatchTimeoutIsAWholeNumberOfSecondsUpToAYear) {
  EXPECT_EQ(ParseWith({})->watch_timeout, std::chrono::hours(2)) << "an outage of an hour ends no job";
  EXPECT_EQ(ParseWith({{"tony.azkaban.watch-timeout", " 1 "}})->watch_timeout, std::chrono::seconds(1));
  EXPECT_EQ(ParseWith({{"tony.azkaban.watch-timeout", "31536000"}})->watch_timeout, std::chrono::hours(24 * 365));
  for (const std::string text : {"0", "-1", "1.5", "10 weeks", "", "31536001", "366d", "99999999999999999999"}) {
    EXPECT_EQ(ErrorWith({{"tony.azkaban.watch-timeout", text}}),
              StrCat("tony.azkaban.watch-timeout: \"", text,
                     "\" (from -conf): expected a whole number of seconds from 1 to 31536000, or one with a unit, as "
                     "30s, 10m, 2h"));
  }
}

TEST(JobSpecParserTest, WarningsOfTheFilesComeFirst) {
  Properties properties = PropertiesOf({{"tony.containers.command", "true"}, {"tony.nothing.like.this.at.all", "1"}});
  properties.Warn("from the file");
  const auto parsed = ParseJobSpec(properties, "/");
  ASSERT_TRUE(parsed.ok()) << parsed.error().message;
  ASSERT_EQ(parsed->warnings.size(), 2u);
  EXPECT_EQ(parsed->warnings[0], "from the file");
}

TEST(JobSpecParserTest, AMessageMasksTheValueOfASecretsKey) {
  const Properties properties = PropertiesOf({{"tony.failure.exit.token", "hunter2"},
                                              {"tony.execution.envs", "A=1,DB_PASSWORD=hunter2"},
                                              {"tony.monkey.memory", "1.5x"}});
  Problems problems;
  const PropertyValues values(properties, problems);
  EXPECT_EQ(values.Bad("tony.failure.exit.token", "expected x").message,
            "tony.failure.exit.token: \"********\" (from -conf): expected x");
  EXPECT_EQ(values.Bad("tony.execution.envs", "expected x").message,
            "tony.execution.envs: \"A=1,DB_PASSWORD=********\" (from -conf): expected x");
  EXPECT_EQ(values.Bad("tony.monkey.memory", "expected x").message,
            "tony.monkey.memory: \"1.5x\" (from -conf): expected x")
      << "a role may be called as if it were a secret";
  EXPECT_EQ(ErrorWith({{"tony.execution.env.API_KEY", std::string("hunter2\xFF")}}),
            "tony.execution.env.API_KEY: \"********\" (from -conf): not valid UTF-8");
}

}  // namespace
}  // namespace tony
