// Environments from lock files, made by a fake uv: how it is called, how often, and how its failures are reported.
// Tests with the real uv are in tests/e2e/samples.
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>

#include <chrono>
#include <cstdlib>
#include <thread>

#include "runtime/base/strings.h"
#include "runtime/staging/locked_environment.h"
#include "runtime/staging/relocation.h"
#include "tests/support/results.h"
#include "tests/unit/staging/locked_bed.h"
#include "tests/unit/staging/staging_bed.h"

namespace tony {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::SizeIs;

constexpr const char* kPlayedUv = R"sh(#!/bin/sh
cd "$(dirname "$0")"
echo "$*" >>asked
[ ! -e fails ] || { cat fails >&2; exit 2; }
case $1 in
  python) echo "$PWD/python3" ;;
  venv) for folder; do :; done
    mkdir -p "$folder/bin" && ln -s "$PWD/python3" "$folder/bin/python3" ;;
  sync) echo made >"$UV_PROJECT_ENVIRONMENT/packages"
    [ ! -e hangs ] || { echo $$ >began; sleep 600; } ;;
  pip) for word; do [ "$before" != --python ] || made=$word; before=$word; done
    echo made >"${made%/bin/python}/packages" ;;
esac
)sh";

class UvEnvironmentTest : public LockedTest {
 protected:
  UvEnvironmentTest() {
    Program("uv", kPlayedUv);
    Program("python3", "#!/bin/sh\necho Python 3.11.2\n");
    Write(src_ / "uv.lock", "[[package]]\nname = \"mine\"\nsource = { virtual = \".\" }\n");
    Write(src_ / "pyproject.toml", "[project]\n");
  }
  size_t Installs() const {
    size_t count = 0;
    for (const std::string& line : Split(Text(tools_ / "asked"), '\n'))
      count += line.starts_with("sync ") || line.starts_with("pip ") ? 1 : 0;
    return count;
  }
};

TEST_F(UvEnvironmentTest, AnEnvironmentIsReusedUntilTheProjectFileOrPythonVersionChanges) {
  const fs::path first = Made("uv.lock");
  EXPECT_EQ(Text(first / "packages"), "made\n");
  EXPECT_EQ(Mode(first), 0555u);
  EXPECT_EQ(Mode(first / "packages"), 0444u);
  EXPECT_EQ(Made("uv.lock"), first);
  EXPECT_EQ(Installs(), 1u);
  Write(src_ / "pyproject.toml", "[project]\nname = \"mine\"\n");
  const fs::path second = Made("uv.lock");
  EXPECT_NE(second, first);
  Program("python3", "#!/bin/sh\necho Python 3.12.0\n");
  EXPECT_NE(Made("uv.lock"), second);
  EXPECT_EQ(Installs(), 3u);
  EXPECT_THAT(Text(tools_ / "asked"), HasSubstr("sync --frozen --no-install-project --no-dev"));
}

TEST_F(UvEnvironmentTest, RequirementsFilesWithExactVersionsAreAccepted) {
  Write(src_ / "requirements-gpu.txt",
        "# made by uv\n--index-url https://packages\nsix==1.16.0 \\\n    --hash=sha256:aa\nx @ https://h/x.whl ; a > "
        "b\n");
  EXPECT_EQ(Text(Made("requirements-gpu.txt") / "packages"), "made\n");
  EXPECT_THAT(Text(tools_ / "asked"), HasSubstr("--require-hashes"));
}

TEST_F(UvEnvironmentTest, LockFileLinesWithoutAnExactVersionOrWithALocalPathAreRefused) {
  EXPECT_THAT(RefusedOf("requirements.txt", "six==1.16.0\ntorch>=2\n").message,
              HasSubstr("line 2, \"torch>=2\": expected an exact version"));
  for (const char* line : {"-e ../mine", "./mine", "/src/mine", "mine @ file:///src/mine"})
    EXPECT_THAT(RefusedOf("requirements.txt", line).message, HasSubstr("this line names a folder or file of this machine")) << line;
  for (const char* line : {"-r other.txt", "-c other.txt"})
    EXPECT_THAT(RefusedOf("requirements.txt", line).message, HasSubstr("another file")) << line;
  EXPECT_THAT(RefusedOf("requirements.txt", "# nothing\n").message, HasSubstr("the lock file names no packages"));
  EXPECT_THAT(RefusedOf("uv.lock", "x\nsource = { editable = \"../other\" }\n").message,
              HasSubstr("line 2, \"source = { editable = \"../other\" }\": this line names a folder or file of this machine"));
  fs::remove(src_ / "pyproject.toml");
  EXPECT_THAT(RefusedOf("uv.lock", "").message, HasSubstr("pyproject.toml"));
  EXPECT_THAT(RefusedOf("pylock.gpu.toml", "path = \"a\"\nx = { path = \"wheels/a.whl\" }").message,
              HasSubstr("line 2"));
}

