// `tony logs`: prints what the tasks wrote, once or until the job has ended.
#include <unistd.h>

#include <csignal>

#include "runtime/base/event_loop.h"
#include "runtime/base/strings.h"
#include "runtime/cli/commands.h"
#include "runtime/cli/log_session.h"
#include "runtime/cli/output.h"
#include "runtime/cli/progress.h"
#include "runtime/cli/terminal_notes.h"
#include "runtime/client/choose_backend.h"
#include "runtime/client/job_access.h"

namespace tony {
namespace {

constexpr size_t kFlushAt = 64 << 10;

std::string EntryFields(const LogText& log) {
  return StrCat(R"("task":)", JsonString(ToString(log.attempt.task)), R"(,"attempt":)", log.attempt.number,
                R"(,"stream":)", JsonString(log.stream), log.process > 0 ? StrCat(R"(,"process":)", log.process) : "",
                log.when ? StrCat(R"(,"time":")", ToIso8601(*log.when), "\"") : "", R"(,"text":)",
                JsonString(log.text));
}

// Ends a command that has read logs. If a log could not be read, the command has printed the other logs, and now fails.
int EndAfter(const LogSource& logs) {
  const Status unread = logs.Unread();
  return unread.ok() ? 0 : Fail(unread.error(), /*json=*/false);
}

int AnswerJson(const JobRecords& records, const LogSource& logs, LogSession& session) {
  // The end of the job is checked before the logs are read. In the other order, text that was written between the two
  // steps would be missing from an answer that is marked as the last.
  const bool ended = JobHasEnded(records);
  std::vector<std::string> entries;
  const bool all =
      session.ReadOnce(ended, [&](const LogText& log) { entries.push_back(StrCat("{", EntryFields(log), "}")); });
  const std::string document =
      StrCat(R"({"schema":1,"job":)", JsonString(records.job().value), R"(,"entries":[)", Join(entries, ","),
             R"(],"cursor":)", JsonString(session.cursor().Text()), R"(,"eof":)", ended && all ? "true" : "false", "}");
  if (const Status unread = logs.Unread(); !unread.ok()) return FailWith(unread.error(), document);
  PrintLine(document);
  return 0;
}

void FollowInJson(LogSession& session) {
  EventLoop loop;
  const auto print = [&session](const LogText& log) {
    PrintLine(StrCat(R"({"schema":1,)", EntryFields(log), R"(,"cursor":)", JsonString(session.CursorBehind(log).Text()),
                     "}"));
  };
  session.Follow(loop, print, [] {});
}

// Prints the verdict of the job and returns the exit code that `tony wait` would return.
int TellVerdict(const JobRecords& records) {
  const auto status = StoredStatus(records);
  if (!status.ok() || !status->verdict) return 0;  // the job was removed meanwhile
  Say(StrCat("job ", records.job().value, " ", VerdictLine(*status)));
  return status->verdict->state == FinalState::kSucceeded ? 0 : 1;
}

}  // namespace

Result<int> RunLogs(const CommandLine& line) {
  // The default action of SIGPIPE ends this process when the reader of its output has exited, as in `tony logs -f JOB |
  // head`.
  signal(SIGPIPE, SIG_DFL);
  TRY_ASSIGN(LogOptions order, ReadLogOrder(line, RealClock().Now()));
  const bool json = order.json, follow = order.follow, timestamps = order.timestamps;
  TRY_ASSIGN(const JobRecords records, FindNamedJob(line.words().front(), TerminalNotes()));
  JobSpec spec;
  // The spec is not read for JSON output of all tasks, because this output does not need the spec. A program can thus
  // read the logs of a job whose spec is damaged.
  if (!json || line.words().size() > 1) {
    TRY_ASSIGN(spec, records.ReadSpec());
  }
  TRY_ASSIGN(const LogChoice choice, ReadLogChoice(line, records.job(), spec));
  TRY_ASSIGN(const auto logs, BackendOf(records.job()).logs().LogsOf(records));
  LogSession session(records, *logs, choice, std::move(order));
  if (json) {
    if (!follow) return AnswerJson(records, *logs, session);
    FollowInJson(session);
    const Status unread = logs->Unread();
    return unread.ok() ? 0 : Fail(unread.error(), json);
  }
  // The lines of one chunk, which are written with one call.
  std::string text;
  LogPrinter printer = MakeLogPrinter(
      spec, choice, timestamps, [&](std::string_view part) { text += part; }, STDOUT_FILENO);
  const auto flush = [&] {
    PrintAsIs(text);
    text.clear();
  };
  if (follow) {
    EventLoop loop;
    session.Follow(loop, std::ref(printer), flush);
  } else {
    session.ReadOnce(true, [&](const LogText& log) {
      printer(log);
      if (text.size() >= kFlushAt) flush();
    });
  }
  printer.Finish();
  flush();
  if (follow) {
    const int unread = EndAfter(*logs), code = TellVerdict(records);
    return code == 0 ? unread : code;
  }
  if (!JobHasEnded(records)) SuggestNext(line, {StrCat("logs ", records.job().value, " -f")});
  return EndAfter(*logs);
}

}  // namespace tony
