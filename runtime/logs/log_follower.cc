#include "runtime/logs/log_follower.h"

#include <algorithm>

#include "runtime/base/strings.h"
#include "runtime/logs/log_source.h"

namespace tony {
namespace {

// The size of one read in bytes. It is large enough to read more than a gigabyte a second, and small enough that a
// thousand tasks take turns within 200 ms.
constexpr size_t kReadSize = 256 * 1024;
constexpr size_t kLongestPiece = 1 << 20;
constexpr Duration kLinePatience{1000};
constexpr Duration kLineLook{250};
constexpr Duration kBlindLook{100};

}  // namespace

LogFollower::LogFollower(EventLoop& loop, Job job, LogChoice choice, LogCursor& cursor, Sink sink)
    : loop_(loop),
      job_(std::move(job)),
      choice_(std::move(choice)),
      cursor_(cursor),
      sink_(std::move(sink)),
      buffer_(kLongestPiece + kReadSize, '\0') {}

void LogFollower::Start(EventLoop::Callback done) {
  done_ = std::move(done);
  // An attempt before a task's newest attempt is followed only if the cursor has an offset of that attempt.
  for (const AttemptId& id : ChosenAttempts(job_.logs, choice_, cursor_)) oldest_.emplace(id.task, id.number);
  watch_ =
      job_.logs.Watch(loop_, choice_.OnlyTask(),
                      {.on_attempt = [this](const AttemptId& id) { AddAttempt(id); },
                       .on_written = [this](const AttemptId& id, const std::string& stream) { OnWritten(id, stream); },
                       .on_ended = [this](const AttemptId& id) { OnEnded(id); },
                       .on_status = [this] { CheckJobEnd(); },
                       .on_missed = [this] { OnMissed(); }});
  watch_->Look();
  CheckJobEnd();
  LookAgainIfBlind();
}

void LogFollower::AddAttempt(const AttemptId& id) {
  if (!choice_.Has(id.task)) return;
  const auto oldest = oldest_.try_emplace(id.task, id.number).first;
  const int only = choice_.AttemptOf(id.task);
  if (only > 0 ? only != id.number : id.number < oldest->second) return;
  Task& task = tasks_[id.task];
  Attempt attempt = {.id = id};
  for (const TaskStream& stream : ChosenStreams(job_.logs, choice_, id.task)) {
    uint64_t* const offset = &cursor_.Offset(id, stream);
    attempt.streams.push_back({.of_task = stream, .file = stream.File(), .offset = offset, .searched = *offset});
  }
  task.attempts.emplace(id.number, std::move(attempt));
  // Earlier attempts count as ended, even if their end has not been reported yet.
  for (auto& [number, earlier] : task.attempts) earlier.ended = earlier.ended || number < id.number;
  Queue(task);
}

LogFollower::Attempt* LogFollower::Find(const AttemptId& id) {
  const auto task = tasks_.find(id.task);
  if (task == tasks_.end()) return nullptr;
  const auto attempt = task->second.attempts.find(id.number);
  return attempt == task->second.attempts.end() ? nullptr : &attempt->second;
}

void LogFollower::OnWritten(const AttemptId& id, const std::string& stream_name) {
  Attempt* const attempt = Find(id);
  if (!attempt) return;
  const auto stream = std::ranges::find(attempt->streams, stream_name, &Stream::file);
  if (stream == attempt->streams.end()) return;
  stream->grown = true;
  Queue(tasks_.at(id.task));
}

void LogFollower::OnEnded(const AttemptId& id) {
  Attempt* const attempt = Find(id);
  if (!attempt) return;
  attempt->ended = true;
  Queue(tasks_.at(id.task));
}

void LogFollower::OnMissed() {
  ReadAllStreams();
  LookAgainIfBlind();
}

// Checks first whether the job has ended, and then reads its logs, because the logs are complete after the end.
void LogFollower::CheckJobEnd() {
  if (ended_) return;
  if (!job_.has_ended()) return;
  ended_ = true;
  watch_->Look();
  ReadAllStreams();
}

void LogFollower::ReadAllStreams() {
  for (auto& [id, task] : tasks_) {
    for (auto& [number, attempt] : task.attempts) {
      attempt.ended = attempt.ended || ended_;
      for (Stream& stream : attempt.streams) stream.grown = true;
    }
    Queue(task);
  }
  if (ended_ && queue_.empty()) loop_.Post(done_);
}

// Checks again later, because a blind watch may report neither the first attempt nor the end of the job.
void LogFollower::LookAgainIfBlind() {
  if (ended_ || blindness_ || !watch_->is_blind()) return;
  blindness_ = loop_.After(kBlindLook, [this] { CheckWhileBlind(); });
}

void LogFollower::CheckWhileBlind() {
  blindness_ = nullptr;
  watch_->Look();
  CheckJobEnd();
  if (!ended_) ReadAllStreams();
  LookAgainIfBlind();
}

// A timer checks unfinished lines, because no event reports that a line has waited long enough for its end.
void LogFollower::CheckUnfinishedLines() {
  waiting_ = nullptr;
  for (auto& [id, task] : tasks_) {
    const bool waits = std::ranges::any_of(task.attempts, [](const auto& entry) {
      return std::ranges::any_of(entry.second.streams, [](const Stream& s) { return s.searched > *s.offset; });
    });
    if (!waits) continue;
    Queue(task);
    if (!waiting_) waiting_ = loop_.After(kLineLook, [this] { CheckUnfinishedLines(); });
  }
}

void LogFollower::Queue(Task& task) {
  if (!task.queued) queue_.push_back(&task);
  task.queued = true;
  if (!turn_posted_) loop_.Post([this] { Turn(); });
  turn_posted_ = true;
}

void LogFollower::Turn() {
  turn_posted_ = false;
  for (size_t left = queue_.size(); left > 0; --left) {
    Task& task = *queue_.front();
    queue_.pop_front();
    task.queued = false;
    if (ReadTask(task)) Queue(task);
  }
  if (ended_ && queue_.empty()) loop_.Post(done_);
}

bool LogFollower::ReadTask(Task& task) {
  for (auto& [number, attempt] : task.attempts) {
    bool more = false;
    for (Stream& stream : attempt.streams) more = ReadStream(attempt, stream, attempt.ended) || more;
    // The text of newer attempts is passed on only after all text of this attempt.
    if (more) return true;
  }
  return false;
}

bool LogFollower::ReadStream(const Attempt& attempt, Stream& stream, bool ended) {
  const bool waits = stream.searched > *stream.offset;
  const bool waits_long = waits && (ended || loop_.Now() - stream.waits_since >= kLinePatience);
  if (!stream.grown && !waits_long) return false;
  const auto log = job_.logs.Open(attempt.id, stream.file);
  stream.grown = false;
  if (!log) return false;
  const LogBytes got = log->Read(static_cast<int64_t>(stream.searched), {buffer_.data(), kReadSize});
  if (got.cut == 0 && got.size == 0 && WasEmptied(*log, stream.searched)) {
    stream.searched = *stream.offset = 0;
    stream.grown = true;
    sink_({attempt.id, stream.of_task.name, kEmptiedLine, stream.of_task.process, 0});
    return true;
  }
  if (got.cut > 0) {
    // HandOut() overwrites the buffer, so the text behind the cut is read again.
    TakeCut(*log, attempt, stream, got.cut);
    stream.grown = true;
    return true;
  }
  if (got.size > 0) {
    SearchLineEnd(*log, attempt, stream, {buffer_.data(), got.size});
    stream.grown = stream.grown || got.size == kReadSize || ended;
  }
  if (!stream.grown && (ended || waits_long)) HandOut(*log, attempt, stream, {stream.searched, ended});
  const bool begins_to_wait = stream.searched > *stream.offset;
  if (begins_to_wait && !waiting_) waiting_ = loop_.After(kLineLook, [this] { CheckUnfinishedLines(); });
  return stream.grown;
}

void LogFollower::SearchLineEnd(const LogStream& log, const Attempt& attempt, Stream& stream, std::string_view text) {
  const size_t line_end = text.rfind('\n');
  const bool nothing_waits = stream.searched == *stream.offset;
  const uint64_t begin = stream.searched;
  stream.searched = begin + text.size();
  if (line_end == std::string_view::npos) {
    if (nothing_waits) stream.waits_since = loop_.Now();
    if (stream.searched - *stream.offset >= kLongestPiece) HandOut(log, attempt, stream, {stream.searched, false});
    return;
  }
  stream.waits_since = loop_.Now();
  if (nothing_waits) return Tell(attempt, stream, text.substr(0, line_end + 1));
  HandOut(log, attempt, stream, {begin + line_end + 1, true});
}

void LogFollower::TakeCut(const LogStream& log, const Attempt& attempt, Stream& stream, int64_t bytes) {
  if (!HandOut(log, attempt, stream, {stream.searched, true})) return;
  const std::string line = CutLine(bytes, LineBegins(log, *stream.offset));
  *stream.offset += static_cast<uint64_t>(bytes);
  stream.searched = *stream.offset;
  sink_({attempt.id, stream.of_task.name, line, stream.of_task.process, *stream.offset});
}

// Reads the text from the file again, because the text was too long to keep. If the last line may still grow, an
// incomplete character at its end is not passed on.
bool LogFollower::HandOut(const LogStream& log, const Attempt& attempt, Stream& stream, Piece piece) {
  while (*stream.offset < piece.end) {
    const size_t wanted = std::min<size_t>(buffer_.size(), piece.end - *stream.offset);
    const LogBytes got = log.Read(static_cast<int64_t>(*stream.offset), {buffer_.data(), wanted});
    // The text was cut out meanwhile, and the next read finds the cut.
    if (got.cut > 0 || got.size == 0) {
      stream.searched = *stream.offset;
      stream.grown = true;
      return false;
    }
    const std::string_view text(buffer_.data(), got.size);
    Tell(attempt, stream, piece.is_closed ? text : text.substr(0, WholeCharacters(text)));
    if (!piece.is_closed) return true;
  }
  return true;
}

void LogFollower::Tell(const Attempt& attempt, Stream& stream, std::string_view text) {
  // The offset moves before the sink is called, because the receiver may want a cursor behind the text.
  *stream.offset += text.size();
  sink_({attempt.id, stream.of_task.name, text, stream.of_task.process, *stream.offset});
}

}  // namespace tony
