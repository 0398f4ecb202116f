#include "runtime/keeper/containers.h"

#include <fcntl.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <cerrno>
#include <climits>
#include <csignal>
#include <cstdlib>
#include <utility>

#include "runtime/base/log.h"
#include "runtime/base/strings.h"
#include "runtime/job/environment.h"
#include "runtime/os/files.h"

namespace tony::keeper {
namespace {

namespace fs = std::filesystem;

constexpr size_t kLongestName = 64;

// Returns the line that records an exit: "exited 3", "signaled 9" or "unknown 0", and the error text, if any, up to the
// end of the line.
std::string ExitLine(const ContainerExited& exited) {
  std::string error = exited.error;
  std::ranges::replace(error, '\n', ' ');
  if (!exited.status) return StrCat("unknown 0 ", error);
  return StrCat(exited.status->kind == ExitStatus::Kind::kExited ? "exited " : "signaled ", exited.status->value, " ",
                error);
}

std::optional<ContainerExited> ParseExit(const ContainerId& id, const std::vector<std::string>& words) {
  const auto value = words.size() > 1 ? ParseInt(words[1]) : std::nullopt;
  if (!value) return std::nullopt;
  ContainerExited exited{id, std::nullopt, Join({words.begin() + 2, words.end()}, " ")};
  if (words[0] == "exited") exited.status = ExitStatus{ExitStatus::Kind::kExited, static_cast<int>(*value)};
  if (words[0] == "signaled") exited.status = ExitStatus{ExitStatus::Kind::kSignaled, static_cast<int>(*value)};
  return exited;
}

// Returns the line that records a launch, e.g. "launching 0,1 /sys/fs/cgroup/x": the GPU numbers and the cgroup; "-"
// means none. The path is last, because it may contain blanks.
std::string LaunchingLine(const std::vector<int>& gpus, const fs::path& cgroup) {
  return StrCat("launching ", gpus.empty() ? "-" : NumberList(gpus), " ", cgroup.empty() ? "-" : cgroup.string());
}

void ParseLaunching(const std::vector<std::string>& words, ContainerRecord& record) {
  record.gpus.clear();
  for (const auto& number : Split(words[1], ','))
    if (const auto gpu = ParseInt(number)) record.gpus.push_back(static_cast<int>(*gpu));
  const std::string path = Join({words.begin() + 2, words.end()}, " ");
  record.cgroup = path.starts_with('/') ? path : "";
}

ContainerRecord ParseRecord(const ContainerId& id, const std::string& content) {
  ContainerRecord record{id};
  auto lines = Split(content, '\n');
  // Removes the text after the last newline: empty, or a torn line.
  if (!lines.empty()) lines.pop_back();
  for (const auto& line : lines) {
    const auto words = Split(line, ' ');
    if (words.size() == 3 && words[0] == "started") {
      record.pid = static_cast<pid_t>(ParseInt(words[1]).value_or(0));
      record.start_time = words[2];
    } else if (words.size() >= 3 && words[0] == "launching") {
      ParseLaunching(words, record);
    } else if (words.size() >= 3) {
      record.exited = ParseExit(id, words);
    }
  }
  return record;
}

}  // namespace

Status ContainerRecords::Launching(const ContainerId& id, const std::vector<int>& gpus, const fs::path& cgroup) const {
  return Append(id, LaunchingLine(gpus, cgroup));
}

Status ContainerRecords::Started(const ContainerId& id, pid_t pid, const std::string& start_time) const {
  return Append(id, StrCat("started ", pid, " ", start_time));
}

Status ContainerRecords::Exited(const ContainerExited& exited) const {
  return Append(exited.container, ExitLine(exited));
}

Status ContainerRecords::Append(const ContainerId& id, const std::string& line) const {
  return AppendLine(folder_ / id.value, line);
}

Result<std::vector<ContainerRecord>> ContainerRecords::ReadAll() const {
  std::vector<ContainerRecord> records;
  std::error_code error;
  fs::directory_iterator entry(folder_, error);
  for (; !error && entry != fs::directory_iterator(); entry.increment(error)) {
    const ContainerId id{entry->path().filename().string()};
    if (!IsContainerName(id)) continue;
    TRY_ASSIGN(const std::string content, ReadFile(entry->path()));
    records.push_back(ParseRecord(id, content));
  }
  if (error && error != std::errc::no_such_file_or_directory)
    return FileError(ErrorCode::kUnavailable, "read", folder_, error.value());
  return records;
}

bool IsContainerName(const ContainerId& id) {
  const auto allowed = [](unsigned char c) { return std::isalnum(c) || c == '-' || c == '_'; };
  return !id.value.empty() && id.value.size() <= kLongestName && std::ranges::all_of(id.value, allowed);
}

std::optional<std::vector<int>> PickGpus(const std::vector<int>& all, const std::vector<int>& taken, int count) {
  std::vector<int> free;
  for (const int gpu : all)
    if (!std::ranges::count(taken, gpu)) free.push_back(gpu);
  if (std::ssize(free) < count) return std::nullopt;
  std::ranges::sort(free);
  free.resize(static_cast<size_t>(count));
  return free;
}

std::vector<std::string> GpuEnvironment(const std::vector<int>& gpus, bool machine_has_gpus,
                                        const std::map<int, std::string>& names) {
  if (gpus.empty())
    return machine_has_gpus ? std::vector<std::string>{"CUDA_VISIBLE_DEVICES="} : std::vector<std::string>();
  std::vector<std::string> words;
  for (const int gpu : gpus) words.push_back(names.contains(gpu) ? names.at(gpu) : std::to_string(gpu));
  const std::string list = Join(words, ",");
  // The GPU numbers here follow the PCI bus. CUDA by default gives the lowest number to the fastest GPU, so
  // CUDA_DEVICE_ORDER sets the same order.
  return {StrCat("CUDA_VISIBLE_DEVICES=", list), StrCat("NVIDIA_VISIBLE_DEVICES=", list),
          "CUDA_DEVICE_ORDER=PCI_BUS_ID"};
}

std::string NumberList(const std::vector<int>& numbers) {
  std::vector<std::string> words;
  for (const int number : numbers) words.push_back(std::to_string(number));
  return Join(words, ",");
}

namespace {

// The highest limit that RaiseOpenFiles() sets. It is far above the need of the largest job, and far below the billion
// that some machines allow. Some programs iterate over all numbers up to their limit.
constexpr rlim_t kEnough = 65536;

}  // namespace

void RaiseOpenFiles() {
  rlimit limit{};
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0) return;
  const rlim_t wanted = std::min(limit.rlim_max, kEnough);
  if (limit.rlim_cur >= wanted) return;
  limit.rlim_cur = wanted;
  if (setrlimit(RLIMIT_NOFILE, &limit) != 0) LogWarn(StrCat("raise the limit of open files: ", ErrnoText(errno)));
}

