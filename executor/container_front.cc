#include "executor/container_front.h"

#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <csignal>
#include <ctime>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "runtime/base/strings.h"
#include "runtime/base/unique_fd.h"
#include "runtime/os/files.h"
#include "runtime/os/process_tree.h"
#include "runtime/records/attempt_folder.h"
#include "runtime/records/record_store.h"
#include "runtime/yarn/cluster_tokens.h"

namespace tony::executor {
namespace {

namespace fs = std::filesystem;

constexpr const char* kFolder = ".tony-job";

Status LinkTo(const fs::path& target, const fs::path& link) {
  if (symlink(target.c_str(), link.c_str()) == 0 || errno == EEXIST) return Ok();
  return FileError(ErrorCode::kCannotWrite, "link", link, errno);
}

Status LinkHard(const fs::path& target, const fs::path& link) {
  if (::link(target.c_str(), link.c_str()) == 0 || errno == EEXIST) return Ok();
  return FileError(ErrorCode::kCannotWrite, "link", link, errno);
}

// Returns the names of the log files of an attempt with this number of processes.
std::vector<std::string> NamesOfLogs(int processes) {
  std::vector<std::string> names;
  for (int process = 0; process < processes; ++process)
    for (const char* stream : {"stdout", "stderr"}) names.push_back(NameForProcess(stream, process));
  return names;
}

// Creates a log file where the node's pages and the node's log aggregation read it. Both readers may run as another
// user, in the group that the node gave to the folder. Therefore the log must be readable for this group.
Status MakeLog(const fs::path& log) {
  const UniqueFd fd(open(log.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0640));
  if (fd.valid() && fchmod(fd.get(), 0640) == 0) return Ok();
  return FileError(ErrorCode::kCannotWrite, "make", log, errno);
}

Status LayLogs(const AttemptFolder& first, const fs::path& logs, int processes) {
  const fs::path attempts = logs / "attempts";
  TRY(MakeFolder(attempts));
  TRY(MakeFolder(first.logs.parent_path().parent_path()));
  TRY(LinkTo(attempts, first.logs.parent_path()));
  TRY(LinkTo("..", attempts / first.logs.filename()));
  for (const std::string& name : NamesOfLogs(processes)) TRY(MakeLog(logs / name));
  return Ok();
}

// A record store for an executor that does not know where the lease is in HDFS. The store returns each lease only once.
// The lease is not renewed in a container, so after the first read it does not show whether the AM lives. Later reads
// fail, as if the store could not be reached. Otherwise the executor would regard its AM as dead and continue its task.
// Meanwhile the AM, which receives nothing, would give the task to another executor.
class StaleLeaseRecords : public LocalRecordStore {
 public:
  using LocalRecordStore::LocalRecordStore;
  Result<std::optional<StoredRecord>> Get(const std::string& name) const override {
    auto record = LocalRecordStore::Get(name);
    if (name != kLeaseName || !record.ok() || !*record) return record;
    if (std::exchange(seen_, (*record)->bytes) != (*record)->bytes) return record;
    return UnavailableError("the lease is not renewed in a container");
  }

