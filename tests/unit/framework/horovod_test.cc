#include "runtime/framework/horovod.h"

#include <gtest/gtest.h>

#include "runtime/base/strings.h"
#include "tests/support/places.h"

namespace tony {
namespace {

std::string Line(const HorovodSlot& slot) {
  return StrCat(slot.host, " rank ", slot.rank, "/", slot.size, " local ", slot.local_rank, "/", slot.local_size,
                " cross ", slot.cross_rank, "/", slot.cross_size);
}

TEST(HorovodTest, EachWorkerOfAListOfHostsHasTheSlotThatHorovodsLauncherWouldGiveIt) {
  const struct {
    const char* workers;
    std::vector<std::string> slots;
  } rows[] = {
      {"h1:1", {"h1 rank 0/1 local 0/1 cross 0/1"}},
      {"h1:2,h2:1",
       {"h1 rank 0/3 local 0/2 cross 0/2", "h1 rank 1/3 local 1/2 cross 0/1", "h2 rank 2/3 local 0/1 cross 1/2"}},
      {"h1:1,h2:2",
       {"h1 rank 0/3 local 0/1 cross 0/2", "h2 rank 1/3 local 0/2 cross 1/2", "h2 rank 2/3 local 1/2 cross 0/1"}},
  };
  for (const auto& row : rows) {
    const auto slots = HorovodSlots(row.workers);
    ASSERT_TRUE(slots.ok()) << row.workers;
    std::vector<std::string> lines;
    for (const HorovodSlot& slot : *slots) lines.push_back(Line(slot));
    EXPECT_EQ(lines, row.slots) << row.workers;
  }
  for (const char* bad : {"", "h1", "h1:x", ":2", "h1:0"}) EXPECT_FALSE(HorovodSlots(bad).ok()) << bad;
}

std::string Slot(const char* host, const char* rank, const char* local, const char* local_size = "1",
                 const char* cross = "0") {
  return StrCat(R"({"hostname":")", host, R"(","rank":)", rank, R"(,"localRank":)", local, R"(,"crossRank":)", cross,
                R"(,"size":2,"localSize":)", local_size, R"(,"crossSize":1})");
}

TEST(HorovodTest, ThePlanOfAUsersDriverIsPublishedOrRefusedWithTheReason) {
  const std::string usual = StrCat("[", Slot("h1", "0", "0", "2"), ",", Slot("h1", "\"1\"", "1", "2"), "]");
  const std::string reversed = StrCat("[", Slot("h1", "1", "0", "2"), ",", Slot("h1", "0", "1", "2"), "]");
  const std::string one = StrCat("[", Slot("h1", "0", "0"), "]");
  std::string many = "[" + Slot("h1", "1", "0");
  for (int i = 0; i < 12; ++i) many += "," + Slot("h2", "0", "0");
  const struct {
    std::string text, workers, expected;
  } rows[] = {
      {usual, "h1:2", "9999"},
      {reversed, "h1:2",
       R"(9999 [{"hostname":"h1","rank":0,"size":2,"localRank":1,"localSize":2,"crossRank":0,"crossSize":1},)"
       R"({"hostname":"h1","rank":1,"size":2,"localRank":0,"localSize":2,"crossRank":0,"crossSize":1}])"},
      {one, "h1:2", "no slot for worker number 2 of host h1; the workers are h1:2"},
      {one, "h2:1", "no slot for worker number 1 of host h2"},
      {many + "]", "h1:1", "bytes, expected at most 1024"},
      {"", "h1:1", "is not a list of slots"},
      {"{}", "h1:1", "is not a list of slots"},
      {R"([{"hostname":"h1"}])", "h1:1", "is not a list of slots"},
      {R"([{"hostname":"h1","rank":-1,"localRank":0,"crossRank":0,"size":1,"localSize":1,"crossSize":1}])", "h1:1",
       "is not a list of slots"},
  };
  for (const auto& row : rows) {
    const auto plan = MakeHorovodPlan(9999, row.text, row.workers);
    EXPECT_NE((plan.ok() ? *plan : plan.error().message).find(row.expected), std::string::npos)
        << row.text << ": " << (plan.ok() ? *plan : plan.error().message);
  }
}

// Two workers on h1 and one on h2, in a job with a chief.
struct Job {
  Job() {
    spec.framework = FrameworkKind::kHorovod;
    spec.roles = {
        {"chief", 1, {}, "true"}, {"driver", 1, {}, "true", Completion::kUntracked}, {"worker", 2, {}, "true"}};
    cluster.roles = {{"chief", {{"h2", 5}}}, {"driver", {{"h9", 4711}}}, {"worker", {{"h1", 1}, {"h2", 2}}}};
  }
  // Returns rank, local rank and host of the task.
  std::string Place(const TaskId& task, const std::string& plan) {
    cluster.values[{"driver", 0}]["HOROVOD_PLAN"] = plan;
    Environment variables = FrameworkEnvironment(spec, cluster, task);
    return StrCat(variables["HOROVOD_RANK"], " ", variables["HOROVOD_LOCAL_RANK"], " ", variables["HOROVOD_HOSTNAME"],
                  " ", variables["HOROVOD_GLOO_RENDEZVOUS_ADDR"], ":", variables["HOROVOD_GLOO_RENDEZVOUS_PORT"]);
  }
  JobSpec spec;
  ClusterSpec cluster{.generation = {1}};
};

TEST(HorovodTest, RanksFollowTheHostsBeginningWithTheChiefs) {
  Job job;
  EXPECT_TRUE(CheckFramework(job.spec).ok());
  EXPECT_EQ(HorovodWorkers(job.spec, job.cluster), "h2:2,h1:1");
  EXPECT_EQ(job.Place({"chief", 0}, "4711"), "0 0 h2 h9:4711");
  EXPECT_EQ(job.Place({"worker", 1}, "4711"), "1 1 h2 h9:4711");
  EXPECT_EQ(job.Place({"worker", 0}, "4711"), "2 0 h1 h9:4711");
  EXPECT_EQ(FrameworkEnvironment(job.spec, job.cluster, {"driver", 0}).at("CLUSTER_WORKER_LIST"), "h2:2,h1:1");
}

TEST(HorovodTest, ThePlanOfTheDriverDecidesTheRanks) {
  Job job;
  const std::string plan =
      StrCat("9 [", Slot("h2", "2", "1"), ",", Slot("h1", "0", "0"), ",", Slot("h2", "1", "0"), "]");
  EXPECT_EQ(job.Place({"chief", 0}, plan), "1 0 h2 h9:9");
  EXPECT_EQ(job.Place({"worker", 1}, plan), "2 1 h2 h9:9");
  EXPECT_EQ(job.Place({"worker", 0}, plan), "0 0 h1 h9:9");
}

TEST(HorovodTest, ADriverThatIsMissingOrTrackedIsRefused) {
  Job job;
  job.spec.roles[1].completion = Completion::kTracked;
  EXPECT_FALSE(CheckFramework(job.spec).ok());
  job.spec.roles.erase(job.spec.roles.begin() + 1);
  EXPECT_EQ(CheckFramework(job.spec).error().message,
            "framework horovod needs exactly one untracked task of role driver; set tony.driver.instances=1 and "
            "tony.application.untracked.jobtypes=driver");
}

}  // namespace
}  // namespace tony
