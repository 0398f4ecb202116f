#include "executor/usage_watch.h"

#include <dirent.h>
#include <dlfcn.h>
#include <fcntl.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <chrono>
#include <condition_variable>
#include <csignal>
#include <cstdio>
#include <ctime>
#include <mutex>
#include <thread>
#include <utility>

#include "runtime/base/log.h"
#include "runtime/base/strings.h"
#include "runtime/base/unique_fd.h"
#include "runtime/job/ids.h"
#include "runtime/job/job_fields.h"
#include "runtime/job/json_fields.h"
#include "runtime/os/files.h"
#include "runtime/os/process_tree.h"

namespace tony::executor {
namespace {

// The interval between samples of the GPUs. The driver's own figure of utilisation covers at most the last second.
constexpr std::chrono::milliseconds kLookEvery{1000};
constexpr std::chrono::milliseconds kLongestFarewell{500};
constexpr size_t kMostDevices = 64;

// Declares the part of NVML that is used here, as in NVML's documentation, because the header of NVML is not available.
// These functions have been unchanged since 2014.
using NvmlDevice = void*;
struct NvmlMemory {
  unsigned long long total = 0, free = 0, used = 0;
};
struct NvmlUtilization {
  unsigned gpu = 0, memory = 0;
};
constexpr int kNvmlSuccess = 0;

class Nvml {
 public:
  explicit Nvml(const std::string& library) {
    // The library is never closed, because its threads and exit handlers may outlive this object.
    void* handle = dlopen(library.c_str(), RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
    const auto find = [&]<class Function>(Function& function, const char* name) {
      function = handle ? reinterpret_cast<Function>(dlsym(handle, name)) : nullptr;
      return function != nullptr;
    };
    int (*init)() = nullptr;
    usable_ = find(init, "nvmlInit_v2") && find(by_index_, "nvmlDeviceGetHandleByIndex_v2") &&
              find(by_uuid_, "nvmlDeviceGetHandleByUUID") && find(memory_, "nvmlDeviceGetMemoryInfo") &&
              find(utilization_, "nvmlDeviceGetUtilizationRates") && init() == kNvmlSuccess;
  }
  bool usable() const { return usable_; }

  std::optional<NvmlDevice> Device(const std::string& name) const {
    NvmlDevice device = nullptr;
    const auto index = ParseInt(name);
    const int result = index ? by_index_(static_cast<unsigned>(*index), &device) : by_uuid_(name.c_str(), &device);
    return result == kNvmlSuccess ? std::optional(device) : std::nullopt;
  }
  std::optional<int64_t> MemoryBytes(NvmlDevice device) const {
    NvmlMemory memory;
    if (memory_(device, &memory) != kNvmlSuccess) return std::nullopt;
    return static_cast<int64_t>(memory.used);
  }
  // Returns 0 for a part of a device (MIG), which has no utilisation of its own.
  int Percent(NvmlDevice device) const {
    NvmlUtilization utilization;
    if (utilization_(device, &utilization) != kNvmlSuccess) return 0;
    return static_cast<int>(std::min(utilization.gpu, 100u));
  }

 private:
  bool usable_ = false;
  int (*by_index_)(unsigned, NvmlDevice*) = nullptr;
  int (*by_uuid_)(const char*, NvmlDevice*) = nullptr;
  int (*memory_)(NvmlDevice, NvmlMemory*) = nullptr;
  int (*utilization_)(NvmlDevice, NvmlUtilization*) = nullptr;
};

// The memory of all devices together, and their mean utilisation.
struct Look {
  int64_t memory_bytes = 0;
  int percent = 0;
};
std::optional<Look> LookAt(const Nvml& nvml, const std::vector<NvmlDevice>& devices) {
  Look look;
  int measured = 0;
  for (const NvmlDevice device : devices) {
    const auto memory = nvml.MemoryBytes(device);
    if (!memory) continue;  // the device is not reachable
    look.memory_bytes += *memory;
    look.percent += nvml.Percent(device);
    ++measured;
  }
  if (measured == 0) return std::nullopt;
  look.percent /= measured;
  return look;
}

}  // namespace

struct GpuWatch::Shared {
  std::mutex mutex;
  std::condition_variable changed;
  bool stop = false;
  bool ended = false;
  std::optional<GpuUsage> usage;
  int64_t looks = 0;
  int64_t percents = 0;