 private:
  mutable std::string seen_;  // bytes of the newest lease
};

void MakeAbsolute(std::vector<StagedEntry>& entries, const fs::path& folder) {
  for (StagedEntry& entry : entries) entry.path = folder / entry.path;
}

Status WriteRecords(const fs::path& place, const fs::path& container, ContainerLaunch launch) {
  MakeAbsolute(launch.staged.job, container);
  for (auto& [role, entries] : launch.staged.roles) MakeAbsolute(entries, container);
  if (launch.spec.empty()) {
    TRY_ASSIGN(launch.spec, ReadFile(container / kSpecFile));
  }
  TRY(MakeFolder(place));
  const std::pair<const char*, std::string> records[] = {{"spec.json", launch.spec},
                                                         {"token", launch.secrets.token},
                                                         {"secrets", JoinVariables(launch.secrets.of_tasks)},
                                                         {"staged.json", ToJson(launch.staged)},
                                                         {kLeaseName, ToJson(launch.lease)}};
  for (const auto& [name, bytes] : records) TRY(WriteFileByRename(place / name, bytes, /*durable=*/false));
  return Ok();
}

}  // namespace

Result<ContainerPlace> CreateContainerFolder(const fs::path& logs) {
  TRY_ASSIGN(const std::string credentials, VariableOfContainer("HADOOP_TOKEN_FILE_LOCATION"));
  TRY_ASSIGN(const std::string container, VariableOfContainer("CONTAINER_ID"));
  TRY_ASSIGN(const std::string host, VariableOfContainer("NM_HOST"));
  TRY_ASSIGN(const std::string bytes, ReadFile(credentials));
  TRY_ASSIGN(const ContainerLaunch launch, LaunchIn(bytes));
  TRY_ASSIGN(const hadoop::Credentials decoded, hadoop::DecodeCredentials(bytes));
  std::error_code error;
  const fs::path here = fs::current_path(error);
  if (error) return FileError(ErrorCode::kUnavailable, "find", "the container's folder", error.value());
  const fs::path place = here / kFolder;
  TRY(WriteRecords(place, here, launch));
  const JobRecords records(launch.job, place, std::make_shared<StaleLeaseRecords>(place));
  TRY_ASSIGN(const JobSpec spec, records.ReadSpec());
  TRY(LayLogs(AttemptFolder(place, launch.attempt), logs, spec.ProcessesOf(launch.attempt.task.role)));
  ClusterTokens tokens = ClusterTokensIn(decoded);
  tokens.bytes.clear();
  return ContainerPlace{records,      launch.attempt,     {container}, host, launch.secrets.tls,
                        launch.lease, launch.lease_place, credentials, tokens};
}

Status CreateLaterLogs(const AttemptId& later, const fs::path& folder, const fs::path& logs, int processes) {
  TRY(MakeFolder(folder));
  for (const std::string& name : NamesOfLogs(processes)) {
    const fs::path log = logs / NameInContainer(name, later, /*is_first=*/false);
    TRY(MakeLog(log));
    TRY(LinkHard(log, folder / name));
  }
  return LinkHard(logs / "executor.log", folder / "executor.log");
}

namespace {

using Clock = std::chrono::steady_clock;

// The time that an executor has to exit after a signal. An executor usually needs 0.1 s, and more on a busy machine.
constexpr std::chrono::seconds kExecutorsTime{5};
// The time after which remaining processes are not waited for any longer. A process that survives SIGKILL for this long
// is blocked in the kernel.
constexpr std::chrono::seconds kLongestSweep{10};
constexpr timespec kBetweenSweeps{0, 10'000'000};
constexpr timespec kCheckInterval{0, 50'000'000};
constexpr int kEnds[] = {SIGTERM, SIGINT, SIGHUP};
constexpr int kCannotFork = 69;

sigset_t WatchedSignals() {
  sigset_t watched;
  sigemptyset(&watched);
  for (const int signal : kEnds) sigaddset(&watched, signal);
  sigaddset(&watched, SIGCHLD);
  return watched;
}

int ExitCodeOf(int status) { return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status); }

// Waits for a child, and exits with the child's exit code.
class Waiting {
 public:
  // `patience` is the time that the child has to exit after a signal before it is killed; nullopt: unlimited.
  Waiting(pid_t child, std::optional<Clock::duration> patience) : child_(child), patience_(patience) {}

  [[noreturn]] void Run(const sigset_t& watched) {
    while (!HasEnded()) {
      const int signal = kill_at_ ? sigtimedwait(&watched, nullptr, &kCheckInterval) : sigwaitinfo(&watched, nullptr);
      if (signal > 0 && signal != SIGCHLD) PassOn(signal);
      if (kill_at_ && Clock::now() >= *kill_at_) kill(child_, SIGKILL);
    }
    Sweep();
    _exit(exit_code_);
  }

 private:
  void PassOn(int signal) {
    kill(child_, signal);
    kill(child_, SIGCONT);
    if (patience_ && !kill_at_) kill_at_ = Clock::now() + *patience_;
  }

  bool HasEnded() {
    int status = 0;
    pid_t ended = 0;
    while ((ended = waitpid(child_, &status, WNOHANG)) < 0 && errno == EINTR) {
    }
    if (ended == child_) exit_code_ = ExitCodeOf(status);
    return ended != 0;
  }

  // Reaps all children that have ended. Returns whether a child is left.
  static bool AnyChild() {
    int status = 0;
    pid_t ended = 0;
    do {
      ended = waitpid(-1, &status, WNOHANG);
    } while (ended > 0 || (ended < 0 && errno == EINTR));
    return ended == 0;
  }

  static void Sweep() {
    const auto end = Clock::now() + kLongestSweep;
    while (AnyChild() && Clock::now() < end) {
      KillDescendants();
      nanosleep(&kBetweenSweeps, nullptr);
    }
  }

  const pid_t child_;
  const std::optional<Clock::duration> patience_;
  std::optional<Clock::time_point> kill_at_;
  int exit_code_ = 0;
};

void DieWithParent(pid_t parent) {
  prctl(PR_SET_PDEATHSIG, SIGTERM);
  if (getppid() != parent) raise(SIGTERM);  // the parent ended meanwhile
}

// Forks, and returns in the child. The parent waits for the child.
void ForkWithWaitingParent(const sigset_t& watched, std::optional<Clock::duration> patience) {
  BecomeSubreaper();
  const pid_t parent = getpid();
  const pid_t child = fork();
  if (child < 0) _exit(kCannotFork);
  if (child > 0) Waiting(child, patience).Run(watched);
  DieWithParent(parent);
}

}  // namespace

void ForkFrontAndGuard() {
  // SIGCHLD gets its default effect, because a process that inherited an ignored SIGCHLD cannot wait for its children.
  std::signal(SIGCHLD, SIG_DFL);
  const sigset_t watched = WatchedSignals();
  sigset_t before;
  sigprocmask(SIG_BLOCK, &watched, &before);
  DieWithParent(getppid());
  ForkWithWaitingParent(watched, std::nullopt);
  setsid();
  ForkWithWaitingParent(watched, kExecutorsTime);
  sigprocmask(SIG_SETMASK, &before, nullptr);
}

}  // namespace tony::executor
