// `tony shell`: a shell in the folder of a running task, with the variables of its process.
#include <csignal>

#include "runtime/base/strings.h"
#include "runtime/cli/commands.h"
#include "runtime/cli/output.h"
#include "runtime/cli/terminal_notes.h"
#include "runtime/cli/terminal_program.h"
#include "runtime/client/choose_backend.h"
#include "runtime/client/job_access.h"
#include "runtime/os/files.h"

namespace tony {
namespace {

Result<TaskStatus> RunningTask(const JobRecords& records, const std::string& word) {
  TRY_ASSIGN(const TaskId task, ParseTaskId(word));
  TRY_ASSIGN(const KnownStatus known, QueryStatus(records));
  const auto found = std::ranges::find(known.status.tasks, task, &TaskStatus::id);
  const std::string& job = records.job().value;
  if (found == known.status.tasks.end()) return NotFoundError("job ", job, " has no task ", word);
  if (!BackendOf(records.job()).keeps_programs())
    return Error{ErrorCode::kUsage, StrCat("the tasks of job ", job, " run on the nodes of a cluster; log in to ",
                                           found->host.empty() ? "the task's node" : found->host)};
  if (found->pid == 0)
    return NotFoundError("task ", word, " of job ", job, " does not run (", StateWord(*found), "); tony reproduce ",
                         job, " ", word, " --shell starts it again");
  return *found;
}

}  // namespace

// The shell is not in the task's cgroup, because its memory would count towards the task's limit.
Result<int> RunShell(const CommandLine& line) {
  TRY_ASSIGN(const JobRecords records, FindNamedJob(line.words()[0], TerminalNotes()));
  TRY_ASSIGN(const TaskStatus task, RunningTask(records, line.words()[1]));
  const std::string file = StrCat("/proc/", task.pid, "/environ");
  TRY_ASSIGN(const std::string environment, ReadFile(file));
  signal(SIGINT, SIG_IGN);  // Ctrl-C belongs to the shell
  TerminalProgram shell;
  return shell.Run({ShellOfUser()}, Split(environment, '\0'));
}

}  // namespace tony
