// Environments from conda's explicit lock files, made by a fake client: how it is called, how often, and how its
// failures are reported. Tests with a real installer are in tests/e2e/samples.
#include "runtime/staging/conda_environment.h"

#include <signal.h>
#include <sys/utsname.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <cstdio>
#include <map>
#include <set>
#include <thread>

#include "runtime/base/strings.h"
#include "runtime/os/sha256.h"
#include "tests/support/results.h"
#include "tests/unit/staging/locked_bed.h"
#include "tests/unit/staging/staging_bed.h"

namespace tony {
namespace {

namespace fs = std::filesystem;
using ::testing::AllOf;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::SizeIs;
using ::testing::StartsWith;

constexpr const char* kPlayedClient = R"sh(#!/bin/sh
cd "$(dirname "$0")"
name=${0##*/}
echo "$name $*" >>asked
echo "$MAMBA_ALWAYS_COPY $CONDA_ALWAYS_COPY $CONDA_REGISTER_ENVS" >told
[ ! -e fails ] || { cat fails >&2; exit 1; }
while [ $# -gt 0 ]; do
  case $1 in --prefix) prefix=$2 ;; --file) cp "$2" lock ;; esac
  shift
done
wait_for() {  # FILE
  for look in $(seq 2000); do [ ! -e "$1" ] || return 0; sleep 0.01; done
}
[ ! -e outlives ] || { slow=1; echo >began; wait_for "go on"; }
mkdir -p "$prefix/bin"
echo >"$prefix/by-$$"
[ -z "$slow" ] || echo >ended
[ -n "$slow" ] || [ ! -e began ] || { echo >"go on"; wait_for ended; }
echo "#!/bin/sh" >"$prefix/bin/python3"
echo "prefix=$prefix" >"$prefix/made"
chmod +x "$prefix/bin/python3"
[ ! -e links ] || ln "$prefix/made" cached
)sh";
const std::string kZstd = "https://packages/conda-forge/" + CondaPlatform() + "/zstd-1.5.7-hb8_2.conda";
const std::string kMd5 = std::string(32, 'a'), kSha256 = std::string(64, 'b');

class CondaEnvironmentTest : public LockedTest {
 protected:
  CondaEnvironmentTest() {
    Program("micromamba", kPlayedClient);
    WriteLock("linux.lock", kZstd + "#" + kMd5);
  }
  ~CondaEnvironmentTest() override {
    unsetenv("MAMBA_EXE");
    unsetenv("CONDA_EXE");
  }

