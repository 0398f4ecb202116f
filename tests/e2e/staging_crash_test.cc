// Kills a submit with files, or `tony gc`, at each of its writes, syncs and renames in turn. After a death at any point
// the next submit of the same sources runs with whole files, and the next gc keeps only the entries that jobs refer to.
#include <cstdlib>

#include "tests/e2e/tony_test.h"

namespace tony {
namespace {

// By default every seventh point is run; TONY_SWEEP=all runs all points.
constexpr int kStride = 7;

class Store {
 public:
  Store() {
    fs::create_directories(box_.folder() / "app/package");
    box_.Write("app/package/value", "whole\n");
    box_.Write("app/run.sh", "cat package/value\n");
  }
  ~Store() {
    for (std::error_code error; const auto& entry : fs::recursive_directory_iterator(Folder(), error)) {
      if (entry.is_directory() && !entry.is_symlink()) fs::permissions(entry, fs::perms::owner_all, error);
    }
  }

  fs::path Folder() const { return box_.home() / "staged"; }
  fs::path Entry() const {
    std::error_code error;
    for (const auto& entry : fs::directory_iterator(Folder(), error)) {
      if (entry.path().filename().string().front() != '.') return entry.path();
    }
    return {};
  }
  Words Submit() const {
    return {"submit",
            "-executes",
            "sh run.sh",
            "-src_dir",
            box_.File("app"),
            "-conf",
            "tony.application.framework=standalone",
            "-conf",
            "tony.worker.instances=1"};
  }
  void Damage() const {
    const fs::path folder = Entry() / "package";
    fs::permissions(folder, fs::perms::owner_all);
    fs::remove(folder / "value");
    fs::permissions(folder, fs::perms(0555));
  }
  // Makes the files that a submit leaves if it is killed while it makes the entry.
  void LeaveAHalf() const {
    const std::string name = Entry().filename();
    const fs::path half = Folder() / (".new-" + name + ".0123abcd") / "package";
    fs::create_directories(half);
    std::ofstream(half / "half") << "half";
    std::ofstream(Folder() / (".busy-" + name)) << "";
    std::ofstream(Folder() / ".old-x.12345678") << "";
  }
  bool KillAt(const Words& words, int point) const {
    fs::remove_all(box_.File("shim"));
    fs::create_directory(box_.File("shim"));
    box_.Tony(words, WithShim("crash_shim", {{"SHIM_FOLDER", box_.File("shim")},
                                             {"SHIM_PROGRAM", "tony"},
                                             {"SHIM_ROOT", box_.home().string()},
                                             {"SHIM_CRASH_AT", std::to_string(point)}}));
    return ReadText(box_.File("shim/points.1")).find("died\n") != std::string::npos;
  }
  int Points() const { return static_cast<int>(CountLines(ReadText(box_.File("shim/points.1")))); }
  std::string Met() const { return ReadText(box_.File("shim/points.1")); }

  void ExpectTheNextOnesEndWell() const {
    const Ran next = box_.Tony(Submit() + Words{"--json"});
    EXPECT_EQ(next.exit, 0) << next.err;
    const std::string job = Text(ParseJson(next.out), "/job");
    EXPECT_EQ(ReadText(box_.JobFolder(job) / "logs/worker-0/1/stdout"), "whole\n");
    // A job of the killed submit may still be exiting.
    EXPECT_TRUE(WaitFor([&] { return box_.Processes().empty(); })) << ToString(box_.Processes());
    EXPECT_EQ(box_.Tony({"gc"}).exit, 0);
    const std::string name = Entry().filename();
    for (const auto& entry : fs::directory_iterator(Folder())) {
      const std::string left = entry.path().filename();
      EXPECT_TRUE(left == name || left == ".lock" || left == ".manifest-" + name || left.starts_with(".damaged-"))
          << left;
    }
  }

  const Sandbox& box() const { return box_; }

 private:
  Sandbox box_;
};

struct StagingCase {
  const char* name;
  bool has_run;  // the entry exists
  void (*prepare)(const Store&);
  Words words;  // empty: a submit
};

class StagingCrashTest : public testing::TestWithParam<StagingCase> {
 protected:
  int RunOne(int point) {
    const Store store;
    if (GetParam().has_run) {
      EXPECT_EQ(store.box().Tony(store.Submit()).exit, 0);
    }
    GetParam().prepare(store);
    const bool died = store.KillAt(GetParam().words.empty() ? store.Submit() : GetParam().words, point);
    EXPECT_EQ(died, point > 0);
    store.ExpectTheNextOnesEndWell();
    if (HasFailure()) ADD_FAILURE() << "at point " << point << " of\n" << store.Met();
    return store.Points();
  }
};

TEST_P(StagingCrashTest, TheNextSubmitRunsWithCompleteFilesAfterASubmitOrGcWasKilledAtAnyPoint) {
  const int points = RunOne(0);
  ASSERT_GT(points, 3);
  const bool all = std::getenv("TONY_SWEEP") != nullptr && std::string(std::getenv("TONY_SWEEP")) == "all";
  // The end of the program is also a point. It is left out, because the job may start before it.
  const int last = points - 1;
  for (int point = 1; point < last && !HasFailure(); point += all ? 1 : kStride) RunOne(point);
}

INSTANTIATE_TEST_SUITE_P(
    All, StagingCrashTest,
    testing::Values(StagingCase{.name = "FirstSubmit", .has_run = false, .prepare = [](const Store&) {}},
                    StagingCase{.name = "RepairOfADamagedEntry",
                                .has_run = true,
                                .prepare = [](const Store& s) { s.Damage(); }},
                    StagingCase{.name = "RepairBesideAnUnfinishedEntry",
                                .has_run = true,
                                .prepare = [](const Store& s) { s.Damage(), s.LeaveAHalf(); }},
                    StagingCase{.name = "GarbageCollection",
                                .has_run = true,
                                .prepare = [](const Store& s) { s.LeaveAHalf(); },
                                .words = {"gc", "--older-than", "0m"}}),
    [](const auto& test) { return test.param.name; });

}  // namespace
}  // namespace tony
