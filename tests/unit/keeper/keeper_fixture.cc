#include "tests/unit/keeper/keeper_fixture.h"

#include <fcntl.h>

#include <csignal>
#include <fstream>
#include <iterator>

#include "runtime/base/strings.h"
#include "runtime/job/environment.h"
#include "runtime/keeper/container_cgroup.h"
#include "runtime/keeper/containers.h"
#include "runtime/os/files.h"
#include "runtime/os/process_tree.h"
#include "runtime/records/job_folder.h"
#include "runtime/records/local_job_store.h"
#include "tests/support/places.h"

namespace tony {

namespace fs = std::filesystem;

KeeperFixture::KeeperFixture(const std::string& am_script) {
  NewJob job;
  RoleSpec worker;
  worker.name = "worker";
  worker.command = "true";
  job.spec.roles = {worker};
  job.environment = {"PATH=/usr/bin:/bin", "FROM=job", "TONY_LEDGER=" + ledger().string()};
  fs::create_directory(ledger());
  SetMachine(R"({"memory_mb": 100000, "gpus": []})");
  auto folder = LocalJobStore(temp_.path() / "home").Create(job, loop_.Now());
  EXPECT_TRUE(folder.ok()) << folder.error().message;
  records_ = *folder;
  // The keeper expects the AM's program in its own folder.
  fs::create_directory(temp_.path() / "bin");
  fs::copy_file(TestProgram("quick_keeper"), temp_.path() / "bin/tony-keeper");
  std::ofstream(temp_.path() / "bin/tony-am") << "#!/bin/sh\n" << am_script << "\n";
  fs::permissions(temp_.path() / "bin/tony-am", fs::perms(0700));
}

KeeperFixture::~KeeperFixture() {
  scheduler_.reset();
  for (const auto& [pid, status] : keepers_)
    if (!status) kill(pid, SIGKILL);
  const bool gone = WaitFor([this] {
    SignalAll(OfJob(), SIGKILL);
    for (const auto& [pid, status] : keepers_)
      if (!status) return false;
    return OfJob().empty();
  });
  EXPECT_TRUE(gone) << "processes are left";
  RemoveCgroups();
  if (!HasFailure() || !keeper_log_.valid()) return;
  const auto log = ReadAll(keeper_log_.get(), "keeper.log");
  if (log.ok()) std::fprintf(stderr, "%s", log->c_str());
}

// Removes cgroups that killed keepers left and that no later keeper removed.
void KeeperFixture::RemoveCgroups() const {
  const auto records = keeper::ContainerRecords(records_).ReadAll();
  if (!records.ok()) return;
  for (const auto& record : *records)
    if (!record.cgroup.empty()) (void)RemoveCgroup(record.cgroup);
}

void KeeperFixture::SetTasks(int count, const Resources& each) {
  JobSpec spec = *records_.ReadSpec();
  spec.roles[0].instances = count;
  spec.roles[0].resources = each;
  EXPECT_TRUE(WriteFileByRename(records_.place() / "spec.json", ToJson(spec), /*durable=*/false).ok());
}

void KeeperFixture::SetMachine(const std::string& json) { std::ofstream(ledger() / "machine.json") << json; }

void KeeperFixture::SetLimits(const std::vector<std::string>& limits) {
  std::ofstream file(records_.place() / "environment", std::ios::app | std::ios::binary);
  for (const auto& limit : limits) file << limit << '\0';
}

Result<bool> KeeperFixture::Start(const JobRecords& records) {
  ProcessSpec keeper;
  keeper.argv = {(temp_.path() / "bin/tony-keeper").string(), records.place().string()};
  keeper.env = *records.ReadEnvironment();
  keeper.directory = records.place().string();
  keeper.stdout_file = keeper.stderr_file = (records.place() / "keeper.log").string();
  auto pid = std::make_shared<pid_t>(0);
  const auto started = runner_.Start(keeper, [this, pid](ExitStatus status) { keepers_[*pid] = status; });
  if (!started.ok()) return started.error();
  keeper_log_ = UniqueFd(open(keeper.stdout_file.c_str(), O_RDONLY | O_CLOEXEC));
  *pid = *started;
  keepers_[*pid] = std::nullopt;
  ++keepers_started_;
  return true;
}

pid_t KeeperFixture::StartKeeper() {
  const size_t listening = Split(Content("keeper.log"), '\n').size();
  EXPECT_TRUE(Start(records_).ok());
  pid_t newest = 0;
  for (const auto& [pid, status] : keepers_)
    if (!status) newest = pid;
  EXPECT_TRUE(WaitFor([&] {
    return keepers_[newest] ||
           (fs::exists(records_.place() / "keeper.sock") && JobFolder(records_).IsLocked("keeper.lock") &&
            Split(Content("keeper.log"), '\n').size() > listening);
  }));
  return newest;
}

bool KeeperFixture::KeeperEnded(pid_t keeper) {
  return WaitFor([&] { return keepers_[keeper].has_value(); }) && keepers_[keeper]->Succeeded();
}

void KeeperFixture::KillKeeper(pid_t keeper) {
  kill(keeper, SIGKILL);
  EXPECT_TRUE(WaitFor([&] { return keepers_[keeper].has_value(); }));
}

void KeeperFixture::SpeakAsAm(Epoch epoch, Duration lease) {
  scheduler_.reset();
  events_.clear();
  const auto launch = [this](const ContainerId& container, const ExecutorLaunch&) { return launches_.at(container); };
  const auto kept = [this](const ContainerId& container) {
    const auto found = kept_.find(container);
    return found == kept_.end() ? std::nullopt : std::optional(KeptOutcome{{}, found->second});
  };
  scheduler_ = std::make_unique<LocalScheduler>(loop_, records_, epoch, lease, *this, launch, kept,
                                                [this](SchedulerEvent event) { events_.push_back(std::move(event)); });
}

void KeeperFixture::BecomeAm(Epoch epoch, Duration lease) {
  SpeakAsAm(epoch, lease);
  EXPECT_TRUE(WaitFor([this] { return !Told<SchedulerReached>().empty(); }));
}

void KeeperFixture::Launch(const std::string& container, const std::string& command,
                           const std::vector<std::string>& env, const Resources& resources) {
  const std::string log = (records_.place() / "logs" / container / "log").string();
  launches_[{container}] = {{"/bin/sh", "-c", command}, env, log, resources};
  scheduler_->Launch({container}, {{{"worker", 0}, 1}, resources});
}

bool KeeperFixture::WaitForFile(const std::string& name) {
  return WaitFor([&] { return fs::exists(records_.place() / name); });
}

std::string KeeperFixture::Content(const std::string& name) const {
  std::ifstream in(records_.place() / name, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

const ContainerExited* KeeperFixture::Exit(const std::string& container) const {
  for (const auto& event : events_) {
    const auto* exited = std::get_if<ContainerExited>(&event);
    if (exited && exited->container.value == container) return exited;
  }
  return nullptr;
}

bool KeeperFixture::Started(const std::string& container) const {
  for (const auto& started : Told<ContainerStarted>())
    if (started.container.value == container) return true;
  return false;
}

std::vector<pid_t> KeeperFixture::Marked(const std::string& container) const {
  return ProcessesWithEnvironment(StrCat(kContainerMark, "=", ContainerMark(records_.job(), {container})));
}

std::vector<pid_t> KeeperFixture::Ams() {
  std::vector<pid_t> found;
  EXPECT_TRUE(WaitFor([&] {
    found = ProcessesWithEnvironment("TONY_AM=" + records_.job().value);
    return !found.empty() && Content("ams").ends_with('\n');
  }));
  return found;
}

void KeeperFixture::KillAm() { SignalAll(Ams(), SIGKILL); }

std::vector<pid_t> KeeperFixture::OfJob() const {
  return ProcessesWithEnvironment(StrCat(kJobMark, "=", records_.job().value));
}

}  // namespace tony
