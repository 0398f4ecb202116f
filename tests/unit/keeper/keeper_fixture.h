// A job with a real keeper (its supervisor), a shell script as its AM, and this test in the place of the AM's
// scheduler.
#pragma once

#include <gtest/gtest.h>

#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "runtime/backend/am_launcher.h"
#include "runtime/base/event_loop.h"
#include "runtime/base/unique_fd.h"
#include "runtime/local/local_arbiter.h"
#include "runtime/local/local_scheduler.h"
#include "runtime/os/boost_process_runner.h"
#include "runtime/records/job_records.h"
#include "tests/support/run_until.h"
#include "tests/support/temp_folder.h"

namespace tony {

class KeeperFixture : public ::testing::Test, public AmLauncher {
 public:
  // Starts a keeper; the scheduler calls this when it needs one.
  Result<bool> Start(const JobRecords& records) override;
  ArbiterView Look(const JobRecords& records) const override { return arbiter_.Look(records); }
  Result<std::optional<JobStatus>> UnwrittenEnd(const JobRecords& records) const override {
    return arbiter_.UnwrittenEnd(records);
  }
  Status Settle(const JobRecords& records) const override { return arbiter_.Settle(records); }
  std::string KeeperFailureHint(const JobRecords& records) const override {
    return arbiter_.KeeperFailureHint(records);
  }

 protected:
  // An AM that writes its epoch to the file "ams" and then waits to be killed.
  static constexpr char kSleepingAm[] = "echo $2 >>$1/ams; exec sleep 1000";

  explicit KeeperFixture(const std::string& am_script = kSleepingAm);
  // Kills keepers and AMs, then checks that no process of the job is left.
  ~KeeperFixture() override;

  // Set what the tasks need and what the machine has. They take effect only before the keeper is started.
  void SetTasks(int count, const Resources& each);
  void SetMachine(const std::string& json);
  std::filesystem::path ledger() const { return temp_.path() / "ledger"; }

  // `limits` are settings of quick_keeper, e.g. "QUICK_KEEPER_SILENCE=300".
  void SetLimits(const std::vector<std::string>& limits);
  // Starts a keeper and waits until it listens.
  pid_t StartKeeper();
  // Waits for the keeper's end; returns true if the keeper ended with success.
  bool KeeperEnded(pid_t keeper);
  // Kills the keeper with SIGKILL and waits for its end.
  void KillKeeper(pid_t keeper);

  void SpeakAsAm(Epoch epoch, Duration lease);
  // Connects as the AM of `epoch` and waits until the keeper is reached.
  void BecomeAm(Epoch epoch, Duration lease = std::chrono::seconds(10));
  void Launch(const std::string& container, const std::string& command, const std::vector<std::string>& env = {},
              const Resources& resources = {});

  // Returns true if the condition held once within `limit`. The result is remembered, because the next check of a
  // starting process may have another result.
  bool WaitFor(const std::function<bool()>& condition, Duration limit = std::chrono::seconds(20)) {
    bool held = false;
    return RunUntil(
        loop_, [&] { return held = held || condition(); }, limit);
  }
  bool WaitForFile(const std::string& name);
  // Returns the content of a file in the job's folder.
  std::string Content(const std::string& name) const;
  // Returns the events of this type that the scheduler reported, in their order.
  template <class Event>
  std::vector<Event> Told() const {
    std::vector<Event> told;
    for (const auto& event : events_)
      if (const auto* e = std::get_if<Event>(&event)) told.push_back(*e);
    return told;
  }
  const ContainerExited* Exit(const std::string& container) const;
  bool Started(const std::string& container) const;
  std::vector<pid_t> Marked(const std::string& container) const;  // living processes of the container
  std::vector<pid_t> OfJob() const;                               // living processes with the job's mark
  // Returns the processes of the AM that has written its epoch. Waits for them, because the environment of a process
  // cannot be read while it turns into `sleep`.
  std::vector<pid_t> Ams();
  void KillAm();
  void RemoveCgroups() const;

  const LocalArbiter arbiter_;
  TempFolder temp_;
  EventLoop loop_;
  BoostProcessRunner runner_{loop_};
  JobRecords records_ = LocalJobRecords("");
  std::map<pid_t, std::optional<ExitStatus>> keepers_;
  int keepers_started_ = 0;
  // Open from the keeper's start, so that the log can be read to its end even if the folder was removed.
  UniqueFd keeper_log_;
  std::map<ContainerId, LaunchSpec> launches_;  // shell scripts in place of executors
  std::map<ContainerId, Outcome> kept_;         // outcomes that the scripts kept
  std::vector<SchedulerEvent> events_;
  std::unique_ptr<LocalScheduler> scheduler_;
};

}  // namespace tony
