#include "runtime/client/submit_watch.h"

#include <unistd.h>

#include <filesystem>

#include "runtime/base/strings.h"
#include "runtime/client/job_access.h"
#include "runtime/client/live_view.h"
#include "runtime/client/output.h"
#include "runtime/client/outputs.h"
#include "runtime/client/progress.h"

namespace tony {
namespace {

int ReportEnd(const Watched& watched, const JobFolder& folder, const SubmitWatch& watch) {
  if (watch.json) PrintLine(WithFields(StatusDocument(folder, *watched.status), watch.fields));
  if (!HasEnded(*watched.status)) {
    Say(StrCat("interrupted; job ", folder.job().value, " has another owner and goes on"));
    return 128 + watched.signal;
  }
  if (!watch.json) Print(VerdictText(*watched.status, folder));
  if (watched.status->verdict->state == FinalState::kSucceeded) return 0;
  return watched.signal == 0 ? 1 : 128 + watched.signal;
}

}  // namespace

std::vector<std::string> CurrentEnvironment() {
  std::vector<std::string> all;
  for (char** variable = environ; *variable != nullptr; ++variable) all.emplace_back(*variable);
  return all;
}

void Announce(const JobId& job, bool json, bool detach) {
  if (!json) return PrintLine(job.value);
  if (!detach) Say(StrCat("job ", job.value));
}

Status StartKeeper(const JobFolder& folder, AmLauncher& launcher) {
  const Status started = launcher.Start(folder);
  if (started.ok()) return Ok();
  std::error_code ignored;
  std::filesystem::remove_all(folder.path(), ignored);
  return Annotate(started.error(), StrCat("job ", folder.job().value, " could not be started"));
}

Result<int> WatchToEnd(EventLoop& loop, Interrupts& interrupts, const JobFolder& folder, AmLauncher& launcher,
                       const SubmitWatch& watch) {
  const auto view = watch.json ? nullptr : LiveView::Make(loop, folder);
  WatchOptions options = {
      .kill_on_signal = true, .kill_as = watch.kill_as, .patience = kKeeperPatience, .view = view.get()};
  if (!view) options.on_status = SayChanges();
  TRY_ASSIGN(const Watched watched, WatchJob(loop, interrupts, folder, launcher, options));
  return ReportEnd(watched, folder, watch);
}

}  // namespace tony
