#include "runtime/backend/local_backend.h"

#include "runtime/logs/local_log_source.h"
#include "runtime/process/boost_process_runner.h"
#include "runtime/scheduler/local/local_am_launcher.h"
#include "runtime/scheduler/local/local_arbiter.h"
#include "runtime/scheduler/local/machine_check.h"
#include "runtime/scheduler/local/machine_health.h"
#include "runtime/scheduler/local/queue_report.h"

namespace tony {
namespace {

struct OwnRunner {
  BoostProcessRunner runner;
};

// Its runner is made first, and ends last.
class OwningLauncher : private OwnRunner, public LocalAmLauncher {
 public:
  explicit OwningLauncher(EventLoop& loop) : OwnRunner{BoostProcessRunner(loop)}, LocalAmLauncher(runner) {}
};

class LocalBackendImage : public Backend {
 public:
  const Arbiter& arbiter() const override { return arbiter_; }
  std::unique_ptr<LogSource> LogsOf(const JobRecords& records) const override {
    return std::make_unique<LocalLogSource>(records);
  }
  Result<std::vector<std::string>> Check(const JobSpec& spec) const override { return CheckMachine(spec); }
  std::optional<std::string> WhyRefused(const JobSpec& spec) const override { return MachineWarning(spec); }
  Result<QueueView> Queue() const override { return LookAtQueue(); }
  Checks Doctor() const override { return CheckMachineHealth(); }
  std::unique_ptr<AmLauncher> MakeLauncher(EventLoop& loop) const override {
    return std::make_unique<OwningLauncher>(loop);
  }

 private:
  const LocalArbiter arbiter_{};
};

}  // namespace

const Backend& LocalBackend() {
  static const LocalBackendImage backend;
  return backend;
}

}  // namespace tony
