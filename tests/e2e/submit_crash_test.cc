// Kills a submit under a request id at each of its writes, syncs and renames in turn. A death at any point leaves
// nothing, or a job that the request finds. The next submit ends with one job, whose task has started once.
#include <cstdlib>

#include "tests/e2e/tony_test.h"

namespace tony {
namespace {

constexpr int kSubmitShards = 2;
// By default every third point is run; TONY_SWEEP=all runs all points.
constexpr int kSubmitStride = 3;

struct SubmitPoint {
  // The point as in SHIM_CRASH_AT, e.g. "12", "12h".
  std::string at;
  std::string call;  // e.g. "rename requests/.../record.json"
};

Words Submit(const std::string& command, const std::string& owner, int number) {
  return {"submit",
          "--json",
          "--detach",
          "-executes",
          command,
          "-conf",
          "tony.application.framework=standalone",
          "-conf",
          "tony.worker.instances=1",
          "--request-id",
          "k",
          "--owner",
          owner,
          "--submission",
          std::to_string(number)};
}

// Parameters: true if a job of a lower submission number runs and has to be replaced; the shard of the points.
class SubmitCrashTest : public testing::TestWithParam<std::tuple<bool, int>> {
 protected:
  std::vector<SubmitPoint> RunOne(const std::string& at) {
    const Sandbox box;
    const std::string old = replaces_ ? StartPredecessor(box) : "";
    fs::create_directory(box.File("shim"));
    const Ran killed = box.Tony(Own(box), WithShim("crash_shim", {{"SHIM_FOLDER", box.File("shim")},
                                                                  {"SHIM_PROGRAM", "tony"},
                                                                  {"SHIM_ROOT", box.home().string()},
                                                                  {"SHIM_CRASH_AT", at}}));
    const bool died = Died(box);
    EXPECT_EQ(killed.exit, died ? 137 : 0) << killed.err;
    deaths_ += died ? 1 : 0;
    ExpectFound(box, old);
    ExpectTheNextOneEndsWell(box, old);
    return Points(box);
  }

  int deaths() const { return deaths_; }

 private:
  Words Own(const Sandbox& box, const std::string& owner = "first") const {
    return Submit("echo started >> " + box.File("starts"), owner, replaces_ ? 1 : 0);
  }

  static std::string StartPredecessor(const Sandbox& box) {
    const Ran ran = box.Tony(Submit("touch " + box.File("old-runs") + "; exec sleep 1000", "old", 0));
    EXPECT_TRUE(WaitForFile(box.File("old-runs"))) << ran.err;
    return Text(ParseJson(ran.out), "/job");
  }

  static void ExpectFound(const Sandbox& box, const std::string& old) {
    std::vector<std::string> jobs = box.Jobs();
    std::erase(jobs, old);
    if (jobs.empty()) return;
    const Ran find = box.Tony({"find", "--request-id", "k", "--json"});
    EXPECT_EQ(jobs, Words{Text(ParseJson(find.out), "/job")}) << find.err;
  }

  void ExpectTheNextOneEndsWell(const Sandbox& box, const std::string& old) const {
    Words again = Own(box, "second");
    std::erase(again, "--detach");
    const Ran ran = box.Tony(again);
    EXPECT_EQ(ran.exit, 0) << ran.err;
    EXPECT_EQ(ReadText(box.File("starts")), "started\n");
    EXPECT_EQ(box.Jobs().size(), replaces_ ? 2u : 1u);
    // A submit that adopts a result returns at once, and the keeper of the job may still be exiting.
    EXPECT_TRUE(WaitFor([&] { return box.Processes().empty(); })) << ToString(box.Processes());
    if (!replaces_) return;
    EXPECT_EQ(Text(ParseJson(box.Tony({"status", old, "--json"}).out), "/state"), "KILLED");
    EXPECT_EQ(box.Tony(Submit("true", "zombie", 0)).exit, 77);
  }

  static bool Died(const Sandbox& box) {
    return ReadText(box.File("shim/points.1")).find("died\n") != std::string::npos;
  }

  static std::vector<SubmitPoint> Points(const Sandbox& box) {
    std::ifstream notes(box.File("shim/points.1"));
    std::vector<SubmitPoint> points;
    for (std::string line; std::getline(notes, line);) {
      const auto space = line.find(' ');
      const SubmitPoint point = {line.substr(0, space), line.substr(space + 1)};
      points.push_back(point);
      if (point.call.starts_with("write") || point.call.starts_with("send"))
        points.push_back({point.at + "h", point.call});
    }
    return points;
  }

  int deaths_ = 0;
  const bool replaces_ = std::get<0>(GetParam());
};

TEST_P(SubmitCrashTest, ASubmitKilledAtAnyPointLeavesEitherNoJobOrAJobFoundByItsRequestId) {
  const std::vector<SubmitPoint> points = RunOne("0");
  ASSERT_GT(points.size(), 20u);
  ASSERT_FALSE(HasFailure());
  const bool all = std::getenv("TONY_SWEEP") != nullptr && std::string(std::getenv("TONY_SWEEP")) == "all";
  int runs = 0;
  for (size_t i = std::get<1>(GetParam()); i < points.size(); i += kSubmitShards * (all ? 1 : kSubmitStride)) {
    SCOPED_TRACE("killed at " + points[i].at + " " + points[i].call);
    RunOne(points[i].at);
    ++runs;
  }
  // Runs differ by a few calls, so a run may end before it reaches one of the last points.
  EXPECT_GE(deaths(), runs - 1 - runs / 5) << "of " << runs << " points";
}

INSTANTIATE_TEST_SUITE_P(Sweep, SubmitCrashTest, testing::Combine(testing::Bool(), testing::Range(0, kSubmitShards)),
                         [](const auto& sweep) {
                           return std::string(std::get<0>(sweep.param) ? "Replacing" : "Creating") + "_" +
                                  std::to_string(std::get<1>(sweep.param));
                         });

}  // namespace
}  // namespace tony
