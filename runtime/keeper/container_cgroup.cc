#include "runtime/keeper/container_cgroup.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <system_error>
#include <utility>

#include "runtime/base/strings.h"
#include "runtime/os/files.h"
#include "runtime/os/process_tree.h"

namespace tony {
namespace {

namespace fs = std::filesystem;

// cpu.weight of cgroup v2: the default and the maximum.
constexpr int64_t kUsualWeight = 100, kHighestWeight = 10000;
// The number of moves that KeepCgroupsWarm() makes. The moves cover the start of an application master. The start takes
// some 10 ms, or longer if many start at once.
constexpr int kWarmings = 12;
constexpr std::chrono::milliseconds kBetweenWarmings{5};
// The depth to which the cgroups below a container's cgroup are visited. Only the user's program can make cgroups at
// that place.
constexpr int kDeepest = 16;

constexpr const char* kProcesses = "cgroup.procs";
// The number of SIGSTOP passes of KillOneByOne(). KillDescendants() (process_tree.h) makes as many for a process tree.
constexpr int kStoppingPasses = 10;

bool Exists(const fs::path& path) { return access(path.c_str(), F_OK) == 0; }

Result<UniqueFd> OpenForWriting(const fs::path& file) {
  UniqueFd fd(open(file.c_str(), O_WRONLY | O_CLOEXEC));
  if (!fd.valid()) return FileError(ErrorCode::kUnavailable, "open", file, errno);
  return fd;
}

// Writes a value with a single write, because cgroupfs takes one value per write and reports errors at that write.
// Never creates the file.
Status Set(const fs::path& file, int64_t value) {
  TRY_ASSIGN(const UniqueFd fd, OpenForWriting(file));
  const std::string text = std::to_string(value);
  if (write(fd.get(), text.data(), text.size()) < 0)
    return FileError(ErrorCode::kUnavailable, StrCat("write ", text, " to"), file, errno);
  return Ok();
}
Status SetIfThere(const fs::path& file, int64_t value) { return Exists(file) ? Set(file, value) : Ok(); }

const char* LimitFile(CgroupVersion version) {
  return version == CgroupVersion::kOne ? "memory.limit_in_bytes" : "memory.max";
}

// Returns the limit in bytes, at least 32 MB. With less memory the kernel would kill the executor or its program at
// every start.
int64_t LimitOf(const Resources& resources) { return std::max<int64_t>(resources.memory_mb, 32) << 20; }

Status SetTwo(const fs::path& cgroup, const Resources& resources) {
  if (resources.memory_mb > 0) TRY(Set(cgroup / LimitFile(CgroupVersion::kTwo), LimitOf(resources)));
  // Each file is set only if it exists. A kernel without swap has no memory.swap.max, and a cgroup without the cpu
  // controller has no cpu.weight.
  TRY(SetIfThere(cgroup / "memory.swap.max", 0));
  return SetIfThere(cgroup / "cpu.weight", std::clamp<int64_t>(kUsualWeight * resources.vcores, 1, kHighestWeight));
}

Status SetOne(const fs::path& cgroup, const Resources& resources) {
  if (resources.memory_mb <= 0) return Ok();
  TRY(Set(cgroup / LimitFile(CgroupVersion::kOne), LimitOf(resources)));
  // memory.memsw.limit_in_bytes limits memory and swap together. Set to the memory limit, it leaves no swap.
  return SetIfThere(cgroup / "memory.memsw.limit_in_bytes", LimitOf(resources));
}

struct Wanted {
  const char* file;  // file that child cgroups need
  const char* what;  // name of the feature, for people
};

// Returns Ok if cgroups can be made in `folder`, if these cgroups have the wanted file, and if processes can be moved
// there.
Status TryPlace(const Wanted& wanted, const fs::path& folder) {
  const auto procs = folder / kProcesses;
  if (access(procs.c_str(), W_OK) != 0) return FileError(ErrorCode::kUnavailable, "write to", procs, errno);
  const auto child = folder / StrCat("tony-trial-", getpid());
  if (mkdir(child.c_str(), 0755) != 0 && errno != EEXIST)
    return FileError(ErrorCode::kUnavailable, "make", child, errno);
  const bool has_it = access((child / wanted.file).c_str(), W_OK) == 0;
  rmdir(child.c_str());
  if (has_it) return Ok();
  return UnavailableError("cgroups in ", folder.string(), " have no ", wanted.what);
}

// Finds the nearest usable cgroup: on v2 from `own` upwards, on v1 only `own`. A v1 limit for this process is set on
// `own`, and a cgroup made above would escape that limit.
Result<CgroupPlace> NearestPlace(const OwnCgroup& own, const Wanted& wanted) {
  std::optional<Error> nearest;
  for (fs::path folder = own.folder;; folder = folder.parent_path()) {
    const Status tried = TryPlace(wanted, folder);
    if (tried.ok()) return CgroupPlace{own.version, folder};
    if (!nearest) nearest = tried.error();
    if (own.version == CgroupVersion::kOne || folder == own.mount) return *nearest;
  }
}

UniqueFd OpenOwn(const std::optional<OwnCgroup>& own) {
  auto procs = own ? OpenForWriting(own->folder / kProcesses) : Result<UniqueFd>(UniqueFd());
  return procs.ok() ? *std::move(procs) : UniqueFd();
}

std::vector<fs::path> ChildrenOf(const fs::path& cgroup) {
  std::vector<fs::path> children;
  std::error_code error;
  fs::directory_iterator entry(cgroup, error);
  for (; !error && entry != fs::directory_iterator(); entry.increment(error)) {
    std::error_code ignored;
    if (!entry->is_symlink(ignored) && entry->is_directory(ignored)) children.push_back(entry->path());
  }
  return children;
}

// The link count of a folder is 2 plus the number of its subfolders, so one stat() shows whether a cgroup has children.
bool HasChildren(const fs::path& cgroup) {
  struct stat info {};
  return stat(cgroup.c_str(), &info) == 0 && info.st_nlink != 2;
}

int64_t NumberOf(const fs::path& file) {
  const auto content = ReadFile(file);
  return content.ok() ? ParseInt(Trim(*content)).value_or(0) : 0;
}

void CollectProcesses(const fs::path& cgroup, int depth, std::vector<pid_t>& found) {
  const auto listed = ReadFile(cgroup / kProcesses);
  if (listed.ok())
    for (const auto& line : Split(Trim(*listed), '\n'))
      if (const auto pid = ParseInt(line); pid && *pid > 0) found.push_back(static_cast<pid_t>(*pid));
  if (depth == 0 || !HasChildren(cgroup)) return;
  for (const auto& child : ChildrenOf(cgroup)) CollectProcesses(child, depth - 1, found);
}

int64_t CountOomKills(CgroupVersion version, const fs::path& cgroup, int depth) {
  const auto own = OomKillsIn(version, cgroup);
  const bool refused = !own && version == CgroupVersion::kOne && NumberOf(cgroup / "memory.failcnt") > 0;
  int64_t kills = own.value_or(refused ? 1 : 0);
  if (depth == 0 || !HasChildren(cgroup)) return kills;
  for (const auto& child : ChildrenOf(cgroup)) {
    const int64_t below = CountOomKills(version, child, depth - 1);
    // On v2 the count already includes the cgroups below, except with the mount option memory_localevents.
    kills = version == CgroupVersion::kOne ? kills + below : std::max(kills, below);
  }
  return kills;
}

// Returns true if the cgroup or a cgroup below it has processes. On v2 the file cgroup.events shows this. On v1 this
// function reads the process lists, which the kernel builds at each open.
bool HoldsProcesses(const fs::path& cgroup) {
  const auto events = ReadFile(cgroup / "cgroup.events");
  if (events.ok()) return events->find("populated 1") != std::string::npos;
  return !ProcessesInCgroup(cgroup).empty();
}

// Signals all processes in the cgroup. Each process is opened first (HeldProcess) and then found in the cgroup
// again, so a reused pid is not signalled. Returns the signalled processes.
std::set<pid_t> SignalAllIn(const fs::path& cgroup, int signal) {
  std::map<pid_t, HeldProcess> held;
  for (const pid_t pid : ProcessesInCgroup(cgroup)) held.try_emplace(pid, pid);
  std::set<pid_t> signalled;
  for (const pid_t pid : ProcessesInCgroup(cgroup)) {
    const auto process = held.find(pid);
    if (process != held.end() && process->second.Signal(signal)) signalled.insert(pid);
  }
  return signalled;
}

// Kills the processes of a cgroup without cgroup.kill. If new processes appear meanwhile, all are stopped before they
// are killed, as KillDescendants() does with a process tree.
void KillOneByOne(const fs::path& cgroup) {
  std::set<pid_t> before = SignalAllIn(cgroup, SIGKILL);
  std::set<pid_t> now = SignalAllIn(cgroup, SIGSTOP);
  if (std::ranges::includes(before, now)) return;
  for (int pass = 1; pass < kStoppingPasses && !std::ranges::includes(before, now); ++pass) {
    before = std::move(now);
    now = SignalAllIn(cgroup, SIGSTOP);
  }
  SignalAllIn(cgroup, SIGKILL);
}

Status MakeFolderOf(const fs::path& cgroup) {
  if (mkdir(cgroup.c_str(), 0755) == 0 || errno == EEXIST) return Ok();
  return FileError(ErrorCode::kUnavailable, "make", cgroup, errno);
}

Status Remove(const fs::path& cgroup, int depth) {
  if (depth > 0 && HasChildren(cgroup))
    for (const auto& child : ChildrenOf(cgroup)) TRY(Remove(child, depth - 1));
  if (rmdir(cgroup.c_str()) == 0 || errno == ENOENT) return Ok();
  return FileError(ErrorCode::kUnavailable, "remove", cgroup, errno);
}

}  // namespace

Result<CgroupPlace> FindCgroupPlace(const fs::path& root) {
  const auto own = OwnMemoryCgroup(root);
  if (!own) return UnavailableError("this system has no cgroups");
  return NearestPlace(*own, {LimitFile(own->version), "memory limit"});
}

Result<CgroupPlace> FindPlaceWithoutLimits(const fs::path& root) {
  const auto own = OwnUnifiedCgroup(root);
  if (!own) return UnavailableError("this system has no cgroups v2");
  TRY_ASSIGN(CgroupPlace place, NearestPlace(*own, {kProcesses, "processes"}));
  place.limits = false;
  return place;
}

std::string DescribeMemoryLimits(const fs::path& root) {
  const auto place = FindCgroupPlace(root);
  if (!place.ok()) return StrCat("none: ", place.error().message);
  return StrCat("by cgroup ", ToString(place->version), " below ", place->folder.string());
}

fs::path CgroupFolder(const CgroupPlace& place, const JobId& job, const ContainerId& container) {
  return place.folder / StrCat(kContainerCgroupPrefix, job.value, "-", container.value);
}

Result<UniqueFd> MakeCgroupWithoutLimits(const fs::path& cgroup) {
  TRY(MakeFolderOf(cgroup));
  return OpenForWriting(cgroup / kProcesses);
}

Result<UniqueFd> MakeCgroup(const fs::path& cgroup, const Resources& resources) {
  TRY(MakeFolderOf(cgroup));
  TRY(Exists(cgroup / LimitFile(CgroupVersion::kTwo)) ? SetTwo(cgroup, resources) : SetOne(cgroup, resources));
  return OpenForWriting(cgroup / kProcesses);
}

bool KillCgroup(const fs::path& cgroup) {
  if (!HoldsProcesses(cgroup)) return false;
  if (Set(cgroup / "cgroup.kill", 1).ok()) {
    // cgroup.kill misses a process whose first thread has ended while other threads still run.
    SignalAllIn(cgroup, SIGKILL);
  } else {
    KillOneByOne(cgroup);
  }
  return true;
}

std::vector<pid_t> ProcessesInCgroup(const fs::path& cgroup) {
  std::vector<pid_t> found;
  CollectProcesses(cgroup, kDeepest, found);
  return found;
}

int64_t OomKillsOfTree(const fs::path& cgroup) {
  const auto version = MemoryCgroupVersion(cgroup);
  return version ? CountOomKills(*version, cgroup, kDeepest) : 0;
}

Status RemoveCgroup(const fs::path& cgroup) { return Remove(cgroup, kDeepest); }

void RemoveForgottenCgroups(const CgroupPlace& place, std::chrono::seconds age) {
  const auto before = fs::file_time_type::clock::now() - age;
  for (const auto& cgroup : ChildrenOf(place.folder)) {
    std::error_code error;
    const bool is_ours = cgroup.filename().string().starts_with(kContainerCgroupPrefix);
    if (is_ours && fs::last_write_time(cgroup, error) <= before && !error) rmdir(cgroup.c_str());
  }
}

std::jthread KeepCgroupsWarm(const fs::path& root) {
  auto procs = OpenOwn(OwnMemoryCgroup(root));
  if (!procs.valid()) procs = OpenOwn(OwnUnifiedCgroup(root));
  if (!procs.valid()) return {};
  const auto warm = [fd = std::make_shared<UniqueFd>(std::move(procs))](const std::stop_token& stop) {
    for (int i = 0; i < kWarmings && !stop.stop_requested(); ++i) {
      if (write(fd->get(), "0", 1) < 0) return;
      std::this_thread::sleep_for(kBetweenWarmings);
    }
  };
  try {
    return std::jthread(warm);
  } catch (const std::system_error&) {  // the user's thread limit is reached
    return {};
  }
}

}  // namespace tony
