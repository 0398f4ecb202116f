// Kills a process of ours at each of its writes, syncs and sends in turn, through the built programs. The death of a
// process at any point must not change the verdict, must start the process of every attempt exactly once, and must
// leave no process. A library of tests/shim kills the process.
//
// Each sweep is split into several tests that may run in parallel. By default each sweep runs a part of its points;
// TONY_SWEEP=all runs all of them.
#include <array>
#include <cstdlib>
#include <regex>

#include "tests/e2e/tony_test.h"

namespace tony {
namespace {

constexpr int kShards = 2;

// A job and its expected result, which does not depend on the point at which a process dies.
struct Sweep {
  const char* name;
  Words submit;
  int exit = 0;
  std::string verdict = "SUCCEEDED success";
  // A regular expression for the attempts of worker 0 and of worker 1 whose processes ran, e.g. "1 2;1 2".
  std::string started;
  int most_restarts = 0;
  std::string program = "tony-am";
  // Points at which earlier processes of `program` die, before the swept process starts.
  Words before;
  // By default every `stride`-th point is run.
  int stride = 1;

  // number of the swept process, from 1
  size_t process() const { return before.size() + 1; }
  std::string CrashAt(const std::string& at) const {
    std::string list;
    for (const std::string& point : before) list += point + ",";
    return list + at;
  }
};

// The shell function "start" appends the attempt to a file once its process runs; "both" waits until each worker has
// done so.
constexpr const char* kPrelude =
    "start() { echo $TONY_ATTEMPT >> $NOTES-$TASK_INDEX; }; "
    "both() { until [ -s $NOTES-0 ] && [ -s $NOTES-1 ]; do sleep 0.01; done; }; start; ";

Words Job(const std::string& framework, const std::string& command) {
  return {"submit",
          "-executes",
          kPrelude + command,
          "-conf",
          "tony.application.framework=" + framework,
          "-conf",
          "tony.worker.instances=2"};
}

Words Quiet() { return Job("tensorflow", "sleep 0.05"); }

Words Failing() { return Job("pytorch", "both; if [ $TASK_INDEX = 1 ]; then exit 3; fi; sleep 60"); }

Words Restarting() {
  return Job("pytorch",
             "if [ $TONY_GENERATION != 1 ]; then exit 0; fi; both; if [ $TASK_INDEX = 1 ]; then exit 3; fi; sleep 60") +
         Words{"-conf", "tony.restart.gang.budget=1"};
}

// The death of a keeper or an executor may lose the state of a container. Its task, or the gang, is then started once
// more.
constexpr const char* kOnceOrTwice = "(1|2|1 2);(1|2|1 2)";
constexpr const char* kEachAtMostOnce = "(1 ?)?(2 ?)?3?;(1 ?)?(2 ?)?3?";

const std::vector<Sweep>& Sweeps() {
  static const auto& sweeps = *new std::vector<Sweep>{
      {.name = "MasterOfASuccessfulJob", .submit = Quiet(), .started = "1;1", .stride = 3},
      {.name = "MasterOfAFailedJob",
       .submit = Failing(),
       .exit = 1,
       .verdict = "FAILED user_error worker:1",
       .started = "1;1",
       .stride = 5},
      {.name = "MasterInAGangRestart", .submit = Restarting(), .started = "1 2;1 2", .most_restarts = 1, .stride = 4},
      {.name = "TwoMastersInSuccession", .submit = Quiet(), .started = "1;1", .before = {"30"}, .stride = 4},
      {.name = "KeeperOfASuccessfulJob",
       .submit = Quiet(),
       .started = kOnceOrTwice,
       .most_restarts = 1,
       .program = "tony-keeper",
       .stride = 4},
      {.name = "ExecutorOfASuccessfulJob",
       .submit = Quiet(),
       .started = kOnceOrTwice,
       .most_restarts = 1,
       .program = "tony-executor",
       .stride = 2},
      {.name = "KeeperInAGangRestart",
       .submit = Restarting(),
       .started = kEachAtMostOnce,
       .most_restarts = 2,
       .program = "tony-keeper",
       .stride = 6},
      {.name = "ExecutorInAGangRestart",
       .submit = Restarting(),
       .started = kEachAtMostOnce,
       .most_restarts = 2,
       .program = "tony-executor",
       .stride = 6},
  };
  return sweeps;
}

struct Point {
  // The point as in SHIM_CRASH_AT, e.g. "12", "12h".
  std::string at;
  std::string call;  // e.g. "write journal"
};

struct Seen {
  Ran submit;
  std::string verdict, started, left;
  int64_t restarts = -1;
  std::vector<std::string> points;  // points of the swept process
  bool died = false;
  size_t epochs = 0;  // number of AMs
};

std::string Joined(const std::string& lines) {
  std::string text = lines;
  while (!text.empty() && text.back() == '\n') text.pop_back();
  std::replace(text.begin(), text.end(), '\n', ' ');
  return text;
}

std::vector<std::string> LinesOf(const std::string& file) {
  std::ifstream stream(file);
  std::vector<std::string> lines;
  for (std::string line; std::getline(stream, line);) lines.push_back(line);
  return lines;
}

std::string VerdictOf(const json::value& status) {
  std::string text = Text(status, "/verdict/state") + " " + Text(status, "/verdict/class");
  if (At(status, "/verdict/task").is_string()) text += " " + Text(status, "/verdict/task");
  return text;
}

// Runs a job in which the swept process dies at `at`; it does not die if `at` is "0".
Seen RunJob(const Sweep& sweep, const std::string& at) {
  const Sandbox box;
  const std::string notes = box.File("started");
  fs::create_directory(box.File("shim"));
  Sandbox::Variables variables = WithShim("crash_shim", {{"SHIM_FOLDER", box.File("shim")},
                                                         {"SHIM_PROGRAM", sweep.program},
                                                         {"SHIM_CRASH_AT", sweep.CrashAt(at)},
                                                         {"NOTES", notes}});
  Seen seen;
  seen.submit = box.Tony(sweep.submit, variables);
  // No process is left when the client returns, except after the death of a keeper that was cleaning up: the next
  // keeper finishes that later.
  if (sweep.program == "tony-keeper") WaitFor([&] { return box.Processes().empty(); });
  seen.left = ToString(box.Processes());
  const std::vector<std::string> jobs = box.Jobs();
  if (jobs.size() != 1) return seen;
  const auto status = ParseJson(box.Tony({"status", jobs[0], "--json"}).out);
  seen.verdict = VerdictOf(status);
  seen.epochs = static_cast<size_t>(Number(status, "/epoch"));
  seen.restarts = Number(status, "/restart_count");
  seen.started = Joined(ReadText(notes + "-0")) + ";" + Joined(ReadText(notes + "-1"));
  seen.points = LinesOf(box.File("shim/points." + std::to_string(sweep.process())));
  // Another thread may append points between this note and the death, so the note need not be the last line.
  seen.died = std::ranges::find(seen.points, "died") != seen.points.end();
  return seen;
}

// Returns all points that the swept process reaches without a death. A write or a send can also be interrupted halfway.
std::vector<Point> PointsOf(const Seen& quiet) {
  std::vector<Point> points;
  for (const std::string& line : quiet.points) {
    const auto space = line.find(' ');
    const Point point = {line.substr(0, space), line.substr(space + 1)};
    points.push_back(point);
    if (point.call.starts_with("write") || point.call.starts_with("send"))
      points.push_back({point.at + "h", point.call});
  }
  return points;
}

class CrashPointTest : public testing::TestWithParam<std::tuple<size_t, int>> {
 protected:
  static void ExpectAsAlways(const Sweep& sweep, const Seen& seen) {
    EXPECT_EQ(seen.submit.exit, sweep.exit) << seen.submit.err;
    EXPECT_FALSE(seen.submit.timed_out);
    EXPECT_EQ(seen.verdict, sweep.verdict) << seen.submit.err;
    EXPECT_TRUE(std::regex_match(seen.started, std::regex(sweep.started)))
        << "attempts that ran: " << seen.started << "\n"
        << seen.submit.err;
    EXPECT_LE(seen.restarts, sweep.most_restarts);
    if (sweep.program == "tony-am") {
      EXPECT_LE(seen.epochs, sweep.process() + (seen.died ? 1 : 0));
    }
    EXPECT_EQ(seen.left, "") << "left behind";
  }
};

TEST_P(CrashPointTest, TheVerdictIsTheSameIfAProcessIsKilledAtAnyWriteSyncOrSend) {
  const auto& [number, shard] = GetParam();
  const Sweep& sweep = Sweeps()[number];
  const Seen quiet = RunJob(sweep, "0");
  ExpectAsAlways(sweep, quiet);
  if (HasFailure()) return;
  const std::vector<Point> points = PointsOf(quiet);
  ASSERT_GT(points.size(), 20u);
  const bool all = std::getenv("TONY_SWEEP") != nullptr && std::string(std::getenv("TONY_SWEEP")) == "all";
  int runs = 0, missed = 0;
  for (size_t i = shard; i < points.size(); i += kShards * (all ? 1 : sweep.stride)) {
    SCOPED_TRACE("killed at " + points[i].at + " " + points[i].call);
    const Seen seen = RunJob(sweep, points[i].at);
    ExpectAsAlways(sweep, seen);
    ++runs;
    if (!seen.died) ++missed;
  }
  RecordProperty("points", runs);
  // Runs differ by a few calls, so a run may end before it reaches one of the last points.
  EXPECT_LE(missed, 1 + runs / 5) << "of " << runs << " points were never met";
}

INSTANTIATE_TEST_SUITE_P(Sweep, CrashPointTest,
                         testing::Combine(testing::Range<size_t>(0, 8), testing::Range(0, kShards)),
                         [](const auto& sweep) {
                           return std::string(Sweeps()[std::get<0>(sweep.param)].name) + "_" +
                                  std::to_string(std::get<1>(sweep.param));
                         });

}  // namespace
}  // namespace tony
