// `tony history JOB`: shows the content of the job's journal. No process of the job needs to run. For each attempt, the
// table shows the mean and the peak memory, and the mean number of cores in use. With --conf the JSON also has
// "configuration": [{"key","value","source"}].
#include "runtime/records/history.h"

#include <cstdio>
#include <utility>
#include <vector>

#include "runtime/base/result.h"
#include "runtime/base/strings.h"
#include "runtime/base/time.h"
#include "runtime/cli/command_line.h"
#include "runtime/cli/commands.h"
#include "runtime/cli/history_list.h"
#include "runtime/cli/output.h"
#include "runtime/cli/progress.h"
#include "runtime/cli/terminal.h"
#include "runtime/cli/terminal_notes.h"
#include "runtime/cli/text_table.h"
#include "runtime/client/choose_backend.h"
#include "runtime/client/job_access.h"
#include "runtime/history/history_files.h"
#include "runtime/job/job_status.h"
#include "runtime/records/decisions.h"
#include "runtime/records/job_records.h"
#include "runtime/records/journal_format.h"
#include "runtime/spec/job_spec_parser.h"

namespace tony {
namespace {

// `tony history JOB --export`: writes the history files for TonY's portal and Dr. Elephant. The job's own processes
// write the same files while the job runs.

// Prints the folder of the files and returns the exit code. Returns kInvalid if the job was submitted without a history
// folder.
Result<int> ExportHistory(const JobRecords& records, bool json) {
  TRY_ASSIGN(const auto path, HistoryFolder(records));
  if (!path) {
    return Error{ErrorCode::kInvalid,
                 StrCat("job ", records.job().value,
                        " was submitted without tony.history.location, so it has no history files")};
  }
  TRY(BackendOf(records.job()).arbiter().Settle(records));
  TRY_ASSIGN(const JobStatus status, StoredStatus(records));
  const std::string text = path->string();
  const ClusterFiles* cluster = BackendOf(records.job()).cluster_files();
  std::shared_ptr<const FilesForOthers> there;
  if (cluster) {
    TRY_ASSIGN(there, cluster->HistoryFiles(records.job(), text));
  }
  const FilesForOthers& files = there ? *there : FilesOnThisMachine();
  TRY(HasEnded(status) ? FinishHistory(records, files) : BeginHistory(records, files));
  if (json) {
    PrintLine(StrCat(R"({"schema":1,"job":)", JsonString(records.job().value), R"(,"folder":)", JsonString(text), "}"));
  } else {
    PrintLine(text);
  }
  return 0;
}

std::string After(Instant time, Instant start) { return StrCat("+", HumanDuration(time - start)); }

// Returns the duration as text. A duration below a minute is shown with milliseconds, because short jobs spend only
// milliseconds in some states.
std::string Exact(Duration length) {
  if (length >= std::chrono::minutes(1)) return HumanDuration(length);
  char text[32];
  std::snprintf(text, sizeof text, "%.3f s", static_cast<double>(length.count()) / 1000);
  return text;
}

std::string RestartText(const RestartHistory& restart, Instant start) {
  const RestartDecided& d = restart.decided;
  const std::string began =
      restart.began ? StrCat(", began after ", HumanDuration(*restart.began - restart.time)) : ", never began";
  return StrCat("  restart ", d.number, " (", ToString(d.scope), d.charged ? "" : ", not charged", ") ",
                After(restart.time, start), began, ": ", d.reason, "\n");
}

// Texts about what an attempt used: mean and peak memory, and the mean use of cores ("98%").
struct UsageTexts {
  std::string mean_memory, most_memory, cpu;
};
UsageTexts UsageOf(const AttemptHistory& attempt) {
  TaskStatus mean, whole;
  if (attempt.outcome) mean.usage = whole.usage = attempt.outcome->usage;
  if (mean.usage) mean.usage->most_memory_bytes = mean.usage->memory_bytes = mean.usage->mean_memory_bytes;
  whole.ended = attempt.ended;
  return {PeakMemoryText(mean), PeakMemoryText(whole), CpuText(whole)};
}

std::string AttemptTable(const JobHistory& history, Instant start, const TableRoom& room) {
  constexpr size_t kLeastHost = 9, kLeastOutcome = 12;
  TextTable table({TextColumn("ATTEMPT"), TextColumn("STARTED", 2), TextColumn("RAN", 1), TextColumn("MEMORY", 4, true),
                   TextColumn("PEAK", 3, true), TextColumn("CPU", 5, true), TextColumn("HOST", 6, false, kLeastHost),
                   TextColumn("OUTCOME", 0, false, kLeastOutcome)},
                  "  ");
  for (const AttemptHistory& attempt : history.attempts) {
    const bool ran = attempt.started && attempt.ended, failed = attempt.outcome && !attempt.outcome->Succeeded();
    const UsageTexts used = UsageOf(attempt);
    const Style style = failed ? Style::kBad : attempt.outcome ? Style::kGood : Style::kPlain;
    table.Add({ToString(attempt.id), attempt.started ? After(*attempt.started, start) : "-",
               ran ? HumanDuration(*attempt.ended - *attempt.started) : "-", used.mean_memory, used.most_memory,
               used.cpu, attempt.host.empty() ? "-" : SafeLine(attempt.host),
               StyledText(attempt.outcome ? SafeLine(Describe(*attempt.outcome)) : "not ended", style)});
  }
  return table.Text(room);
}

std::string Summary(const HistoryDocument& told, const TableRoom& room) {
  const JobStatus& status = told.status;
  const TimeBreakdown& time = told.history.time;
  const std::string length = HumanDuration(time.Total());
  std::string text = StrCat("job ", status.job.value, " ", status.state, HasEnded(status) ? " after " : " for ", length,
                            ": ", status.name, ", ", status.framework, "\n");
  if (HasEnded(status) && status.verdict->state != FinalState::kSucceeded)
    text += StrCat("  first cause: ", status.verdict->message, "\n");
  if (HasEnded(status) && status.verdict->state == FinalState::kSucceeded && status.tolerated_failures > 0)
    text += StrCat("  despite failures: ", status.verdict->message, "\n");
  text += NoteLines(status);
  if (!status.trouble.empty()) text += StrCat("  degraded: ", status.trouble, "\n");
  text += StrCat("  application masters: ", told.history.epoch.value, ", generations: ", told.history.generation.value,
                 "\n  time: waiting ", Exact(time.waiting), ", running ", Exact(time.running), ", restarting ",
                 Exact(time.restarting), ", stopping ", Exact(time.stopping), "\n");
  for (const RestartHistory& restart : told.history.restarts) text += RestartText(restart, status.submitted);
  return Fitted(text, room) + AttemptTable(told.history, status.submitted, room);
}

// Reads the journal first and the status afterwards. If the job ends between the two reads, the status contains the
// end.
Result<HistoryDocument> Read(const JobRecords& records) {
  HistoryDocument told;
  TRY_ASSIGN(const auto bytes, records.ReadJournal());
  // A missing journal means that no AM has become leader yet.
  if (bytes) {
    Result<DecodedJournal> journal = DecodeJournal(*bytes);
    if (!journal.ok()) return Annotate(journal.error(), records.PlaceOfJournal());
    told.decisions = std::move(journal->decisions);
    told.torn_bytes = bytes->size() - journal->valid_bytes;
  }
  TRY_ASSIGN(told.status, StoredStatus(records));
  const Instant until = told.status.ended.value_or(RealClock().Now());
  told.history = HistoryOf(told.decisions, told.status.submitted, until);
  return told;
}

Result<Configuration> StoredConfiguration(const JobRecords& records) {
  TRY_ASSIGN(const auto text, records.ReadConfiguration());
  if (!text)
    return Error{ErrorCode::kNotFound,
                 StrCat("job ", records.job().value,
                        " has no stored configuration, because an earlier release of TonY created the job")};
  auto configuration = ConfigurationFromJson(*text);
  if (!configuration.ok()) return Annotate(configuration.error(), records.PlaceOfConfiguration());
  return configuration;
}

}  // namespace

Result<int> RunHistory(const CommandLine& line) {
  if (line.Has("serve") && !line.words().empty())
    return Error{ErrorCode::kUsage, "history --serve shows all jobs, and takes no JOB"};
  if (line.Has("serve")) return RunPortal(line);
  TRY(CheckHistoryOptions(line));
  TRY_ASSIGN(const TableRoom room, RoomOnStandardOutput(line));
  if (line.words().empty()) return ListHistory(line);
  TRY_ASSIGN(const JobRecords records, FindNamedJob(line.words().front(), TerminalNotes()));
  if (line.Has("export")) return ExportHistory(records, line.Has("json"));
  TRY_ASSIGN(const HistoryDocument told, Read(records));
  Configuration configuration;
  if (line.Has("conf")) {
    TRY_ASSIGN(configuration, StoredConfiguration(records));
  }
  const bool events = line.Has("events");
  if (line.Has("json")) {
    const std::string document = HistoryJson(told, events);
    PrintLine(line.Has("conf") ? WithFields(document, {{"configuration", ToJson(configuration)}}) : document);
    return 0;
  }
  if (line.Has("conf")) {
    std::string text;
    for (const ConfiguredValue& value : configuration)
      text += StrCat(value.key, " = ", SafeLine(value.value), "  (", value.source, ")\n");
    PrintAsIs(Fitted(text, room));
    return 0;
  }
  std::string text;
  const Instant start = told.decisions.empty() ? Instant() : told.decisions.front().time;
  for (const Decision& decision : told.decisions) text += EventLine(decision, start) + "\n";
  PrintAsIs(events ? Fitted(text, room) : Summary(told, room));
  if (told.torn_bytes > 0)
    Say(StrCat("tony: the last ", told.torn_bytes, " bytes of the journal are an incomplete record"));
  const std::string& job = records.job().value;
  SuggestNext(line, {StrCat("logs ", job), events ? StrCat("history ", job) : StrCat("history ", job, " --events")});
  return 0;
}

}  // namespace tony
