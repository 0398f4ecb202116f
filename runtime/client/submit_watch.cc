#include "runtime/client/submit_watch.h"

#include <unistd.h>

#include <filesystem>
#include <optional>
#include <thread>

#include "runtime/base/strings.h"
#include "runtime/cli/live_view.h"
#include "runtime/cli/log_beside.h"
#include "runtime/cli/next_steps.h"
#include "runtime/cli/output.h"
#include "runtime/cli/progress.h"
#include "runtime/cli/terminal.h"
#include "runtime/client/choose_backend.h"
#include "runtime/client/job_access.h"
#include "runtime/client/outputs.h"

namespace tony {
namespace {

constexpr Duration kPagePatience{2000};  // a master has it some tens of milliseconds after its job is recorded

// Empty: the job has none, or not soon.
std::string PageOf(const JobRecords& records) {
  std::string page = BackendOf(records.job()).PageWithoutMaster(records.job());
  const Instant until = RealClock().Now() + kPagePatience;
  while (page.empty() && RealClock().Now() < until) {
    const auto status = StoredStatus(records);
    if (status.ok()) page = status->tracking_url;
    if (!status.ok() || status->verdict || status->state == "RUNNING" || !status->delay.empty()) break;
    std::this_thread::sleep_for(Duration(20));
  }
  return page;
}

int ReportEnd(const Watched& watched, const JobRecords& records, const SubmitWatch& watch) {
  if (watch.show.json) PrintLine(WithFields(StatusDocument(records, *watched.status), watch.fields));
  if (!HasEnded(*watched.status)) {
    Say(StrCat("interrupted; job ", records.job().value, " has another owner and goes on"));
    return 128 + watched.signal;
  }
  if (!watch.show.json) Print(VerdictText(*watched.status, records));
  SayNext(watch.show.line, {StrCat("history ", records.job().value), StrCat("logs ", records.job().value)});
  if (watched.status->verdict->state == FinalState::kSucceeded) return 0;
  return watched.signal == 0 ? 1 : 128 + watched.signal;
}

}  // namespace

Result<SubmitShow> ReadSubmitShow(const CommandLine& line) {
  const SubmitShow show = {line.Has("json"), line.Has("detach"), line.Has("logs"), line};
  if (!show.logs || !show.detach) return show;
  return Error{ErrorCode::kUsage, "--logs does not go with --detach: tony logs -f follows them"};
}

void Announce(const JobId& job, const SubmitShow& show) {
  if (!show.json) return PrintLine(job.value);
  if (!show.detach) Say(StrCat("job ", job.value));
}

void TellWhatNext(const JobRecords& records, const SubmitShow& show) {
  if (show.json || !IsTerminal(STDERR_FILENO)) return;  // a script does not wait for it
  if (const std::string page = PageOf(records); !page.empty()) Say(StrCat("page: ", page));
  const std::string& job = records.job().value;
  SayNext(show.line, {StrCat("logs ", job, " -f"), StrCat("status ", job), StrCat("kill ", job)});
}

Status StartJob(const JobStore& jobs, const JobRecords& records, AmLauncher& launcher) {
  const auto started = launcher.Start(records);
  if (started.ok()) return Ok();
  jobs.Discard(records);
  return Annotate(started.error(), StrCat("job ", records.job().value, " could not be started"));
}

Result<int> WatchToEnd(EventLoop& loop, Interrupts& interrupts, const JobRecords& records, AmLauncher& launcher,
                       const SubmitWatch& watch) {
  const auto view = watch.show.json || watch.show.logs ? nullptr : LiveView::Make(loop, records);
  WatchOptions options = {
      .kill_on_signal = true, .kill_as = watch.kill_as, .patience = kKeeperPatience, .view = view.get()};
  if (!view) options.on_status = SayChanges();
  std::optional<LogsBeside> logs;
  if (watch.show.logs) logs.emplace(records, watch.show.json ? STDERR_FILENO : STDOUT_FILENO);
  TRY_ASSIGN(const Watched watched, WatchJob(loop, interrupts, records, launcher, options));
  if (logs) logs->End(/*stop=*/!HasEnded(*watched.status));
  return ReportEnd(watched, records, watch);
}

}  // namespace tony