  void WriteLock(const std::string& name, const std::string& lines) const {
    Write(src_ / name, "# platform: linux\n@EXPLICIT\n" + lines + "\n");
  }
  std::string WhyNot(const std::string& lines) { return RefusedOf("a.lock", "@EXPLICIT\n" + lines + "\n").message; }
  size_t Asked() const { return Split(Text(tools_ / "asked"), '\n').size() - 1; }
};

TEST_F(CondaEnvironmentTest, LockFilesWithTheSameContentShareOneReadOnlyEnvironment) {
  const fs::path first = Made("linux.lock");
  EXPECT_EQ(Mode(first), 0555u);
  EXPECT_EQ(Mode(first / "made"), 0444u);
  EXPECT_EQ(Mode(first / "bin/python3"), 0555u);
  EXPECT_THAT(Text(tools_ / "asked"),
              AllOf(StartsWith("micromamba create --yes --prefix /"), HasSubstr("-venv."), EndsWith(".txt\n")));
  EXPECT_EQ(Text(tools_ / "told"), "true true false\n");
  EXPECT_EQ(Text(tools_ / "lock"), Text(src_ / "linux.lock"));
  fs::rename(src_ / "linux.lock", src_ / "spec.txt");
  EXPECT_EQ(Made("spec.txt"), first);
  EXPECT_EQ(Asked(), 1u);
  WriteLock("spec.txt", kZstd + "#" + kSha256);
  EXPECT_NE(Made("spec.txt"), first);
  EXPECT_EQ(Asked(), 2u);
}

TEST_F(CondaEnvironmentTest, TheTemporaryPathInAnEnvironmentIsReplacedByTheFinalPath) {
  // The suffix that the path has while the environment is made.
  constexpr std::string_view kTemporary = ".new-.01234567";
  const fs::path made = Made("linux.lock");
  EXPECT_EQ(Text(made / "made"), StrCat("prefix=", made.parent_path().string(), std::string(1 + kTemporary.size(), '/'),
                                        made.filename().string(), "\n"));
  EXPECT_TRUE(fs::exists(Trim(Text(made / "made")).substr(7)));
}

TEST_F(CondaEnvironmentTest, MambaExeIsPreferredOverMicromambaAndMicromambaOverConda) {
  const auto client_of = [this](const std::string& hash) {
    WriteLock("linux.lock", kZstd + "#" + hash);
    Made("linux.lock");
    const std::string last = Split(Text(tools_ / "asked"), '\n').end()[-2];
    return last.substr(0, last.find(' '));
  };
  Program("conda", kPlayedClient);
  Program("elsewhere/micromamba-2", kPlayedClient);
  EXPECT_EQ(client_of(kMd5), "micromamba");
  setenv("MAMBA_EXE", (tools_ / "elsewhere/micromamba-2").c_str(), 1);
  Made("linux.lock");
  EXPECT_EQ(Asked(), 1u) << "another client makes no other environment";
  WriteLock("linux.lock", kZstd);
  Made("linux.lock");
  EXPECT_THAT(Text(tools_ / "elsewhere/asked"), StartsWith("micromamba-2 create"));
  setenv("MAMBA_EXE", "/nowhere/micromamba", 1);
  fs::remove(tools_ / "micromamba");
  EXPECT_EQ(client_of(kSha256), "conda");
  EXPECT_THAT(Text(tools_ / "asked"), HasSubstr(" --no-default-packages\n"));
  fs::remove(tools_ / "conda");
  setenv("PATH", tools_.c_str(), 1);
  WriteLock("other.lock", kZstd + "#sha256:" + kSha256);
  ExpectError(StageIt(JobWith("other.lock")), "~the environment needs micromamba, mamba or conda");
}

TEST_F(CondaEnvironmentTest, AnInvalidCondaLockFileIsRefusedWithTheReason) {
  for (const std::string& package : {kZstd + "#" + kMd5 + "0", kZstd + "#" + std::string(32, 'A'), kZstd + "#None",
                                     kZstd + "#sha256:" + kMd5, kZstd + "#"})
    EXPECT_THAT(WhyNot("\n" + package),
                HasSubstr("line 3, \"" + package + "\": expected an MD5 (32 hexadecimal digits)"));
  for (const char* package : {"/packages/zstd-1.5.7-hb8_2.conda", "zstd=1.5.7", "https://packages/zstd-1.5.7.zip",
                              "https://packages/a b-1-0.conda"})
    EXPECT_THAT(WhyNot(package), HasSubstr("expected the URL of a package")) << package;
  for (const std::string& hash : {std::string(), "#" + kMd5})
    EXPECT_THAT(WhyNot("file:///packages/noarch/x-1-0.conda" + hash), HasSubstr("needs its SHA-256"));
  for (const char* platform : {"osx-arm64", "win-64", "linux-armv7l"})
    EXPECT_THAT(WhyNot(StrCat(kZstd, "\nhttps://packages/", platform, "/x-1-0.conda")),
                HasSubstr(StrCat("this package is for ", platform, ", but this machine is ", CondaPlatform())));
  EXPECT_THAT(WhyNot(kZstd + "\n# pip six @ https://files/six.whl"),
              HasSubstr("conda's clients do not install this package"));
  EXPECT_THAT(WhyNot("# nothing"), HasSubstr("the lock file names no packages"));
  EXPECT_THAT(RefusedOf("a.lock", kZstd + "\n@EXPLICIT\n").message, HasSubstr("below the line @EXPLICIT"));
  EXPECT_FALSE(fs::exists(tools_ / "asked"));
}

TEST_F(CondaEnvironmentTest, LockFilesMayContainHashesCommentsAndCrlfLineEnds) {
  WriteLock("requirements.txt", StrCat(kZstd, "#sha256:", kSha256, "\r\nhttps://packages/noarch/x-1-0.tar.bz2#",
                                       kSha256, "\n  ", kZstd, "\nhttps://packages/linux/x-1-0.conda\n# a comment"));
  EXPECT_TRUE(fs::exists(Made("requirements.txt") / "made"));
}

TEST_F(CondaEnvironmentTest, CondaPlatformIsLinux64OnX86AndLinuxAarch64OnArm) {
  struct utsname machine {};
  uname(&machine);
  const std::map<std::string, std::string> names = {{"x86_64", "linux-64"}, {"aarch64", "linux-aarch64"}};
  const auto name = names.find(machine.machine);
  if (name == names.end()) GTEST_SKIP() << machine.machine;
  EXPECT_EQ(CondaPlatform(), name->second);
}

TEST_F(CondaEnvironmentTest, AnErrorQuotesOnlyTheBeginningOfALongLineWithoutControlCharacters) {
  const std::string why = WhyNot("\x1b[31m" + std::string(1'000'000, 'a'));
  EXPECT_THAT(why, HasSubstr("line 2, \"?[31maaa"));
  EXPECT_THAT(why, HasSubstr("aaa...\": expected the URL of a package"));
  EXPECT_LT(why.size(), 600);
}

TEST_F(CondaEnvironmentTest, ALocalPackageMustMatchTheHashInTheLockFile) {
  const fs::path file = src_ / "x-1-0.conda";
  const std::string url = StrCat("file://", file.string(), "#sha256:");
  EXPECT_THAT(WhyNot(url + kSha256), HasSubstr("no such file"));
  Write(file, "a package");
  EXPECT_THAT(WhyNot(url + kSha256),
              HasSubstr("#sha256:" + kSha256 + "\": the hash in the lock file does not match; the file has "));
  EXPECT_FALSE(fs::exists(tools_ / "asked"));
  WriteLock("linux.lock", url + Sha256Hex("a package"));
  EXPECT_TRUE(fs::exists(Made("linux.lock") / "made"));
}

TEST_F(CondaEnvironmentTest, TheErrorForAnUnsupportedLockFormatShowsACommandThatConvertsTheFile) {
  const auto why = [this](const std::string& name) { return RefusedOf(name, "version: 1\n").message; };
  EXPECT_THAT(why("environment.yml"),
              HasSubstr("conda-lock lock --kind explicit --platform " + CondaPlatform() + " --file environment.yml"));
  EXPECT_THAT(why("dev.conda-lock.yml"),
              HasSubstr("conda-lock render --kind explicit --platform " + CondaPlatform() + " dev.conda-lock.yml"));
  EXPECT_THAT(why("pixi.lock"), HasSubstr("pixi workspace export conda-explicit-spec --platform " + CondaPlatform()));
}

TEST_F(CondaEnvironmentTest, AFailureOfTheCondaClientIsQuotedAndANetworkFailureReturnsUnavailable) {
  Write(tools_ / "fails", "Looking\n\nerror: no such package: zstdd\n");
  Error refused = Refused(JobWith("linux.lock"));
  EXPECT_EQ(refused.code, ErrorCode::kInvalid);
  EXPECT_THAT(refused.message,
              HasSubstr("linux.lock: micromamba create: exit code 1: Looking error: no such package: zstdd"));
  for (const char* said : {"CondaHTTPError: HTTP 000 CONNECTION FAILED for url <https://packages>\n",
                           "critical libmamba Download error (6) Could not resolve hostname\n"}) {
    Write(tools_ / "fails", said);
    EXPECT_EQ(Refused(JobWith("linux.lock")).code, ErrorCode::kUnavailable) << said;
  }
}

TEST_F(CondaEnvironmentTest, AnEnvironmentWithHardLinksIsRefusedAndTheCondaCacheStaysWritable) {
  Write(tools_ / "links", "");
  EXPECT_THAT(Refused(JobWith("linux.lock")).message, HasSubstr("made a hard link instead of a copy: made"));
  EXPECT_NE(Mode(tools_ / "cached") & 0200u, 0u);
  EXPECT_THAT(Text(tools_ / "cached"), HasSubstr("/.new-")) << "it was changed";
}

// The store keeps the client's work apart from the next submit's. The same holds for uv.
TEST_F(CondaEnvironmentTest, ACondaClientOfAKilledSubmitWritesNothingIntoTheNextEnvironment) {
  Write(tools_ / "outlives", "");
  const pid_t submit = fork();
  if (submit == 0) {
    (void)StageIt(JobWith("linux.lock"));
    _exit(0);
  }
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(30);
  while (!fs::exists(tools_ / "began") && std::chrono::steady_clock::now() < end)
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  kill(submit, SIGKILL);
  waitpid(submit, nullptr, 0);
  fs::remove(tools_ / "outlives");

  const fs::path made = Made("linux.lock");
  EXPECT_TRUE(fs::exists(tools_ / "ended")) << "the first client, while the second was at work";
  std::set<std::string> clients;
  for (const auto& entry : fs::directory_iterator(made)) {
    if (entry.is_regular_file() && entry.path().filename() != "made") clients.insert(entry.path().filename());
  }
  EXPECT_THAT(clients, SizeIs(1));
}

TEST_F(CondaEnvironmentTest, ALockFileInHdfsIsRefused) {
  for (const char* name : {"conda-linux-64.lock", "spec-file.txt", "environment.yml"}) {
    JobSpec spec = Job();
    spec.python_venv = StrCat("hdfs:///locks/", name);
    look_ = [&](const FileSpec&) {
      return std::vector<RemoteFile>{{name, StrCat("/locks/", name), 1, FromMillis(1), false}};
    };
    EXPECT_THAT(Refused(spec).message, HasSubstr("a lock file cannot be in HDFS")) << name;
  }
}

// ---- conda prefix

class CondaPrefixTest : public StagingTest {
 protected:
  CondaPrefixTest() {
    Script("bin/python3.11", "#!/bin/sh\necho \"python of ${0%/bin/*}:\" \"$@\"\n");
    fs::create_symlink("python3.11", made_ / "bin/python3");
  }

