#include "azkaban-plugin/step.h"

#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <memory>
#include <optional>

#include "azkaban-plugin/account.h"
#include "azkaban-plugin/output_properties.h"
#include "azkaban-plugin/step_request.h"
#include "runtime/base/strings.h"
#include "runtime/cli/terminal_notes.h"
#include "runtime/client/choose_backend.h"
#include "runtime/client/job_access.h"
#include "runtime/client/outputs.h"
#include "runtime/client/requests.h"
#include "runtime/client/submit_job.h"
#include "runtime/os/files.h"
#include "runtime/os/process_tree.h"
#include "runtime/os/users.h"

namespace tony::azkaban {
namespace {

constexpr int kOwnerBytes = 16;
// The time that this process waits for an AM's answer to a kill. A slower AM finds the kill request in the job's
// folder.
constexpr Duration kTellLimit{1000};
constexpr Duration kUsageInterval{5000};

struct Exit {
  int code = 0;
  std::string reason;
};

class StepRun {
 public:
  StepRun(const Backend& backend, StepPlace place, Step step)
      : place_(std::move(place)),
        step_(std::move(step)),
        asked_{.order = {.request = step_.request.id,
                         .ask = {.number = step_.request.submission,
                                 .asker =
                                     step_.request.is_first_try ? SubmitterKind::kFirstTry : SubmitterKind::kLaterTry},
                         .claim = {{RandomHex(kOwnerBytes)}, step_.job.watch_timeout}},
               .job = step_.job},
        backend_(backend),
        launcher_(backend.MakeLauncher(loop_)),
        interrupts_(loop_) {}

  Result<Exit> Run() {
    for (const std::string& warning : step_.job.warnings) PrintInLog("warning: " + warning);
    const auto checked = backend_.Check(step_.job, CheckFor::kSubmit);
    if (!checked.ok()) return WithRequestedResources(checked.error(), step_.job.spec, step_.job.configuration);
    for (const std::string& note : checked->notes) PrintInLog(note);
    asked_.id = checked->id;
    if (step_.request.replaces_older) TRY(LookAtOlderExecutions());
    notes_.created = [](const JobId& job, const StagedFiles& files) {
      PrintInLog("job " + job.value);
      SayStaged(files);
    };
    TRY_ASSIGN(const SubmittedJob job, FindOrMakeJob(loop_, interrupts_, *launcher_, notes_, asked_));
    if (job.signal != 0) return Cancel(std::nullopt, job.signal);
    TellSubmitted(job);
    Account account(*job.records, step_.attachment);
    if (job.end != SubmitEnd::kAdopted) return Follow(*job.records, account);
    TRY_ASSIGN(const JobStatus status, StoredStatus(*job.records));
    account.TellEnd(status);
    return End(*job.records, status);
  }

 private:
  // Reports how the submission treats the jobs of older executions. The submission makes the same checks, but the
  // messages here use the terms of Azkaban.
  Status LookAtOlderExecutions() const {
    TRY_ASSIGN(const auto index, backend_.Requests(step_.job.site_files));
    TRY_ASSIGN(const auto record, index->Read(step_.request.id));
    if (record && record->newest_number > step_.request.submission)
      return Error{ErrorCode::kNotPermitted, StrCat("an execution that started later has already run this step; with ",
                                                    kReplaceOlder, "=true the step of an older execution is refused")};
    TRY_ASSIGN(const auto older, FindIfExists(record ? record->job : std::nullopt));
    if (!older || record->job_number == step_.request.submission) return Ok();
    if (const auto status = StoredStatus(*older); status.ok() && !HasEnded(*status))
      PrintInLog(StrCat("job ", older->job().value, " of an older execution is ended before the new job begins (",
                        kReplaceOlder, ")"));
    return Ok();
  }

