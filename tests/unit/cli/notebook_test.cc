#include "runtime/cli/notebook.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "runtime/cli/commands.h"
#include "runtime/cli/options.h"

namespace tony {
namespace {

using testing::HasSubstr;
using Words = std::vector<std::string>;

CommandLine NotebookLine(const Words& arguments) {
  for (const Verb& command : Verbs())
    if (command.verb.name == "notebook") return *CommandLine::Parse(command.verb, arguments);
  return {};
}

// Returns the job of a `tony notebook`, before CompleteNotebook().
JobSpec NotebookSpec(const Words& arguments) {
  const auto line = NotebookSubmitLine(NotebookLine(arguments));
  EXPECT_TRUE(line.ok()) << line.error().message;
  const auto parsed = ReadJobSpec(*line);
  EXPECT_TRUE(parsed.ok()) << parsed.error().message;
  EXPECT_TRUE(parsed->warnings.empty()) << parsed->warnings.front();
  return parsed->spec;
}

TEST(NotebookJobTest, TheJobHasOneTaskWithTheResourcesOfTheOptions) {
  const JobSpec spec = NotebookSpec({"--memory", "4g", "--cpus", "3", "--gpus", "1", "--name", "mine"});
  ASSERT_EQ(spec.roles.size(), 1u);
  const RoleSpec& role = spec.roles.front();
  EXPECT_EQ(role.name, "notebook");
  EXPECT_EQ(role.instances, 1);
  EXPECT_EQ(role.resources, (Resources{.memory_mb = 4096, .vcores = 3, .gpus = 1}));
  EXPECT_EQ(spec.name, "mine");
  EXPECT_EQ(spec.framework, FrameworkKind::kStandalone);
  EXPECT_EQ(role.command, "python3 .tony-python.zip --idle 3600");
}

TEST(NotebookJobTest, TheIdleTimeIsRoundedUpToSecondsAndZeroMeansNever) {
  const auto command = [](const std::string& idle) { return NotebookSpec({"--idle", idle}).roles.front().command; };
  EXPECT_THAT(command("90m"), HasSubstr("--idle 5400"));
  EXPECT_THAT(command("0.2"), HasSubstr("--idle 1"));
  EXPECT_THAT(command("0"), HasSubstr("--idle 0"));
}

TEST(NotebookJobTest, AnInterpreterOfTheUserStartsTheLauncher) {
  EXPECT_EQ(NotebookSpec({"-python_binary_path", "/opt/python"}).roles.front().command,
            "/opt/python .tony-python.zip --idle 3600");
}

TEST(NotebookJobTest, AUsersCommandAndPropertiesReplaceTonysOwn) {
  const JobSpec spec =
      NotebookSpec({"-executes", "jupyter lab", "-conf", "tony.notebook.memory=1g", "--shell_env", "A=b"});
  EXPECT_EQ(spec.roles.front().command, "jupyter lab");
  EXPECT_EQ(spec.roles.front().resources.memory_mb, 1024);
  EXPECT_EQ(spec.execution_env.at("A"), "b");
}

TEST(NotebookJobTest, OptionsForTonysJupyterAreRefusedWithAUsersCommand) {
  const auto line = NotebookSubmitLine(NotebookLine({"-executes", "jupyter lab", "--dir", "/x"}));
  ASSERT_FALSE(line.ok());
  EXPECT_EQ(line.error().code, ErrorCode::kUsage);
}

TEST(NotebookJobTest, ATokenThatAnAddressCannotHoldIsRefused) {
  ParsedJobSpec job;
  job.spec.roles = {{.name = "notebook", .command = "true"}};
  job.secrets = {{"JUPYTER_TOKEN", "a b&c"}};
  const Status status = CompleteNotebook(NotebookLine({}), job);
  ASSERT_FALSE(status.ok());
  EXPECT_THAT(status.error().message, HasSubstr("JUPYTER_TOKEN (from the secrets): expected letters"));
  EXPECT_THAT(status.error().message, testing::Not(HasSubstr("a b&c")));
}

}  // namespace
}  // namespace tony
