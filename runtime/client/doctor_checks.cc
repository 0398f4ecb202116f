#include "runtime/client/doctor_checks.h"

#include <fcntl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <optional>

#include "runtime/base/strings.h"
#include "runtime/base/unique_fd.h"
#include "runtime/job/job_spec.h"
#include "runtime/process/sibling_program.h"
#include "runtime/scheduler/local/container_cgroup.h"
#include "runtime/scheduler/local/ledger_folder.h"
#include "runtime/scheduler/local/ledger_report.h"
#include "runtime/staging/programs.h"
#include "runtime/store/file_system.h"
#include "runtime/store/files.h"
#include "runtime/store/user_home.h"

namespace tony {
namespace {

namespace fs = std::filesystem;

constexpr int64_t kMegabyte = 1 << 20;
constexpr int64_t kEnoughDisk = 1024 * kMegabyte;  // logs of a job may grow to its log limit, 1 GB by default
constexpr int64_t kLittleDisk = 16 * kMegabyte;    // journal and status of a job of thousands of tasks
// The AM has a connection to each executor and the keeper a descriptor of each: enough for a job of 1000 tasks.
constexpr int64_t kEnoughFiles = 4096;
constexpr int64_t kEnoughProcesses = 4096;
constexpr int64_t kEnoughWatchers = 512;  // a command that follows a job and a keeper that waits have one each

// Whether files can be made there, or in the nearest folder above it that is there: a file without a name shows it,
// also on a full disk, and leaves nothing. Sets errno.
bool MayBeWritten(const fs::path& folder) {
  const fs::path there = NearestExisting(folder);
  const UniqueFd fd(open(there.c_str(), O_TMPFILE | O_RDWR | O_CLOEXEC, 0600));
  if (!fd.valid() && (errno == EOPNOTSUPP || errno == EISDIR || errno == EINVAL))  // a file system that has none
    return access(there.c_str(), R_OK | W_OK | X_OK) == 0;
  const std::string page(4096, 'x');
  return fd.valid() && write(fd.get(), page.data(), page.size()) == static_cast<ssize_t>(page.size());
}

std::string Disk(const FileSystem& system) {
  return StrCat(system.type, system.network ? " (network)" : "", ", ", system.free_bytes / kMegabyte, " MB free");
}

Check FailOf(std::string name, const Error& error, std::string advice = "") {
  return {std::move(name), Health::kFail, error.message, std::move(advice)};
}

Check LedgerPlace(const LedgerFolder& folder) {
  const std::string path = folder.path().string();
  if (!MayBeWritten(folder.path()))
    return FailOf("ledger", FileError(ErrorCode::kCannotWrite, "write", folder.path(), errno),
                  "set TONY_LEDGER to a folder that you may write, or make this one with mode 1777");
  if (folder.is_private()) return {"ledger", Health::kWarn, folder.Announcement(), ""};
  struct stat status = {};
  if (stat(folder.path().c_str(), &status) != 0)
    return {"ledger", Health::kOk, StrCat(path, ", made by the first job"), ""};
  const auto system = FileSystemOf(folder.path());
  const bool all = (status.st_mode & 07777) == 01777;
  const std::string whose = all ? "shared by all users" : "not shared by all users: its mode is not 1777";
  Check check{"ledger", Health::kOk, StrCat(path, ", ", whose, system.ok() ? StrCat(", ", Disk(*system)) : ""), ""};
  if (!system.ok() || system->type != "fuse") return check;
  check.health = Health::kWarn;
  check.advice = "if other machines have that folder, too, set TONY_LEDGER to one that they have not";
  return check;
}

Check MachineHas(const LedgerFolder& folder, const Machine& machine) {
  std::error_code error;
  const bool said = fs::exists(folder.path() / "machine.json", error);
  Check check{"machine", Health::kOk,
              StrCat(machine.memory_mb, " MB of memory, ", Counted(machine.cores, "core"), ", ",
                     Counted(static_cast<int64_t>(machine.gpus.size()), "GPU"), said ? ", as machine.json says" : ""),
              ""};
  if (machine.memory_mb > 0) return check;
  check.health = Health::kFail;
  check.advice = StrCat("say what jobs may have in ", (folder.path() / "machine.json").string(),
                        R"(: {"memory_mb": 16000, "gpus": [0]})");
  return check;
}

Check Queue(const LedgerView& view) {
  const auto& entries = view.ledger.entries();
  const int64_t run = std::ranges::count(entries, Place::kAdmitted, &LedgerEntry::place);
  const auto wait = static_cast<int64_t>(entries.size()) - run;
  std::string text = StrCat(Counted(run, "job"), run == 1 ? " runs, " : " run, ", wait,
                            wait == 1 ? " waits; " : " wait; ", view.ledger.FreeMemory(), " MB and ",
                            Counted(static_cast<int64_t>(view.ledger.FreeGpus().size()), "GPU"), " are free");
  if (view.dead > 0) text += StrCat("; ", view.dead, " left by the dead, removed by the next job");
  if (const std::string who = WhoHolds(view.ledger, {}); !who.empty()) text += StrCat("; ", who);
  return {"queue", Health::kOk, text, wait > 0 ? "\"tony list --queue\" shows them" : ""};
}

// TonY's own defaults are made for clusters.
Check DefaultTask(const Machine& machine) {
  const int64_t memory = Resources().memory_mb;
  const int64_t fit = machine.memory_mb / memory;
  const std::string text = StrCat("a task asks for ", memory, " MB unless told otherwise; ", fit,
                                  fit == 1 ? " fits" : " fit", " here at once");
  if (fit >= 2) return {"defaults", Health::kOk, text, ""};
  return {"defaults", Health::kWarn, text,
          "state what a task needs: -conf tony.worker.memory=512m (a job without roles: tony.am.memory)"};
}

Check MemoryLimits() {
  const std::string limits = DescribeMemoryLimits();
  if (!limits.starts_with("none")) return {"memory limits", Health::kOk, limits, ""};
  return {"memory limits", Health::kWarn, limits,
          "tasks that use more than they asked for are not stopped; on a machine with systemd, run in a scope of your "
          "own: systemd-run --user --scope -p Delegate=yes"};
}

std::string LimitText(rlim_t limit) { return limit == RLIM_INFINITY ? "any number" : StrCat(limit); }

Check Limit(const char* name, int resource, int64_t enough, const char* why, const char* advice) {
  rlimit limit = {};
  getrlimit(static_cast<__rlimit_resource>(resource), &limit);
  Check check{name, Health::kOk, StrCat("at most ", LimitText(limit.rlim_max)), ""};
  if (limit.rlim_max >= static_cast<rlim_t>(enough)) return check;
  check.health = Health::kWarn;
  check.text += StrCat("; ", why);
  check.advice = advice;
  return check;
}

Check Watchers() {
  const auto text = ReadFile("/proc/sys/fs/inotify/max_user_instances");
  const auto most = text.ok() ? ParseInt(Trim(*text)) : std::nullopt;
  if (!most) return {"inotify", Health::kWarn, "not to be seen: those who wait look once a second", ""};
  Check check{"inotify", Health::kOk, StrCat("at most ", Counted(*most, "instance"), " for each user"), ""};
  if (*most >= kEnoughWatchers) return check;
  check.health = Health::kWarn;
  check.text += "; beyond that those who wait look once a second instead of being woken";
  check.advice = StrCat("as root: sysctl fs.inotify.max_user_instances=", kEnoughWatchers);
  return check;
}

}  // namespace

Check CheckHomeDisk(const fs::path& home, const std::string& about) {
  const auto system = FileSystemOf(home);
  if (!system.ok()) return FailOf("home", system.error());
  Check check{"home", Health::kOk, StrCat(home.string(), about, ": ", Disk(*system)), ""};
  if (system->free_bytes < kLittleDisk || system->free_files == 0) {
    check.health = Health::kFail;
    check.advice = "make room, or set TONY_HOME to a folder on another disk; \"tony gc\" removes old jobs";
  } else if (!MayBeWritten(home)) {
    check.health = Health::kFail;
    check.text += StrCat(", and it may not be written: ", ErrnoText(errno));
    check.advice = "set TONY_HOME to a folder that you may write";
  } else if (system->no_programs) {
    check.health = Health::kWarn;
    check.text += ", mounted noexec: programs that a job brings along cannot be started";
    check.advice = "set TONY_HOME to a folder on another file system, or as root: mount -o remount,exec";
  } else if (system->free_bytes < kEnoughDisk) {
    check.health = Health::kWarn;
    check.advice = "\"tony gc\" removes old jobs";
  } else if (system->network) {
    check.health = Health::kWarn;
    check.advice = "jobs stop with that file system; set TONY_HOME to a folder on a disk of this machine";
  }
  return check;
}

Checks CheckHome() {
  const auto named = NamedHome();
  if (!named.ok()) return {FailOf("home", named.error(), "set TONY_HOME to a folder that you may write")};
  const auto home = FindHome(*named, geteuid());
  if (!home.ok()) return {FailOf("home", home.error(), "or set TONY_HOME to a folder of your own")};
  if (!home->is_below) return {CheckHomeDisk(home->path, "")};
  return {CheckHomeDisk(home->path, StrCat(", your folder in ", named->string(), ", which all its users share"))};
}

Checks CheckLedger() {
  const auto folder = LedgerFolder::FindHere();
  if (!folder.ok()) return {FailOf("ledger", folder.error())};
  const auto view = folder->Read();
  if (!view.ok()) return {FailOf("ledger", view.error(), "set TONY_LEDGER to a folder that you may write")};
  const Machine& machine = view->ledger.machine();
  Checks checks = {LedgerPlace(*folder), MachineHas(*folder, machine), Queue(*view), DefaultTask(machine)};
  for (const std::string& warning : view->warnings)
    checks.push_back({"ledger", Health::kWarn, warning, "its owner or root should remove that file"});
  if (const std::string lock = LockWarning(*view); !lock.empty())
    checks.push_back({"ledger", Health::kWarn, lock, "root can end that process"});
  return checks;
}

Checks CheckLimits() {
  return {MemoryLimits(),
          Limit("open files", RLIMIT_NOFILE, kEnoughFiles, "jobs of a thousand tasks need more",
                "raise nofile in /etc/security/limits.conf"),
          Limit("processes", RLIMIT_NPROC, kEnoughProcesses, "each task is two or more, and threads count",
                "raise nproc in /etc/security/limits.conf"),
          Watchers()};
}

Checks CheckPrograms() {
  std::vector<std::string> found;
  for (const std::string_view name : kJobPrograms) {
    const std::string path = SiblingProgram(name);
    if (access(path.c_str(), X_OK) != 0)
      return {FailOf("programs", FileError(ErrorCode::kNotFound, "run", path, errno),
                     "install all programs of TonY into one folder")};
    found.emplace_back(name);
  }
  const std::string beside = StrCat(Join(found, ", "), " beside tony");
  const auto home = TonyHome();
  if (!home.ok()) return {{"programs", Health::kOk, beside, ""}};
  const std::string store = (*home / "programs").string();
  if (LetsProgramsRun(store)) return {{"programs", Health::kOk, StrCat(beside, "; jobs keep theirs in ", store), ""}};
  return {{"programs", Health::kWarn,
           StrCat(beside, "; jobs keep none: ", store, " is on a file system mounted noexec"),
           "replace programs only while no job runs, or set TONY_HOME to a folder in which programs may run"}};
}

std::string ServiceIn(const std::string& cgroups) {
  for (const std::string& line : Split(cgroups, '\n')) {
    if (!line.starts_with("0::") && line.find(":name=systemd:") == std::string::npos) continue;
    const fs::path path = line.substr(line.rfind(':', line.find('/')) + 1);
    std::string service;
    for (const fs::path& part : path) {
      const std::string name = part.string();
      if (name.ends_with(".scope")) service.clear();
      if (name.ends_with(".service") && !name.starts_with("user@")) service = name;
    }
    if (!service.empty()) return service;
  }
  return "";
}

Checks CheckService() {
  const auto cgroups = ReadFile("/proc/self/cgroup");
  const std::string service = cgroups.ok() ? ServiceIn(*cgroups) : "";
  std::error_code error;
  if (service.empty() || !fs::exists("/run/systemd/system", error))
    return {{"service", Health::kOk, "jobs submitted here do not belong to a service", ""}};
  return {{"service", Health::kWarn,
           StrCat("jobs submitted here belong to ", service,
                  ": systemd may end them when it is stopped or restarted, as SIGTERM to a job's keeper kills the job"),
           "set KillMode=process for it, or submit through systemd-run --scope"}};
}

}  // namespace tony
