// `tony wait`: until a job has ended, or until it has changed. Being interrupted does not touch the job.
#include "runtime/base/strings.h"
#include "runtime/client/commands.h"
#include "runtime/client/numbers.h"
#include "runtime/client/output.h"
#include "runtime/client/progress.h"
#include "runtime/client/watch_job.h"
#include "runtime/process/boost_process_runner.h"
#include "runtime/scheduler/local/local_am_launcher.h"

namespace tony {
namespace {

std::function<bool(const JobStatus&)> OnStatus(const CommandLine& line, std::optional<int64_t> since) {
  const bool json = line.Has("json");
  const bool follow = line.Has("follow");
  return [json, follow, since, before = std::optional<JobStatus>()](const JobStatus& status) mutable {
    if (since && status.seq <= *since && !HasEnded(status)) return true;
    if (follow && json) {
      PrintLine(ToJson(status));
    } else {
      for (const std::string& change : ChangeLines(before, status)) follow ? PrintLine(change) : Say(change);
    }
    before = status;
    return follow || !since;
  };
}

Result<int> Report(const CommandLine& line, const Watched& watched, const JobFolder& folder) {
  const bool told = line.Has("json") && line.Has("follow");  // the last line of the stream was it
  if (watched.status && line.Has("json") && !told) PrintLine(ToJson(*watched.status));
  if (watched.signal != 0) {
    Say(StrCat("interrupted; job ", folder.job().value, " goes on"));
    return 128 + watched.signal;
  }
  if (watched.timed_out) {
    return Error{ErrorCode::kUnavailable,
                 StrCat("job ", folder.job().value, " has not ended within ", line.Value("timeout"), " s")};
  }
  if (!HasEnded(*watched.status)) return 0;  // --since: a change
  if (!line.Has("json")) Print(VerdictText(*watched.status, folder));
  return watched.status->verdict->state == FinalState::kSucceeded ? 0 : 1;
}

}  // namespace

Result<int> RunWait(const CommandLine& line) {
  TRY_ASSIGN(const auto limit, SecondsOption(line, "timeout"));
  TRY_ASSIGN(const auto since, NumberOption(line, "since"));
  TRY_ASSIGN(const JobFolder folder, FindJob(line.words().front()));
  EventLoop loop;
  BoostProcessRunner runner(loop);
  LocalAmLauncher launcher(runner);
  Interrupts interrupts(loop);
  const bool plain = line.Has("json") || line.Has("follow") || since;
  const auto view = plain ? nullptr : LiveView::Make(loop, folder);
  WatchOptions options = {.limit = limit, .view = view.get()};
  if (!view) options.on_status = OnStatus(line, since);
  TRY_ASSIGN(const Watched watched, WatchJob(loop, interrupts, folder, launcher, options));
  return Report(line, watched, folder);
}

}  // namespace tony
