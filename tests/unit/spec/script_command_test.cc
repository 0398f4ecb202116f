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

TEST_F(ScriptCommandTest, AFileThatTheKernelWouldNotStartIsRunByPython) {
  const fs::path run = folder_.path() / "src/run.py";
  for (const std::string text :
       {"print()\n", "", "#!/usr/bin/python3\r\nprint()\r\n", "\xEF\xBB\xBF#!/usr/bin/python3\n"}) {
    std::ofstream(run) << text;
    EXPECT_EQ(CommandOf("./run.py"), "python3 ./run.py") << text;
  }
  std::ofstream(run) << "PK\x03\x04";
  EXPECT_EQ(CommandOf("./run.py"), "./run.py") << "a program of zipapp";
}

TEST_F(ScriptCommandTest, ANameMayHaveAnyLetters) {
  for (const std::string name : {"\xC3\x9C"
                                 "bung.py",
                                 "\xE8\xAE\xAD\xE7\xBB\x83.py"}) {
    std::ofstream(folder_.path() / "src" / name) << "print()\n";
    EXPECT_EQ(CommandOf(name + " --lr 0.1"), "python3 " + name + " --lr 0.1");
  }
}

TEST_F(ScriptCommandTest, ANameWithBlanksIsOneWord) {
  std::ofstream(folder_.path() / "src/my train.py") << "print()\n";
  std::ofstream(folder_.path() / "src/a tool") << "echo\n";
  EXPECT_EQ(CommandOf("my train.py --lr 0.1"), "python3 './my train.py' --lr 0.1");
  EXPECT_EQ(CommandOf("my train.py"), "python3 './my train.py'");
  EXPECT_EQ(CommandOf("'my train.py' --lr 0.1"), "python3 'my train.py' --lr 0.1");
  EXPECT_EQ(CommandOf("\"my train.py\""), "python3 \"my train.py\"");
  EXPECT_EQ(CommandOf("my\\ train.py"), "python3 my\\ train.py");
  EXPECT_EQ(CommandOf("/usr/bin/python3 my train.py -v"), "/usr/bin/python3 './my train.py' -v");
  EXPECT_EQ(CommandOf("a tool -x"), "'./a tool' -x");
  EXPECT_EQ(CommandOf("echo my train.py"), "echo my train.py");
}

TEST_F(ScriptCommandTest, AProgramOfTheSourcesByItsAbsolutePathIsTheTasksCopy) {
  const std::string src = (folder_.path() / "src").string();
  EXPECT_EQ(CommandOf("python3 " + src + "/train.py --lr 0.1"), "python3 ./train.py --lr 0.1");
  EXPECT_EQ(CommandOf(src + "/train.py"), "python3 ./train.py");
  EXPECT_EQ(CommandOf("env A=" + src + "/run.py bash -c '" + src + "/run.py'; \"" + src + "/run.py\""),
            "env A=./run.py bash -c './run.py'; \"./run.py\"");
  EXPECT_EQ(CommandOf("python3 t.py --out " + src + "/out " + src + "2/run.py"),
            "python3 t.py --out " + src + "/out " + src + "2/run.py")
      << "a folder for results is to outlive the job";
}

TEST_F(ScriptCommandTest, WhatStaysTheOriginalIsAWarning) {
  const std::string src = (folder_.path() / "src").string();
  std::ofstream(folder_.path() / "src/conf.yaml") << "a: 1\n";
  for (const std::string& command : {"python3 train.py --conf " + src + "/conf.yaml",
                                     "cd " + src + " && python3 train.py", "cd /tmp && python3 " + src + "/train.py"}) {
    const ParsedJobSpec parsed = Parsed(command);
    EXPECT_EQ(parsed.spec.roles.at(0).command, command);
    ASSERT_EQ(parsed.warnings.size(), 1u) << command;
    EXPECT_NE(parsed.warnings[0].find("the original, whose later changes the job sees"), std::string::npos);
  }
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
