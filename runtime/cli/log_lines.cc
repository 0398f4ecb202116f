#include "runtime/cli/log_lines.h"

#include <algorithm>

namespace tony {
namespace {

constexpr size_t kLongestSearched = 1 << 20;

}  // namespace

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

void LastOfEach::Take(const LogText& log) {
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

LastOfEach::Stream& LastOfEach::StreamOf(const LogText& log) {
  const auto is_it = [&](const Stream& known) {
    return known.attempt == log.attempt && known.process == log.process && known.name == log.stream;
  };
  // It is most often the newest.
  const auto found = std::find_if(streams_.rbegin(), streams_.rend(), is_it);
  if (found != streams_.rend()) return *found;
  return streams_.emplace_back(Stream{log.attempt, std::string(log.stream), log.process, {}, 0});
}

void LastOfEach::DropFirst(Stream& stream) {
  stream.bytes -= stream.lines.front().text.size();
  stream.lines.pop_front();
}

void LastOfEach::CutTo(size_t bytes) {
  size_t total = 0;
  for (const Stream& stream : streams_) total += stream.bytes;
  while (total > bytes) {
    Stream& most = *std::ranges::max_element(streams_, {}, &Stream::bytes);
    total -= most.lines.front().text.size();
    DropFirst(most);
  }
}

void LastOfEach::TellAll(const LogLines::Sink& sink) const {
  for (const Stream& stream : streams_)
    for (const Line& line : stream.lines)
      sink({stream.attempt, stream.name, line.text, stream.process, line.end, line.when});
}

}  // namespace tony
