#include "runtime/scheduler/local/machine_check.h"

#include <sys/resource.h>
#include <unistd.h>

#include "runtime/base/strings.h"
#include "runtime/net/peer.h"
#include "runtime/scheduler/local/ledger_folder.h"

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

}  // namespace

Result<std::vector<std::string>> CheckMachine(const JobSpec& spec) {
  TRY(CheckOwnLimits(spec));
  TRY(CheckOwnUser());
  TRY_ASSIGN(const LedgerFolder folder, LedgerFolder::FindHere());
  TRY(folder.Make());
  TRY_ASSIGN(const LedgerView view, folder.Read());
  TRY(WithWarnings(CheckEverFits(spec, view.ledger.machine(), geteuid()), view.warnings));
  std::vector<std::string> notes;
  for (const std::string& warning : view.warnings) notes.push_back("warning: " + warning);
  if (folder.is_private()) notes.push_back(folder.Announcement());
  return notes;
}

std::optional<std::string> MachineWarning(const JobSpec& spec) {
  const auto folder = LedgerFolder::FindHere();
  if (!folder.ok()) return folder.error().message;
  const auto view = folder->Read();
  if (!view.ok()) return view.error().message;
  const Status fits = WithWarnings(CheckEverFits(spec, view->ledger.machine(), geteuid()), view->warnings);
  if (fits.ok()) return std::nullopt;
  return fits.error().message;
}

}  // namespace tony
