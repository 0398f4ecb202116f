// `tony shell`: a shell in the folder of a task that runs, or that has failed and is held, with its variables.
#include <csignal>

#include "runtime/base/strings.h"
#include "runtime/cli/commands.h"
#include "runtime/cli/output.h"
#include "runtime/cli/terminal_notes.h"
#include "runtime/cli/terminal_program.h"
#include "runtime/client/choose_backend.h"
#include "runtime/client/job_access.h"
#include "runtime/client/reproduction.h"
#include "runtime/os/files.h"
#include "runtime/records/attempt_folder.h"

namespace tony {
namespace {

// Returns the variables of the attempt that the word names. Without a number, this is the running attempt of the task,
// or else the held one.
Result<std::vector<std::string>> EnvironmentOf(const JobRecords& records, const std::string& word) {
  TRY_ASSIGN(const AttemptId asked, ParseAttemptWord(word));
  TRY_ASSIGN(const KnownStatus known, QueryStatus(records));
  const auto found = std::ranges::find(known.status.tasks, asked.task, &TaskStatus::id);
  const std::string& job = records.job().value;
  if (found == known.status.tasks.end()) return NotFoundError("job ", job, " has no task ", ToString(asked.task));
  if (!BackendOf(records.job()).keeps_programs())
    return Error{ErrorCode::kUsage, StrCat("the tasks of job ", job, " run on the nodes of a cluster; log in to ",
                                           found->host.empty() ? "the task's node" : found->host)};
  const bool is_newest = asked.number == 0 || asked.number == found->attempt;
  std::string text;
  if (found->pid != 0 && is_newest) {
    TRY_ASSIGN(text, ReadFile(StrCat("/proc/", found->pid, "/environ")));
    return Split(text, '\0');
  }
  const auto& held = known.status.held;
  if (held && held->attempt.task == asked.task && (asked.number == 0 || asked.number == held->attempt.number)) {
    const AttemptFolder folder(records.place(), held->attempt);
    TRY_ASSIGN(text, ReadFile(HeldEnvironment(folder)));
    std::vector<std::string> environment = Split(text, '\0');
    environment.push_back(StrCat("PWD=", folder.work.string()));
    return environment;
  }
  return NotFoundError("task ", word, " of job ", job, " does not run (",
                       is_newest ? StateWord(*found) : "a newer attempt exists", "); tony reproduce ", job, " ", word,
                       " --shell starts it again");
}

}  // namespace

// The shell is not in the task's cgroup, because its memory would count towards the task's limit.
Result<int> RunShell(const CommandLine& line) {
  TRY_ASSIGN(const JobRecords records, FindNamedJob(line.words()[0], TerminalNotes()));
  TRY_ASSIGN(const auto environment, EnvironmentOf(records, line.words()[1]));
  signal(SIGINT, SIG_IGN);  // Ctrl-C belongs to the shell
  TerminalProgram shell;
  return shell.Run({ShellOfUser()}, environment);
}

}  // namespace tony
