// `tony submit`: properties to spec, files to the store, spec to job folder, job folder to keeper; then watch. The
// client's part of the straight way, in its order.
#include <unistd.h>

#include <filesystem>

#include "runtime/base/strings.h"
#include "runtime/client/commands.h"
#include "runtime/client/machine_check.h"
#include "runtime/client/output.h"
#include "runtime/client/progress.h"
#include "runtime/client/spec_input.h"
#include "runtime/client/stage_files.h"
#include "runtime/client/watch_job.h"
#include "runtime/process/boost_process_runner.h"
#include "runtime/scheduler/local/local_am_launcher.h"
#include "runtime/store/job_store.h"

namespace tony {
namespace {

// A keeper that was started has taken its lock after a few milliseconds; on a machine that pages, later.
constexpr Duration kKeeperPatience{500};

std::vector<std::string> CurrentEnvironment() {
  std::vector<std::string> all;
  for (char** variable = environ; *variable != nullptr; ++variable) all.emplace_back(*variable);
  return all;
}

// Records the job, announces it, and starts its keeper. A job whose keeper cannot be started is taken back.
Result<JobFolder> StartJob(const JobSpec& spec, const StagedFiles& staged, bool json, bool detach,
                           AmLauncher& launcher) {
  TRY_ASSIGN(const std::filesystem::path home, TonyHome());
  TRY_ASSIGN(JobFolder folder, LocalJobStore(home).Create({spec, CurrentEnvironment(), staged}, RealClock().Now()));
  if (json) {
    if (!detach) Say(StrCat("job ", folder.job().value));
  } else {
    PrintLine(folder.job().value);
  }
  const Status started = launcher.Start(folder);
  if (started.ok()) return folder;
  std::error_code ignored;
  std::filesystem::remove_all(folder.path(), ignored);
  return Annotate(started.error(), StrCat("job ", folder.job().value, " could not be started"));
}

int ReportEnd(const Watched& watched, const JobFolder& folder, bool json) {
  if (json) {
    PrintLine(ToJson(*watched.status));
  } else {
    Print(VerdictText(*watched.status, folder));
  }
  if (watched.status->verdict->state == FinalState::kSucceeded) return 0;
  return watched.signal == 0 ? 1 : 128 + watched.signal;
}

}  // namespace

Result<int> RunSubmit(const CommandLine& line) {
  const bool json = line.Has("json");
  TRY_ASSIGN(const ParsedJobSpec parsed, ReadJobSpec(line));
  for (const std::string& warning : parsed.warnings) Say(StrCat("tony: warning: ", warning));
  TRY(CheckMachine(parsed.spec));

  EventLoop loop;
  BoostProcessRunner runner(loop);
  LocalAmLauncher launcher(runner);
  Interrupts interrupts(loop);  // from here on a signal kills the job instead of leaving one that nobody rules
  TRY_ASSIGN(StagedForJob staged, StageFiles(loop, interrupts, parsed.spec));
  if (staged.signal != 0) {
    Say("tony: interrupted while staging; nothing was submitted");
    return 128 + staged.signal;
  }
  TRY_ASSIGN(const JobFolder folder, StartJob(parsed.spec, staged.files, json, line.Has("detach"), launcher));
  staged.store.reset();  // the job's folder refers to the entries now
  if (line.Has("detach")) {
    if (json) PrintLine(StrCat(R"({"schema":1,"job":)", JsonString(folder.job().value), "}"));
    return 0;
  }
  const auto view = json ? nullptr : LiveView::Make(loop, folder);
  WatchOptions options = {.kill_on_signal = true, .patience = kKeeperPatience, .view = view.get()};
  if (!view) options.on_status = SayChanges();
  TRY_ASSIGN(const Watched watched, WatchJob(loop, interrupts, folder, launcher, options));
  return ReportEnd(watched, folder, json);
}

}  // namespace tony
