// `tony logs`: what the tasks wrote, once or until the job has ended.
#include <csignal>
#include <limits>

#include "runtime/base/strings.h"
#include "runtime/client/commands.h"
#include "runtime/client/job_access.h"
#include "runtime/client/log_reader.h"
#include "runtime/client/log_watch.h"
#include "runtime/client/numbers.h"
#include "runtime/client/output.h"

namespace tony {
namespace {

constexpr int64_t kDefaultAnswer = 1 << 20;  // bytes of text in one JSON answer
constexpr Duration kUnruledInterval{1000};
constexpr size_t kNoLimit = std::numeric_limits<size_t>::max();

Result<LogChoice> ReadChoice(const CommandLine& line, const JobFolder& folder) {
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
  TRY_ASSIGN(const JobSpec spec, folder.ReadSpec());
  const RoleSpec* role = spec.FindRole(choice.task->role);
  if (role == nullptr || choice.task->index >= role->instances)
    return Error{ErrorCode::kNotFound, StrCat("job ", folder.job().value, " has no task ", ToString(*choice.task))};
  return choice;
}

bool JobHasEnded(const JobFolder& folder) {
  const auto status = StoredStatus(folder);
  return status.ok() && HasEnded(*status);
}

// Text for people: as it was written, with the task in front of each line where there are several; of one task, a
// header where another of its attempts begins.
class TextPrinter {
 public:
  explicit TextPrinter(bool prefixed) : prefixed_(prefixed) {}

  void operator()(const LogText& log) {
    if (!prefixed_) return PrintPlain(log);
    const std::string source = StrCat(ToString(log.attempt), "/", log.stream);
    std::string out = unfinished_.empty() || unfinished_ == source ? "" : "\n";
    bool line_begins = unfinished_ != source;
    for (std::string_view rest = log.text; !rest.empty();) {
      const size_t length = std::min(rest.find('\n'), rest.size() - 1) + 1;
      if (line_begins) out += StrCat(Label(log.attempt), " | ");
      out += rest.substr(0, length);
      line_begins = rest[length - 1] == '\n';
      rest.remove_prefix(length);
    }
    unfinished_ = line_begins ? "" : source;
    Print(out);
  }

  void Finish() {
    if (!unfinished_.empty()) Print("\n");
    unfinished_.clear();
  }

 private:
  void PrintPlain(const LogText& log) {
    if (last_ && *last_ != log.attempt)
      Print(StrCat(line_begins_ ? "" : "\n", "==> ", ToString(log.attempt), " <==\n"));
    last_ = log.attempt;
    line_begins_ = log.text.ends_with('\n');
    Print(log.text);
  }

  static std::string Label(const AttemptId& attempt) {
    return attempt.number > 1 ? ToString(attempt) : ToString(attempt.task);
  }
  const bool prefixed_;
  std::string unfinished_;  // the stream whose line has not ended yet
  std::optional<AttemptId> last_;
  bool line_begins_ = true;
};

std::string EntryFields(const LogText& log) {
  return StrCat(R"("task":)", JsonString(ToString(log.attempt.task)), R"(,"attempt":)", log.attempt.number,
                R"(,"stream":)", JsonString(log.stream), R"(,"text":)", JsonString(log.text));
}

void AnswerJson(const JobFolder& folder, LogReader& reader, size_t limit) {
  const bool ended = JobHasEnded(folder);  // before reading: what is written later is not part of this answer
  std::vector<std::string> entries;
  const bool all =
      reader.Read(limit, ended, [&](const LogText& log) { entries.push_back(StrCat("{", EntryFields(log), "}")); });
  PrintLine(StrCat(R"({"schema":1,"job":)", JsonString(folder.job().value), R"(,"entries":[)", Join(entries, ","),
                   R"(],"cursor":)", JsonString(reader.Cursor()), R"(,"eof":)", ended && all ? "true" : "false", "}"));
}

// Says once each time that nobody rules a job: it may stay so until somebody waits for it.
class UnruledNotice {
 public:
  explicit UnruledNotice(const JobFolder& folder) : folder_(folder) {}

  void Look() {
    const auto status = StoredStatus(folder_);
    const bool unruled = status.ok() && IsUnruled(folder_, *status);
    // Twice in a row: an AM and a keeper that die together are both back in a moment where somebody waits.
    if (unruled && ++seen_ == 2) {
      const std::string& job = folder_.job().value;
      Say(StrCat("nobody rules job ", job, "; tony wait ", job, " brings it back"));
    }
    if (!unruled) seen_ = 0;
  }

 private:
  const JobFolder folder_;
  int seen_ = 0;
};

Status FollowLogs(const JobFolder& folder, LogReader& reader, const std::function<void(const LogText&)>& sink) {
  EventLoop loop;
  LogWatch watch(folder);
  const auto pump = [&] {
    watch.AddFolders();
    const bool ended = JobHasEnded(folder);
    reader.Read(kNoLimit, ended, sink);
    if (ended) loop.Stop();
  };
  TRY(watch.Start(loop, pump));
  loop.Post(pump);
  UnruledNotice notice(folder);
  EventLoop::Timer timer;
  const std::function<void()> look = [&] {
    notice.Look();
    timer = loop.After(kUnruledInterval, look);
  };
  loop.Post(look);
  loop.Run();
  return Ok();
}

}  // namespace

Result<int> RunLogs(const CommandLine& line) {
  signal(SIGPIPE, SIG_DFL);  // `tony logs -f JOB | head` ends with head
  const bool json = line.Has("json");
  TRY_ASSIGN(const auto limit, NumberOption(line, "max-bytes"));
  if (limit && line.Has("f")) return Error{ErrorCode::kUsage, "logs: --max-bytes does not go with -f"};
  TRY_ASSIGN(const JobFolder folder, FindJob(line.words().front()));
  TRY_ASSIGN(const LogChoice choice, ReadChoice(line, folder));
  LogReader reader(folder, choice);
  TRY(reader.SetCursor(line.Value("cursor")));
  if (json && !line.Has("f")) {
    AnswerJson(folder, reader, static_cast<size_t>(limit.value_or(kDefaultAnswer)));
    return 0;
  }
  if (json) {
    TRY(FollowLogs(folder, reader, [&reader](const LogText& log) {
      PrintLine(StrCat(R"({"schema":1,)", EntryFields(log), R"(,"cursor":)", JsonString(reader.Cursor()), "}"));
    }));
    return 0;
  }
  TRY_ASSIGN(const JobSpec spec, folder.ReadSpec());
  TextPrinter printer(!choice.task && spec.TotalTasks() > 1);
  if (line.Has("f")) {
    TRY(FollowLogs(folder, reader, std::ref(printer)));
  } else {
    reader.Read(limit ? static_cast<size_t>(*limit) : kNoLimit, true, std::ref(printer));
  }
  printer.Finish();
  return 0;
}

}  // namespace tony
