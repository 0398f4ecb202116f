#include "runtime/yarn/yarn_log_reader.h"

#include <algorithm>

#include "runtime/base/log.h"
#include "runtime/base/strings.h"
#include "runtime/records/history.h"
#include "runtime/records/journal_format.h"
#include "runtime/records/kept_outputs.h"
#include "runtime/records/last_status.h"
#include "runtime/yarn/container_launch.h"
#include "runtime/yarn/yarn_ends.h"
#include "runtime/yarn/yarn_log_watch.h"

namespace tony {
namespace {

// The number of bytes of text that are kept after a caller has read them. A caller that searches for the end of a line
// reads some of these bytes again.
constexpr size_t kKeptOfRead = 16 << 10;
constexpr size_t kMostExcerpts = 16;

size_t Copy(std::string_view text, std::span<char> buffer) { return text.copy(buffer.data(), buffer.size()); }

// Returns true if the stream is the file with the times of a log (logs/log_reader.h). Many logs have no such file.
bool IsNotes(const std::string& stream) { return stream.ends_with(".times"); }
// Returns true for the output of a task's process.
bool IsOutput(const std::string& stream) { return stream.starts_with("std") && !IsNotes(stream); }

}  // namespace

std::vector<AttemptId> YarnLogReader::Attempts(const std::optional<TaskId>& task) {
  ReadStatus();
  if (!status_) return {};
  std::vector<TaskId> tasks;
  for (const TaskStatus& one : status_->tasks)
    if (!task || *task == one.id) tasks.push_back(one.id);
  Locate(tasks);
  std::vector<AttemptId> attempts;
  for (const auto& [attempt, place] : places_)
    if (!task || *task == attempt.task) attempts.push_back(attempt);
  return attempts;
}

// Requests the status from the AM. Without an AM, reads the last status on record.
void YarnLogReader::ReadStatus() {
  auto asked = has_master_ ? master_.Status() : Result<JobStatus>(Error{});
  if (!asked.ok()) asked = LastStatus(records_);
  if (asked.ok()) Take(*asked);
}

void YarnLogReader::Take(const JobStatus& status) {
  if (status.verdict && has_master_) not_journalled_.clear();
  status_ = status;
  has_master_ = !status.verdict.has_value();
}

const TaskStatus* YarnLogReader::StatusOf(const TaskId& task) const {
  if (!status_) return nullptr;
  const auto found = std::ranges::find(status_->tasks, task, &TaskStatus::id);
  return found == status_->tasks.end() ? nullptr : &*found;
}

void YarnLogReader::Locate(const std::vector<TaskId>& tasks) {
  std::erase_if(places_, [&](const auto& entry) {
    return entry.second != Place::kExecutor && std::ranges::find(tasks, entry.first.task) != tasks.end();
  });
  silent_nodes_.clear();
  std::erase_if(lost_, [&](const LogId& id) { return std::ranges::find(tasks, id.first.task) != tasks.end(); });
  const auto problems = AskExecutors(tasks);
  LookForKept();
  for (const TaskId& task : tasks) {
    for (auto attempt = kept_.lower_bound({task, 0}); attempt != kept_.end() && attempt->task == task; ++attempt)
      places_.emplace(*attempt, Place::kKept);
    const TaskStatus* status = StatusOf(task);
    const AttemptId newest{task, status ? status->attempt : 0};
    if (WasStarted(newest) && !places_.contains(newest)) places_.emplace(newest, PlaceWithoutExecutor(newest));
    if (newest.number > 1) NodeLogsOf(newest);
    for (auto one = node_logs_.lower_bound({task, 0}); one != node_logs_.end() && one->first.task == task; ++one)
      if (one->second.has_run && !places_.contains(one->first))
        places_.emplace(one->first, PlaceWithoutExecutor(one->first));
  }
  for (const auto& [attempt, problem] : problems)
    if (IsLost(attempt)) SayGone(attempt, UnavailableError(problem));
}

// Queries the executors of the tasks. Their answers include earlier attempts, which may have run in the same container.
// Returns the problems with executors that do not answer.
std::map<AttemptId, std::string> YarnLogReader::AskExecutors(const std::vector<TaskId>& tasks) {
  std::map<AttemptId, std::string> problems;
  std::vector<LogWant> wants;
  for (const TaskId& task : tasks) {
    const TaskStatus* status = StatusOf(task);
    const AttemptId newest{task, status ? status->attempt : 0};
    if (WasStarted(newest)) wants.push_back({newest, "stdout", -1});
  }
  for (size_t begin = 0; begin < wants.size() && has_master_; begin += kMostLogWants) {
    const LogQuery query{{wants.begin() + static_cast<std::ptrdiff_t>(begin),
                          wants.begin() + static_cast<std::ptrdiff_t>(std::min(wants.size(), begin + kMostLogWants))}};
    const auto answer = AskMaster(query);
    if (!answer.ok()) break;
    for (const auto& [index, news] : *answer) {
      const AttemptId& attempt = query.wants[static_cast<size_t>(index)].attempt;
      if (!news.problem.empty()) problems[attempt] = news.problem;
      for (const int number : news.attempts) places_[{attempt.task, number}] = Place::kExecutor;
    }
  }
  return problems;
}

// An AM that does not answer is not queried again until a status shows that it is reachable.
Result<LogAnswer> YarnLogReader::AskMaster(const LogQuery& query) {
  auto answer = master_.Read(query);
  if (!answer.ok()) has_master_ = false;
  return answer;
}

void YarnLogReader::LookForKept() {
  if (const auto kept = ListKeptLogs(records_); kept.ok()) kept_.insert(kept->begin(), kept->end());
}

YarnLogReader::Place YarnLogReader::PlaceOf(const AttemptId& attempt) {
  const auto known = places_.find(attempt);
  if (known != places_.end()) return known->second;
  if (!status_) ReadStatus();
  Locate({attempt.task});
  return places_.emplace(attempt, Place::kNowhere).first->second;
}

YarnLogReader::Place YarnLogReader::PlaceWithoutExecutor(const AttemptId& attempt) {
  if (kept_.contains(attempt)) return Place::kKept;
  return NodeLogsOf(attempt) ? Place::kNode : Place::kNowhere;
}

// A first attempt is always the first attempt in its container. The status does not show whether a later attempt is the
// first in its container, and it has no link for attempts that were replaced.
const YarnLogReader::NodeLogs* YarnLogReader::NodeLogsOf(const AttemptId& attempt) {
  const TaskStatus* status = StatusOf(attempt.task);
  const bool is_in_status = status && status->attempt == attempt.number && !status->log_url.empty();
  if (attempt.number == 1 && is_in_status) node_logs_[attempt].link = status->log_url;
  if (!node_logs_.contains(attempt) && !not_journalled_.contains(attempt)) {
    ReadJournal();
    not_journalled_.insert(attempt);
    for (const TaskStatus& one : status_ ? status_->tasks : std::vector<TaskStatus>())
      not_journalled_.insert({one.id, one.attempt});
  }
  const auto found = node_logs_.find(attempt);
  return found == node_logs_.end() || found->second.link.empty() ? nullptr : &found->second;
}

void YarnLogReader::ReadJournal() {
  journal_ = [this]() -> tony::Status {
    TRY_ASSIGN(const auto bytes, records_.ReadJournal());
    if (!bytes) return Ok();
    TRY_ASSIGN(const DecodedJournal decoded, DecodeJournal(*bytes));
    for (const AttemptHistory& one : HistoryOf(decoded.decisions, Instant(), Instant()).attempts)
      node_logs_[one.id] = {one.log_url, !one.is_renewed, one.started.has_value()};
    return Ok();
  }();
}

bool YarnLogReader::HasRun(const AttemptId& attempt) const {
  const TaskStatus* status = StatusOf(attempt.task);
  if (status && status->attempt == attempt.number) return status->started.has_value();
  const auto known = node_logs_.find(attempt);
  return known != node_logs_.end() && known->second.has_run;
}

void YarnLogReader::Leave(const AttemptId& attempt, const Error& why) {
  LookForKept();
  const Place place = places_[attempt] = PlaceWithoutExecutor(attempt);
  if (place == Place::kNowhere || IsLost(attempt)) SayGone(attempt, why);
}

// Reports that the executor of the attempt does not serve its logs.
void YarnLogReader::SayGone(const AttemptId& attempt, const Error& why) {
  if (gone_.emplace(attempt, why).second && PlaceOf(attempt) == Place::kNode)
    LogWarn(StrCat("the logs of ", ToString(attempt),
                   " are read from the attempt's node, because the executor does not serve them: ", why.message));
}

// Adds advice for the user. The advice names `yarn logs` only for a file in another format, because `yarn logs` reads
// all other files from the same places as this program.
std::string YarnLogReader::WithAdvice(const AttemptId& attempt, const Error& why) {
  const NodeLogs* logs = NodeLogsOf(attempt);
  const std::string& job = records_.job().value;
  if (why.code != ErrorCode::kInvalid || !logs)
    return StrCat(why.message, "; to try again: tony logs ", job, " ", ToString(attempt));
  return StrCat(why.message, "; see \"yarn logs -applicationId ", job, " -containerId ",
                ParseLogLink(logs->link).container, "\"");
}

// Only the first error of an attempt is kept, because it is closest to the cause. An attempt whose program never ran
// has no logs.
void YarnLogReader::NoteUnread(const AttemptId& attempt, const std::string& stream, const Error& why) {
  const auto seen = seen_.find({attempt, stream});
  if (seen != seen_.end() && seen->second.IsWhole()) return;
  if (IsOutput(stream) && HasRun(attempt)) unread_.emplace(attempt, WithAdvice(attempt, why));
}

LogBytes YarnLogReader::Read(const AttemptId& attempt, const std::string& stream, int64_t offset,
                             std::span<char> buffer) {
  if (buffer.empty()) return {};
  Seen& seen = seen_[{attempt, stream}];
  if (offset >= seen.begin && offset < seen.end())
    return {0, Copy(std::string_view(seen.text).substr(static_cast<size_t>(offset - seen.begin)), buffer)};
  if (seen.IsWhole() && offset >= seen.size) return {};
  if (PlaceOf(attempt) == Place::kExecutor) {
    const LogWant want{attempt, stream, offset};
    if (auto news = Ask(want)) {
      unread_.erase(attempt);
      const LogBytes got{news->cut, Copy(news->text, buffer)};
      if (!seen.is_read || offset >= seen.begin) Take(want, *std::move(news));
      return got;
    }
  }
  const LogExcerpt* excerpt = ExcerptOf(attempt, stream);
  return excerpt ? LogOf(*excerpt)->Read(offset, buffer) : LogBytes{};
}

// Requests a piece of a log from its executor, through the AM. Returns nullopt if no executor serves the log any more.
std::optional<LogNews> YarnLogReader::Ask(const LogWant& want) {
  auto answer = has_master_ ? AskMaster({.wants = {want}}) : Result<LogAnswer>(LogAnswer());
  Error why = answer.ok() ? UnavailableError("the job's application master has exited") : answer.error();
  if (answer.ok() && !answer->empty()) {
    LogNews& news = answer->front().second;
    if (news.problem.empty()) return std::move(news);
    why.message = news.problem;
  }
  Leave(want.attempt, why);
  return std::nullopt;
}

// The text may overlap with known text: one call may have been made for a waiting reader, and another call to follow
// the log.
bool YarnLogReader::Take(const LogWant& want, LogNews news) {
  if (!news.problem.empty()) {
    Leave(want.attempt, UnavailableError(news.problem));
    return true;
  }
  Seen& seen = seen_[{want.attempt, want.stream}];
  if (news.is_there) seen.size = news.size;
  seen.ended = news.ended;
  const int64_t begin = want.offset + news.cut;
  const int64_t known = seen.is_read ? seen.end() : -1;
  seen.is_read = true;
  if (begin > known) {
    seen.begin = begin;
    seen.text = std::move(news.text);
    return begin > want.offset || !seen.text.empty();
  }
  if (begin + static_cast<int64_t>(news.text.size()) <= known) return false;
  const size_t gone = seen.text.size() - std::min(seen.text.size(), kKeptOfRead);
  seen.text.erase(0, gone);
  seen.begin += static_cast<int64_t>(gone);
  seen.text.append(news.text, static_cast<size_t>(known - begin));
  return true;
}

std::vector<LogWant> YarnLogReader::NextRequests() const {
  std::vector<LogWant> wants;
  for (const auto& [id, seen] : seen_) {
    if (IsWithExecutor(id.first) && seen.is_read && !seen.IsWhole()) wants.push_back({id.first, id.second, seen.end()});
  }
  return wants;
}

bool YarnLogReader::IsOver(const AttemptId& attempt) const {
  for (auto log = seen_.lower_bound({attempt, ""}); log != seen_.end() && log->first.first == attempt; ++log)
    if (!log->second.IsWhole()) return false;
  return true;
}

bool YarnLogReader::WasStarted(const AttemptId& attempt) const {
  const TaskStatus* status = StatusOf(attempt.task);
  if (!status || status->attempt != attempt.number) return false;
  constexpr std::string_view kBefore[] = {"", "new", "requested", "allocated", "launching"};
  return attempt.number > 0 && std::ranges::find(kBefore, status->attempt_state) == std::end(kBefore);
}

bool YarnLogReader::IsWithExecutor(const AttemptId& attempt) const {
  const auto place = places_.find(attempt);
  return place != places_.end() && place->second == Place::kExecutor;
}

bool YarnLogReader::IsLost(const AttemptId& attempt) const {
  const TaskStatus* status = StatusOf(attempt.task);
  return !IsWithExecutor(attempt) && has_master_ && status && !status->ended && status->attempt == attempt.number;
}

Error YarnLogReader::WhyNowhere(const AttemptId& attempt) const {
  const auto gone = gone_.find(attempt);
  if (gone != gone_.end()) return gone->second;
  return journal_.ok() ? NotFoundError("the logs are no longer available") : journal_.error();
}

const LogExcerpt* YarnLogReader::ExcerptOf(const AttemptId& attempt, const std::string& stream) {
  const LogId id{attempt, stream};
  const auto known = excerpts_.find(id);
  if (known != excerpts_.end()) return &known->second;
  const Place place = PlaceOf(attempt);
  if (place == Place::kExecutor || lost_.contains(id)) return nullptr;
  auto log = place == Place::kNowhere ? Result<LogExcerpt>(WhyNowhere(attempt)) : Fetch(attempt, stream);
  if (!log.ok()) {
    lost_.insert(id);
    NoteUnread(attempt, stream, log.error());
    return nullptr;
  }
  if (excerpts_.size() >= kMostExcerpts) excerpts_.clear();
  return &(excerpts_[id] = *std::move(log));
}

Result<LogExcerpt> YarnLogReader::FetchFromNode(const AttemptId& attempt, const std::string& stream) {
  const NodeLogs* logs = NodeLogsOf(attempt);
  if (!logs) return NotFoundError("the attempt's node is not known");
  const std::string name = NameInContainer(stream, attempt, logs->is_first);
  const std::string node = ParseLogLink(logs->link).node;
  auto log = silent_nodes_.contains(node) ? Result<LogExcerpt>(UnavailableError(node, " does not answer"))
                                          : FetchNodeLog(logs->link, name, find_trust_);
  if (!log.ok() && log.error().code == ErrorCode::kUnavailable) silent_nodes_.insert(node);
  // The job may have ended without this reader having noticed, and a node removes the logs that it has moved.
  const bool may_be_moved = !log.ok() && (!has_master_ || log.error().code == ErrorCode::kNotFound);
  if (may_be_moved) log = Annotate(fetch_moved_(logs->link, name), log.error().message);
  if (log.ok()) log->stream = stream;
  return log;
}

// If a process of a task failed, the AM keeps excerpts only of that process. The logs of the task's other processes are
// still on the node.
Result<LogExcerpt> YarnLogReader::Fetch(const AttemptId& attempt, const std::string& stream) {
  const LogExcerpt empty{.stream = stream};
  if (PlaceOf(attempt) == Place::kNode) {
    auto log = FetchFromNode(attempt, stream);
    return log.ok() || !IsNotes(stream) ? log : empty;
  }
  TRY_ASSIGN(auto kept, ReadKeptLogs(records_, attempt));
  if (!kept) return NotFoundError("the logs were removed");
  const auto found = std::ranges::find(*kept, stream, &LogExcerpt::stream);
  if (found != kept->end()) return std::move(*found);
  return IsOutput(stream) ? FetchFromNode(attempt, stream) : empty;
}

std::vector<LogPart> YarnLogReader::Parts(const AttemptId& attempt, const std::string& stream) {
  std::vector<LogPart> parts;
  if (PlaceOf(attempt) == Place::kExecutor) {
    if (const auto news = Ask({attempt, stream, -1})) {
      for (const LogSpan& part : news->parts)
        parts.push_back({static_cast<uint64_t>(part.begin), static_cast<uint64_t>(part.end)});
      return parts;
    }
  }
  const LogExcerpt* excerpt = ExcerptOf(attempt, stream);
  return excerpt ? LogOf(*excerpt)->Parts() : parts;
}

std::optional<LogFile> YarnLogReader::Look(const AttemptId& attempt, const std::string& stream) {
  if (PlaceOf(attempt) == Place::kExecutor) {
    if (const auto news = Ask({attempt, stream, -1}))
      return news->is_there ? std::optional(LogFile{news->size, news->changed}) : std::nullopt;
  }
  const LogExcerpt* excerpt = ExcerptOf(attempt, stream);
  return excerpt ? std::optional(LogFile{.size = excerpt->size}) : std::nullopt;
}

int YarnLogReader::Processes(const TaskId& task) {
  if (!spec_) {
    if (auto spec = records_.ReadSpec(); spec.ok()) spec_ = *std::move(spec);
  }
  return spec_ ? spec_->ProcessesOf(task.role) : 1;
}

namespace {

class YarnLog : public LogStream {
 public:
  YarnLog(YarnLogReader& reader, AttemptId attempt, std::string_view stream)
      : reader_(reader), attempt_(std::move(attempt)), stream_(stream) {}
  LogBytes Read(int64_t offset, std::span<char> buffer) const override {
    return reader_.Read(attempt_, stream_, offset, buffer);
  }
  std::vector<LogPart> Parts() const override { return reader_.Parts(attempt_, stream_); }
  int64_t Size() const override {
    const auto file = reader_.Look(attempt_, stream_);
    return file ? file->size : 0;
  }
  std::optional<Instant> Changed() const override {
    const auto file = reader_.Look(attempt_, stream_);
    return file && file->changed != Instant() ? std::optional(file->changed) : std::nullopt;
  }

