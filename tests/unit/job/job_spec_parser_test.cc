#include "runtime/job/job_spec_parser.h"

#include <gtest/gtest.h>

#include <fstream>
#include <random>

#include "tests/support/temp_folder.h"
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
  for (const std::string name : {"horovod", "mxnet", "MPI"}) {
    EXPECT_EQ(ErrorWith({{"tony.application.framework", name}}),
              "tony.application.framework: \"" + name +
                  "\" (from -conf): not supported yet; expected tensorflow, pytorch, jax or standalone");
  }
  EXPECT_EQ(ErrorWith({{"tony.application.framework", "torch"}}),
            "tony.application.framework: \"torch\" (from -conf): expected tensorflow, pytorch, jax or standalone");
}

TEST(JobSpecParserTest, OnlyGangModeIsThere) {
  EXPECT_EQ(ErrorWith({{"tony.application.distributed-mode", "gang"}}), "accepted");
  EXPECT_EQ(ErrorWith({{"tony.application.distributed-mode", "FCFS"}}),
            "tony.application.distributed-mode: \"FCFS\" (from -conf): not supported yet; expected GANG");
  EXPECT_EQ(ErrorWith({{"tony.application.distributed-mode", "x"}}),
            "tony.application.distributed-mode: \"x\" (from -conf): expected GANG");
}

TEST(JobSpecParserTest, ANameIsOneShortLine) {
  EXPECT_EQ(ErrorWith({{"tony.application.name", "a\nb"}}),
            "tony.application.name: \"a?b\" (from -conf): expected one line of text");
  EXPECT_EQ(ErrorWith({{"tony.application.name", std::string(257, 'n')}}),
            "tony.application.name: \"" + std::string(60, 'n') + "...\" (from -conf): expected at most 256 bytes");
}

TEST(JobSpecParserTest, TheSourceFolderIsMadeAbsoluteAndMustBeThere) {
  const TempFolder folder;
  std::filesystem::create_directory(folder.path() / "code");
  std::ofstream(folder.path() / "code.zip") << "PK";
  const auto source = [&](const std::string& text) {
    const auto parsed = ParseWith({{"tony.src-dir", text}}, folder.path());
    return parsed.ok() ? parsed->spec.src_dir : parsed.error().message;
  };
  const std::string code = (folder.path() / "code").string();
  EXPECT_EQ(source("code"), code);
  EXPECT_EQ(source("./x/../code/"), code);
  EXPECT_EQ(source(code), code);
  EXPECT_EQ(source(""), "");
  EXPECT_EQ(source("other"),
            "tony.src-dir: \"other\" (from -conf): " + (folder.path() / "other").string() + ": no such folder");
  EXPECT_EQ(source("code.zip"),
            "tony.src-dir: \"code.zip\" (from -conf): archives are not supported yet; expected a folder");
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
                                         "tony.application.timeout"};
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
                                           "99999",
                                           "9223372036854775807",
                                           "9223372036854775808",
                                           "\xFF",
                                           std::string(200, 'q')};
  std::mt19937 random(20261121);
  int accepted = 0;
  for (int round = 0; round < 1500; ++round) {
    Properties properties = PropertiesOf({{"tony.containers.command", "true"}});
    for (size_t count = random() % 5; count > 0; --count) {
      properties.Set(keys[random() % keys.size()], values[random() % values.size()], "fuzz");
    }
    const auto parsed = ParseJobSpec(properties, "/");
    if (!parsed.ok()) {
      EXPECT_EQ(parsed.error().code, ErrorCode::kInvalid);
      EXPECT_EQ(parsed.error().message.find('\n'), std::string::npos);
      continue;
    }
    ++accepted;
    EXPECT_EQ(*JobSpecFromJson(ToJson(parsed->spec)), parsed->spec);
  }
  EXPECT_GT(accepted, 50);
}

}  // namespace
}  // namespace tony
