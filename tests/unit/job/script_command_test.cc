// Commands that begin with a Python file: what a job runs of them.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "runtime/base/strings.h"
#include "tests/support/temp_folder.h"
#include "tests/unit/job/parse_properties.h"

namespace tony {
namespace {

namespace fs = std::filesystem;

// src with train.py, tools/eval.py and run.py, of which run.py may be executed; env, a Python environment; src.zip.
class ScriptCommandTest : public testing::Test {
 protected:
  ScriptCommandTest() {
    fs::create_directories(folder_.path() / "src/tools");
    fs::create_directories(folder_.path() / "env/bin");
    for (const char* file : {"src/train.py", "src/tools/eval.py", "src/run.py", "src.zip", "other.py"})
      std::ofstream(folder_.path() / file) << "#!/usr/bin/python3\n";
    fs::permissions(folder_.path() / "src/run.py", fs::perms::owner_all);
  }

  ParsedJobSpec Parsed(const std::string& command, const Settings& more = {{"tony.src-dir", "src"}}) const {
    Settings settings = {{"tony.containers.command", command}};
    settings.insert(settings.end(), more.begin(), more.end());
    const auto parsed = ParseWith(settings, folder_.path());
    EXPECT_TRUE(parsed.ok()) << parsed.error().message;
    return parsed.ok() ? *parsed : ParsedJobSpec();
  }
  std::string CommandOf(const std::string& command, const Settings& more = {{"tony.src-dir", "src"}}) const {
    const ParsedJobSpec parsed = Parsed(command, more);
    EXPECT_TRUE(parsed.warnings.empty()) << Join(parsed.warnings, "\n");
    return parsed.spec.roles.at(0).command;
  }

  const TempFolder folder_;
};

TEST_F(ScriptCommandTest, AFileOfTheSourcesThatMayNotBeExecutedIsRunByPython) {
  EXPECT_EQ(CommandOf("train.py"), "python3 train.py");
  EXPECT_EQ(CommandOf(" train.py --epochs 3 > log; ls"), "python3 train.py --epochs 3 > log; ls");
  EXPECT_EQ(CommandOf("./train.py"), "python3 ./train.py");
  EXPECT_EQ(CommandOf("tools/eval.py"), "python3 tools/eval.py");
}

TEST_F(ScriptCommandTest, AFileThatMayBeExecutedIsRunByItsFirstLineWhereAShellFindsIt) {
  EXPECT_EQ(CommandOf("./run.py"), "./run.py");
  EXPECT_EQ(CommandOf("run.py"), "python3 run.py") << "a shell looks for it in PATH alone";
}

TEST_F(ScriptCommandTest, TheJobsOwnPythonRunsIt) {
  EXPECT_EQ(CommandOf("train.py", {{"tony.src-dir", "src"}, {"tony.python-venv", "env"}}), "venv/bin/python3 train.py");
}

TEST_F(ScriptCommandTest, OtherCommandsStayAsTheyAre) {
  for (const std::string command : {"python train.py", "bash -c train.py", "/src/train.py", "$HOME/train.py",
                                    "../train.py", "train.pyc", ".py", "A=1 train.py", "tools", "./none.py"})
    EXPECT_EQ(CommandOf(command), command);
}

TEST_F(ScriptCommandTest, InAnArchiveANameWithoutASlashCanOnlyBeMeantForPython) {
  const Settings archive = {{"tony.src-dir", "src.zip"}};
  EXPECT_EQ(CommandOf("train.py", archive), "python3 train.py");
  EXPECT_EQ(CommandOf("./train.py", archive), "./train.py") << "it may be executed, or not";
}

TEST_F(ScriptCommandTest, FilesThatTheJobNamesCountToo) {
  const Settings files = {{"tony.containers.resources", "other.py::main.py,src::code"}};
  EXPECT_EQ(CommandOf("main.py", files), "python3 main.py");
  EXPECT_EQ(CommandOf("code/train.py", files), "python3 code/train.py");
  EXPECT_EQ(CommandOf("code/run.py", files), "code/run.py");
}

TEST_F(ScriptCommandTest, AFileThatIsNowhereIsAWarning) {
  for (const Settings& settings : {Settings(), Settings{{"tony.src-dir", "src"}}}) {
    const ParsedJobSpec parsed = Parsed("none.py --fast", settings);
    EXPECT_EQ(parsed.spec.roles.at(0).command, "none.py --fast");
    ASSERT_EQ(parsed.warnings.size(), 1u);
    EXPECT_EQ(parsed.warnings[0],
              "role worker: its command is none.py, which is not among the job's files: a task finds it only in its "
              "PATH; -src_dir FOLDER gives tasks what is in a folder");
  }
}

}  // namespace
}  // namespace tony
