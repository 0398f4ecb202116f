#include "runtime/keeper/sweep.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "runtime/base/strings.h"

namespace tony::keeper {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::UnorderedElementsAre;

constexpr pid_t kKeeper = 100;

ProcessEntry Marked(pid_t pid, pid_t parent, const std::string& container, const std::string& job = "job") {
  std::string environment = StrCat("PATH=/bin", '\0', "TONY_JOB_ID=", job, '\0');
  if (!container.empty()) environment += StrCat("TONY_CONTAINER=", job, "/", container, '\0');
  return {pid, parent, environment};
}
ProcessEntry Bare(pid_t pid, pid_t parent) { return {pid, parent, ""}; }

SweepScope Scope(std::set<ContainerId> live, std::set<pid_t> own) {
  return {{"job"}, kKeeper, std::move(live), [own = std::move(own)](pid_t pid) { return own.contains(pid); }};
}

TEST(SweepTest, MarkedProcessesOfAnEndedContainerAreVictimsWhereverTheyHang) {
  const auto victims =
      FindLeftovers({Marked(200, 1, "1-1"), Marked(201, kKeeper, "1-1"), Marked(202, 1, "1-2")}, Scope({{"1-2"}}, {}));
  EXPECT_THAT(victims.pids, UnorderedElementsAre(200, 201));
  EXPECT_TRUE(victims.MayBeOf({"1-1"}));
  EXPECT_FALSE(victims.MayBeOf({"1-2"}));
}

TEST(SweepTest, LiveExecutorsAndTheAmAreSpared) {
  const auto victims = FindLeftovers(
      {Bare(kKeeper, 1), Marked(150, kKeeper, ""), Marked(200, kKeeper, "1-1"), Bare(201, 200), Bare(1, 0), Bare(2, 1)},
      Scope({{"1-1"}}, {150, 200}));
  EXPECT_THAT(victims.pids, IsEmpty());
}

TEST(SweepTest, OrphansWithoutAMarkAreVictimsWithAllBelowThem) {
  const auto victims =
      FindLeftovers({Bare(kKeeper, 1), Bare(300, kKeeper), Bare(301, 300), Bare(302, 301)}, Scope({}, {}));
  EXPECT_THAT(victims.pids, UnorderedElementsAre(300, 301, 302));
  EXPECT_TRUE(victims.MayBeOf({"1-1"})) << "whose they are is not known";
}

TEST(SweepTest, OrphanOfALiveContainerIsSpared) {
  const auto victims = FindLeftovers({Marked(300, kKeeper, "1-2"), Marked(301, kKeeper, "1-1")}, Scope({{"1-2"}}, {}));
  EXPECT_THAT(victims.pids, ElementsAre(301));
}

TEST(SweepTest, OfAdoptedExecutorsTheStraysAreThoseThatWriteToTheJobsLogs) {
  SweepScope scope = Scope({{"1-1"}}, {});
  scope.live_executors = {200};
  const std::vector<ProcessEntry> processes = {Marked(200, 1, "1-1"), Bare(201, 200), Bare(202, 201),  Bare(300, 1),
                                               Bare(301, 300),        Bare(400, 1),   Bare(kKeeper, 1)};
  EXPECT_THAT(FindLeftovers(processes, scope).pids, IsEmpty());
  scope.writes_logs = [](pid_t pid) { return pid == 202 || pid == 300 || pid == kKeeper; };
  const auto victims = FindLeftovers(processes, scope);
  EXPECT_THAT(victims.pids, UnorderedElementsAre(300, 301)) << "all below a live executor are spared";
  EXPECT_TRUE(victims.MayBeOf({"1-2"}));
  EXPECT_THAT(FindAllOfJob({Bare(300, 1), Bare(kKeeper, 1)}, scope), ElementsAre(300));
}

TEST(SweepTest, WhatIsKnownOfAContainerKeepsItAloneFromItsEnd) {
  Victims victims = FindLeftovers({Bare(300, 1)}, Scope({}, {}));
  EXPECT_TRUE(victims.Empty());
  victims.containers.insert({"1-1"});
  EXPECT_FALSE(victims.Empty());
  EXPECT_TRUE(victims.MayBeOf({"1-1"}));
  EXPECT_FALSE(victims.MayBeOf({"1-2"}));
  victims.strays = true;
  EXPECT_TRUE(victims.MayBeOf({"1-2"}));
}

// Its parent ended between two lines of the list: it may be below a live executor.
TEST(SweepTest, AWriterToTheLogsWhoseDescentIsNotKnownIsSparedForNow) {
  SweepScope scope = Scope({{"1-1"}}, {});
  scope.live_executors = {200};
  scope.writes_logs = [](pid_t pid) { return pid == 202; };
  EXPECT_THAT(FindLeftovers({Marked(200, 1, "1-1"), Bare(202, 201)}, scope).pids, IsEmpty());
  EXPECT_THAT(FindLeftovers({Marked(200, 1, "1-1"), Bare(202, 1)}, scope).pids, ElementsAre(202));
}

TEST(SweepTest, OtherJobsAreNotOurs) {
  EXPECT_THAT(FindLeftovers({Marked(300, 1, "1-1", "job2"), Marked(301, 1, "1-1", "xjob")}, Scope({}, {})).pids,
              IsEmpty());
  EXPECT_THAT(FindAllOfJob({Marked(300, 1, "1-1", "job2"), Marked(301, 1, "", "jo")}, Scope({}, {})), IsEmpty());
}

TEST(SweepTest, KeeperIsNeverAVictimWhateverItWasStartedWith) {
  ProcessEntry keeper = Marked(kKeeper, 1, "1-1");
  EXPECT_THAT(FindLeftovers({keeper}, Scope({}, {})).pids, IsEmpty());
  EXPECT_THAT(FindAllOfJob({keeper}, Scope({}, {})), IsEmpty());
}

TEST(SweepTest, AtTheEndEverythingOfTheJobIsFoundByMarkAndByDescent) {
  EXPECT_THAT(FindAllOfJob({Bare(kKeeper, 1), Marked(150, kKeeper, ""), Marked(200, 1, "1-1"), Bare(300, kKeeper),
                            Bare(301, 300), Bare(400, 1)},
                           Scope({}, {})),
              ElementsAre(150, 200, 300, 301));
}

}  // namespace
}  // namespace tony::keeper