void LimitOpenFiles(pid_t process, int64_t soft) {
  rlimit limit{};
  if (prlimit(process, RLIMIT_NOFILE, nullptr, &limit) != 0) return;  // the child has ended
  limit.rlim_cur = std::min(static_cast<rlim_t>(soft), limit.rlim_max);
  prlimit(process, RLIMIT_NOFILE, &limit, nullptr);
}

namespace {

// Returns true if descriptor `fd` of the process is open for writing. Reads the octal number in a line such as
// "flags:\t0100001" of /proc/PID/fdinfo/FD.
bool IsOpenForWriting(pid_t process, int fd) {
  const auto info = ReadFile(StrCat("/proc/", process, "/fdinfo/", fd));
  if (!info.ok()) return false;
  constexpr std::string_view kFlags = "flags:";
  const size_t at = info->find(kFlags);
  if (at == std::string::npos) return false;
  return (std::strtol(info->c_str() + at + kFlags.size(), nullptr, 8) & O_ACCMODE) != O_RDONLY;
}

}  // namespace

bool WritesBelow(pid_t process, const std::filesystem::path& folder) {
  const std::string prefix = folder.string() + "/";
  for (const int fd : {STDOUT_FILENO, STDERR_FILENO}) {
    char target[PATH_MAX];
    const ssize_t size = readlink(StrCat("/proc/", process, "/fd/", fd).c_str(), target, sizeof target);
    if (size > 0 && std::string_view(target, static_cast<size_t>(size)).starts_with(prefix) &&
        IsOpenForWriting(process, fd))
      return true;
  }
  return false;
}

namespace {

// Finds an executor whose pid was not recorded after the fork: the topmost process with the container's mark. Returns 0
// if no process has the mark.
Result<pid_t> FindExecutor(const std::string& mark) {
  TRY_ASSIGN(const auto processes, TryListProcesses());
  const auto is_marked = [&](const ProcessEntry& p) { return VariableIn(p.environment, kContainerMark) == mark; };
  for (const auto& process : processes) {
    if (!is_marked(process)) continue;
    const auto parent = std::ranges::find(processes, process.parent, &ProcessEntry::pid);
    if (parent == processes.end() || !is_marked(*parent)) return process.pid;
  }
  return 0;
}

// Returns false if too few file descriptors are free to check a process. In that case a live process would look like an
// ended one. The function opens two descriptors, because such a check needs two.
bool CanLookAtProcesses() {
  const HeldProcess self(getpid());
  return self.valid() && ReadStat(getpid());
}

int64_t SubmittersOpenFiles(const JobRecords& records) {
  const auto submission = records.ReadSubmission();
  return submission.ok() ? submission->open_files : 0;
}

}  // namespace

