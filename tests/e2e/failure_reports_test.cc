// Each injected failure is a real job. Its report must name the first cause: the task, the class, and the task's own
// words.
#include "tests/e2e/failure_reports.h"

#include <sys/mount.h>

#include <atomic>
#include <cstdio>
#include <thread>

#include "runtime/base/strings.h"
#include "tests/e2e/tony_test.h"
#include "tests/support/cgroup_look.h"

namespace tony {
namespace {

constexpr size_t kAtOnce = 4;
constexpr Limit kLongest{90'000};

// A file system for the job that is small enough for the task to fill it.
class SmallDisk {
 public:
  explicit SmallDisk(const fs::path& folder) : folder_(folder) {
    mounted_ = mount("tmpfs", folder.c_str(), "tmpfs", 0, "size=1m") == 0;
  }
  ~SmallDisk() {
    if (mounted_) umount2(folder_.c_str(), MNT_DETACH);
  }
  SmallDisk(const SmallDisk&) = delete;

 private:
  const fs::path folder_;
  bool mounted_ = false;
};

std::string WhyNot(Need need) {
  switch (need) {
    case Need::kNothing:
      return "";
    case Need::kPython:
      return access("/usr/bin/python3", X_OK) == 0 ? "" : "no /usr/bin/python3";
    case Need::kRoot: {
      const fs::path probe = fs::temp_directory_path() / StrCat("tony-mount-", getpid());
      fs::create_directory(probe);
      const bool mounts = mount("tmpfs", probe.c_str(), "tmpfs", 0, "size=64k") == 0;
      if (mounts) umount2(probe.c_str(), MNT_DETACH);
      fs::remove(probe);
      return mounts ? "" : "no file system may be mounted here";
    }
    case Need::kMemoryLimit:
      return LookForCgroups().limits.empty() ? "no cgroup with a memory limit can be made" : "";
  }
  return "";
}

std::string Replaced(std::string text, const std::string& mark, const std::string& value) {
  for (size_t at = text.find(mark); at != std::string::npos; at = text.find(mark, at + value.size()))
    text.replace(at, mark.size(), value);
  return text;
}

class FailureReportsTest : public TonyTest {
 protected:
  // Runs the job and returns the errors of its report; "" if the report is right.
  std::string Inject(const InjectedFailure& failure, const std::string& folder) {
    const auto filled = [&](const std::string& text) {
      return Replaced(Replaced(text, "@F", TestProgram("failing_program")), "@D", folder);
    };
    Words words = {"submit", "--json", "-executes", filled(failure.command)};
    for (const std::string& conf : failure.conf) words = words + Conf(conf);
    words = words + Confs({StrCat("tony.worker.instances=", failure.tasks),
                           StrCat("tony.application.framework=", failure.tasks == 1 ? "standalone" : "tensorflow")});
    Sandbox::Variables variables;
    std::unique_ptr<SmallDisk> disk;
    if (failure.need == Need::kRoot) {
      disk = std::make_unique<SmallDisk>(folder);
      fs::create_directory(folder + "/home");
      fs::create_directory_symlink(box_.home() / "programs", folder + "/home/programs");
      variables["TONY_HOME"] = folder + "/home";
    }
    const Ran ran = box_.Tony(words, variables, kLongest);
    if (ran.exit != 1) return StrCat("submit ended with ", ran.exit, ": ", ran.err, ran.out);
    return WhyPackageIsRefused(failure, ParseJson(ran.out), filled);
  }

  template <class Filled>
  static std::string WhyPackageIsRefused(const InjectedFailure& failure, const json::value& status, Filled filled) {
    const std::string message = Text(status, "/verdict/message");
    const std::string shown =
        StrCat(Text(status, "/verdict/stderr_tail"),
               At(status, "/verdict/stdout_tail").is_null() ? "" : Text(status, "/verdict/stdout_tail"));
    std::string wrong;
    const std::string restarts = json::serialize(At(status, "/restarts"));
    const auto expect = [&](bool right, const std::string& what) {
      if (!right) wrong += StrCat("  ", what, "\n");
    };
    const auto has = [](const std::string& text, const std::string& part) {
      return text.find(part) != std::string::npos;
    };
    const std::string task = At(status, "/verdict/task").is_null() ? "" : Text(status, "/verdict/task");
    expect(failure.task == "*" || task == failure.task,
           StrCat("first cause \"", task, "\", not \"", failure.task, "\""));
    expect(Text(status, "/verdict/class") == failure.cls,
           StrCat("class ", Text(status, "/verdict/class"), ", not ", failure.cls));
    for (const auto& said : failure.says) expect(has(message, filled(said)), StrCat("does not say: ", filled(said)));
    for (const auto& line : failure.shows) expect(has(shown + restarts, line), StrCat("does not show: ", line));
    for (const auto& line : failure.denies) expect(!has(message + shown, line), StrCat("says: ", line));
    return wrong.empty() ? "" : StrCat(wrong, "  message: ", message, "\n  shown: ", shown, "\n");
  }

  void ExpectAllReported(const std::vector<InjectedFailure>& failures) {
    std::vector<std::string> wrong(failures.size()), skipped(failures.size());
    std::atomic<size_t> next = 0;
    std::vector<std::thread> threads;
    for (size_t t = 0; t < kAtOnce; ++t) {
      threads.emplace_back([&] {
        for (size_t i = next++; i < failures.size(); i = next++) {
          const std::string folder = box_.File(StrCat("failure-", i));
          fs::create_directory(folder);
          skipped[i] = WhyNot(failures[i].need);
          if (skipped[i].empty()) wrong[i] = Inject(failures[i], folder);
        }
      });
    }
    for (auto& thread : threads) thread.join();
    size_t ran = 0, right = 0;
    for (size_t i = 0; i < failures.size(); ++i) {
      if (!skipped[i].empty()) std::printf("skipped: %s: %s\n", failures[i].name.c_str(), skipped[i].c_str());
      EXPECT_EQ(wrong[i], "") << failures[i].name;
      ran += skipped[i].empty();
      right += skipped[i].empty() && wrong[i].empty();
    }
    std::printf("%zu of %zu reports are right\n", right, ran);
    if (ran == 0) GTEST_SKIP() << skipped.front();
    ExpectNothingLeft();
  }
};

TEST_F(FailureReportsTest, ReportsOfFailedShellCommandsNameTheFirstCause) { ExpectAllReported(FailuresOfShells()); }
TEST_F(FailureReportsTest, ReportsOfTasksEndedBySignalsNameTheCause) { ExpectAllReported(FailuresBySignals()); }
TEST_F(FailureReportsTest, ReportsOfNativeCrashesNameTheFirstCause) { ExpectAllReported(FailuresOfNativeCode()); }
TEST_F(FailureReportsTest, ReportsOfPythonErrorsNameTheFirstCause) { ExpectAllReported(FailuresOfPython()); }
TEST_F(FailureReportsTest, ReportsOfFailuresCausedByMachinesNameTheCause) { ExpectAllReported(FailuresOfMachines()); }
TEST_F(FailureReportsTest, ReportsOfPeerFailuresNameTheFirstFailedTask) { ExpectAllReported(FailuresOfCollectives()); }

}  // namespace
}  // namespace tony
