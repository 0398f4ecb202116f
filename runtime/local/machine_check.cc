#include "runtime/local/machine_check.h"

#include <sys/resource.h>
#include <unistd.h>

#include <set>

#include "runtime/base/strings.h"
#include "runtime/job/environment.h"
#include "runtime/ledger/ledger_folder.h"
#include "runtime/net/peer.h"
#include "runtime/os/process_tree.h"
#include "runtime/os/start_program.h"

namespace tony {
namespace {

// A master has a connection to each executor, a keeper a descriptor of each; beside them each has some twenty.
constexpr int64_t kFilesBesideTasks = 32;
// Client, keeper and master, with their threads; an executor and the user's process for each task.
constexpr int64_t kProcessesBesideTasks = 7, kProcessesOfTask = 2;

std::string Needs(const JobSpec& spec, int64_t needed) {
  const int tasks = spec.TotalTasks();
  return StrCat(", and a job of ", tasks, tasks == 1 ? " task" : " tasks", " needs ", needed);
}

// What comes to nothing after many tries is better refused.
Status CheckOwnLimits(const JobSpec& spec) {
  rlimit files{}, processes{};
  if (getrlimit(RLIMIT_NOFILE, &files) != 0 || getrlimit(RLIMIT_NPROC, &processes) != 0) return Ok();
  const int64_t needed_files = kFilesBesideTasks + spec.TotalTasks();
  const int64_t needed_processes = kProcessesBesideTasks + kProcessesOfTask * spec.TotalTasks();
  // Keeper and master raise theirs as far as they may.
  if (files.rlim_max < static_cast<rlim_t>(needed_files) || files.rlim_cur < static_cast<rlim_t>(kFilesBesideTasks))
    return Error{ErrorCode::kUnavailable, StrCat("at most ", files.rlim_cur, " open files are allowed here (ulimit -n)",
                                                 Needs(spec, needed_files))};
  if (geteuid() != 0 && processes.rlim_cur < static_cast<rlim_t>(needed_processes))  // root is not bound
    return Error{ErrorCode::kUnavailable,
                 StrCat("at most ", processes.rlim_cur, " processes are allowed here (ulimit -u)",
                        Needs(spec, needed_processes))};
  return Ok();
}

// A refusal may come of what the warnings tell.
Status WithWarnings(const Status& refusal, const std::vector<std::string>& warnings) {
  if (refusal.ok() || warnings.empty()) return refusal;
  return Error{refusal.error().code, StrCat(refusal.error().message, "; ", Join(warnings, "; "))};
}

// The job of the caller that this process runs in a task of, by its environment or, where that was emptied, by the
// keeper that it descends from.
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
  const LedgerEntry mine{
      .number = ledger.NextNumber(), .user = geteuid(), .ask = AskOf(spec, environment), .priority = spec.priority};
  if (ledger.MayBeAdmitted(mine)) return Ok();
  return Error{ErrorCode::kUnavailable, WhyNestedCannotWait(above->job, ledger.WhyItWaits(mine))};
}

// Says where the GPUs that the shell chose do not count; empty where they do.
std::string GpuNote(const JobSpec& spec, const Machine& machine, const std::vector<std::string>& environment) {
  const std::string pin = VariableOf(environment, kVisibleGpus).value_or("");
  if (pin.empty() || machine.gpus.empty() || VariableOf(environment, kJobMark)) return {};
  const LedgerAsk ask = AskOf(spec, environment);
  const std::string shown = StrCat("warning: ", kVisibleGpus, "=", pin, " of this shell: ");
  if (ask.gpus == 0)
    return StrCat(shown, "the job asks for no GPU, so its tasks see none; set ", spec.roles.front().Key("gpus"));
  if (!ask.gpus_among.empty()) return {};
  return StrCat(shown, "expected the numbers of GPUs, separated by commas; the job gets any that are free");
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
  std::vector<std::string> notes;
  if (std::string note = GpuNote(spec, machine, environment); !note.empty()) notes.push_back(std::move(note));
  for (const std::string& warning : view.warnings) notes.push_back("warning: " + warning);
  if (folder.is_private()) notes.push_back(folder.Announcement());
  return notes;
}

Status CheckMachineForPlan(const JobSpec& spec) {
  TRY_ASSIGN(const LedgerFolder folder, LedgerFolder::FindHere());
  TRY_ASSIGN(const LedgerView view, folder.Read());
  return WithWarnings(CheckEverFits(spec, view.ledger.machine(), geteuid(), OwnEnvironment()), view.warnings);
}

}  // namespace tony
