// `tony logs`: what the tasks wrote, once or until the job has ended.
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <functional>
#include <limits>
#include <optional>

#include "runtime/backend/backend.h"
#include "runtime/base/side_thread.h"
#include "runtime/base/strings.h"
#include "runtime/client/commands.h"
#include "runtime/client/job_access.h"
#include "runtime/client/log_printer.h"
#include "runtime/client/named_job.h"
#include "runtime/client/numbers.h"
#include "runtime/client/output.h"
#include "runtime/client/terminal.h"
#include "runtime/logs/log_follower.h"
#include "runtime/logs/log_reader.h"

namespace tony {
namespace {

constexpr int64_t kDefaultAnswer = 1 << 20;  // bytes of text in one JSON answer
constexpr Duration kUnruledInterval{1000};
constexpr Duration kUnruledIntervalElsewhere{10'000};  // a cluster is asked three times for it
constexpr size_t kNoLimit = std::numeric_limits<size_t>::max();

Result<LogChoice> ReadChoice(const CommandLine& line, const JobRecords& records) {
  LogChoice choice;
  const bool both = line.Has("stdout") == line.Has("stderr");
  choice.standard_output = both || line.Has("stdout");
  choice.standard_error = both || line.Has("stderr");
  if (line.words().size() < 2) return choice;

  const std::string& word = line.words()[1];
  const size_t hash = word.find('#');
  TRY_ASSIGN(choice.task, ParseTaskId(word.substr(0, hash)));
  if (hash != std::string::npos) {
    const auto number = ParseInt(word.substr(hash + 1));
    if (!number || *number < 1 || *number > std::numeric_limits<int>::max())
      return Error{ErrorCode::kUsage, StrCat("attempt \"", word, "\": expected ROLE:INDEX#NUMBER, as in worker:0#1")};
    choice.attempt = static_cast<int>(*number);
  }
  TRY_ASSIGN(const JobSpec spec, records.ReadSpec());
  const RoleSpec* role = spec.FindRole(choice.task->role);
  if (role == nullptr || choice.task->index >= role->instances)
    return Error{ErrorCode::kNotFound, StrCat("job ", records.job().value, " has no task ", ToString(*choice.task))};
  return choice;
}

bool JobHasEnded(const JobRecords& records) {
  const auto status = StoredStatus(records);
  return status.ok() && HasEnded(*status);
}

std::string EntryFields(const LogText& log) {
  return StrCat(R"("task":)", JsonString(ToString(log.attempt.task)), R"(,"attempt":)", log.attempt.number,
                R"(,"stream":)", JsonString(log.stream), log.process > 0 ? StrCat(R"(,"process":)", log.process) : "",
                R"(,"text":)", JsonString(log.text));
}

struct Amount {
  size_t limit = kNoLimit;       // bytes
  std::optional<int64_t> lines;  // the last so many of each stream
};

// Whether that was all.
bool ReadOnce(LogReader& reader, const Amount& amount, bool ended, const std::function<void(const LogText&)>& sink) {
  if (!amount.lines) return reader.Read(amount.limit, ended, sink);
  reader.ReadLastLines(static_cast<uint64_t>(*amount.lines), amount.limit, ended, sink);
  return true;
}

void AnswerJson(const JobRecords& records, LogReader& reader, const LogCursor& cursor, const Amount& amount) {
  const bool ended = JobHasEnded(records);  // before reading: what is written later is not part of this answer
  std::vector<std::string> entries;
  const bool all = ReadOnce(reader, amount, ended,
                            [&](const LogText& log) { entries.push_back(StrCat("{", EntryFields(log), "}")); });
  PrintLine(StrCat(R"({"schema":1,"job":)", JsonString(records.job().value), R"(,"entries":[)", Join(entries, ","),
                   R"(],"cursor":)", JsonString(cursor.Text()), R"(,"eof":)", ended && all ? "true" : "false", "}"));
}

// Says once each time that nobody rules a job: it may stay so until somebody waits for it.
class UnruledNotice {
 public:
  explicit UnruledNotice(const JobRecords& records) : records_(records) {}

  // Waits.
  bool IsUnruledNow() const {
    const auto status = StoredStatus(records_);
    return status.ok() && IsUnruled(records_, *status);
  }
  void Take(bool unruled) {
    // Twice in a row: an AM and a keeper that die together are both back in a moment where somebody waits.
    if (unruled && ++seen_ == 2) {
      const std::string& job = records_.job().value;
      Say(StrCat("nobody rules job ", job, "; tony wait ", job, " brings it back"));
    }
    if (!unruled) seen_ = 0;
  }

 private:
  const JobRecords records_;
  int seen_ = 0;
};

void FollowLogs(const JobRecords& records, const LogSource& logs, const LogChoice& choice, LogCursor& cursor,
                const LogFollower::Sink& sink) {
  EventLoop loop;
  LogFollower follower(loop, {logs, [&] { return JobHasEnded(records); }}, choice, cursor, sink);
  follower.Start([&loop] { loop.Stop(); });
  UnruledNotice notice(records);
  const Duration interval = BackendOf(records.job()).KeepsPrograms() ? kUnruledInterval : kUnruledIntervalElsewhere;
  EventLoop::Timer timer;
  SideThread beside(loop);
  const std::function<void()> look = [&] {
    beside.Do([&]() -> SideThread::Then {
      return [&, unruled = notice.IsUnruledNow()] {
        notice.Take(unruled);
        timer = loop.After(interval, look);
      };
    });
  };
  loop.Post(look);
  loop.Run();
}

int WritersOf(const JobSpec& spec, const LogChoice& choice) {
  if (choice.task) return spec.ProcessesOf(choice.task->role);
  int writers = 0;
  for (const RoleSpec& role : spec.roles) writers += role.instances * role.processes;
  return writers;
}

Result<LogPrinter> MakePrinter(const JobRecords& records, const LogChoice& choice) {
  TRY_ASSIGN(const JobSpec spec, records.ReadSpec());
  LogStyle style = {.prefixed = WritersOf(spec, choice) > 1,
                    .is_terminal = isatty(STDOUT_FILENO) == 1,
                    .colour = WantsColour(STDOUT_FILENO)};
  for (const RoleSpec& role : spec.roles)
    style.label_width = std::max(style.label_width, ToString(TaskId{role.name, role.instances - 1}).size());
  return LogPrinter(style, PrintAsIs);
}

}  // namespace

Result<int> RunLogs(const CommandLine& line) {
  signal(SIGPIPE, SIG_DFL);  // `tony logs -f JOB | head` ends with head
  const bool json = line.Has("json");
  TRY_ASSIGN(const auto limit, NumberOption(line, "max-bytes"));
  if (limit && line.Has("f")) return Error{ErrorCode::kUsage, "logs: --max-bytes does not go with -f"};
  Amount amount;
  TRY_ASSIGN(amount.lines, NumberOption(line, "tail"));
  if (amount.lines && line.Has("cursor")) return Error{ErrorCode::kUsage, "logs: --tail does not go with --cursor"};
  if (limit || (json && !line.Has("f"))) amount.limit = static_cast<size_t>(limit.value_or(kDefaultAnswer));
  TRY_ASSIGN(const JobRecords records, FindNamedJob(line.words().front()));
  TRY_ASSIGN(const LogChoice choice, ReadChoice(line, records));
  LogCursor cursor;
  TRY(cursor.Set(line.Value("cursor")));
  TRY_ASSIGN(const auto logs, BackendOf(records.job()).LogsOf(records));
  LogReader reader(*logs, choice, cursor);
  if (json && !line.Has("f")) {
    AnswerJson(records, reader, cursor, amount);
    return 0;
  }
  if (amount.lines && line.Has("f")) reader.GoToLastLines(static_cast<uint64_t>(*amount.lines));
  if (json) {
    FollowLogs(records, *logs, choice, cursor, [&cursor](const LogText& log) {
      PrintLine(StrCat(R"({"schema":1,)", EntryFields(log), R"(,"cursor":)", JsonString(cursor.Text()), "}"));
    });
    return 0;
  }
  TRY_ASSIGN(LogPrinter printer, MakePrinter(records, choice));
  if (line.Has("f")) {
    FollowLogs(records, *logs, choice, cursor, std::ref(printer));
  } else {
    ReadOnce(reader, amount, true, std::ref(printer));
  }
  printer.Finish();
  return 0;
}

}  // namespace tony