Containers::Containers(EventLoop& loop, BoostProcessRunner& runner, const JobRecords& records,
                       std::vector<std::string> environment, Listener listener, Duration patience)
    : loop_(loop),
      runner_(runner),
      job_(records.job()),
      folder_(records.place()),
      records_(records),
      environment_(std::move(environment)),
      open_files_(SubmittersOpenFiles(records)),
      listener_(std::move(listener)),
      patience_(patience) {}

Status Containers::Adopt() {
  TRY_ASSIGN(const auto records, records_.ReadAll());
  for (const auto& record : records) TRY(AdoptOne(record));
  if (!records.empty()) SweepSoon();
  return Ok();
}

Status Containers::AdoptOne(const ContainerRecord& record) {
  Container& container = containers_[record.id];
  if (record.exited) {
    container.state = State::kEnded;
    container.exited = *record.exited;
    return Ok();
  }
  if (!CanLookAtProcesses())
    return UnavailableError("adopt container ", record.id.value, ": ", ErrnoText(errno), LimitNote(errno));
  container.exited.container = record.id;
  container.adopted = true;
  container.gpus = record.gpus;
  container.cgroup = record.cgroup;
  const std::string mark = ContainerMark(job_, record.id);
  container.pid = record.pid;
  if (record.pid == 0) {
    TRY_ASSIGN(container.pid, FindExecutor(mark));
  }
  if (container.pid > 0) container.process = HeldProcess(container.pid);
  // The process is held first and checked afterwards, so the pid cannot be reused in between.
  const bool is_it = record.pid == 0 ? HasEnvironmentSetting(container.pid, StrCat(kContainerMark, "=", mark))
                                     : StartTime(container.pid) == record.start_time;
  if (!container.process.valid() || !is_it) {
    LogInfo(StrCat("container ", record.id.value, " ended while no keeper was running"));
    JudgeMemory(container, std::nullopt);
    container.state = State::kSweeping;
    return Ok();
  }
  LogInfo(StrCat("container ", record.id.value, " adopted: pid ", container.pid));
  container.watch = container.process.WhenEnded(loop_, [this, id = record.id] { OnExecutorEnded(id, std::nullopt); });
  return Ok();
}

void Containers::Launch(const LaunchContainer& launch) {
  const auto known = containers_.find(launch.container);
  if (known != containers_.end()) return SayState(known->first, known->second);
  if (!IsContainerName(launch.container) || launch.what.argv.empty() || !launch.what.argv[0].starts_with('/'))
    return listener_.on_exited({launch.container, std::nullopt, "launch: bad container name or program"});
  std::erase_if(waiting_, [&](const auto& waiting) { return waiting.container == launch.container; });
  waiting_.push_back(launch);
  StartWaiting();
}

void Containers::Admit(Admission admission) {
  admission_ = std::move(admission);
  StartWaiting();
}

void Containers::StartWaiting() {
  if (!admission_) return;
  for (const auto& launch : std::exchange(waiting_, {}))
    if (MayStart(launch)) StartExecutor(launch);
}

// Picks the GPUs of the launch. If too few are free, because a container that is being killed still holds its GPUs, the
// launch waits.
bool Containers::MayStart(const LaunchContainer& launch) {
  const int asked = launch.what.resources.gpus;
  auto gpus = PickGpus(admission_->gpus, TakenGpus(), asked);
  Container& container = containers_[launch.container];
  container.exited.container = launch.container;
  if (gpus) {
    container.gpus = *std::move(gpus);
    return true;
  }
  if (asked > std::ssize(admission_->gpus)) {
    container.exited.error =
        StrCat("launch: the container requests ", asked, " GPUs, and the job has only ", admission_->gpus.size());
    End(launch.container, container);
  } else {
    containers_.erase(launch.container);
    waiting_.push_back(launch);
  }
  return false;
}

std::vector<int> Containers::TakenGpus() const {
  std::vector<int> taken;
  for (const auto& [id, container] : containers_)
    if (container.state != State::kEnded) taken.insert(taken.end(), container.gpus.begin(), container.gpus.end());
  return taken;
}

void Containers::StartExecutor(const LaunchContainer& launch) {
  const ContainerId& id = launch.container;
  Container& container = containers_[id];
  const Status started = StartIn(launch, container);
  if (container.pid == 0) {
    container.exited.error = started.error().message;
    return End(id, container);
  }
  // A missing record of the pid is only a warning, because the mark still identifies the executor.
  WarnUnless(started);
  // The executor's tasks inherit this limit of open files, although the executor is already running: the executor
  // starts its first task long after this call.
  if (open_files_ > 0) LimitOpenFiles(container.pid, open_files_);
  LogInfo(StrCat("container ", id.value, " started: pid ", container.pid));
  listener_.on_started(id);
}

