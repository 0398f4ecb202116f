#include "runtime/local/machine_health.h"

#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <iterator>

#include "runtime/base/strings.h"
#include "runtime/job/job_spec.h"
#include "runtime/keeper/container_cgroup.h"
#include "runtime/ledger/ledger_folder.h"
#include "runtime/ledger/ledger_claim.h"
#include "runtime/os/file_system.h"
#include "runtime/os/files.h"

namespace tony {
namespace {

namespace fs = std::filesystem;

// The AM has a connection to each executor and the keeper a descriptor of each: enough for a job of 1000 tasks.
constexpr int64_t kEnoughFiles = 4096;
constexpr int64_t kEnoughProcesses = 4096;
constexpr int64_t kEnoughWatchers = 512;  // a command that follows a job and a keeper that waits have one each

Check FailOf(std::string name, const Error& error, std::string advice = "") {
  return {std::move(name), Health::kFail, error.message, std::move(advice)};
}

Check LedgerPlace(const LedgerFolder& folder) {
  const std::string path = folder.path().string();
  if (!MayBeWritten(folder.path()))
    return FailOf("ledger", FileError(ErrorCode::kCannotWrite, "write", folder.path(), errno),
                  "set TONY_LEDGER to a folder that you may write, or make this one with mode 1777");
  if (folder.is_private())
    return {"ledger", Health::kWarn, folder.Announcement(), "as root: install -d -m 1777 /var/lib/tony/ledger"};
  struct stat status = {};
  if (stat(folder.path().c_str(), &status) != 0)
    return {"ledger", Health::kOk, StrCat(path, ", made by the first job"), ""};
  const auto system = FileSystemOf(folder.path());
  const bool all = (status.st_mode & 07777) == 01777;
  const std::string whose = all ? "shared by all users" : "not shared by all users: its mode is not 1777";
  Check check{"ledger", Health::kOk, StrCat(path, ", ", whose, system.ok() ? StrCat(", ", Describe(*system)) : ""),
              all ? "" : StrCat("if all users shall share it, its owner or root: chmod 1777 ", path)};
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
  check.advice = StrCat("as root: echo fs.inotify.max_user_instances=", kEnoughWatchers,
                        " >/etc/sysctl.d/60-tony.conf; sysctl -p /etc/sysctl.d/60-tony.conf");
  return check;
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
                "as root: echo '* - nofile 65536' >/etc/security/limits.d/60-tony-files.conf; then log in again"),
          Limit("processes", RLIMIT_NPROC, kEnoughProcesses, "each task is two or more, and threads count",
                "as root: echo '* - nproc 65536' >/etc/security/limits.d/60-tony-processes.conf; then log in again"),
          Watchers()};
}

}  // namespace

Checks CheckMachineHealth() {
  Checks checks = CheckLedger();
  std::ranges::move(CheckLimits(), std::back_inserter(checks));
  return checks;
}

}  // namespace tony