  void TellSubmitted(const SubmittedJob& job) const {
    const std::string& id = job.records->job().value;
    if (job.end == SubmitEnd::kAttached)
      PrintInLog(StrCat("job ", id, " of an earlier attempt runs; this attempt continues with that job"));
    if (job.end == SubmitEnd::kAdopted)
      PrintInLog(
          StrCat("job ", id, " of an earlier attempt has succeeded; this attempt adopts the result of that job"));
    if (job.spec_differs) PrintInLog("warning: " + DifferenceText(job));
    const bool are_read_by_tony = backend_.logs().LogsOf(*job.records).ok();
    const std::string place = backend_.logs().PlaceOfLogs(*job.records), command = StrCat("tony logs ", id);
    PrintInLog(StrCat("logs: ", place,
                      place == command   ? " -f"
                      : are_read_by_tony ? StrCat("; ", command, " -f")
                                         : ""));
    for (const std::string& note : step_.request.notes) PrintInLog(note);
  }

  Result<Exit> Follow(const JobRecords& records, Account& account) {
    EventLoop::FdWatch parent_end;
    if (parent_.valid()) parent_end = parent_.WhenEnded(loop_, [this] { loop_.Stop(); });
    const WatchOptions options = {.patience = kKeeperPatience,
                                  .on_status =
                                      [&](const JobStatus& status) {
                                        account.Tell(status);
                                        return true;
                                      },
                                  .usage_interval = kUsageInterval,
                                  .kill_after_signal = CancelRequest()};
    TRY_ASSIGN(const Watched watched, WatchJob(loop_, interrupts_, records, *launcher_, notes_, options));
    if (watched.status && HasEnded(*watched.status)) {
      account.TellEnd(*watched.status);
      return End(records, *watched.status);
    }
    if (watched.signal != 0) return Cancel(records, watched.signal, watched.status);
    return Exit{static_cast<int>(ErrorCode::kUnavailable),
                StrCat("the process that started this step has ended; job ", records.job().value,
                       " continues, and another attempt can attach to it")};
  }

  // Kills the job without waiting for its end, because the AM ends the job even if no client waits. If no job is known
  // yet, the kill is recorded for the request. This record prevents the start of a job that is still being created.
  Result<Exit> Cancel(std::optional<JobRecords> records, int signal, const std::optional<JobStatus>& known = {}) {
    const KillRequest kill = CancelRequest();
    if (!records) {
      TRY_ASSIGN(records, FindForKill(step_.request.id, kill, notes_));
    }
    const int code = 128 + signal;
    if (!records) return Exit{code, "Azkaban cancelled the step before its job was created"};
    const auto recorded = records->WriteKill(kill);
    const WatchOptions options = {.kill = recorded.ok() ? *recorded : RecordedKill{"", kill},
                                  .until_answered = true,
                                  .limit = kTellLimit,
                                  .patience = kKeeperPatience,
                                  .known = known};
    TRY_ASSIGN(const Watched watched, WatchJob(loop_, interrupts_, *records, *launcher_, notes_, options));
    if (!watched.kill && !recorded.ok())
      return Exit{code, StrCat(recorded.error().message, "; ", LastKill(*launcher_, records->job(), kill, known))};
    const bool fenced = watched.kill == KillAnswer::kFenced;
    return Exit{code, StrCat("cancelled; job ", records->job().value,
                             fenced ? " has another owner and continues" : " is being killed")};
  }

  KillRequest CancelRequest() const {
    return {.reason = "Azkaban cancelled the step", .if_owner = asked_.order.claim.owner};
  }

  Result<Exit> End(const JobRecords& records, const JobStatus& status) {
    const Verdict& verdict = *status.verdict;
    const std::string job = StrCat("job ", status.job.value, " ", ToString(verdict.state));
    if (verdict.state != FinalState::kSucceeded)
      return Exit{1, StrCat(job, " (", ToString(verdict.cls), "): ", verdict.message)};
    TRY(LeaveOutputs(records, status));
    if (const Status acked = Acknowledge(records, asked_.order.claim.owner); !acked.ok())
      PrintInLog("warning: " + acked.error().message);
    return Exit{0, status.tolerated_failures > 0 ? StrCat(job, ": ", verdict.message) : job};
  }