Status Containers::StartIn(const LaunchContainer& launch, Container& container) {
  const ContainerId& id = launch.container;
  if (cgroups_) container.cgroup = CgroupFolder(*cgroups_, job_, id);
  TRY(records_.Launching(id, container.gpus, container.cgroup));
  if (!launch.what.log_file.empty()) TRY(MakeFolder(std::filesystem::path(launch.what.log_file).parent_path()));
  const UniqueFd cgroup = MakeCgroupFor(launch, container);
  ProcessSpec executor = ExecutorOf(launch, container);
  executor.cgroup = cgroup.get();
  TRY_ASSIGN(container.pid, runner_.Start(executor, [this, id](ExitStatus status) { OnExecutorEnded(id, status); }));
  CheckThatItsCgroupHasIt(container);
  return records_.Started(id, container.pid, StartTime(container.pid));
}

ProcessSpec Containers::ExecutorOf(const LaunchContainer& launch, const Container& container) const {
  const ContainerId& id = launch.container;
  ProcessSpec executor;
  executor.argv = launch.what.argv;
  executor.env =
      MergeEnvironments(MergeEnvironments(MergeEnvironments(environment_, launch.what.env),
                                          GpuEnvironment(container.gpus, admission_->machine_has_gpus,
                                                         admission_->gpu_names)),
                        {StrCat(kJobMark, "=", job_.value), StrCat(kContainerMark, "=", ContainerMark(job_, id))});
  executor.directory = folder_.string();
  executor.stdout_file = executor.stderr_file = launch.what.log_file;
  if (admission_->lock >= 0) executor.inherited = {admission_->lock};
  return executor;
}

void Containers::Stop(const StopContainer& stop) {
  std::erase_if(waiting_, [&](const auto& waiting) { return waiting.container == stop.container; });
  const auto [place, is_new] = containers_.try_emplace(stop.container);
  auto& [id, container] = *place;
  if (is_new) {
    container.exited = {id, std::nullopt, "the container was stopped before its launch"};
    return End(id, container);
  }
  if (!IsToEnd(container)) return SayState(id, container);
  if (stop.mode == StopMode::kKill) {
    Kill(id, container);
  } else {
    Terminate(container);
  }
}

void Containers::Terminate(const Container& container) {
  if (container.state != State::kRunning) return;
  if (container.process.valid()) {
    (void)container.process.Signal(SIGTERM);
  } else {
    // The pid cannot be reused, because this executor is our child and not reaped yet.
    kill(container.pid, SIGTERM);
  }
}

void Containers::StopAll() {
  waiting_.clear();
  for (const auto& [id, container] : containers_) Terminate(container);
}

void Containers::StopIdle() {
  const auto processes = TryListProcesses();
  // If the processes cannot be listed, no executor counts as idle, and the next call decides.
  if (!processes.ok()) return;
  for (const auto& [id, container] : containers_)
    if (!idle_.contains(id) && DescendantsIn(*processes, container.pid).empty()) {
      // Each executor is signalled once, because a repeated signal would make it wait again for an answer to its last
      // report.
      idle_.insert(id);
      Terminate(container);
    }
}

void Containers::Kill(const ContainerId& id, Container& container) {
  if (container.state != State::kRunning) return;
  LogInfo(StrCat("container ", id.value, " is killed"));
  container.state = State::kKilling;
  SweepSoon();
}

void Containers::KillAll() {
  waiting_.clear();
  for (auto& [id, container] : containers_) Kill(id, container);
}

bool Containers::AnyToEnd() const {
  return std::ranges::any_of(containers_, [](const auto& entry) { return IsToEnd(entry.second); });
}

std::string Containers::Left() const {
  std::vector<std::string> words;
  for (const auto& [id, container] : containers_)
    if (container.state == State::kLeft && !std::ranges::count(words, container.exited.error))
      words.push_back(container.exited.error);
  return Join(words, "; ");
}

size_t Containers::Running() const {
  return static_cast<size_t>(
      std::ranges::count_if(containers_, [](const auto& entry) { return entry.second.state == State::kRunning; }));
}

KeeperInventory Containers::Inventory() const {
  KeeperInventory inventory;
  for (const auto& [id, container] : containers_) {
    if (!IsToEnd(container)) {
      inventory.exited.push_back(container.exited);
    } else {
      inventory.running.push_back(id);
    }
  }
  return inventory;
}

void Containers::SayState(const ContainerId& id, const Container& container) const {
  if (!IsToEnd(container)) {
    listener_.on_exited(container.exited);
  } else {
    listener_.on_started(id);
  }
}

}  // namespace tony::keeper
