#include "tests/cluster/fake_scheduler.h"

#include <csignal>
#include <filesystem>
#include <map>

#include "runtime/base/check.h"
#include "runtime/base/strings.h"
#include "runtime/local/local_scheduler.h"
#include "runtime/os/boost_process_runner.h"
#include "runtime/os/files.h"
#include "runtime/os/process_tree.h"
#include "runtime/os/start_program.h"
#include "tests/cluster/flaky_store.h"

namespace tony::cluster {
namespace {

namespace fs = std::filesystem;

class FakeScheduler : public Scheduler {
 public:
  explicit FakeScheduler(MasterSide side)
      : loop_(side.loop),
        records_(std::move(side.records)),
        epoch_(side.epoch),
        runner_(loop_),
        sink_(std::move(side.sink)) {
    SchedulerReached reached;
    std::error_code none;
    for (const auto& entry : fs::directory_iterator(Granted(), none)) {
      const ContainerId id{entry.path().filename().string()};
      reached.running.push_back(id);
      const auto pid = ReadFile(entry.path());
      Hold(id, static_cast<pid_t>(ParseInt(pid.ok() ? *pid : "").value_or(0)));
    }
    Tell(reached);
  }

  bool Holds() const override { return SealedEpoch(records_.place()) < epoch_.value; }
  void Request(const std::vector<ContainerRequest>& asks) override {
    for (const ContainerRequest& ask : asks)
      Tell(ContainerGranted{ask.attempt, {StrCat(epoch_.value, "-", ++granted_)}, "127.0.0.1"});
  }
  void Withdraw(const std::vector<AttemptId>&) override {}
  void Launch(const ContainerId& id, const ExecutorLaunch& what) override {
    const LaunchSpec launch = LaunchOf(records_, SiblingProgram("tony-executor"), id, what);
    const auto environment = records_.ReadEnvironment();
    const auto pid = runner_.Start({.argv = launch.argv,
                                    .env = environment.ok() ? *environment : std::vector<std::string>(),
                                    .directory = records_.place(),
                                    .stdout_file = launch.log_file,
                                    .stderr_file = launch.log_file},
                                   [this, id](ExitStatus status) { End(id, status); });
    if (!pid.ok()) return Tell(ContainerExited{id, std::nullopt, pid.error().message});
    CHECK(MakeFolder(Granted()).ok() && WriteFileByRename(Granted() / id.value, StrCat(*pid), false).ok());
    held_.emplace(id, Held{*pid, HeldProcess(*pid), {}});
    Tell(ContainerStarted{id});
  }
  void Stop(const ContainerId& id, StopMode mode) override {
    const auto held = held_.find(id);
    if (held == held_.end()) return Tell(ContainerExited{id, std::nullopt, "it never ran"});
    if (mode == StopMode::kKill) SignalAll(Descendants(held->second.pid), SIGKILL);
    held->second.process.Signal(mode == StopMode::kKill ? SIGKILL : SIGTERM);
  }
  void TellProgress(double) override {}
  void Finish(const Verdict&, std::function<void()> done) override {
    CHECK(WriteFileByRename(records_.place() / "finished", "", false).ok());
    loop_.Post(std::move(done));
  }

 private:
  struct Held {
    pid_t pid = 0;
    HeldProcess process;
    EventLoop::FdWatch end;  // for executors of an earlier master
  };
  fs::path Granted() const { return records_.place() / "granted"; }
  void Hold(const ContainerId& id, pid_t pid) {
    Held& held = held_.emplace(id, Held{pid, HeldProcess(pid), {}}).first->second;
    if (!held.process.valid()) return loop_.Post([this, id] { End(id, std::nullopt); });
    held.end = held.process.WhenEnded(loop_, [this, id] { End(id, std::nullopt); });
  }
  void End(const ContainerId& id, const std::optional<ExitStatus>& status) {
    if (!fs::remove(Granted() / id.value)) return;
    Tell(ContainerExited{id, status, ""});
    loop_.Post([this, id] { held_.erase(id); });
  }
  void Tell(SchedulerEvent event) {
    loop_.Post([this, event = std::move(event)] {
      if (Holds()) sink_(event);
    });
  }

  EventLoop& loop_;
  const JobRecords records_;
  const Epoch epoch_;
  BoostProcessRunner runner_;
  const Sink sink_;
  int granted_ = 0;
  std::map<ContainerId, Held> held_;
};

}  // namespace

std::unique_ptr<Scheduler> MakeFakeScheduler(MasterSide side) {
  return std::make_unique<FakeScheduler>(std::move(side));
}

}  // namespace tony::cluster