  void Note(const Look& look) {
    const std::lock_guard lock(mutex);
    if (!usage) usage.emplace();
    ++looks;
    percents += look.percent;
    usage->memory_bytes = look.memory_bytes;
    usage->most_memory_bytes = std::max(usage->most_memory_bytes, look.memory_bytes);
    usage->percent = look.percent;
    usage->mean_percent = static_cast<int>(percents / looks);
    usage->most_percent = std::max(usage->most_percent, look.percent);
  }

  // Runs on the GpuWatch's own thread.
  void Watch(const std::vector<std::string>& names, const std::string& library) {
    const Nvml nvml(library);
    if (!nvml.usable()) {
      LogInfo(StrCat("GPU usage is not measured: ", library, " cannot be used"));
      return;
    }
    std::vector<NvmlDevice> devices;
    for (const std::string& name : names) {
      if (const auto device = nvml.Device(name)) devices.push_back(*device);
    }
    for (bool stopped = devices.empty(); !stopped;) {
      if (const auto look = LookAt(nvml, devices)) Note(*look);
      std::unique_lock lock(mutex);
      stopped = changed.wait_for(lock, kLookEvery, [this] { return stop; });
    }
  }
};

std::vector<std::string> VisibleGpus(std::string_view value) {
  std::vector<std::string> devices;
  for (const std::string& part : Split(value, ',')) {
    const std::string name(Trim(part));
    const bool number = !name.empty() && name.find_first_not_of("0123456789") == std::string::npos && name.size() < 6;
    if (!number && !name.starts_with("GPU-") && !name.starts_with("MIG-")) break;
    if (devices.size() < kMostDevices) devices.push_back(name);
  }
  return devices;
}

GpuWatch::GpuWatch(std::vector<std::string> devices, std::string library) : shared_(std::make_shared<Shared>()) {
  sigset_t all, before;
  sigfillset(&all);
  // The thread blocks all signals, because the loop's thread handles them.
  pthread_sigmask(SIG_SETMASK, &all, &before);
  std::thread([shared = shared_, names = std::move(devices), file = std::move(library)] {
    shared->Watch(names, file);
    const std::lock_guard lock(shared->mutex);
    shared->ended = true;
    shared->changed.notify_all();
  }).detach();
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

void GpuWatch::Stop() {
  const std::lock_guard lock(shared_->mutex);
  shared_->stop = true;
  shared_->changed.notify_all();
}

GpuWatch::~GpuWatch() {
  Stop();
  std::unique_lock lock(shared_->mutex);
  if (!shared_->changed.wait_for(lock, kLongestFarewell, [this] { return shared_->ended; }))
    LogWarn("the GPU driver does not answer; the executor ends without waiting for its answer");
}

std::optional<GpuUsage> GpuWatch::Newest() const {
  const std::lock_guard lock(shared_->mutex);
  return shared_->usage;
}

namespace {

// The largest number of processes that are sampled in a fork storm. Sampling this many blocks the loop for a quarter of
// a second.
constexpr size_t kMostProcesses = 10'000;

int64_t NumberAt(std::string_view& text) {
  text.remove_prefix(std::min(text.find_first_not_of(" \n"), text.size()));
  int64_t number = 0;
  const auto end = std::from_chars(text.data(), text.data() + text.size(), number).ptr;
  text.remove_prefix(static_cast<size_t>(end - text.data()));
  return number;
}

// The text of a file of /proc that fits into one page; "" if its process has ended.
class SmallFile {
 public:
  SmallFile(const char* format, pid_t pid, pid_t thread = 0) {
    char path[64];
    std::snprintf(path, sizeof path, format, pid, thread);
    const UniqueFd fd(open(path, O_RDONLY | O_CLOEXEC));
    const ssize_t got = fd.valid() ? read(fd.get(), text_, sizeof text_) : 0;
    size_ = got > 0 ? static_cast<size_t>(got) : 0;
  }
  std::string_view text() const { return {text_, size_}; }

 private:
  char text_[4096];
  size_t size_;
};

struct ProcessTimes {
  // CPU ticks of the process and of the children that it has reaped.
  int64_t ticks = 0;
  int64_t threads = 1;
};

ProcessTimes ReadTimes(pid_t pid) {
  const SmallFile file("/proc/%d/stat", pid);
  std::string_view rest = file.text();
  const size_t end_of_name = rest.rfind(')');  // the name may contain any character
  if (end_of_name == std::string_view::npos) return {};
  rest.remove_prefix(std::min(end_of_name + 4, rest.size()));  // the length of ") S "
  // The numbers in these loops are the field numbers of proc(5), where the parent is field 4.
  for (int field = 4; field < 14; ++field) NumberAt(rest);
  ProcessTimes times;
  for (int field = 14; field <= 17; ++field) times.ticks += NumberAt(rest);
  for (int field = 18; field < 20; ++field) NumberAt(rest);
  times.threads = NumberAt(rest);
  return times;
}

struct ProcessPages {
  int64_t own = 0;
  int64_t shared = 0;
};

ProcessPages ReadPages(pid_t pid) {
  const SmallFile file("/proc/%d/statm", pid);
  std::string_view rest = file.text();
  NumberAt(rest);
  const int64_t resident = NumberAt(rest);
  const int64_t shared = NumberAt(rest);
  return {std::max<int64_t>(0, resident - shared), shared};
}

// Adds the children of one thread. Returns false if the kernel does not list them.
bool AddChildrenOf(pid_t pid, pid_t thread, std::vector<pid_t>& found) {
  char path[64];
  std::snprintf(path, sizeof path, "/proc/%d/task/%d/children", pid, thread);
  const UniqueFd fd(open(path, O_RDONLY | O_CLOEXEC));
  if (!fd.valid()) return false;
  char text[4096];
  // The digits read so far, because a read may end in the middle of a number.
  pid_t number = 0;
  for (ssize_t got; (got = read(fd.get(), text, sizeof text)) > 0;) {
    for (const char c : std::string_view(text, static_cast<size_t>(got))) {
      if (c != ' ') {
        number = number * 10 + (c - '0');
      } else if (found.size() < kMostProcesses) {
        found.push_back(std::exchange(number, 0));
      }
    }
  }
  return true;
}

void AddChildren(pid_t pid, int64_t threads, std::vector<pid_t>& found) {
  if (threads <= 1) {
    AddChildrenOf(pid, pid, found);
    return;
  }
  char path[64];
  std::snprintf(path, sizeof path, "/proc/%d/task", pid);
  const std::unique_ptr<DIR, int (*)(DIR*)> folder(opendir(path), closedir);
  while (const dirent* entry = folder ? readdir(folder.get()) : nullptr) {
    if (entry->d_name[0] == '.') continue;
    std::string_view name(entry->d_name);
    AddChildrenOf(pid, static_cast<pid_t>(NumberAt(name)), found);
  }
}

bool KernelTellsChildren() {
  static const bool tells = access("/proc/thread-self/children", R_OK) == 0;
  return tells;
}

rusage OfReapedChildren() {
  rusage usage{};
  getrusage(RUSAGE_CHILDREN, &usage);
  return usage;
}

Duration CpuOf(const rusage& usage) {
  const auto of = [](const timeval& time) {
    return std::chrono::seconds(time.tv_sec) + std::chrono::microseconds(time.tv_usec);
  };
  return std::chrono::duration_cast<Duration>(of(usage.ru_utime) + of(usage.ru_stime));
}

int64_t MostResident(const rusage& usage) { return int64_t{usage.ru_maxrss} << 10; }

}  // namespace

UsageSampler::UsageSampler()
    : cpu_before_(CpuOf(OfReapedChildren())), most_before_bytes_(MostResident(OfReapedChildren())) {}

// Reads the reaped children first, then parents before their children. Therefore a process that ends meanwhile may be
// missed once, and is never counted twice.
TreeSample UsageSampler::Sample() const {
  static const int64_t page_bytes = sysconf(_SC_PAGESIZE);
  static const int64_t ticks_a_second = sysconf(_SC_CLK_TCK);
  const rusage reaped = OfReapedChildren();
  std::vector<pid_t> tree;
  if (KernelTellsChildren()) {
    AddChildren(getpid(), ReadTimes(getpid()).threads, tree);
  } else {
    tree = Descendants(getpid());
  }
  int64_t ticks = 0, own = 0, most_shared = 0;
  for (size_t i = 0; i < tree.size(); ++i) {
    const pid_t pid = tree[i];
    const ProcessTimes times = ReadTimes(pid);
    const ProcessPages pages = ReadPages(pid);
    ticks += times.ticks;
    own += pages.own;
    most_shared = std::max(most_shared, pages.shared);
    if (KernelTellsChildren()) AddChildren(pid, times.threads, tree);
  }
  const int64_t most_ended = MostResident(reaped);
  return {.processes = static_cast<int>(tree.size()),
          .memory_bytes = (own + most_shared) * page_bytes,
          .cpu = CpuOf(reaped) - cpu_before_ + Duration(ticks * 1000 / ticks_a_second),
          .peak_ended_bytes = most_ended > most_before_bytes_ ? most_ended : 0};
}

namespace {

// The delay before the first sample. A program that ends earlier needs no sample, because the kernel reports its CPU
// time and its peak memory when it exits.
constexpr Duration kFirstSample{200};
// Later samples follow at a tenth of the attempt's age, within these limits.
constexpr Duration kShortestWait{1000};
constexpr Duration kLongestWait{5000};

constexpr int64_t kNoDiskHasSoMany = int64_t{1} << 40;  // MiB, more than any disk has
constexpr Duration kNoteLogsEvery{1000};

// The interval between writes of usage.json. It is long, because usage.json is meant for later analysis, and the AM has
// the current values.
constexpr Duration kKeepEvery{60'000};

// The longest wait after a sample of many processes. The wait is 1 ms for each microsecond that the sample took, so
// sampling takes at most a thousandth of a core. The wait is limited, because a storm of processes may be over soon.
constexpr Duration kLongestAfterMany{60'000};
Duration WaitAfter(std::chrono::microseconds cost, Duration age) {
  const Duration usual = std::clamp(age / 10, kShortestWait, kLongestWait);
  return std::max(usual, std::min(Duration(cost.count()), kLongestAfterMany));
}

std::chrono::microseconds OwnCpu() {
  timespec time{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return std::chrono::microseconds(time.tv_sec * 1'000'000 + time.tv_nsec / 1000);
}

std::vector<std::filesystem::path> LogsOf(const WatchedAttempt& attempt) {
  std::vector<std::filesystem::path> logs;
  for (int i = 0; i < attempt.processes; ++i)
    for (const char* name : {"stdout", "stderr"}) logs.push_back(attempt.log_folder / NameForProcess(name, i));
  return logs;
}

int64_t LimitBytes(const WatchedAttempt& attempt) { return std::min(attempt.log_limit_mb, kNoDiskHasSoMany) << 20; }

std::vector<LogSizeLimit> CapsFor(const WatchedAttempt& attempt) {
  std::vector<LogSizeLimit> caps;
  if (attempt.log_limit_mb <= 0) return caps;
  const int64_t limit = LimitBytes(attempt);
  for (const auto& log : LogsOf(attempt)) caps.emplace_back(log, limit);
  // The executor's stderr is the file executor.log.
  caps.emplace_back(UniqueFd(fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, 0)), limit);
  return caps;
}

std::vector<LogGrowthNotes> NotesFor(const WatchedAttempt& attempt) {
  std::vector<LogGrowthNotes> notes;
  for (const auto& log : LogsOf(attempt)) notes.emplace_back(log);
  return notes;
}

}  // namespace

UsageWatch::UsageWatch(EventLoop& loop, WatchedAttempt attempt, std::function<void(const Usage&)> tell)
    : loop_(loop),
      attempt_(std::move(attempt)),
      tell_(std::move(tell)),
      start_(loop.Now()),
      meter_(start_),
      logs_(CapsFor(attempt_)),
      notes_(NotesFor(attempt_)),
      output_(LogsOf(attempt_), start_),
      kept_(start_),
      capped_(start_) {
  if (!attempt_.gpus.empty()) gpus_ = std::make_unique<GpuWatch>(attempt_.gpus);
  sample_timer_ = loop_.After(kFirstSample, [this] { Sample(); });
  log_timer_ = loop_.After(UntilLogsAreChecked(), [this] { CheckLogs(); });
}

void UsageWatch::Sample() {
  const auto cpu_before = OwnCpu();
  const TreeSample sample = sampler_.Sample();
  const auto cost = OwnCpu() - cpu_before;
  const Instant now = loop_.Now();
  meter_.Add(sample, now);
  sample_timer_ = loop_.After(WaitAfter(cost, now - start_), [this] { Sample(); });
  if (now - kept_ >= kKeepEvery) Keep();
  tell_(Whole(meter_.usage()));
}

void UsageWatch::CheckLogs() {
  const Instant now = loop_.Now();
  // Size limits may be checked more often than growth is noted.
  if (now - noted_ >= kNoteLogsEvery) {
    for (LogGrowthNotes& log : notes_) log.Look(now);
    noted_ = now;
  }
  CapLogs();
  log_timer_ = loop_.After(UntilLogsAreChecked(), [this] { CheckLogs(); });
}

Duration UsageWatch::UntilLogsAreChecked() const {
  Duration soonest = kNoteLogsEvery;
  for (const LogSizeLimit& log : logs_)
    soonest = std::min(soonest, UntilNextCheck(LimitBytes(attempt_), log.growth(), between_caps_));
  return soonest;
}

void UsageWatch::CapLogs() {
  between_caps_ = loop_.Now() - std::exchange(capped_, loop_.Now());
  for (LogSizeLimit& log : logs_) {
    const auto freed = log.Check();
    if (freed.ok()) continue;
    LogWarn(StrCat("tony.task.log-limit has no effect: ", freed.error().message));
    logs_.clear();
    return;
  }
}

// Adds the usage that does not come from the processes: the time without output, and the GPUs.
Usage UsageWatch::Whole(Usage usage) {
  usage.quiet = output_.Quiet(loop_.Now());
  if (gpus_) usage.gpu = gpus_->Newest();
  return usage;
}

Usage UsageWatch::Total() {
  total_ = meter_.Ended(sampler_.Sample(), loop_.Now());
  return Whole(total_->usage());
}

void UsageWatch::Finish() {
  sample_timer_ = nullptr;
  log_timer_ = nullptr;
  CapLogs();
  if (gpus_) gpus_->Stop();
  if (meter_.usage().samples > 0) Keep();
}

void UsageWatch::Keep() {
  const UsageMeter& meter = total_ ? *total_ : meter_;
  kept_ = loop_.Now();
  const Status kept = WriteFileByRename(attempt_.log_folder / "usage.json",
                                        UsageDocument(Whole(meter.usage()), meter.series()), /*durable=*/false);
  if (!kept.ok()) LogDebug(kept.error().message);
}

void Fields(JsonWriter& io, const UsagePoint& point) {
  io.Field("at_ms", point.at);
  io.Field("length_ms", point.length);
  io.Field("mean_memory_bytes", point.mean_memory_bytes);
  io.Field("most_memory_bytes", point.most_memory_bytes);
  io.Field("mean_millicores", point.mean_millicores);
}

std::string UsageDocument(const Usage& usage, const UsageSeries& series) {
  return WriteJsonObject([&](JsonWriter& io) {
    Schema(io, 1);
    io.Field("usage", usage);
    io.Field("points", series.points());
  });
}

}  // namespace tony::executor
