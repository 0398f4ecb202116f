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

int ReportEnd(const Watched& watched, const JobRecords& records, const SubmitWatch& watch) {
  if (watch.json) PrintLine(WithFields(StatusDocument(records, *watched.status), watch.fields));
  if (!HasEnded(*watched.status)) {
    Say(StrCat("interrupted; job ", records.job().value, " has another owner and goes on"));
    return 128 + watched.signal;
  }
  if (!watch.json) Print(VerdictText(*watched.status, records));
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

Status StartJob(const JobStore& jobs, const JobRecords& records, AmLauncher& launcher) {
  const Status started = launcher.Start(records);
  if (started.ok()) return Ok();
  jobs.Discard(records);
  return Annotate(started.error(), StrCat("job ", records.job().value, " could not be started"));
}

Result<int> WatchToEnd(EventLoop& loop, Interrupts& interrupts, const JobRecords& records, AmLauncher& launcher,
                       const SubmitWatch& watch) {
  const auto view = watch.json ? nullptr : LiveView::Make(loop, records);
  WatchOptions options = {
      .kill_on_signal = true, .kill_as = watch.kill_as, .patience = kKeeperPatience, .view = view.get()};
  if (!view) options.on_status = SayChanges();
  TRY_ASSIGN(const Watched watched, WatchJob(loop, interrupts, records, launcher, options));
  return ReportEnd(watched, records, watch);
}

}  // namespace tony
