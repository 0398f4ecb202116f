#include "runtime/cli/log_session.h"

#include <re2/re2.h>
#include <unistd.h>

#include <algorithm>
#include <limits>

#include "runtime/base/event_loop.h"
#include "runtime/base/strings.h"
#include "runtime/cli/options.h"
#include "runtime/cli/output.h"
#include "runtime/cli/terminal.h"
#include "runtime/client/choose_backend.h"
#include "runtime/client/job_access.h"
#include "runtime/logs/log_follower.h"
#include "runtime/logs/log_reader.h"
#include "runtime/logs/log_source.h"

namespace tony {
namespace {

constexpr size_t kLongestSearched = 1 << 20;

constexpr Duration kUnruledInterval{1000};
// For a job on a cluster, the interval between two checks for an AM is longer, because each check takes three requests.
constexpr Duration kUnruledIntervalElsewhere{10'000};
constexpr uint64_t kAll = std::numeric_limits<uint64_t>::max();

// Prints a notice when a job has no AM. The notice is printed once for each such period, because the period may last
// until somebody waits for the job.
class UnruledNotice {
 public:
  explicit UnruledNotice(const JobRecords& records) : records_(records) {}

  // Returns whether the job has no AM now. Blocks while it reads the job's records.
  bool IsUnruledNow() const {
    const auto status = StoredStatus(records_);
    return status.ok() && HasNoAm(records_, *status);
  }
  void Take(bool unruled) {
    // The notice is printed only after two checks in a row without an AM. If an AM and its keeper (the supervisor of
    // the job) die together and a client waits for the job, both are restarted within a moment.
    if (unruled && ++seen_ == 2) {
      const std::string& job = records_.job().value;
      Say(StrCat("no application master runs for job ", job, "; tony wait ", job, " starts one"));
    }
    if (!unruled) seen_ = 0;
  }

 private:
  const JobRecords records_;
  int seen_ = 0;
};

void RunFollower(EventLoop& loop, const JobRecords& records, LogFollower& follower) {
  follower.Start([&loop] { loop.Stop(); });
  UnruledNotice notice(records);
  const Duration interval = BackendOf(records.job()).keeps_programs() ? kUnruledInterval : kUnruledIntervalElsewhere;
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
  int writers = 0;
  for (const RoleSpec& role : spec.roles)
    for (int i = 0; i < role.instances; ++i)
      if (choice.Has({role.name, i})) writers += spec.ProcessesOf(role.name);
  return writers;
}

constexpr int64_t kDefaultAnswer = 1 << 20;  // bytes of text per JSON answer

Status CheckTogether(const CommandLine& line) {
  if (line.Has("max-bytes") && line.Has("follow"))
    return Error{ErrorCode::kUsage, "logs: --max-bytes cannot be used with -f"};
  for (const char* option : {"tail", "since"})
    if (line.Has(option) && line.Has("cursor"))
      return Error{ErrorCode::kUsage, StrCat("logs: --", option, " cannot be used with --cursor")};
  return Ok();
}

// Parses "worker", "worker:0" or "worker:0#2".
Result<ChosenTasks> ReadChosen(const std::string& word) {
  if (word.find_first_of(":#") == std::string::npos) return ChosenTasks{.role = word};
  const size_t hash = word.find('#');
  TRY_ASSIGN(const TaskId task, ParseTaskId(word.substr(0, hash)));
  if (hash == std::string::npos) return ChosenTasks{task.role, task.index};
  const auto number = ParseInt(word.substr(hash + 1));
  if (!number || *number < 1 || *number > std::numeric_limits<int>::max())
    return Error{ErrorCode::kUsage, StrCat("attempt \"", word, "\": expected ROLE:INDEX#NUMBER, as in worker:0#1")};
  return ChosenTasks{task.role, task.index, static_cast<int>(*number)};
}

Status CheckIsThere(const ChosenTasks& chosen, const JobId& job, const JobSpec& spec) {
  const RoleSpec* role = spec.FindRole(chosen.role);
  if (role != nullptr && chosen.index.value_or(0) < role->instances) return Ok();
  std::vector<std::string> roles;
  for (const RoleSpec& each : spec.roles)
    roles.push_back(StrCat(each.name, " (", Counted(each.instances, "task"), ")"));
  const std::string what =
      chosen.index ? StrCat("task ", ToString(TaskId{chosen.role, *chosen.index})) : StrCat("role ", chosen.role);
  return Error{ErrorCode::kNotFound,
               StrCat("job ", job.value, " has no ", what, "; its roles are ", Join(roles, ", "))};
}

}  // namespace

struct LogPattern::Compiled {
  Compiled(const std::string& expression, const re2::RE2::Options& options) : regex(expression, options) {}
  const re2::RE2 regex;
};

Result<LogPattern> LogPattern::Parse(const std::string& expression) {
  re2::RE2::Options options;
  options.set_log_errors(false);
  auto compiled = std::make_shared<const Compiled>(expression, options);
  const re2::RE2& regex = compiled->regex;
  if (regex.ok()) return LogPattern(std::move(compiled));
  const size_t place = expression.find(regex.error_arg());
  const std::string where =
      place == std::string::npos || regex.error_arg().empty() ? "" : StrCat(", from character ", place + 1, " on");
  return Error{ErrorCode::kUsage, StrCat("--grep \"", expression, "\": ", regex.error(), where)};
}

bool LogPattern::IsIn(std::string_view line) const {
  return re2::RE2::PartialMatch(re2::StringPiece(line.data(), line.size()), compiled_->regex);
}

Result<LogOptions> ReadLogOrder(const CommandLine& line, Instant now) {
  TRY(CheckTogether(line));
  LogOptions order = {.json = line.Has("json"), .follow = line.Has("follow"), .timestamps = line.Has("timestamps")};
  TRY_ASSIGN(const auto limit, NumberOption(line, "max-bytes"));
  if (limit || (order.json && !order.follow)) order.limit = static_cast<size_t>(limit.value_or(kDefaultAnswer));
  TRY_ASSIGN(order.lines, NumberOption(line, "tail"));
  TRY_ASSIGN(order.since, TimeOption(line, "since", now));
  if (line.Has("grep")) {
    TRY_ASSIGN(order.pattern, LogPattern::Parse(line.Value("grep")));
  }
  TRY(order.cursor.Set(line.Value("cursor")));
  return order;
}

Result<LogChoice> ReadLogChoice(const CommandLine& line, const JobId& job, const JobSpec& spec) {
  LogChoice choice;
  const bool both = line.Has("stdout") == line.Has("stderr");
  choice.standard_output = both || line.Has("stdout");
  choice.standard_error = both || line.Has("stderr");
  for (size_t i = 1; i < line.words().size(); ++i) {
    TRY_ASSIGN(const ChosenTasks chosen, ReadChosen(line.words()[i]));
    TRY(CheckIsThere(chosen, job, spec));
    choice.tasks.push_back(chosen);
  }
  return choice;
}

void LogLines::operator()(const LogText& log) {
  std::string_view rest = log.text;
  while (!rest.empty()) {
    const size_t length = std::min(rest.find('\n'), rest.size() - 1) + 1;
    const uint64_t behind = rest.size() - length;
    Take(log, rest.substr(0, length), log.end - std::min(log.end, behind));
    rest.remove_prefix(length);
  }
}

void LogLines::Take(const LogText& log, std::string_view line, uint64_t end) {
  if (!wishes_.pattern) return Tell(log, line, end);
  auto& [text, reached] = unfinished_[{log.attempt, log.process, std::string(log.stream)}];
  text += line;
  reached = end;
  if (!line.ends_with('\n') && text.size() < kLongestSearched) return;
  const std::string whole = std::exchange(text, "");
  Tell(log, whole, end);
}

void LogLines::Tell(const LogText& log, std::string_view line, uint64_t end) {
  const std::string_view without_end = line.ends_with('\n') ? line.substr(0, line.size() - 1) : line;
  if (wishes_.pattern && !wishes_.pattern->IsIn(without_end)) return;
  LogText told = {log.attempt, log.stream, line, log.process, end};
  if (wishes_.clock)
    told.when = wishes_.clock->TimesTo(log.attempt, {log.stream, log.process}, end, wishes_.now->Now()).At(end);
  sink_(told);
}

void LogLines::Finish() {
  for (const auto& [id, rest] : std::exchange(unfinished_, {})) {
    const auto& [attempt, process, stream] = id;
    if (!rest.first.empty()) Tell({attempt, stream, rest.first, process}, rest.first, rest.second);
  }
}

void LastLinesPerStream::Take(const LogText& log) {
  Stream& stream = StreamOf(log);
  stream.bytes += log.text.size();
  if (!stream.lines.empty() && !stream.lines.back().text.ends_with('\n')) {
    stream.lines.back().text += log.text;
    stream.lines.back().end = log.end;
    return;
  }
  stream.lines.push_back({std::string(log.text), log.end, log.when});
  while (stream.lines.size() > lines_) DropFirst(stream);
}

LastLinesPerStream::Stream& LastLinesPerStream::StreamOf(const LogText& log) {
  const auto is_it = [&](const Stream& known) {
    return known.attempt == log.attempt && known.process == log.process && known.name == log.stream;
  };
  // The newest stream is checked first, because the next text mostly belongs to it.
  const auto found = std::find_if(streams_.rbegin(), streams_.rend(), is_it);
  if (found != streams_.rend()) return *found;
  return streams_.emplace_back(Stream{log.attempt, std::string(log.stream), log.process, {}, 0});
}

void LastLinesPerStream::DropFirst(Stream& stream) {
  stream.bytes -= stream.lines.front().text.size();
  stream.lines.pop_front();
}

void LastLinesPerStream::CutTo(size_t bytes) {
  size_t total = 0;
  for (const Stream& stream : streams_) total += stream.bytes;
  while (total > bytes) {
    Stream& most = *std::ranges::max_element(streams_, {}, &Stream::bytes);
    total -= most.lines.front().text.size();
    DropFirst(most);
  }
}

void LastLinesPerStream::TellAll(const LogLines::Sink& sink) const {
  for (const Stream& stream : streams_)
    for (const Line& line : stream.lines)
      sink({stream.attempt, stream.name, line.text, stream.process, line.end, line.when});
}

bool JobHasEnded(const JobRecords& records) {
  const auto status = StoredStatus(records);
  return status.ok() && HasEnded(*status);
}

LogSession::LogSession(JobRecords records, const LogSource& logs, LogChoice choice, LogOptions order)
    : records_(std::move(records)), logs_(logs), choice_(std::move(choice)), order_(std::move(order)), clock_(logs) {
  if (order_.since) SkipToTime();
}

LineOptions LogSession::Wishes() { return {order_.pattern, order_.timestamps ? &clock_ : nullptr, &now_}; }

bool LogSession::ReadOnce(bool ended, const Sink& sink) {
  LogReader reader(logs_, choice_, order_.cursor);
  LogLines lines(Wishes(), sink);
  const Sink to_lines = Wishes().Any() ? Sink(std::ref(lines)) : sink;
  const bool some_of_them = order_.since || order_.pattern;
  bool all = true;
  if (!order_.lines) {
    all = reader.Read(order_.limit, ended, to_lines);
  } else if (!some_of_them) {
    reader.ReadLastLines(static_cast<uint64_t>(*order_.lines), order_.limit, ended, to_lines);
  } else {
    LastLinesPerStream last(static_cast<size_t>(*order_.lines));
    LogLines chosen(Wishes(), [&](const LogText& log) { last.Take(log); });
    reader.Read(std::numeric_limits<size_t>::max(), ended, std::ref(chosen));
    chosen.Finish();
    last.CutTo(order_.limit);
    last.TellAll(sink);
  }
  lines.Finish();
  return all;
}

void LogSession::Follow(EventLoop& loop, const Sink& sink, const std::function<void()>& flush) {
  if (order_.lines && (order_.since || order_.pattern)) {
    ReadOnce(/*ended=*/false, sink);
    flush();
  } else if (order_.lines) {
    LogReader(logs_, choice_, order_.cursor).GoToLastLines(static_cast<uint64_t>(*order_.lines));
  }
  LogLines lines(Wishes(), sink);
  const Sink to_lines = Wishes().Any() ? Sink(std::ref(lines)) : sink;
  const auto with_flush = [&](const LogText& log) {
    to_lines(log);
    flush();
  };
  LogFollower follower(loop, {logs_, [this] { return JobHasEnded(records_); }}, choice_, order_.cursor, with_flush);
  RunFollower(loop, records_, follower);
  lines.Finish();
  flush();
}

LogCursor LogSession::CursorBehind(const LogText& log) const {
  LogCursor cursor = order_.cursor;
  cursor.Offset(log.attempt, {log.stream, log.process}) = log.end;
  return cursor;
}

// Moves the cursor to the time of --since. An earlier attempt is included if it wrote anything after that time.
void LogSession::SkipToTime() {
  const Instant now = now_.Now();
  std::map<TaskId, int> newest;
  const auto attempts = logs_.Attempts(choice_.OnlyTask());
  for (const AttemptId& attempt : attempts) newest[attempt.task] = attempt.number;
  for (const AttemptId& attempt : attempts) {
    if (!choice_.Has(attempt.task)) continue;
    const int only = choice_.AttemptOf(attempt.task);
    if (only > 0 && only != attempt.number) continue;
    for (const TaskStream& stream : ChosenStreams(logs_, choice_, attempt.task)) {
      const auto log = logs_.Open(attempt, stream.File());
      if (!log) continue;
      const LogTimes& times = clock_.TimesTo(attempt, stream, kAll, now);
      const auto size = static_cast<uint64_t>(std::max<int64_t>(0, log->Size()));
      const uint64_t before = times.Before(*order_.since);
      const bool is_newest = newest[attempt.task] == attempt.number || only > 0;
      if (!is_newest && (before == kAll || !times.changed)) continue;
      if (size > 0 && !times.changed && times.notes.empty())
        Say(StrCat("tony: the times of the lines of ", ToString(attempt), " are unknown, so all its lines are shown"));
      order_.cursor.Offset(attempt, stream) = before >= size ? size : LineBeginAt(*log, before);
    }
  }
}

LogPrinter MakeLogPrinter(const JobSpec& spec, const LogChoice& choice, bool timestamps,
                          std::function<void(std::string_view)> write, int fd) {
  LogStyle style = {.prefixed = WritersOf(spec, choice) > 1,
                    .is_terminal = isatty(fd) == 1,
                    .colour = WantsColour(fd),
                    .timestamps = timestamps};
  for (const RoleSpec& role : spec.roles)
    if (choice.tasks.empty() || std::ranges::count(choice.tasks, role.name, &ChosenTasks::role) > 0)
      style.label_width = std::max(style.label_width, ToString(TaskId{role.name, role.instances - 1}).size());
  return LogPrinter(style, std::move(write));
}

LogsWhileWaiting::LogsWhileWaiting(const JobRecords& records, LogChoice choice, int fd, int errors_fd)
    : records_(records), choice_(std::move(choice)), fd_(fd), errors_fd_(errors_fd), thread_([this] {
        const Status shown = Show();
        if (!shown.ok()) Say(StrCat("tony: no logs are shown: ", shown.error().message));
      }) {}

Status LogsWhileWaiting::Show() {
  TRY_ASSIGN(const JobSpec spec, records_.ReadSpec());
  TRY_ASSIGN(const auto logs, BackendOf(records_.job()).logs().LogsOf(records_));
  const auto printer_to = [&](int fd) {
    return MakeLogPrinter(
        spec, choice_, /*timestamps=*/false, [fd](std::string_view text) { PrintAsIs(text, fd); }, fd);
  };
  LogPrinter output = printer_to(fd_), errors = printer_to(errors_fd_);
  LogSession session(records_, *logs, choice_, {});
  const bool splits = fd_ != errors_fd_;
  session.Follow(
      loop_, [&](const LogText& log) { splits&& log.stream == "stderr" ? errors(log) : output(log); }, [] {});
  output.Finish();
  errors.Finish();
  return Ok();
}

void LogsWhileWaiting::End(bool stop) {
  if (!thread_.joinable()) return;
  if (stop) loop_.Post([this] { loop_.Stop(); });
  thread_.join();
}

}  // namespace tony
