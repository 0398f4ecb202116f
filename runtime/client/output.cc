#include "runtime/client/output.h"

#include <unistd.h>

#include <boost/json/serialize.hpp>
#include <boost/json/string_view.hpp>
#include <cerrno>
#include <cstdio>

#include "runtime/base/strings.h"

namespace tony {
namespace {

void WriteAll(int fd, std::string_view text) {
  while (!text.empty()) {
    const ssize_t written = write(fd, text.data(), text.size());
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) return;
    text.remove_prefix(static_cast<size_t>(written));
  }
}

// Length of the UTF-8 sequence that `text` starts with; 0 if it starts with none (RFC 3629's table).
size_t SequenceLength(std::string_view text) {
  const auto byte = [&](size_t i) { return i < text.size() ? static_cast<unsigned char>(text[i]) : 0; };
  const auto follows = [&](size_t i, int low = 0x80, int high = 0xBF) { return byte(i) >= low && byte(i) <= high; };
  const int first = byte(0);
  if (first < 0x80) return 1;
  if (first >= 0xC2 && first <= 0xDF) return follows(1) ? 2 : 0;
  if (first >= 0xE0 && first <= 0xEF) {
    const int low = first == 0xE0 ? 0xA0 : 0x80;
    const int high = first == 0xED ? 0x9F : 0xBF;
    return follows(1, low, high) && follows(2) ? 3 : 0;
  }
  if (first >= 0xF0 && first <= 0xF4) {
    const int low = first == 0xF0 ? 0x90 : 0x80;
    const int high = first == 0xF4 ? 0x8F : 0xBF;
    return follows(1, low, high) && follows(2) && follows(3) ? 4 : 0;
  }
  return 0;
}

std::string ValidUtf8(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  while (!text.empty()) {
    const size_t length = SequenceLength(text);
    out.append(length == 0 ? std::string_view("\xEF\xBF\xBD") : text.substr(0, length));
    text.remove_prefix(std::max<size_t>(length, 1));
  }
  return out;
}

}  // namespace

void Print(std::string_view text) { WriteAll(STDOUT_FILENO, text); }

void PrintLine(std::string_view text) { Print(StrCat(text, '\n')); }

void Say(std::string_view line) {
  std::string whole(Trim(line));
  for (char& c : whole) {
    if (c == '\n' || c == '\r') c = ' ';
  }
  WriteAll(STDERR_FILENO, StrCat(whole, '\n'));
}

std::string JsonString(std::string_view text) {
  const std::string valid = ValidUtf8(text);
  return boost::json::serialize(boost::json::string_view(valid.data(), valid.size()));
}

std::string WithFields(std::string object, const std::map<std::string, std::string>& fields) {
  object.erase(object.rfind('}'));
  for (const auto& [name, value] : fields) {
    const bool first = object.find_last_not_of(" \n") == object.find('{');
    object += StrCat(first ? "" : ",", JsonString(name), ":", value);
  }
  return object + "}";
}

std::string HumanDuration(Duration length) {
  const int64_t ms = std::max<int64_t>(0, length.count());
  const int64_t seconds = ms / 1000;
  if (seconds < 60) return StrCat(seconds, ".", ms % 1000 / 100, " s");
  if (seconds < 3600) return StrCat(seconds / 60, " min ", seconds % 60, " s");
  if (seconds < 86400) return StrCat(seconds / 3600, " h ", seconds % 3600 / 60, " min");
  return StrCat(seconds / 86400, " d ", seconds % 86400 / 3600, " h");
}

}  // namespace tony
