// The disk of a job's folder dies while the job runs: from some moment on every operation fails. The test has a real
// keeper (supervisor of one job on one machine), scripts in place of AM and executor, and acts as the AM's scheduler
// itself. The ledger is on a sound disk.
#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <csignal>
#include <fstream>

#include "runtime/base/strings.h"
#include "runtime/job/environment.h"
#include "runtime/keeper/keeper.h"
#include "runtime/keeper/lost_job.h"
#include "runtime/local/local_arbiter.h"
#include "runtime/local/local_scheduler.h"
#include "runtime/os/process_tree.h"
#include "runtime/records/job_folder.h"
#include "runtime/records/local_job_store.h"
#include "tests/faults/faulty_disk.h"
#include "tests/support/run_until.h"
#include "tests/support/temp_folder.h"

namespace tony::keeper {
namespace {

namespace fs = std::filesystem;
using testing::IsEmpty;

class NoLauncher : public AmLauncher {
 public:
  Result<bool> Start(const JobRecords&) override { return false; }
  ArbiterView Look(const JobRecords&) const override { return {}; }
  Result<std::optional<JobStatus>> UnwrittenEnd(const JobRecords&) const override { return std::optional<JobStatus>(); }
  Status Settle(const JobRecords&) const override { return Ok(); }
  std::string KeeperFailureHint(const JobRecords&) const override { return ""; }
};

// A job from its submission until its keeper exits.
class DyingDisk {
 public:
  DyingDisk() {
    fs::create_directories(ledger());
    fs::create_directories(temp_.path() / "bin");
    std::ofstream(ledger() / "machine.json") << R"({"memory_mb": 100000, "gpus": []})";
    std::ofstream(temp_.path() / "bin/tony-am") << "#!/bin/sh\nexec sleep 1000\n";
    fs::permissions(temp_.path() / "bin/tony-am", fs::perms(0700));
    NewJob job;
    job.spec.roles = {{.name = "worker", .command = "true"}};
    job.spec.timers.grace = Duration(20);
    job.environment = {"PATH=/usr/bin:/bin", "TONY_LEDGER=" + ledger().string()};
    records_ = *LocalJobStore(home()).Create(job, loop_.Now());
  }
  ~DyingDisk() { SignalAll(OfJob(), SIGKILL); }

  fs::path ledger() const { return temp_.path() / "ledger"; }
  fs::path home() const { return temp_.path() / "home"; }
  std::vector<pid_t> OfJob() const { return ProcessesWithEnvironment(StrCat(kJobMark, "=", records_.job().value)); }

  // Starts the keeper and one container that runs.
  void Begin() {
    lock_ = *JobFolder(records_).Lock("keeper.lock");
    AmOptions options{.program = (temp_.path() / "bin/tony-am").string()};
    options.farewell = options.stop_margin = options.unstartable = options.unwritable = Duration(30);
    keeper_ = std::make_unique<Keeper>(loop_, records_, std::vector<std::string>{"PATH=/usr/bin:/bin"}, options,
                                       [this] { done_ = true; });
    ASSERT_TRUE(keeper_->Begin().ok());
    scheduler_ = std::make_unique<LocalScheduler>(
        loop_, records_, Epoch{1}, std::chrono::seconds(10), launcher_,
        [this](const ContainerId&, const ExecutorLaunch&) {
          return LaunchSpec{{"/bin/sh", "-c", "exec sleep 1000"}, {}, (records_.place() / "log").string(), {}};
        },
        [](const ContainerId&) { return std::nullopt; },
        [this](const SchedulerEvent& event) { started_ |= std::holds_alternative<ContainerStarted>(event); });
    scheduler_->Launch({"1-1"}, {{{"worker", 0}, 1}, {}});
    ASSERT_TRUE(RunUntil(loop_, [this] { return started_; }));
  }
  void FinishAsAm(FinalState state) {
    scheduler_->Finish({.state = state, .message = "all is done"}, [] {});
  }
  void KillAm() const { SignalAll(ProcessesWithEnvironment(StrCat(kAmMark, "=", records_.job().value)), SIGKILL); }

