#include "runtime/local/machine_check.h"

#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <set>
#include <utility>

#include "runtime/base/strings.h"
#include "runtime/job/environment.h"
#include "runtime/job/job_spec.h"
#include "runtime/keeper/container_cgroup.h"
#include "runtime/ledger/ledger_folder.h"
#include "runtime/ledger/ledger_reservation.h"
#include "runtime/ledger/process_check.h"
#include "runtime/net/sockets.h"
#include "runtime/os/file_system.h"
#include "runtime/os/files.h"
#include "runtime/os/podman.h"
#include "runtime/os/process_tree.h"
#include "runtime/os/start_program.h"
#include "runtime/os/users.h"

namespace tony {
namespace {

// The AM has a connection to each executor, and the keeper (supervisor) a descriptor for each. The AM and the keeper
// each need about twenty more descriptors.
constexpr int64_t kFilesBesideTasks = 32;
// The processes that a job needs: client, keeper and AM, with their threads, and for each task an executor and the
// user's process.
constexpr int64_t kProcessesBesideTasks = 7, kProcessesOfTask = 2;

std::string Needs(const JobSpec& spec, int64_t needed) {
  const int tasks = spec.TotalTasks();
  return StrCat(", and a job of ", tasks, tasks == 1 ? " task" : " tasks", " needs ", needed);
}

// Returns an error if the limits of this process are too low for the job, because the job would otherwise fail after
// many retries.
Status CheckOwnLimits(const JobSpec& spec) {
  rlimit files{}, processes{};
  if (getrlimit(RLIMIT_NOFILE, &files) != 0 || getrlimit(RLIMIT_NPROC, &processes) != 0) return Ok();
  const int64_t needed_files = kFilesBesideTasks + spec.TotalTasks();
  const int64_t needed_processes = kProcessesBesideTasks + kProcessesOfTask * spec.TotalTasks();
  // The hard limit counts, because the keeper and the AM raise their own limits as far as permitted.
  if (files.rlim_max < static_cast<rlim_t>(needed_files) || files.rlim_cur < static_cast<rlim_t>(kFilesBesideTasks))
    return UnavailableError("at most ", files.rlim_cur, " open files are allowed here (ulimit -n)",
                            Needs(spec, needed_files));
  if (geteuid() != 0 && processes.rlim_cur < static_cast<rlim_t>(needed_processes))  // root has no limit
    return UnavailableError("at most ", processes.rlim_cur, " processes are allowed here (ulimit -u)",
                            Needs(spec, needed_processes));
  return Ok();
}

// Adds the warnings to the message of a refusal, because they may explain it.
Status WithWarnings(const Status& refusal, const std::vector<std::string>& warnings) {
  if (refusal.ok() || warnings.empty()) return refusal;
  return Error{refusal.error().code, StrCat(refusal.error().message, "; ", Join(warnings, "; "))};
}

// Returns the job in whose task this process runs; null if this process runs in no task. The environment names the job.
// If the environment was emptied, the job is found by its keeper among the ancestors of this process.
const LedgerEntry* JobAbove(const Ledger& ledger, const std::vector<std::string>& environment) {
  std::set<int64_t> ancestors;
  for (pid_t pid = getpid(); pid > 1 && ancestors.insert(pid).second;) {
    const auto stat = ReadStat(pid);
    pid = stat ? stat->parent : 0;
  }
  const auto mark = VariableOf(environment, kJobMark);
  for (const LedgerEntry& entry : ledger.entries()) {
    if (!entry.admitted()) continue;
    const bool is_marked = mark == entry.job.value && entry.user == geteuid();
    if (is_marked || ancestors.contains(entry.keeper.pid)) return &entry;
  }
  return nullptr;
}

Status CheckNested(const JobSpec& spec, const Ledger& ledger, const std::vector<std::string>& environment) {
  const LedgerEntry* above = JobAbove(ledger, environment);
  if (!above) return Ok();
  const LedgerEntry mine{.number = ledger.NextNumber(),
                         .user = geteuid(),
                         .ask = AskOf(spec, environment, ledger.machine()),
                         .priority = spec.priority};
  if (ledger.MayBeAdmitted(mine)) return Ok();
  return UnavailableError(WhyNestedCannotWait(above->job, ledger.WhyItWaits(mine)));
}

// Returns a note if the job does not use the GPUs that the shell selected with CUDA_VISIBLE_DEVICES; empty if it uses
// them or none were selected.
std::string GpuNote(const JobSpec& spec, const Machine& machine, const std::vector<std::string>& environment) {
  const std::string pin = VariableOf(environment, kVisibleGpus).value_or("");
  if (pin.empty() || machine.gpus.empty() || VariableOf(environment, kJobMark)) return {};
  const LedgerRequest ask = AskOf(spec, environment, machine);
  const std::string shown = StrCat("warning: ", kVisibleGpus, "=", pin, " of this shell: ");
  if (ask.gpus == 0)
    return StrCat(shown, "the job requests no GPU, so its tasks see none; set ", spec.roles.front().Key("gpus"));
  if (!ask.gpus_among.empty() || !spec.gpu_devices.empty()) return {};
  return StrCat(shown, "expected numbers or names of GPUs, separated by commas; the job gets any that are free");
}

// Tries each image of the job once, with the folders and the GPUs that its containers may get.
Status CheckImages(const JobSpec& spec, const Machine& machine) {
  if (!spec.UsesPodman()) return Ok();
  PodmanRun run;
  TRY_ASSIGN(const auto mounts, ParseMounts(spec.mounts));
  for (const Mount& mount : mounts) run.folders.push_back({mount.source, mount.target, mount.read_only});
  std::set<std::pair<std::string, bool>> tried;
  for (const RoleSpec& role : spec.roles) {
    const bool has_gpus = role.resources.gpus > 0;
    if (role.image.empty() || !tried.insert({role.image, has_gpus}).second) continue;
    run.image = role.image;
    run.devices.clear();
    for (const int gpu : machine.gpus) {
      const bool has_name = machine.shows_gpu_names && machine.gpu_names.contains(gpu);
      const std::string name = has_name ? machine.gpu_names.at(gpu) : StrCat(gpu);
      if (has_gpus) run.devices.push_back("nvidia.com/gpu=" + name);
    }
    if (const Status can_run = TryContainer(run); !can_run.ok())
      return Error{can_run.error().code,
                   StrCat("image ", role.image, " of role ", role.name, ": ", can_run.error().message)};
  }
  return Ok();
}

}  // namespace

Result<std::vector<std::string>> CheckMachine(const JobSpec& spec) {
  TRY(CheckOwnLimits(spec));
  TRY(CheckOwnUser());
  TRY_ASSIGN(const LedgerFolder folder, LedgerFolder::FindHere());
  TRY(folder.Make());
  TRY_ASSIGN(const LedgerView view, folder.Read());
  const std::vector<std::string> environment = OwnEnvironment();
  const Machine& machine = view.ledger.machine();
  TRY(WithWarnings(CheckEverFits(spec, machine, geteuid(), environment), view.warnings));
  TRY(CheckNested(spec, view.ledger, environment));
  TRY(CheckImages(spec, machine));
  std::vector<std::string> notes;
  if (std::string note = GpuNote(spec, machine, environment); !note.empty()) notes.push_back(std::move(note));
  for (const std::string& warning : view.warnings) notes.push_back("warning: " + warning);
  if (folder.is_private()) notes.push_back(folder.Announcement());
  return notes;
}

Status LimitToThisMachine(JobSpec& spec) {
  TRY_ASSIGN(const LedgerFolder folder, LedgerFolder::FindHere());
  LimitToMachine(spec, folder.ReadMachine(), geteuid(), OwnEnvironment());
  return Ok();
}

Status CheckMachineForPlan(const JobSpec& spec) {
  TRY_ASSIGN(const LedgerFolder folder, LedgerFolder::FindHere());
  TRY_ASSIGN(const LedgerView view, folder.Read());
  return WithWarnings(CheckEverFits(spec, view.ledger.machine(), geteuid(), OwnEnvironment()), view.warnings);
}

namespace {

namespace fs = std::filesystem;

// This limit of open files is enough for a job of 1000 tasks. The AM has a connection to each executor, and the keeper
// a descriptor for each.
constexpr int64_t kEnoughFiles = 4096;
constexpr int64_t kEnoughProcesses = 4096;
// Each command that follows a job and each waiting keeper has one inotify instance.
constexpr int64_t kEnoughWatchers = 512;

Check FailOf(std::string name, const Error& error, std::string advice = "") {
  return {std::move(name), Health::kFail, error.message, std::move(advice)};
}

Check LedgerPlace(const LedgerFolder& folder) {
  const std::string path = folder.path().string();
  if (!CanCreateFilesIn(folder.path()))
    return FailOf("ledger", FileError(ErrorCode::kCannotWrite, "write", folder.path(), errno),
                  "set TONY_LEDGER to a folder that you may write, or make this one with mode 1777");
  if (folder.is_private())
    return {"ledger", Health::kWarn, folder.Announcement(), "as root: install -d -m 1777 /var/lib/tony/ledger"};
  struct stat status = {};
  if (stat(folder.path().c_str(), &status) != 0)
    return {"ledger", Health::kOk, StrCat(path, ", which the first job will create"), ""};
  const auto system = FileSystemOf(folder.path());
  const bool all = (status.st_mode & 07777) == 01777;
  const std::string whose = all ? "shared by all users" : "not shared by all users: its mode is not 1777";
  Check check{"ledger", Health::kOk, StrCat(path, ", ", whose, system.ok() ? StrCat(", ", Describe(*system)) : ""),
              all ? "" : StrCat("to share the ledger with all users, run as its owner or as root: chmod 1777 ", path)};
  if (!system.ok() || system->type != "fuse") return check;
  check.health = Health::kWarn;
  check.advice = "if other machines share that folder, set TONY_LEDGER to a folder that only this machine has";
  return check;
}

std::string GpuNames(const Machine& machine) {
  std::vector<std::string> names;
  for (const int gpu : machine.gpus)
    if (machine.gpu_names.contains(gpu)) names.push_back(StrCat(gpu, " ", machine.gpu_names.at(gpu)));
  return names.empty() ? "" : StrCat(" (", Join(names, ", "), ")");
}

Check MachineHas(const LedgerFolder& folder, const Machine& machine) {
  std::error_code error;
  const bool said = fs::exists(folder.path() / "machine.json", error);
  Check check{"machine", Health::kOk,
              StrCat(machine.memory_mb, " MB of memory, ", Counted(machine.cores, "core"), ", ",
                     Counted(static_cast<int64_t>(machine.gpus.size()), "GPU"), GpuNames(machine),
                     said ? ", from machine.json" : ""),
              ""};
  if (machine.memory_mb > 0) return check;
  check.health = Health::kFail;
  check.advice = StrCat("limit the jobs' resources in ", (folder.path() / "machine.json").string(),
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
  if (view.dead > 0) text += StrCat("; ", view.dead, " entries of dead processes remain; the next job removes them");
  if (const std::string who = WhoHolds(view.ledger, {}); !who.empty()) text += StrCat("; ", who);
  return {"queue", Health::kOk, text, wait > 0 ? "\"tony list --queue\" shows them" : ""};
}

// Checks how many tasks of default size fit into this machine. TonY's default for a task is made for clusters, and may
// be too large for one machine.
Check DefaultTask(const Machine& machine) {
  const int64_t memory = Resources().memory_mb;
  const int64_t fit = machine.memory_mb / memory;
  const std::string text =
      StrCat("a task requests ", memory, " MB by default; ", fit, fit == 1 ? " fits" : " fit", " here at once");
  if (fit >= 2) return {"defaults", Health::kOk, text, ""};
  return {"defaults", Health::kWarn, text,
          "state what a task needs: -conf tony.worker.memory=512m (a job without roles: tony.am.memory)"};
}

Check MemoryLimits() {
  const std::string limits = DescribeMemoryLimits();
  if (!limits.starts_with("none")) return {"memory limits", Health::kOk, limits, ""};
  return {"memory limits", Health::kWarn, limits,
          "tasks that use more than they requested are not stopped; on a machine with systemd, run in a scope of your "
          "own: systemd-run --user --scope -p Delegate=yes"};
}

Check Limit(const char* name, int resource, int64_t enough, const char* why, const char* advice) {
  rlimit limit = {};
  getrlimit(static_cast<__rlimit_resource>(resource), &limit);
  const std::string most = limit.rlim_max == RLIM_INFINITY ? "any number" : StrCat(limit.rlim_max);
  Check check{name, Health::kOk, StrCat("at most ", most), ""};
  if (limit.rlim_max >= static_cast<rlim_t>(enough)) return check;
  check.health = Health::kWarn;
  check.text += StrCat("; ", why);
  check.advice = advice;
  return check;
}

Check Watchers() {
  const auto text = ReadFile("/proc/sys/fs/inotify/max_user_instances");
  const auto most = text.ok() ? ParseInt(Trim(*text)) : std::nullopt;
  if (!most) return {"inotify", Health::kWarn, "the limit cannot be read: waiting jobs poll once a second", ""};
  Check check{"inotify", Health::kOk, StrCat("at most ", Counted(*most, "instance"), " for each user"), ""};
  if (*most >= kEnoughWatchers) return check;
  check.health = Health::kWarn;
  check.text += "; waiting jobs beyond that number poll once a second";
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
    checks.push_back({"ledger", Health::kWarn, warning, "the owner of that file, or root, should remove or repair it"});
  if (const std::string lock = LockWarning(*view); !lock.empty())
    checks.push_back({"ledger", Health::kWarn, lock, "root can end that process"});
  return checks;
}

}  // namespace

Checks CheckMachineHealth() {
  Checks checks = CheckLedger();
  checks.push_back(MemoryLimits());
  checks.push_back(
      Limit("open files", RLIMIT_NOFILE, kEnoughFiles, "jobs of a thousand tasks need more",
            "as root: echo '* - nofile 65536' >/etc/security/limits.d/60-tony-files.conf; then log in again"));
  checks.push_back(
      Limit("processes", RLIMIT_NPROC, kEnoughProcesses, "each task has two or more processes, and each thread counts",
            "as root: echo '* - nproc 65536' >/etc/security/limits.d/60-tony-processes.conf; then log in again"));
  checks.push_back(Watchers());
  return checks;
}

namespace {

std::string Why(const Ledger& ledger, const LedgerEntry& entry) {
  if (entry.admitted()) return "";
  std::string why = ledger.WhyItWaits(entry);
  if (entry.place != Place::kDeferred || ledger.IsOverLimit(entry)) return why;
  return StrCat("deferred behind other jobs of the same user; ", why);
}

QueuedJob JobOf(const Ledger& ledger, const LedgerEntry& entry) {
  return {.job = entry.job,
          .user = UserName(entry.user),
          .process = entry.keeper.pid,
          .runs = entry.admitted(),
          .priority = entry.priority,
          .memory_mb = entry.ask.memory_mb,
          .vcores = entry.ask.vcores,
          .gpus = entry.ask.gpus,
          .held_gpus = entry.admitted() ? entry.gpus : std::vector<int>(),
          .since = entry.since,
          .why = Why(ledger, entry)};
}

}  // namespace

Result<QueueView> LookAtQueue() {
  TRY_ASSIGN(const LedgerFolder folder, LedgerFolder::FindHere());
  TRY_ASSIGN(LedgerView ledger, folder.Read());
  const Machine& machine = ledger.ledger.machine();
  QueueView view{.place = folder.path().string(),
                 .is_private = folder.is_private(),
                 .memory_mb = machine.memory_mb,
                 .free_memory_mb = ledger.ledger.FreeMemory(),
                 .cores = machine.cores,
                 .gpus = machine.gpus,
                 .free_gpus = ledger.ledger.FreeGpus(),
                 .dead = ledger.dead};
  std::vector<LedgerEntry> entries = ledger.ledger.entries();  // deferred jobs come last
  std::stable_partition(entries.begin(), entries.end(),
                        [](const LedgerEntry& entry) { return entry.place != Place::kDeferred; });
  for (const LedgerEntry& entry : entries) view.jobs.push_back(JobOf(ledger.ledger, entry));
  for (const Doubt& doubt : ledger.doubts) view.doubted.push_back({doubt.name, UserName(doubt.user), doubt.why});
  for (const int64_t pid : ledger.lock_holders) {
    const auto process = ReadVisibleProcess(pid);
    view.blockers.push_back({pid, process ? UserName(process->user) : "", process ? process->name : ""});
  }
  view.warnings = ledger.warnings;
  if (std::string lock = LockWarning(ledger); !lock.empty()) view.warnings.push_back(std::move(lock));
  return view;
}

}  // namespace tony
