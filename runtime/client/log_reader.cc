#include "runtime/client/log_reader.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <system_error>

#include "runtime/base/strings.h"
#include "runtime/base/unique_fd.h"

namespace tony {
namespace {

constexpr size_t kChunk = 64 * 1024;

std::vector<std::string> FolderNames(const std::filesystem::path& folder) {
  std::vector<std::string> names;
  std::error_code error;
  for (std::filesystem::directory_iterator entry(folder, error), end; !error && entry != end; entry.increment(error))
    names.push_back(entry->path().filename().string());
  return names;
}

// "worker-3", what FolderName() made of worker:3.
std::optional<TaskId> TaskOfFolder(const std::string& name) {
  const size_t dash = name.rfind('-');
  if (dash == std::string::npos) return {};
  const auto task = ParseTaskId(StrCat(name.substr(0, dash), ":", name.substr(dash + 1)));
  return task.ok() ? std::optional(*task) : std::nullopt;
}

// Length of the part of `text` that ends between two characters of UTF-8, for text cut at an arbitrary byte.
size_t WholeCharacters(std::string_view text) {
  constexpr size_t kLongestCharacter = 4;
  for (size_t back = 1; back <= std::min(kLongestCharacter, text.size()); ++back) {
    const auto byte = static_cast<unsigned char>(text[text.size() - back]);
    if ((byte & 0xC0) == 0x80) continue;  // within a character
    const size_t length = byte < 0xC0 ? 1 : byte < 0xE0 ? 2 : byte < 0xF0 ? 3 : 4;
    return back < length && back < text.size() ? text.size() - back : text.size();
  }
  return text.size();
}

// How much of a reading may be handed out.
size_t Ready(std::string_view text, bool full, bool last) {
  const size_t line_end = text.rfind('\n');
  if (last && !full) return text.size();
  if (line_end != std::string_view::npos) return line_end + 1;
  return full ? WholeCharacters(text) : 0;
}

}  // namespace

Status LogReader::SetCursor(const std::string& cursor) {
  for (const std::string& part : Split(cursor, ',')) {
    const size_t equals = part.rfind('=');
    const auto offset = equals == std::string::npos ? std::nullopt : ParseInt(part.substr(equals + 1));
    if (!offset || *offset < 0)
      return Error{ErrorCode::kUsage, StrCat("--cursor \"", cursor, "\": expected a cursor from an earlier answer")};
    offsets_[part.substr(0, equals)] = static_cast<uint64_t>(*offset);
  }
  return Ok();
}

std::string LogReader::Cursor() const {
  std::vector<std::string> parts;
  for (const auto& [stream, offset] : offsets_) parts.push_back(StrCat(stream, "=", offset));
  return Join(parts, ",");
}

std::vector<AttemptId> LogReader::Attempts() const {
  std::vector<AttemptId> attempts;
  for (const std::string& name : FolderNames(folder_.path() / "logs")) {
    const auto task = TaskOfFolder(name);
    if (!task || (choice_.task && *choice_.task != *task)) continue;
    int newest = 0;
    for (const std::string& number : FolderNames(folder_.path() / "logs" / name))
      newest = std::max(newest, static_cast<int>(ParseInt(number).value_or(0)));
    if (newest == 0) continue;
    if (choice_.attempt > 0) attempts.push_back({*task, choice_.attempt});
    // What an attempt wrote after the last reading must not be lost because another has begun.
    for (int number = OldestBegun(*task, newest); choice_.attempt == 0 && number <= newest; ++number)
      attempts.push_back({*task, number});
  }
  std::ranges::sort(attempts);
  return attempts;
}

int LogReader::OldestBegun(const TaskId& task, int newest) const {
  int oldest = newest;
  const std::string prefix = ToString(task) + "#";
  for (auto entry = offsets_.lower_bound(prefix); entry != offsets_.end() && entry->first.starts_with(prefix);
       ++entry) {
    const std::string_view rest = std::string_view(entry->first).substr(prefix.size());
    oldest = std::min(oldest, static_cast<int>(ParseInt(rest.substr(0, rest.find('/'))).value_or(newest)));
  }
  return oldest;
}

bool LogReader::Read(size_t limit, bool last, const std::function<void(const LogText&)>& sink) {
  Budget budget = {limit, false};
  const std::vector<AttemptId> attempts = Attempts();
  for (size_t i = 0; i < attempts.size(); ++i) {
    const bool ended = last || (i + 1 < attempts.size() && attempts[i + 1].task == attempts[i].task);
    if (choice_.standard_output && !ReadStream(attempts[i], "stdout", budget, ended, sink)) return false;
    if (choice_.standard_error && !ReadStream(attempts[i], "stderr", budget, ended, sink)) return false;
  }
  return true;
}

bool LogReader::ReadStream(const AttemptId& attempt, std::string_view stream, Budget& budget, bool last,
                           const std::function<void(const LogText&)>& sink) {
  const UniqueFd file(open((folder_.LogFolder(attempt) / stream).c_str(), O_RDONLY | O_CLOEXEC));
  if (!file.valid()) return true;
  uint64_t& offset = offsets_[StrCat(ToString(attempt), "/", stream)];
  std::string chunk;
  while (true) {
    const size_t wanted = std::min(kChunk, budget.left);
    chunk.resize(std::max<size_t>(wanted, 1));  // at least one byte: is there more?
    const ssize_t got = pread(file.get(), chunk.data(), chunk.size(), static_cast<off_t>(offset));
    if (got <= 0) return true;
    if (wanted == 0) return false;
    const bool full = static_cast<size_t>(got) == wanted;
    const std::string_view text(chunk.data(), static_cast<size_t>(got));
    const bool line_fits = !full || wanted == kChunk || text.find('\n') != std::string_view::npos;
    if (!line_fits && budget.used) return false;  // the next answer begins with that line
    const size_t ready = Ready(text, full, last);
    if (ready == 0) return true;
    offset += ready;  // before it is handed out: the receiver may want a cursor behind it
    budget.left -= ready;
    budget.used = true;
    sink({attempt, stream, text.substr(0, ready)});
    if (!full) return true;
  }
}

}  // namespace tony