  void Script(const std::string& name, const std::string& text) const {
    Write(made_ / name, text);
    fs::permissions(made_ / name, fs::perms(0555));
  }
  void Relocate() const {
    const Status status = RelocateCondaEnvironment(made_, place_);
    ASSERT_TRUE(status.ok()) << status.error().message;
  }
  static std::string Output(const std::string& command) {
    std::string text;
    FILE* const from = popen(command.c_str(), "r");
    for (std::array<char, 256> some; fgets(some.data(), some.size(), from) != nullptr;) text += some.data();
    pclose(from);
    return text;
  }

  const fs::path made_ = temp_.path() / "store/.new-environment", place_ = temp_.path() / "store/environment";
  const std::string as_long_ = temp_.path() / "store//////environment";
  const std::string old_ = made_.string();
};

TEST_F(CondaPrefixTest, ScriptsOfAMovedEnvironmentRunThePythonOfThatEnvironment) {
  const std::string rest = "import this\n";
  Script("bin/short", StrCat("#!", old_, "/bin/python3.11\n", rest));
  Script("bin/options", StrCat("#!", old_, "/bin/python3.11 -sE\n", rest));
  Script("bin/env", "#!/usr/bin/env python3\n" + rest);
  Script("bin/long", StrCat("#!/bin/sh\n'''exec' \"", old_, "/bin/python3.11\" \"$0\" \"$@\" #'''\n", rest));
  Script("bin/pip", StrCat("#!/bin/sh\n'''exec' ", old_, "/bin/python3.11 -I \"$0\" \"$@\"\n' '''\n", rest));
  Relocate();
  const fs::path moved = temp_.path() / "with a space";
  fs::rename(made_, moved);
  for (const std::string name : {"short", "options", "env", "long", "pip"}) {
    const std::string options = name == "options" ? "-sE " : name == "pip" ? "-I " : "", script = moved / "bin" / name;
    EXPECT_EQ(Output(StrCat("'", script, "' one 'two three'")),
              StrCat("python of ", moved.string(), ": ", options, script, " one two three\n"));
    EXPECT_THAT(Text(script), HasSubstr("\n' '''\n" + rest)) << "not Python";
    EXPECT_NE(Mode(script) & 0100u, 0u);
  }
}

TEST_F(CondaPrefixTest, ShellPerlAndSystemPythonScriptsKeepTheirInterpreter) {
  Script("bin/shell", StrCat("#!/bin/sh\ncd ", old_, "\n"));
  Script("bin/perl", StrCat("#!", old_, "/bin/perl -w\n"));
  Script("bin/other", "#!/usr/bin/env python2\n");
  Script("bin/machines", "#!/usr/bin/python3\n");
  Script("bin/empty", "#!");
  Relocate();
  EXPECT_EQ(Text(made_ / "bin/shell"), StrCat("#!/bin/sh\ncd ", as_long_, "\n"));
  EXPECT_EQ(Text(made_ / "bin/perl"), StrCat("#!", as_long_, "/bin/perl -w\n"));
  EXPECT_EQ(Text(made_ / "bin/other"), "#!/usr/bin/env python2\n");
  EXPECT_EQ(Text(made_ / "bin/machines"), "#!/usr/bin/python3\n");
}

TEST_F(CondaPrefixTest, PathsInNonScriptFilesArePaddedWithSlashesToTheLengthOfTheOldPath) {
  const auto with = [](const std::string& path) {
    return StrCat(path, "/lib:", path, std::string("\0padding\0", 9), "x", path, "/share");
  };
  Script("lib/binary.so", with(old_));
  Write(made_ / "lib/other", "nothing of it");
  const struct stat before = Look(made_ / "lib/binary.so"), untouched = Look(made_ / "lib/other");
  Script("lib/path", old_);
  Relocate();
  EXPECT_EQ(Text(made_ / "lib/binary.so"), with(as_long_));
  EXPECT_EQ(Text(made_ / "lib/path"), as_long_);
  const struct stat after = Look(made_ / "lib/binary.so");
  EXPECT_EQ(after.st_mtim.tv_sec, before.st_mtim.tv_sec);
  EXPECT_EQ(after.st_mtim.tv_nsec, before.st_mtim.tv_nsec) << "bytecode of it would be stale";
  EXPECT_EQ(after.st_ino, before.st_ino);
  EXPECT_EQ(Look(made_ / "lib/other").st_ctim.tv_nsec, untouched.st_ctim.tv_nsec) << "it was written to";
}

TEST_F(CondaPrefixTest, SymlinksInTheEnvironmentPointToTheNewPath) {
  Write(made_ / "lib/a.so", "a");
  fs::create_symlink(made_ / "lib/a.so", made_ / "lib/b.so");
  fs::create_symlink("a.so", made_ / "lib/c.so");
  Relocate();
  fs::rename(made_, place_);
  EXPECT_EQ(Text(place_ / "lib/b.so"), "a");
  EXPECT_EQ(fs::read_symlink(place_ / "lib/c.so"), "a.so");
}

TEST_F(CondaPrefixTest, ANewPathLongerThanTheOldPathIsRefused) {
  const Status status = RelocateCondaEnvironment(made_, place_.string() + "-and-more");
  EXPECT_EQ(status.error().code, ErrorCode::kInvalid);
  EXPECT_THAT(status.error().message, StartsWith("cannot relocate /"));
}

TEST_F(CondaPrefixTest, ANewPathAsLongAsTheOldPathIsAccepted) {
  const std::string other = StrCat(old_.substr(0, old_.size() - 1), "x");
  Script("lib/binary.so", old_ + "/lib");
  const Status status = RelocateCondaEnvironment(made_, other);
  ASSERT_TRUE(status.ok()) << status.error().message;
  EXPECT_EQ(Text(made_ / "lib/binary.so"), other + "/lib");
}

}  // namespace
}  // namespace tony
