// Why an application has no master yet. The texts are a CapacityScheduler's own, of Hadoop 3.4.3.
#include <gtest/gtest.h>

#include "runtime/yarn/yarn_check.h"
#include "runtime/yarn/yarn_ends.h"

namespace tony {
namespace {

using hadoop::ApplicationReport;
using hadoop::ApplicationState;

std::string Why(const std::string& diagnostics, ApplicationState state = ApplicationState::kAccepted) {
  return WhyMasterWaits({.state = state, .user = "eve", .queue = "ml", .diagnostics = diagnostics});
}

TEST(MasterWaitTest, AShareForMastersThatIsFullIsToldWithItsAmounts) {
  const std::string details =
      "Details : AM Partition = <DEFAULT_PARTITION>; AM Resource Request = <memory:8192, vCores:32, yarn.io/gpu: 0>; "
      "Queue Resource Limit for AM = <memory:26240, vCores:103, yarn.io/gpu: 6>; User AM Resource Limit of the queue = "
      "<memory:13120, vCores:52, yarn.io/gpu: 3>; Queue AM Resource Usage = <memory:24576, vCores:96>; ";
  EXPECT_EQ(Why("[Thu Nov 26 03:20:43 +0000 2026] Application is added to the scheduler and is not yet activated. "
                "Queue's AM resource limit exceeded.  " +
                details),
            "waits for its master: queue ml may have 26240 MB and 103 vcores for masters, of which 24576 MB and 96 "
            "vcores are in use in the queue; this one asks for 8192 MB and 32 vcores");
  EXPECT_EQ(Why("User's AM resource limit exceeded. " + details),
            "waits for its master: user eve in queue ml may have 13120 MB and 52 vcores for masters, of which 24576 MB "
            "and 96 vcores are in use in the queue; this one asks for 8192 MB and 32 vcores");
}

TEST(MasterWaitTest, AQueueWithoutRoomIsToldWithItsShares) {
  EXPECT_EQ(Why("[x] Application is Activated, waiting for resources to be assigned for AM.  Details : AM Partition = "
                "<DEFAULT_PARTITION> ; Partition Resource = <memory:32768, vCores:128> ; Queue's Absolute capacity = "
                "50.0 % ; Queue's Absolute used capacity = 100.0 % ; Queue's Absolute max capacity = 100.0 % ; "),
            "waits for its master: queue ml has no room for it: the queue uses 100.0 % of the cluster, where 100.0 % "
            "are the most");
}

TEST(MasterWaitTest, WhatIsOnItsWayAndWhatIsNotKnownAreTold) {
  EXPECT_EQ(Why("[x] Scheduler has assigned a container for AM, waiting for AM container to be launched"),
            "waits for its master: its container is being started");
  EXPECT_EQ(Why("AM container is launched, waiting for AM container to Register with RM"),
            "waits for its master: its container is started, and it has not registered yet");
  EXPECT_EQ(Why("", ApplicationState::kSubmitted), "waits for its master: queue ml has not taken it in yet");
  EXPECT_EQ(Why("in words\nof another scheduler"), "waits for its master: in words of another scheduler");
}

TEST(MasterWaitTest, WhatRunsOrHasEndedWaitsForNothing) {
  for (const auto state : {ApplicationState::kRunning, ApplicationState::kFinished, ApplicationState::kKilled})
    EXPECT_EQ(Why("AM container is launched", state), "");
}

TEST(QueuedJobsTest, WhatRunsComesFirstAndWhatWaitsInTheOrderOfItsTurns) {
  const auto report = [](int number, ApplicationState state, int priority, int64_t started) {
    ApplicationReport report{.id = {1, number}, .state = state, .user = "eve", .queue = "ml"};
    report.priority = priority;
    report.started = FromMillis(started);
    report.used = {number * 100, 1, {{"yarn.io/gpu", 2}}};
    return report;
  };
  auto hidden = report(5, ApplicationState::kRunning, 0, 5);
  hidden.used = {-1, -1, {}};
  const auto jobs =
      QueuedJobs({report(1, ApplicationState::kAccepted, 0, 1), report(2, ApplicationState::kAccepted, 3, 2),
                  report(3, ApplicationState::kRunning, 0, 3), report(4, ApplicationState::kAccepted, 3, 1), hidden});
  std::vector<std::string> order;
  for (const QueuedJob& job : jobs) order.push_back(job.job.value.substr(job.job.value.size() - 1));
  EXPECT_EQ(order, (std::vector<std::string>{"3", "5", "4", "2", "1"}));
  EXPECT_TRUE(jobs[0].runs && jobs[0].why.empty() && !jobs[2].runs && !jobs[2].why.empty());
  EXPECT_EQ(jobs[0].memory_mb, 300);
  EXPECT_EQ(jobs[0].gpus, 2);
  EXPECT_EQ(jobs[1].memory_mb, 0) << "this user may not know";
}

TEST(MasterWaitTest, AnAttemptThatFailedIsNamedWithoutTheStackTraceOfItsNode) {
  EXPECT_EQ(Why("AM Container for appattempt_1_0001_000001 exited with exitCode: -1000\n"
                "Failing this attempt.Diagnostics: changed on src filesystem\njava.io.IOException: changed\n\tat a.B"),
            "waits for its master: AM Container for appattempt_1_0001_000001 exited with exitCode: -1000");
}

}  // namespace
}  // namespace tony