 private:
  YarnLogReader& reader_;
  const AttemptId attempt_;
  const std::string stream_;
};

class YarnLogs : public LogSource {
 public:
  YarnLogs(JobRecords records, FindMaster find, YarnLogReader::FetchMoved fetch_moved, FindTrust find_trust)
      : reader_(std::make_unique<YarnLogReader>(std::move(records), std::move(find), std::move(fetch_moved),
                                                std::move(find_trust))) {}

  std::vector<AttemptId> Attempts(const std::optional<TaskId>& task) const override { return reader_->Attempts(task); }
  std::unique_ptr<LogStream> Open(const AttemptId& attempt, std::string_view stream) const override {
    return std::make_unique<YarnLog>(*reader_, attempt, stream);
  }
  int Processes(const TaskId& task) const override { return reader_->Processes(task); }
  Status Unread() const override { return reader_->Unread(); }
  std::optional<Files> List(const AttemptId& attempt) const override {
    Files files;
    for (const std::string& name : LogNames(Processes(attempt.task))) files.push_back(reader_->Look(attempt, name));
    const bool any = std::ranges::any_of(files, [](const auto& file) { return file.has_value(); });
    return any ? std::optional(std::move(files)) : std::nullopt;
  }
  std::unique_ptr<LogWatch> Watch(EventLoop& loop, const std::optional<TaskId>& task,
                                  LogWatchSink sink) const override {
    return std::make_unique<YarnLogWatch>(loop, *reader_, task, std::move(sink));
  }

