#include "runtime/logs/log_times.h"

#include <algorithm>
#include <limits>

#include "runtime/base/strings.h"

namespace tony {
namespace {

constexpr Duration kReadAgain{1000};
constexpr size_t kLongestNote = 2 * 20 + 2;           // two numbers of 64 bits
constexpr int64_t kLatestTime = 253'402'300'799'999;  // with four digits for its year

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

}  // namespace

std::string TimesOf(std::string_view log) { return StrCat(log, ".times"); }

std::string LineOf(const LogNote& note) { return StrCat(ToMillis(note.at), " ", note.size, "\n"); }

std::vector<LogNote> LogNotesIn(std::string_view text) {
  std::vector<LogNote> notes;
  for (size_t end; (end = text.find('\n')) != std::string_view::npos; text.remove_prefix(end + 1)) {
    const auto note = NoteIn(text.substr(0, end));
    if (!note) continue;
    // A log that was emptied began anew.
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

}  // namespace tony
