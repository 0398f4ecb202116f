#include "runtime/logs/log_reader.h"

#include <algorithm>
#include <limits>

#include "runtime/base/strings.h"
#include "runtime/logs/log_source.h"

namespace tony {
namespace {

constexpr Duration kReadAgain{1000};
constexpr size_t kLongestNote = 2 * 20 + 2;           // two 64-bit numbers
constexpr int64_t kLatestTime = 253'402'300'799'999;  // last millisecond of the year 9999

std::optional<LogNote> NoteIn(std::string_view line) {
  const size_t blank = line.find(' ');
  if (blank == std::string_view::npos) return std::nullopt;
  const auto at = ParseInt(line.substr(0, blank)), size = ParseInt(line.substr(blank + 1));
  if (!at || !size || *at < 0 || *at > kLatestTime || *size < 0) return std::nullopt;
  return LogNote{FromMillis(*at), static_cast<uint64_t>(*size)};
}

std::string WholeText(const LogStream& log) {
  std::string text(kMostLogNotes * kLongestNote, '\0');
  size_t size = 0;
  while (size < text.size()) {
    const LogBytes got = log.Read(static_cast<int64_t>(size), {text.data() + size, text.size() - size});
    if (got.cut > 0 || got.size == 0) break;
    size += got.size;
  }
  text.resize(size);
  return text;
}

constexpr size_t kChunk = 64 * 1024;

// Returns the number of bytes of a read that may be passed on.
size_t Ready(std::string_view text, bool full, bool last) {
  const size_t line_end = text.rfind('\n');
  if (last && !full) return text.size();
  if (line_end != std::string_view::npos) return line_end + 1;
  return full ? WholeCharacters(text) : 0;
}

// Returns the maximum number of bytes for each stream, so that all streams together have at most `limit`.
uint64_t EqualShare(std::vector<uint64_t> sizes, const uint64_t limit) {
  std::ranges::sort(sizes);
  uint64_t left = limit;
  for (size_t i = 0; i < sizes.size(); ++i) {
    const uint64_t share = left / (sizes.size() - i);
    if (sizes[i] > share) return share;
    left -= sizes[i];
  }
  return limit;
}

}  // namespace

std::string TimesOf(std::string_view log) { return StrCat(log, ".times"); }

std::string LineOf(const LogNote& note) { return StrCat(ToMillis(note.at), " ", note.size, "\n"); }

std::vector<LogNote> LogNotesIn(std::string_view text) {
  std::vector<LogNote> notes;
  for (size_t end; (end = text.find('\n')) != std::string_view::npos; text.remove_prefix(end + 1)) {
    const auto note = NoteIn(text.substr(0, end));
    if (!note) continue;
    // If a log was emptied, its size began at 0 again. Earlier notes of larger sizes are therefore dropped.
    while (!notes.empty() && notes.back().size >= note->size) notes.pop_back();
    notes.push_back(*note);
  }
  return notes;
}

std::vector<LogNote> ThinnedOut(const std::vector<LogNote>& notes) {
  const size_t older = notes.size() / 4 * 3;
  std::vector<LogNote> kept;
  for (size_t i = 0; i < notes.size(); ++i)
    if (i >= older || i % 2 == 1) kept.push_back(notes[i]);
  return kept;
}

std::optional<Instant> LogTimes::At(uint64_t end) const {
  const auto seen = std::ranges::lower_bound(notes, end, {}, &LogNote::size);
  return seen == notes.end() ? changed : std::optional(seen->at);
}

uint64_t LogTimes::Before(Instant since) const {
  if (changed && *changed < since) return std::numeric_limits<uint64_t>::max();
  uint64_t before = 0;
  for (const LogNote& note : notes)
    if (note.at < since) before = note.size;
  return before;
}

const LogTimes& LogClock::TimesTo(const AttemptId& attempt, const TaskStream& stream, uint64_t end, Instant now) {
  Known& known = known_[{attempt, stream.File()}];
  const uint64_t covered = known.times.notes.empty() ? 0 : known.times.notes.back().size;
  if (known.read && end <= covered) return known.times;
  const auto log = logs_.Open(attempt, stream.File());
  known.times.changed = log ? log->Changed() : std::nullopt;
  if (known.read && now - *known.read < kReadAgain) return known.times;
  known.read = now;
  if (const auto notes = logs_.Open(attempt, TimesOf(stream.File()))) known.times.notes = LogNotesIn(WholeText(*notes));
  return known.times;
}

bool LogReader::Read(size_t limit, bool last, const std::function<void(const LogText&)>& sink) {
  Budget budget = {limit, false};
  const std::vector<AttemptId> attempts = ChosenAttempts(logs_, choice_, cursor_);
  for (size_t i = 0; i < attempts.size(); ++i) {
    const bool ended = last || (i + 1 < attempts.size() && attempts[i + 1].task == attempts[i].task);
    for (const TaskStream& stream : ChosenStreams(logs_, choice_, attempts[i].task))
      if (!ReadStream({attempts[i], stream}, budget, ended, sink)) return false;
  }
  return true;
}

void LogReader::ReadLastLines(uint64_t lines, size_t limit, bool last, const Sink& sink) {
  const std::vector<Stream> streams = AllChosen();
  std::vector<uint64_t> sizes;
  for (const Stream& stream : streams) {
    const auto log = Open(stream);
    sizes.push_back(FindLastLines(log.get(), lines, limit, !last).text);
  }
  const uint64_t share = EqualShare(sizes, limit);
  for (const Stream& stream : streams) {
    const auto log = Open(stream);
    const LastLines found = FindLastLines(log.get(), lines, share, !last);
    cursor_.Offset(stream.attempt, stream.of_task) = found.begin;
    Budget budget = {std::numeric_limits<size_t>::max(), false};
    ReadStream(stream, budget, true, sink, found.end);
  }
}

void LogReader::GoToLastLines(uint64_t lines) {
  for (const Stream& stream : AllChosen()) {
    const auto log = Open(stream);
    const LastLines found = FindLastLines(log.get(), lines, std::numeric_limits<uint64_t>::max(), true);
    cursor_.Offset(stream.attempt, stream.of_task) = found.begin;
  }
}

std::vector<LogReader::Stream> LogReader::AllChosen() const {
  std::vector<Stream> streams;
  for (const AttemptId& attempt : ChosenAttempts(logs_, choice_, cursor_))
    for (const TaskStream& stream : ChosenStreams(logs_, choice_, attempt.task)) streams.push_back({attempt, stream});
  return streams;
}

std::unique_ptr<LogStream> LogReader::Open(const Stream& stream) const {
  return logs_.Open(stream.attempt, stream.of_task.File());
}

bool LogReader::ReadStream(const Stream& stream, Budget& budget, bool last, const Sink& sink, uint64_t end) {
  const auto log = Open(stream);
  if (!log) return true;
  const auto& [attempt, of_task] = stream;
  uint64_t& offset = cursor_.Offset(attempt, of_task);
  std::string chunk;
  while (offset < end) {
    const size_t wanted = std::min(kChunk, budget.left);
    // At least one byte is read, because the read shows whether more text exists.
    chunk.resize(std::min(std::max<size_t>(wanted, 1), end - offset));
    LogBytes got = log->Read(static_cast<int64_t>(offset), chunk);
    if (got.cut > 0) {
      if (wanted == 0) return false;
      const std::string line = CutLine(got.cut, LineBegins(*log, offset));
      offset += static_cast<uint64_t>(got.cut);
      sink({attempt, of_task.name, line, of_task.process, offset});
      got.size = std::min(got.size, end - std::min(end, offset));
    }
    if (got.cut == 0 && got.size == 0 && WasEmptied(*log, offset)) {
      if (wanted == 0) return false;
      offset = 0;
      sink({attempt, of_task.name, kEmptiedLine, of_task.process, offset});
      continue;
    }
    if (got.size == 0) return true;
    if (wanted == 0) return false;
    // Text before a cut will not get longer.
    const bool full = got.size == wanted, closed = !full && IsCut(*log, offset + got.size);
    const std::string_view text(chunk.data(), got.size);
    const bool line_fits = !full || wanted == kChunk || text.find('\n') != std::string_view::npos;
    // A line that does not fit into the rest of this answer is left for the next answer.
    if (!line_fits && budget.used) return false;
    const size_t ready = Ready(text, full, last || closed);
    if (ready == 0) return true;
    // The offset moves before the sink is called, because the receiver may want a cursor behind the text.
    offset += ready;
    budget.left -= ready;
    budget.used = true;
    sink({attempt, of_task.name, text.substr(0, ready), of_task.process, offset});
    if (!full && !closed) return true;
  }
  return true;
}

}  // namespace tony
