// An environment that was brought along leads to its copy, and not to where it was.
#include "runtime/staging/relocation.h"

#include <cstdlib>

#include "runtime/base/strings.h"
#include "tests/unit/staging/staging_bed.h"

namespace tony {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;
using ::testing::Not;

class RelocationTest : public StagingTest {
 protected:
  // A real one; its programs print which environment they run in, and the value of its package.
  void MakeEnvironment(const fs::path& folder) const {
    ASSERT_EQ(std::system(StrCat("python3 -m venv --without-pip '", folder.string(), "'").c_str()), 0);
    const std::string python = (folder / "bin/python3").string(), program = "import sys; print(sys.prefix)\n";
    WriteProgram(folder / "bin/tool", StrCat("#!", python, "\n", program));
    WriteProgram(folder / "bin/long", StrCat("#!/bin/sh\n'''exec' \"", python, "\" \"$0\" \"$@\"\n' '''\n", program));
    WriteProgram(folder / "bin/base", "#!/usr/bin/python3\n" + program);
  }
  void WriteProgram(const fs::path& path, const std::string& text) const {
    Write(path, text);
    fs::permissions(path, fs::perms(0755));
  }
  // The task's folder, with what staging made of the job's files.
  fs::path Task(const JobSpec& spec) {
    const auto staged = StageIt(spec);
    EXPECT_TRUE(staged.ok()) << staged.error().message;
    fs::create_directories(task_);
    EXPECT_TRUE(staged.ok() && LinkStaged(staged->job, task_).ok());
    return task_;
  }
  // The first line that the command prints in the task's folder.
  std::string Says(const std::string& command) const {
    const std::string shell = StrCat("cd '", task_.string(), "' && TONY_NOTICE_FILE='", (task_ / "n").string(),
                                     "' PYTHONDONTWRITEBYTECODE=1 bash -c '", command, "' > ../said 2>&1");
    EXPECT_EQ(std::system(shell.c_str()), 0) << command << Text(temp_.path() / "said");
    const std::string text = Text(temp_.path() / "said");
    return text.substr(0, text.find('\n'));
  }

  const fs::path task_ = temp_.path() / "task";
};

TEST_F(RelocationTest, ProgramsOfAnEnvironmentRunInTheCopy) {
  MakeEnvironment(temp_.path() / "env");
  JobSpec spec = Job();
  spec.python_venv = (temp_.path() / "env").string();
  Task(spec);
  fs::rename(temp_.path() / "env", temp_.path() / "gone");
  for (const std::string name : {"tool", "long"})
    EXPECT_EQ(Says("venv/bin/" + name), (task_ / "venv").string()) << name;
  EXPECT_EQ(Says(". venv/bin/activate; echo $VIRTUAL_ENV"), (task_ / "venv").string());
  EXPECT_EQ(Says("sh -c \". venv/bin/activate; tool\""), (task_ / "venv").string());
  EXPECT_EQ(Text(task_ / "venv/bin/base").substr(0, 19), "#!/usr/bin/python3\n") << "another Python's";
  EXPECT_TRUE(StageIt(spec).error().message.find("gone") == std::string::npos);
}

TEST_F(RelocationTest, ThoseOfAPackedEnvironmentToo) {
  MakeEnvironment(temp_.path() / "env");
  ASSERT_EQ(
      std::system(StrCat("tar -C '", (temp_.path() / "env").string(), "' -czf '", archive_.string(), "' .").c_str()),
      0);
  fs::remove_all(temp_.path() / "env");
  JobSpec spec = Job();
  spec.python_venv = archive_.string();
  Task(spec);
  EXPECT_EQ(Says("venv/bin/tool"), (task_ / "venv").string());
  EXPECT_EQ(Mode(task_ / "venv/bin/tool") & 0777u, 0555u);
}

TEST_F(RelocationTest, AnEnvironmentOfTheSourcesLeadsToTheTasksOwnFolder) {
  MakeEnvironment(src_ / ".venv");
  Write(src_ / "lib/mine/__init__.py", "import os; where = os.path.dirname(__file__)\n");
  Write(src_ / "flat/__init__.py", "import os; where = os.path.dirname(__file__)\n");
  fs::path site;
  for (const auto& entry : fs::directory_iterator(src_ / ".venv/lib")) site = entry.path() / "site-packages";
  Write(site / "mine.pth", (src_ / "lib").string() + "\n/usr/lib/nothing\n");
  Write(site / "__editable___flat_finder.py", "MAPPING = {'flat': '" + (src_ / "flat").string() + "'}\n");
  WriteProgram(src_ / "run.py",
               StrCat("#!", (src_ / ".venv/bin/python3").string(), " -u\nimport mine; print(mine.where)\n"));
  JobSpec spec = JobOfFolder();
  spec.roles[0].command = "./run.py; .venv/bin/tool";
  Task(spec);
  fs::rename(src_, temp_.path() / "gone");
  EXPECT_EQ(Says(".venv/bin/tool"), (task_ / ".venv").string());
  EXPECT_EQ(Says(". .venv/bin/activate; tool"), (task_ / ".venv").string());
  EXPECT_EQ(Says("./run.py"), (task_ / "lib/mine").string());
  EXPECT_EQ(Says(".venv/bin/python3 -c \"import __editable___flat_finder as f; print(f.MAPPING[\\\"flat\\\"])\""),
            (task_ / "flat").string());
}

TEST_F(RelocationTest, AnAbsoluteLinkIntoTheSourcesIsARelativeOne) {
  Write(src_ / "v2/train.py", "x");
  fs::create_directory(src_ / "sub");
  fs::create_symlink(src_ / "v2/train.py", src_ / "sub/current.py");
  fs::create_symlink(src_ / "nowhere", src_ / "dangling");
  Task(JobOfFolder());
  EXPECT_EQ(fs::read_symlink(task_ / "sub/current.py"), "../v2/train.py");
  EXPECT_EQ(fs::read_symlink(task_ / "dangling"), src_ / "nowhere");
}

TEST_F(RelocationTest, ADamagedCopyIsMadeAnew) {
  MakeEnvironment(temp_.path() / "env");
  JobSpec spec = Job();
  spec.python_venv = (temp_.path() / "env").string();
  const fs::path entry = Staged(spec);
  const std::string text = Text(entry / "bin/tool");
  EXPECT_THAT(text, Not(HasSubstr((temp_.path() / "env").string())));
  fs::permissions(entry / "bin", fs::perms(0755));
  fs::remove(entry / "bin/tool");
  EXPECT_EQ(Text(Staged(spec) / "bin/tool"), text);
}

}  // namespace
}  // namespace tony
