#include "runtime/base/strings.h"

#include <algorithm>
#include <cctype>
#include <charconv>
#include <cstring>

namespace tony {

std::vector<std::string> Split(std::string_view text, char separator) {
  std::vector<std::string> pieces;
  if (text.empty()) return pieces;
  for (;;) {
    const size_t end = text.find(separator);
    pieces.emplace_back(text.substr(0, end));
    if (end == std::string_view::npos) return pieces;
    text.remove_prefix(end + 1);
  }
}

std::vector<std::string> SplitAtAny(std::string_view text, std::string_view separators) {
  std::vector<std::string> words;
  for (size_t begin = 0; (begin = text.find_first_not_of(separators, begin)) != text.npos;) {
    const size_t end = std::min(text.find_first_of(separators, begin), text.size());
    words.emplace_back(text.substr(begin, end - begin));
    begin = end;
  }
  return words;
}

std::string_view Trim(std::string_view text) {
  constexpr std::string_view kBlank = " \t\r\n\f\v";
  const size_t first = text.find_first_not_of(kBlank);
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(kBlank) - first + 1);
}

std::string ToLower(std::string_view text) {
  std::string lower(text);
  std::ranges::transform(lower, lower.begin(), [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return lower;
}

std::string Join(const std::vector<std::string>& pieces, std::string_view separator) {
  std::string out;
  for (const auto& piece : pieces) {
    if (&piece != &pieces.front()) out.append(separator);
    out.append(piece);
  }
  return out;
}

std::optional<int64_t> ParseInt(std::string_view text) {
  int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || text.empty()) return std::nullopt;
  return value;
}

std::string Counted(int64_t count, std::string_view noun) { return StrCat(count, " ", noun, count == 1 ? "" : "s"); }

std::string ToHex(std::string_view bytes) {
  constexpr char kDigits[] = "0123456789abcdef";
  std::string text;
  text.reserve(2 * bytes.size());
  for (const unsigned char byte : bytes) text.append({kDigits[byte >> 4], kDigits[byte & 15]});
  return text;
}

std::string ErrnoText(int error) {
  std::string text = std::strerror(error);
  if (!text.empty()) text[0] = static_cast<char>(std::tolower(static_cast<unsigned char>(text[0])));
  return text;
}

std::string ShellWord(std::string_view text) {
  constexpr std::string_view kPlain = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-+=./:,@%";
  if (!text.empty() && text.find_first_not_of(kPlain) == std::string_view::npos) return std::string(text);
  std::string quoted = "'";
  for (const char c : text) c == '\'' ? quoted += R"('\'')" : quoted += c;
  return quoted + "'";
}

namespace {

bool InRange(std::string_view text, size_t at, unsigned char low, unsigned char high) {
  if (at >= text.size()) return false;
  const auto byte = static_cast<unsigned char>(text[at]);
  return byte >= low && byte <= high;
}

bool Continues(std::string_view text, size_t at) { return InRange(text, at, 0x80, 0xBF); }

// Returns the length of the character at `at`; 0 if the bytes are not a character. The narrower ranges of second bytes
// are from RFC 3629's table.
size_t CharacterLength(std::string_view text, size_t at) {
  const auto first = static_cast<unsigned char>(text[at]);
  if (first < 0x80) return 1;
  if (first >= 0xC2 && first <= 0xDF) return Continues(text, at + 1) ? 2 : 0;
  if (first >= 0xE0 && first <= 0xEF) {
    const bool second = InRange(text, at + 1, first == 0xE0 ? 0xA0 : 0x80, first == 0xED ? 0x9F : 0xBF);
    return second && Continues(text, at + 2) ? 3 : 0;
  }
  if (first >= 0xF0 && first <= 0xF4) {
    const bool second = InRange(text, at + 1, first == 0xF0 ? 0x90 : 0x80, first == 0xF4 ? 0x8F : 0xBF);
    return second && Continues(text, at + 2) && Continues(text, at + 3) ? 4 : 0;
  }
  return 0;
}

}  // namespace

size_t ValidUtf8Prefix(std::string_view text) {
  size_t at = 0;
  while (at < text.size()) {
    const size_t length = CharacterLength(text, at);
    if (length == 0) return at;
    at += length;
  }
  return at;
}

std::string FirstLine(std::string_view text) {
  // This is enough for a reason, and too short for a stack trace.
  constexpr size_t kLongest = 1000;
  std::string line(text.substr(0, std::min(text.find('\n'), kLongest)));
  line.resize(ValidUtf8Prefix(line));
  std::erase_if(line, [](unsigned char c) { return c < ' ' || c == 0x7f; });
  return std::string(Trim(line));
}

std::string ReplaceInvalidUtf8(std::string_view text) {
  std::string out;
  while (!text.empty()) {
    const size_t valid = ValidUtf8Prefix(text);
    out.append(text.substr(0, valid));
    text.remove_prefix(valid);
    if (text.empty()) return out;
    out.append("\xEF\xBF\xBD");
    text.remove_prefix(1);
  }
  return out;
}

std::string Utf8FromLatin1(std::string_view text) {
  std::string out;
  for (const char byte : text) AppendUtf8(out, static_cast<unsigned char>(byte));
  return out;
}

std::optional<std::string> Latin1FromUtf8(std::string_view text) {
  std::string out;
  for (size_t at = 0; at < text.size(); ++at) {
    const auto lead = static_cast<unsigned char>(text[at]);
    if (lead > 0xC3) return std::nullopt;
    if (lead < 0x80) {
      out += text[at];
    } else {
      out += static_cast<char>((lead & 0x03) << 6 | (static_cast<unsigned char>(text[++at]) & 0x3F));
    }
  }
  return out;
}

void AppendUtf8(std::string& out, uint32_t c) {
  const auto put = [&out](uint32_t byte) { out.push_back(static_cast<char>(byte)); };
  if (c < 0x80) return put(c);
  if (c < 0x800) {
    put(0xC0 | c >> 6);
  } else {
    if (c < 0x10000) {
      put(0xE0 | c >> 12);
    } else {
      put(0xF0 | c >> 18);
      put(0x80 | (c >> 12 & 0x3F));
    }
    put(0x80 | (c >> 6 & 0x3F));
  }
  put(0x80 | (c & 0x3F));
}

void AppendJsonString(std::string& out, std::string_view text) {
  if (!IsUtf8(text)) return AppendJsonString(out, ReplaceInvalidUtf8(text));
  constexpr std::string_view kSpecial = "\"\\\b\f\n\r\t", kLetters = "\"\\bfnrt", kDigits = "0123456789abcdef";
  out += '"';
  for (const char c : text) {
    if (const size_t special = kSpecial.find(c); special != std::string_view::npos) {
      out += {'\\', kLetters[special]};
    } else if (static_cast<unsigned char>(c) < 0x20) {
      out += {'\\', 'u', '0', '0', kDigits[c >> 4], kDigits[c & 15]};
    } else {
      out += c;
    }
  }
  out += '"';
}

std::string JsonString(std::string_view text) {
  std::string out;
  AppendJsonString(out, text);
  return out;
}

std::string WithFields(std::string object, const std::map<std::string, std::string>& fields) {
  object.erase(object.rfind('}'));
  for (const auto& [name, value] : fields) {
    const bool first = object.find_last_not_of(" \n") == object.find('{');
    object += StrCat(first ? "" : ",", JsonString(name), ":", value);
  }
  return object + "}";
}

}  // namespace tony