 private:
  const std::unique_ptr<YarnLogReader> reader_;
};

}  // namespace

std::unique_ptr<LogSource> MakeYarnLogs(JobRecords records, FindMaster find, FindTrust find_trust) {
  const auto nowhere = [](const std::string&, const std::string&) -> Result<LogExcerpt> {
    return NotFoundError("the job still runs, and nodes move logs only after its end");
  };
  return std::make_unique<YarnLogs>(std::move(records), std::move(find), nowhere, std::move(find_trust));
}

std::unique_ptr<LogSource> MakeYarnLogs(JobRecords records, const Arbiter& arbiter,
                                        YarnLogReader::FetchMoved fetch_moved, FindTrust find_trust) {
  FindMaster find = [records, &arbiter]() -> Result<AmAccess> {
    TRY_ASSIGN(const auto lease, records.ReadLease());
    if (!lease) return UnavailableError("no application master has started yet");
    const auto is_replaced = [records, &arbiter, epoch = lease->epoch] {
      return epoch < arbiter.Look(records).oldest_epoch;
    };
    if (is_replaced()) return UnavailableError("no application master runs now");
    AmAccess way{.am = lease->am.own, .token = "", .tls = {}, .is_replaced = is_replaced};
    TRY_ASSIGN(way.token, records.ReadToken());
    TRY_ASSIGN(way.tls, arbiter.WayToAm(records));
    return way;
  };
  return std::make_unique<YarnLogs>(std::move(records), std::move(find), std::move(fetch_moved), std::move(find_trust));
}

}  // namespace tony
