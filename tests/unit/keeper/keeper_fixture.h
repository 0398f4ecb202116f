// A job with a real keeper, a shell script as its AM, and this test in the place of the AM's scheduler.
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
  Result<bool> Start(const JobRecords& records) override;  // of a keeper, as the scheduler asks for it
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
  ~KeeperFixture() override;  // checks that nothing of the job is left, after killing keepers and AMs

  // What the job asks for, and what the machine has: before the keeper is started.
  void SetTasks(int count, const Resources& each);
  void SetMachine(const std::string& json);
  std::filesystem::path ledger() const { return temp_.path() / "ledger"; }

  // `limits`: what quick_keeper reads, "QUICK_KEEPER_SILENCE=300".
  void SetLimits(const std::vector<std::string>& limits);
  pid_t StartKeeper();             // and waits until it listens
  bool KeeperEnded(pid_t keeper);  // waits for it
  void KillKeeper(pid_t keeper);   // kill -9, and waits

  void SpeakAsAm(Epoch epoch, Duration lease);
  void BecomeAm(Epoch epoch, Duration lease = std::chrono::seconds(10));  // and waits until the keeper is reached
  void Launch(const std::string& container, const std::string& command, const std::vector<std::string>& env = {},
              const Resources& resources = {});

  // Whether the condition has held once: what is seen of processes that start may change from look to look.
  bool WaitFor(const std::function<bool()>& condition, Duration limit = std::chrono::seconds(20)) {
    bool held = false;
    return RunUntil(
        loop_, [&] { return held = held || condition(); }, limit);
  }
  bool WaitForFile(const std::string& name);
  std::string Content(const std::string& name) const;  // of a file in the job's folder
  // Of what the scheduler told, in order.
  template <class Event>
  std::vector<Event> Told() const {
    std::vector<Event> told;
    for (const auto& event : events_)
      if (const auto* e = std::get_if<Event>(&event)) told.push_back(*e);
    return told;
  }
  const ContainerExited* Exit(const std::string& container) const;
  bool Started(const std::string& container) const;
  std::vector<pid_t> Marked(const std::string& container) const;  // living processes of it
  std::vector<pid_t> OfJob() const;                               // living processes with the job's mark
  // Of the AM that has written its epoch. Waits: a process is not seen by its environment while it turns into `sleep`.
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
  UniqueFd keeper_log_;                         // is read to the end also where the folder was removed
  std::map<ContainerId, LaunchSpec> launches_;  // scripts in the place of executors
  std::map<ContainerId, Outcome> kept_;         // by these
  std::vector<SchedulerEvent> events_;
  std::unique_ptr<LocalScheduler> scheduler_;
};

}  // namespace tony