  // Runs the loop until the keeper has exited.
  bool Ends() {
    const bool ended = RunUntil(loop_, [this] { return done_; });
    scheduler_.reset();
    lock_ = {};
    return ended;
  }
  const Status& end() const { return keeper_->end(); }
  std::vector<std::string> InLedger(std::string_view what) const {
    std::vector<std::string> names;
    for (const auto& entry : fs::directory_iterator(ledger()))
      if (entry.path().filename().string().find(what) != std::string::npos)
        names.push_back(entry.path().filename().string());
    return names;
  }
  // Expects that the end is found once the disk is sound again.
  void ExpectEndIsFound(FinalState state) const {
    const auto before = LocalArbiter().UnwrittenEnd(records_);
    ASSERT_TRUE(FinalizeIfLost(records_).ok());
    const auto status = records_.ReadStatus();
    ASSERT_TRUE(status.ok() && *status && (*status)->verdict);
    EXPECT_EQ((*status)->verdict->state, state);
    EXPECT_TRUE(fs::exists(records_.place() / "finished"));
    EXPECT_TRUE(!before.ok() || !*before || (*before)->verdict->state == state);
    EXPECT_THAT(InLedger(".end-"), IsEmpty());
  }

  const TempFolder temp_{MemoryFolder()};
  EventLoop loop_;
  NoLauncher launcher_;
  JobRecords records_ = LocalJobRecords("");
  UniqueFd lock_;
  std::unique_ptr<Keeper> keeper_;
  std::unique_ptr<LocalScheduler> scheduler_;
  bool started_ = false, done_ = false;
};

// Expects that the job ends in `state` if its disk is dead from the n-th operation on after its task began to run.
void TryEachMoment(const std::function<void(DyingDisk&)>& end, FinalState state, std::vector<DiskFault> faults) {
  for (const DiskFault& fault : faults) {
    auto job = std::make_unique<DyingDisk>();
    FaultyDisk disk(job->home(), fault, /*is_sound=*/true);
    ASSERT_NO_FATAL_FAILURE(job->Begin());
    disk.Break();
    end(*job);
    ASSERT_TRUE(job->Ends()) << disk.point();
    SCOPED_TRACE(disk.point());
    EXPECT_TRUE(disk.HasFailed());
    EXPECT_THAT(job->OfJob(), IsEmpty());
    EXPECT_THAT(job->InLedger(".running"), IsEmpty()) << "others wait for it";
    ASSERT_FALSE(job->end().ok());
    EXPECT_EQ(job->end().error().code, ErrorCode::kCannotWrite) << job->end().error().message;
    EXPECT_EQ(job->InLedger(".end-").size(), 1u);
    disk.Repair();
    job->ExpectEndIsFound(state);
    // The job and its threads must end before the disk.
    job.reset();
  }
}

std::vector<DiskFault> EachMoment() {
  std::vector<DiskFault> faults = {{.nth = 1, .error = EROFS}, {.nth = 2, .error = EROFS}, {.nth = 1, .error = ENOSPC}};
  for (const int nth : {1, 2, 4, 8}) faults.push_back({.nth = nth, .error = EIO});
  return faults;
}

TEST(DeadDiskTest, AJobWhoseKeeperReceivesSigtermIsRecordedAsKilledWhenTheDiskRecovers) {
  TryEachMoment([](DyingDisk&) { kill(getpid(), SIGTERM); }, FinalState::kKilled, EachMoment());
}

TEST(DeadDiskTest, AVerdictThatTheMasterCouldNotWriteIsWrittenWhenTheDiskRecovers) {
  TryEachMoment([](DyingDisk& job) { job.FinishAsAm(FinalState::kSucceeded); }, FinalState::kSucceeded, EachMoment());
}

// The AM dies before the next AM has its epoch.
TEST(DeadDiskTest, AJobWhoseMasterDiesOnADeadDiskIsRecordedAsFailedWhenTheDiskRecovers) {
  TryEachMoment([](DyingDisk& job) { job.KillAm(); }, FinalState::kFailed,
                {{.nth = 1, .error = EROFS}, {.nth = 1, .error = EIO}});
}

}  // namespace
}  // namespace tony::keeper