  Status LeaveOutputs(const JobRecords& records, const JobStatus& status) const {
    const auto outputs = ReadOutputs(records, status);
    // An error of kind kInvalid is ignored, because TellEnd() has already printed it, and the job has succeeded despite
    // this error.
    if (!outputs.ok() && outputs.error().code != ErrorCode::kInvalid) return outputs.error();
    const auto members = outputs.ok() ? outputs->members : std::vector<OutputMember>();
    const OutputProperties properties =
        PropertiesForNextSteps(status.job, backend_.logs().PlaceOfLogs(records), status.tracking_url, members);
    for (const std::string& note : properties.notes) PrintInLog(note);
    if (place_.outputs.empty()) return Ok();
    return WriteOutputProperties(place_.outputs, ToJson(properties.values));
  }

  const StepPlace place_;
  const Step step_;
  // The parent process, which is watched from the start because it may die while files are staged.
  const HeldProcess parent_{getppid()};
  RequestedJob asked_;
  ClientNotes notes_ = TerminalNotes();
  EventLoop loop_;
  const Backend& backend_;
  const std::unique_ptr<AmLauncher> launcher_;
  // While this member exists, a signal kills the job before this process exits, so that no job is left without an AM.
  Interrupts interrupts_;
};

// Sets HOME to the home of this process's user, because Azkaban's setuid helper changes the user and keeps the server's
// HOME.
void UseOwnHome() {
  const char* home = std::getenv("HOME");
  struct stat about {};
  if (home && stat(home, &about) == 0 && about.st_uid == geteuid()) return;
  const auto user = FindUser(geteuid());
  if (user.ok() && *user && !(*user)->folder.empty()) setenv("HOME", (*user)->folder.c_str(), 1);
}

Result<Exit> Run() {
  UseOwnHome();
  TRY_ASSIGN(StepPlace place, PlaceOfStep());
  TRY_ASSIGN(Step step, ReadStep(place.properties, place.directory));
  if (!step.proxied.empty()) setenv("HADOOP_PROXY_USER", step.proxied.c_str(), 0);
  TRY_ASSIGN(const Backend* const backend, BackendFor(step.job));
  for (const char* variable : {"JOB_PROP_FILE", "JOB_OUTPUT_PROP_FILE", "JOBTYPE_PRIVATE_PROP_FILE"})
    unsetenv(variable);  // hidden from the job's programs
  return StepRun(*backend, std::move(place), std::move(step)).Run();
}

}  // namespace

Result<StepPlace> PlaceOfStep() {
  const char* properties = std::getenv("JOB_PROP_FILE");
  if (!properties || !*properties)
    return Error{ErrorCode::kUsage,
                 "JOB_PROP_FILE is not set: without arguments, this program runs a step for Azkaban, which sets this "
                 "variable; see tony-azkaban help"};
  StepPlace place = {.properties = properties};
  if (const char* outputs = std::getenv("JOB_OUTPUT_PROP_FILE")) place.outputs = outputs;
  std::error_code error;
  place.directory = std::filesystem::current_path(error);
  if (error) return Error{ErrorCode::kInvalid, StrCat("the current folder cannot be found: ", error.message())};
  if (!place.outputs.empty()) place.outputs = place.directory / place.outputs;
  return place;
}

int RunStep() {
  const Result<Exit> end = Run();
  const Exit exit = end.ok() ? *end : Exit{static_cast<int>(end.error().code), end.error().message};
  PrintInLog(StrCat("tony-azkaban: exit ", exit.code, ": ", exit.reason));
  if (exit.code != 0) WaitForLogReader();
  return exit.code;
}

}  // namespace tony::azkaban
