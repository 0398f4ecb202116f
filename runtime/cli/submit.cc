// `tony submit`: turns properties into a spec and the spec into a job (client/submit_job.h), and watches the job. These
// are the client's steps in the life of a job (README.md).
#include "runtime/cli/submit.h"

#include <unistd.h>

#include <map>
#include <optional>
#include <thread>

#include "runtime/base/strings.h"
#include "runtime/cli/commands.h"
#include "runtime/cli/live_view.h"
#include "runtime/cli/log_session.h"
#include "runtime/cli/options.h"
#include "runtime/cli/output.h"
#include "runtime/cli/progress.h"
#include "runtime/cli/terminal.h"
#include "runtime/cli/terminal_notes.h"
#include "runtime/client/choose_backend.h"
#include "runtime/client/job_access.h"
#include "runtime/client/outputs.h"
#include "runtime/client/submit_job.h"

namespace tony {
namespace {

// Options that decide what a submit prints.
struct SubmitShow {
  bool json = false;
  bool detach = false;
  bool logs = false;  // show tasks' output, no table
  CommandLine line;
  std::string_view next;  // SubmitExtras::next
};

// Prints the job's id as soon as the job is recorded. With --json the id goes to standard error, because the JSON
// document contains it.
void Announce(const JobId& job, const SubmitShow& show) {
  if (!show.json) return PrintLine(job.value);
  if (!show.detach) Say(StrCat("job ", job.value));
}

// The time to wait for the job's page. An AM serves the page a few tens of milliseconds after the job is recorded.
constexpr Duration kPagePatience{2000};

// Returns the address of the job's page; empty if the job has no page, or does not get one soon.
std::string PageOf(const JobRecords& records) {
  std::string page = BackendOf(records.job()).logs().PageWithoutMaster(records.job());
  const Instant until = RealClock().Now() + kPagePatience;
  while (page.empty() && RealClock().Now() < until) {
    const auto status = StoredStatus(records);
    if (status.ok()) page = status->tracking_url;
    if (!status.ok() || status->verdict || status->state == "RUNNING" || !status->delay.empty()) break;
    std::this_thread::sleep_for(Duration(20));
  }
  return page;
}

// Prints the page of a detached job, and the commands to type next, if a person reads the output at a terminal.
void TellWhatNext(const JobRecords& records, const SubmitShow& show) {
  if (show.json || !IsTerminal(STDERR_FILENO)) return;  // scripts need no page
  if (const std::string page = PageOf(records); !page.empty()) Say(StrCat("page: ", page));
  const std::string& job = records.job().value;
  std::vector<std::string> next = {StrCat("logs ", job, " -f"), StrCat("status ", job), StrCat("kill ", job)};
  if (!show.next.empty()) next.insert(next.begin(), StrCat(show.next, " ", job));
  SuggestNext(show.line, next);
}

// JSON values by field name, to be added to the document.
using MoreFields = std::map<std::string, std::string>;

int ReportEnd(const Watched& watched, const JobRecords& records, const SubmitShow& show, const MoreFields& fields) {
  if (show.json) PrintLine(WithFields(StatusDocument(records, *watched.status), fields));
  if (!HasEnded(*watched.status)) {
    Say(StrCat("interrupted; job ", records.job().value, " has another owner and continues"));
    return 128 + watched.signal;
  }
  if (!show.json) Print(VerdictText(*watched.status, records) + SweepSummary(records, *watched.status));
  SuggestNext(show.line, {StrCat("history ", records.job().value), StrCat("logs ", records.job().value)});
  if (watched.status->verdict->state == FinalState::kSucceeded) return 0;
  return watched.signal == 0 ? 1 : 128 + watched.signal;
}

// Waits for the end of the job. A signal kills the job. If the submit has a request id, the signal kills the job only
// while `kill_as` is the job's owner.
Result<int> WatchToEnd(EventLoop& loop, Interrupts& interrupts, const JobRecords& records, AmLauncher& launcher,
                       const SubmitShow& show, const OwnerToken& kill_as, const MoreFields& fields,
                       const StatusSink& on_status) {
  const auto view = show.json || show.logs || on_status ? nullptr : LiveView::Make(loop, records);
  const WatchOptions options = {.kill_on_signal = true,
                                .kill_as = kill_as,
                                .patience = kKeeperPatience,
                                .on_status = on_status ? on_status : SayChanges()};
  std::optional<LogsWhileWaiting> logs;
  if (show.logs) logs.emplace(records, show.json ? STDERR_FILENO : STDOUT_FILENO);
  TRY_ASSIGN(const Watched watched, view ? view->Watch(interrupts, records, launcher, options)
                                         : WatchJob(loop, interrupts, records, launcher, TerminalNotes(), options));
  if (logs) logs->End(/*stop=*/!HasEnded(*watched.status));
  return ReportEnd(watched, records, show, fields);
}

int ReportAdopted(const JobRecords& records, const JobStatus& status, const SubmitShow& show,
                  const MoreFields& fields) {
  if (show.json) {
    PrintLine(WithFields(StatusDocument(records, status), fields));
  } else {
    Print(VerdictText(status, records));
  }
  return 0;
}

std::string Names(const SubmitOrder& order, const JobId& job) {
  const std::string names = StrCat(R"({"schema":1,"job":)", JsonString(job.value));
  if (order.request.value.empty()) return names + "}";
  return StrCat(names, R"(,"request_id":)", JsonString(order.request.value), R"(,"submission":)", order.ask.number,
                "}");
}

}  // namespace

Result<int> RunSubmit(const CommandLine& line) {
  TRY(CheckSubmitShow(line));
  TRY_ASSIGN(ParsedJobSpec parsed, ReadJobSpec(line));
  return SubmitAndWait(line, std::move(parsed));
}

Status CheckSubmitShow(const CommandLine& line) {
  if (!line.Has("logs") || !line.Has("detach")) return Ok();
  return Error{ErrorCode::kUsage, "--logs cannot be used with --detach; use tony logs -f"};
}

Result<int> SubmitAndWait(const CommandLine& line, ParsedJobSpec parsed, const SubmitExtras& extras) {
  const SubmitShow show = {line.Has("json"), line.Has("detach"), line.Has("logs"), line, extras.next};
  TRY_ASSIGN(const SubmitOrder order, ReadSubmitOrder(line));
  TRY_ASSIGN(const Backend* const backend, BackendFor(parsed));
  for (const std::string& warning : parsed.warnings) Say(StrCat("tony: warning: ", warning));
  TRY_ASSIGN(const CheckedJob checked, backend->Check(parsed, CheckFor::kSubmit));
  for (const std::string& note : checked.notes) Say(StrCat("tony: ", note));

  EventLoop loop;
  StatusSink on_status;
  if (extras.on_status && !show.detach) {
    TRY_ASSIGN(on_status, extras.on_status(loop));
  }
  const auto launcher = backend->MakeLauncher(loop);
  // From here on a signal stops the submit or kills the job, so a submitted job is never left without an AM.
  Interrupts interrupts(loop);
  ClientNotes notes = TerminalNotes();
  notes.created = [&](const JobId& job, const StagedFiles& files) {
    Announce(job, show);
    SayStaged(files);
  };
  TRY_ASSIGN(const SubmittedJob submitted,
             FindOrMakeJob(loop, interrupts, *launcher, notes,
                           {.order = order, .job = parsed, .id = checked.id, .prepared = extras.prepared}));
  if (submitted.signal != 0) {
    const std::string when = submitted.stopped_work.empty() ? "" : StrCat(" while ", submitted.stopped_work);
    Say(StrCat("tony: interrupted", when, "; nothing was submitted"));
    return 128 + submitted.signal;
  }
  const JobRecords& records = *submitted.records;
  if (submitted.end != SubmitEnd::kCreated) Announce(records.job(), show);
  std::vector<std::string> warnings = std::move(parsed.warnings);
  if (const std::string text = DifferenceText(submitted); !text.empty()) {
    warnings.push_back(text);
    Say(StrCat("tony: warning: ", text));
  }
  warnings.insert(warnings.end(), submitted.warnings.begin(), submitted.warnings.end());
  const bool is_requested = !order.request.value.empty();
  const MoreFields fields = is_requested ? DecisionFields(submitted, warnings) : SourceFields(submitted);
  if (show.detach) {
    TellWhatNext(records, show);
    if (show.json) PrintLine(WithFields(Names(order, records.job()), fields));
    return 0;
  }
  if (submitted.end == SubmitEnd::kAdopted) {
    TRY_ASSIGN(const JobStatus status, StoredStatus(records));
    return ReportAdopted(records, status, show, fields);
  }
  return WatchToEnd(loop, interrupts, records, *launcher, show, is_requested ? order.claim.owner : OwnerToken(), fields,
                    on_status);
}

}  // namespace tony