TEST_F(UvEnvironmentTest, AFailureOfUvIsQuotedAndADownloadFailureReturnsUnavailable) {
  Write(tools_ / "fails", "Resolved\nerror: no such package: sixx\n");
  Error refused = Refused(JobWith("uv.lock"));
  EXPECT_EQ(refused.code, ErrorCode::kInvalid);
  EXPECT_THAT(refused.message, HasSubstr("uv.lock: uv python: exit code 2: Resolved error: no such package: sixx"));
  Write(tools_ / "fails", "error: Failed to fetch: https://packages/six\n");
  EXPECT_EQ(Refused(JobWith("uv.lock")).code, ErrorCode::kUnavailable);
  fs::remove(tools_ / "uv");
  setenv("PATH", tools_.c_str(), 1);
  refused = Refused(JobWith("uv.lock"));
  EXPECT_EQ(refused.code, ErrorCode::kInvalid);
  EXPECT_THAT(refused.message, HasSubstr("pip install uv"));
}

TEST_F(UvEnvironmentTest, AStopRequestEndsTheWholeProcessGroupOfUv) {
  // Orphans of uv become children of this process, which has to reap them.
  ASSERT_EQ(prctl(PR_SET_CHILD_SUBREAPER, 1), 0);
  Write(tools_ / "hangs", "");
  std::jthread stopper([this] {
    while (!fs::exists(tools_ / "began") || Text(tools_ / "began").empty())
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
    stop_.request_stop();
  });
  EXPECT_EQ(Refused(JobWith("uv.lock")).code, ErrorCode::kUnavailable);
  stopper.join();
  const pid_t group = std::stoi(Text(tools_ / "began"));
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(30);
  while (kill(-group, 0) == 0 && std::chrono::steady_clock::now() < end) {
    waitpid(-group, nullptr, WNOHANG);
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  EXPECT_EQ(kill(-group, 0), -1) << "its group lives";
}

TEST_F(UvEnvironmentTest, ALockFileInHdfsIsRefused) {
  JobSpec spec = Job();
  spec.python_venv = "hdfs:///locks/uv.lock";
  look_ = [](const FileSpec&) {
    return std::vector<RemoteFile>{{"uv.lock", "/locks/uv.lock", 1, FromMillis(1), false}};
  };
  EXPECT_THAT(Refused(spec).message, HasSubstr("a lock file cannot be in HDFS"));
}

// ---- venv check

class VenvCheckTest : public StagingTest {
 protected:
  VenvCheckTest() {
    fs::create_directories(venv_ / "bin");
    Program(python311_);
    fs::create_symlink(python311_, venv_ / "bin/python3");
    fs::create_symlink("python3", venv_ / "bin/python");
    Configure("3.11.2");
  }
  void Program(const fs::path& path, const std::string& text =
                                         "\x7f"
                                         "ELF") const {
    Write(path, text);
    fs::permissions(path, fs::perms(0755));
  }
  void Configure(const std::string& version) const {
    Write(venv_ / "pyvenv.cfg", "home = " + (temp_.path() / "opt").string() + "\nversion = " + version + "\n");
  }
  std::string Check(const std::string& command) const {
    const Status checked = CheckVenvCommand(command, venv_);
    if (checked.ok()) return "";
    EXPECT_EQ(checked.error().code, ErrorCode::kInvalid);
    return checked.error().message;
  }

  const fs::path venv_ = temp_.path() / "venv";
  const fs::path python311_ = temp_.path() / "opt/python3.11";
};

TEST_F(VenvCheckTest, AVenvWithAnInstalledPythonIsAccepted) {
  EXPECT_EQ(Check("venv/bin/python3 train.py"), "");
  EXPECT_EQ(Check("./venv/bin/python -u train.py"), "");
}

TEST_F(VenvCheckTest, OnlyACommandThatBeginsWithAPathIntoTheVenvIsChecked) {
  for (const char* command :
       {"python3 train.py", "/usr/bin/missing", "$VENV/bin/python9", "'venv/bin/python9' x", "echo venv/bin/python9"})
    EXPECT_EQ(Check(command), "") << command;
}

TEST_F(VenvCheckTest, TheReasonWhyACommandDoesNotUseTheVenvIsReported) {
  for (const char* command :
       {"python3 train.py", "env X=1 python -m pkg", "bash -c 'python3 train.py'", "torchrun train.py",
        "venv/bin/python3 x", "/usr/bin/env python3 x", "source venv/bin/activate; python3.9 x"})
    EXPECT_EQ(WhyVenvIsNotUsed(command, venv_), "") << command;
  EXPECT_EQ(WhyVenvIsNotUsed("/usr/bin/python3 x", venv_), "it runs /usr/bin/python3");
  EXPECT_EQ(WhyVenvIsNotUsed("python3.9 x", venv_), "the environment has no bin/python3.9");
  EXPECT_EQ(WhyVenvIsNotUsed("bash -lc 'python3 x'", venv_), "bash -lc is a login shell, which sets PATH again");
}

TEST_F(VenvCheckTest, TheErrorForAWrongProgramPathNamesTheCorrectPathInTheVenv) {
  EXPECT_EQ(Check("venv/Python/bin/python3 x"),
            "venv/Python/bin/python3: the Python environment does not contain this file; the environment has bin/python3");
  fs::rename(venv_ / "bin", temp_.path() / "bin");
  fs::create_directories(venv_ / "env");
  fs::rename(temp_.path() / "bin", venv_ / "env/bin");
  EXPECT_THAT(Check("venv/bin/python3;true"), HasSubstr("; the environment has env/bin/python3"));
  EXPECT_THAT(Check("venv/bin/ruby"), HasSubstr("does not contain this file"));
}

TEST_F(VenvCheckTest, AVenvWithADanglingPythonSymlinkIsRefused) {
  fs::remove(python311_);
  EXPECT_EQ(Check("venv/bin/python x"), "venv/bin/python: the link leads to " + python311_.string() +
                                            ", which is not on this machine; the environment was made for another "
                                            "Python");
}

TEST_F(VenvCheckTest, AnEnvironmentMadeForAnotherPythonVersionIsRefused) {
  Configure("3.9.18");
  EXPECT_THAT(Check("venv/bin/python x"), HasSubstr("was made for Python 3.9, and " + python311_.string()));
}

TEST_F(VenvCheckTest, APyvenvCfgWithAMissingHomeFolderIsRefused) {
  Write(venv_ / "pyvenv.cfg", "home = /nowhere/bin\n");
  EXPECT_THAT(Check("venv/bin/python x"), HasSubstr("the environment's pyvenv.cfg leads to /nowhere/bin"));
}

TEST_F(VenvCheckTest, AProgramWithoutTheExecutableBitIsRefused) {
  Write(venv_ / "bin/tool", "x");
  EXPECT_THAT(Check("venv/bin/tool"), HasSubstr("the program is not executable"));
  EXPECT_THAT(Check("venv/bin"), HasSubstr("not a regular file"));
}

TEST_F(VenvCheckTest, AScriptWithAMissingInterpreterIsRefused) {
  Program(venv_ / "bin/torchrun", "#!/home/ada/venv/bin/python3 -E\nimport torch");
  EXPECT_THAT(Check("venv/bin/torchrun x"), HasSubstr("the first line of the script names /home/ada/venv/bin/python3, which is not"));
  Program(venv_ / "bin/fine", "#! /bin/sh\n");
  EXPECT_EQ(Check("venv/bin/fine"), "");
}

TEST_F(VenvCheckTest, StagingRefusesAJobWithABrokenVenv) {
  fs::remove(python311_);
  JobSpec spec = Job();
  spec.python_venv = venv_.string();
  spec.roles[0].command = "venv/bin/python3 train.py";
  ExpectError(StageIt(spec), StrCat("~", "python_venv " + venv_.string() + ": venv/bin/python3: the link leads to"));
}

// ---- A staged environment refers to its copy, and not to the original folder.

class RelocationTest : public StagingTest {
 protected:
  // Makes a real environment. Its programs print the environment that they run in, and the value of its package.
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
  // Returns the task's folder with the job's staged files.
  fs::path Task(const JobSpec& spec) {
    const auto staged = StageIt(spec);
    EXPECT_TRUE(staged.ok()) << staged.error().message;
    fs::create_directories(task_);
    EXPECT_TRUE(staged.ok() && LinkStaged(staged->job, task_).ok());
    return task_;
  }
  // Returns the first line that the command prints in the task's folder.
  std::string Says(const std::string& command) const {
    const std::string shell = StrCat("cd '", task_.string(), "' && TONY_NOTICE_FILE='", (task_ / "n").string(),
                                     "' PYTHONDONTWRITEBYTECODE=1 bash -c '", command, "' > ../said 2>&1");
    EXPECT_EQ(std::system(shell.c_str()), 0) << command << Text(temp_.path() / "said");
    const std::string text = Text(temp_.path() / "said");
    return text.substr(0, text.find('\n'));
  }

  const fs::path task_ = temp_.path() / "task";
};

TEST_F(RelocationTest, ProgramsOfAStagedVenvRunAfterTheOriginalVenvIsMoved) {
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

TEST_F(RelocationTest, ProgramsOfAnArchivedVenvRunInTheTaskFolder) {
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

TEST_F(RelocationTest, AVenvInsideSrcDirImportsModulesFromTheTaskFolder) {
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

TEST_F(RelocationTest, AnAbsoluteSymlinkIntoSrcDirIsStagedAsARelativeSymlink) {
  Write(src_ / "v2/train.py", "x");
  fs::create_directory(src_ / "sub");
  fs::create_symlink(src_ / "v2/train.py", src_ / "sub/current.py");
  fs::create_symlink(src_ / "nowhere", src_ / "dangling");
  Task(JobOfFolder());
  EXPECT_EQ(fs::read_symlink(task_ / "sub/current.py"), "../v2/train.py");
  EXPECT_EQ(fs::read_symlink(task_ / "dangling"), src_ / "nowhere");
}

TEST_F(RelocationTest, AStagedVenvWithAMissingProgramIsCopiedAgain) {
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
