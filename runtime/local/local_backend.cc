#include "runtime/local/local_backend.h"

#include "runtime/base/strings.h"
#include "runtime/local/local_am_launcher.h"
#include "runtime/local/local_arbiter.h"
#include "runtime/local/local_scheduler.h"
#include "runtime/local/machine_check.h"
#include "runtime/logs/local_log_source.h"
#include "runtime/os/boost_process_runner.h"
#include "runtime/os/file_system.h"
#include "runtime/os/start_program.h"
#include "runtime/records/local_job_store.h"
#include "runtime/records/local_request_index.h"
#include "runtime/records/user_home.h"

namespace tony {
namespace {

struct OwnRunner {
  BoostProcessRunner runner;
};

// A launcher that owns its runner. The runner is in a base class, so it is made first and destroyed last.
class OwningLauncher : private OwnRunner, public LocalAmLauncher {
 public:
  explicit OwningLauncher(EventLoop& loop) : OwnRunner{BoostProcessRunner(loop)}, LocalAmLauncher(runner) {}
};

struct OwnLauncher {
  OwningLauncher launcher;
};

// A scheduler that owns its launcher. The launcher is in a base class, so it is made first and destroyed last.
class OwningScheduler : private OwnLauncher, public LocalScheduler {
 public:
  explicit OwningScheduler(MasterSide& side)
      : OwnLauncher{OwningLauncher(side.loop)},
        LocalScheduler(
            side.loop, side.records, side.epoch, side.am_lease, launcher,
            [records = side.records, program = SiblingProgram("tony-executor")](
                const auto& container, const auto& launch) { return LaunchOf(records, program, container, launch); },
            [records = side.records,
             unended_in = side.unended_in](const auto& container) -> std::optional<KeptOutcome> {
              const auto attempt = unended_in(container);
              return attempt ? OutcomeKeptOf(records, *attempt) : std::nullopt;
            },
            side.sink) {
    if (side.page_socket.valid()) HandToKeeper(std::move(side.page_socket));
  }
};

// The jobs of a home folder that several machines may share. A job that has not ended is available only on the machine
// that runs it.
class JobsOfThisMachine : public LocalJobStore {
 public:
  using LocalJobStore::LocalJobStore;
  Result<JobRecords> Find(const JobId& job) const override {
    TRY_ASSIGN(JobRecords records, LocalJobStore::Find(job));
    const auto submission = records.ReadSubmission();
    if (!submission.ok()) {
      // If the disk fails, the final status may be stored in the ledger's folder.
      const auto end = LocalArbiter().UnwrittenEnd(records);
      return end.ok() && *end ? Result<JobRecords>(std::move(records)) : submission.error();
    }
    if (submission->host == HostName()) return records;
    TRY_ASSIGN(const auto status, records.ReadStatus());
    if (status && status->verdict) return records;
    return UnavailableError("job ", job.value, " belongs to the local scheduler of ", submission->host,
                            ", but this is ", HostName(), "; run the command on ", submission->host);
  }
};

class LocalBackendImage : public Backend, private JobLogs, private Operations {
 public:
  LocalBackendImage() : Backend(/*keeps_programs=*/true) {}
  Result<std::unique_ptr<JobStore>> Jobs(const ClusterOf&) const override {
    TRY_ASSIGN(auto home, TonyHome());
    return std::unique_ptr<JobStore>(std::make_unique<JobsOfThisMachine>(std::move(home)));
  }
  Result<std::unique_ptr<RequestIndex>> Requests(const ClusterOf&) const override {
    TRY_ASSIGN(auto home, TonyHome());
    return std::unique_ptr<RequestIndex>(std::make_unique<LocalRequestIndex>(std::move(home)));
  }
  const Arbiter& arbiter() const override { return arbiter_; }
  Result<CheckedJob> Check(const ParsedJobSpec& job, CheckFor purpose) const override {
    CheckedJob checked;
    if (purpose == CheckFor::kPlan) {
      TRY(CheckMachineForPlan(job.spec));
    } else {
      TRY_ASSIGN(checked.notes, CheckMachine(job.spec));
    }
    return checked;
  }
  Status LimitParallel(JobSpec& spec) const override { return LimitToThisMachine(spec); }
  std::unique_ptr<AmLauncher> MakeLauncher(EventLoop& loop) const override {
    return std::make_unique<OwningLauncher>(loop);
  }

  const JobLogs& logs() const override { return *this; }
  const Operations& operations() const override { return *this; }

 private:
  Result<std::unique_ptr<LogSource>> LogsOf(const JobRecords& records) const override {
    return std::unique_ptr<LogSource>(std::make_unique<LocalLogSource>(records));
  }
  std::string PlaceOfLogs(const JobRecords& records) const override { return (records.place() / "logs").string(); }
  Result<QueueView> Queue() const override { return LookAtQueue(); }
  Checks Doctor() const override { return CheckMachineHealth(); }

  const LocalArbiter arbiter_{};
};

}  // namespace

std::unique_ptr<Scheduler> MakeLocalScheduler(MasterSide side) { return std::make_unique<OwningScheduler>(side); }

const Backend& LocalBackend() {
  static const LocalBackendImage backend;
  return backend;
}

}  // namespace tony
