// Environments from lock files, with a uv that is played: what it is asked for, how often, and what becomes of its
// failures. The real one makes them in tests/e2e/samples.
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>

#include <chrono>
#include <thread>

#include "runtime/base/strings.h"
#include "runtime/staging/locked_environment.h"
#include "tests/unit/staging/locked_bed.h"

namespace tony {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
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

TEST_F(UvEnvironmentTest, IsMadeOnceForEachContent) {
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

TEST_F(UvEnvironmentTest, RequirementsAreTakenWhereEachHasOneVersion) {
  Write(src_ / "requirements-gpu.txt",
        "# made by uv\n--index-url https://packages\nsix==1.16.0 \\\n    --hash=sha256:aa\nx @ https://h/x.whl ; a > "
        "b\n");
  EXPECT_EQ(Text(Made("requirements-gpu.txt") / "packages"), "made\n");
  EXPECT_THAT(Text(tools_ / "asked"), HasSubstr("--require-hashes"));
}

TEST_F(UvEnvironmentTest, WhatIsNoLockIsRefusedWithItsLine) {
  EXPECT_THAT(RefusedOf("requirements.txt", "six==1.16.0\ntorch>=2\n").message,
              HasSubstr("line 2, \"torch>=2\": expected one version"));
  for (const char* line : {"-e ../mine", "./mine", "/src/mine", "mine @ file:///src/mine"})
    EXPECT_THAT(RefusedOf("requirements.txt", line).message, HasSubstr("a folder or file of this machine")) << line;
  for (const char* line : {"-r other.txt", "-c other.txt"})
    EXPECT_THAT(RefusedOf("requirements.txt", line).message, HasSubstr("another file")) << line;
  EXPECT_THAT(RefusedOf("requirements.txt", "# nothing\n").message, HasSubstr("it names no package"));
  EXPECT_THAT(RefusedOf("uv.lock", "x\nsource = { editable = \"../other\" }\n").message,
              HasSubstr("line 2, \"source = { editable = \"../other\" }\": a folder or file of this machine"));
  fs::remove(src_ / "pyproject.toml");
  EXPECT_THAT(RefusedOf("uv.lock", "").message, HasSubstr("pyproject.toml"));
  EXPECT_THAT(RefusedOf("pylock.gpu.toml", "path = \"a\"\nx = { path = \"wheels/a.whl\" }").message,
              HasSubstr("line 2"));
}

TEST_F(UvEnvironmentTest, AFailureOfUvIsSaidInItsWords) {
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

TEST_F(UvEnvironmentTest, AStopEndsUvAndLeavesNothing) {
  ASSERT_EQ(prctl(PR_SET_CHILD_SUBREAPER, 1), 0);  // what uv has started is ours to bury
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

TEST_F(UvEnvironmentTest, ALockOfAClusterIsRefused) {
  JobSpec spec = Job();
  spec.python_venv = "hdfs:///locks/uv.lock";
  look_ = [](const FileSpec&) {
    return std::vector<RemoteFile>{{"uv.lock", "/locks/uv.lock", 1, FromMillis(1), false}};
  };
  EXPECT_THAT(Refused(spec).message, HasSubstr("a file of this machine"));
}

}  // namespace
}  // namespace tony
