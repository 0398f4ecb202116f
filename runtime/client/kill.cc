// `tony kill`: records the wish in the job's folder, tells the AM, and waits until nothing is left. May be repeated.
#include "runtime/base/strings.h"
#include "runtime/client/commands.h"
#include "runtime/client/output.h"
#include "runtime/client/progress.h"
#include "runtime/client/watch_job.h"
#include "runtime/process/boost_process_runner.h"
#include "runtime/scheduler/local/local_am_launcher.h"
#include "runtime/scheduler/local/lost_job.h"

namespace tony {
namespace {

int Report(const CommandLine& line, const JobStatus& status, bool killed, const std::string& words) {
  if (!line.Has("json")) {
    PrintLine(words);
    return 0;
  }
  PrintLine(WithFields(ToJson(status), {{"killed", killed ? "true" : "false"}}));
  return 0;
}

// How long --no-wait tries to tell an AM; one that comes later reads the request from the folder.
constexpr Duration kTellLimit{2000};

WatchOptions Options(const CommandLine& line, const KillRequest& request) {
  WatchOptions options = {.kill = request};
  if (line.Has("no-wait")) {
    options.limit = kTellLimit;
    options.on_status = [](const JobStatus&) { return false; };  // comes after the AM's answer to the kill
  } else {
    options.on_status = SayChanges();
  }
  return options;
}

}  // namespace

Result<int> RunKill(const CommandLine& line) {
  TRY_ASSIGN(const JobFolder folder, FindJob(line.words().front()));
  const std::string job = folder.job().value;
  TRY(SettleIfLost(folder));
  TRY_ASSIGN(const JobStatus before, StoredStatus(folder));
  if (HasEnded(before))
    return Report(line, before, false, StrCat("job ", job, " has ended already: ", VerdictLine(before)));

  const KillRequest request = {.reason = line.Has("reason") ? line.Value("reason") : "tony kill"};
  // A full disk keeps nobody from telling the AM.
  const Status recorded = folder.WriteKillRequest(request);
  if (!recorded.ok()) Say(StrCat("tony: ", recorded.error().message, "; only telling the application master"));
  EventLoop loop;
  BoostProcessRunner runner(loop);
  LocalAmLauncher launcher(runner);
  Interrupts interrupts(loop);
  TRY_ASSIGN(const Watched watched, WatchJob(loop, interrupts, folder, launcher, Options(line, request)));
  if (watched.signal != 0) {
    Say(StrCat("interrupted; the kill of job ", job, recorded.ok() ? " is recorded" : " may be forgotten"));
    return 128 + watched.signal;
  }
  if (!watched.status) TRY(recorded);
  const JobStatus& status = watched.status ? *watched.status : before;
  if (!HasEnded(status)) return Report(line, status, true, StrCat("job ", job, " is being killed"));
  return Report(line, status, status.verdict->state == FinalState::kKilled,
                StrCat("job ", job, " ", VerdictLine(status)));
}

}  // namespace tony
