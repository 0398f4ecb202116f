#include <optional>

#include "runtime/base/strings.h"
#include "runtime/config/config_text.h"
#include "runtime/config/properties.h"

namespace tony {
namespace {

constexpr std::string_view kBlanks = " \t\f";
constexpr size_t kLongestKey = 60;  // bytes of a key in messages

enum class Lines { kTold, kUntold };  // whether origins name the line

// A line with a key and its value, joined with the lines that continue it.
struct LogicalLine {
  std::string text;  // escapes are still in place
  size_t number = 0;
};

// Cuts a text into logical lines by the rules of java.util.Properties.load().
class LineReader {
 public:
  explicit LineReader(std::string_view text) : rest_(text) {}

  std::optional<LogicalLine> Next() {
    while (!rest_.empty()) {
      std::string_view line = NextNaturalLine();
      const size_t start = line.find_first_not_of(kBlanks);
      if (start == std::string_view::npos || line[start] == '#' || line[start] == '!') continue;
      return Join(line.substr(start));
    }
    return std::nullopt;
  }

 private:
  LogicalLine Join(std::string_view line) {
    LogicalLine joined{"", number_};
    while (ContinuesOnNextLine(line)) {
      joined.text.append(line.substr(0, line.size() - 1));
      if (rest_.empty()) return joined;
      line = NextNaturalLine();
      line.remove_prefix(std::min(line.find_first_not_of(kBlanks), line.size()));
    }
    joined.text.append(line);
    return joined;
  }

  std::string_view NextNaturalLine() {
    ++number_;
    const size_t end = std::min(rest_.find_first_of("\r\n"), rest_.size());
    const std::string_view line = rest_.substr(0, end);
    rest_.remove_prefix(end);
    rest_.remove_prefix(rest_.starts_with("\r\n") ? 2 : std::min<size_t>(1, rest_.size()));
    return line;
  }

  std::string_view rest_;
  size_t number_ = 0;
};

// Undoes the escapes of a key or a value. Java's characters are UTF-16, so two \u escapes may be one character.
class Unescaper {
 public:
  explicit Unescaper(std::string_view text) : rest_(text) {}

  Result<std::string> Run() {
    std::string out;
    while (!rest_.empty()) {
      const char c = Take();
      if (c != '\\' || rest_.empty()) {
        out.push_back(c);
        continue;
      }
      const char escaped = Take();
      if (escaped == 'u') {
        TRY_ASSIGN(const uint32_t character, Character());
        AppendUtf8(out, character);
      } else {
        out.push_back(Plain(escaped));
      }
    }
    return out;
  }

 private:
  char Take() {
    const char c = rest_.front();
    rest_.remove_prefix(1);
    return c;
  }

  static char Plain(char escaped) {
    switch (escaped) {
      case 't':
        return '\t';
      case 'n':
        return '\n';
      case 'r':
        return '\r';
      case 'f':
        return '\f';
      default:
        return escaped;
    }
  }

  Result<uint32_t> Character() {
    TRY_ASSIGN(const uint32_t unit, Unit());
    if (unit == 0) return Error{ErrorCode::kInvalid, "the text contains a NUL character"};
    if (unit < 0xD800 || unit > 0xDFFF) return unit;
    if (unit < 0xDC00 && rest_.starts_with("\\u")) {
      rest_.remove_prefix(2);
      TRY_ASSIGN(const uint32_t low, Unit());
      if (low >= 0xDC00 && low <= 0xDFFF) return 0x10000 + ((unit - 0xD800) << 10) + (low - 0xDC00);
    }
    return Error{ErrorCode::kInvalid, "half of a surrogate pair in \\u escapes"};
  }

  Result<uint32_t> Unit() {
    uint32_t unit = 0;
    for (int i = 0; i < 4; ++i) {
      const int digit = rest_.empty() ? -1 : HexDigit(Take());
      if (digit < 0) return Error{ErrorCode::kInvalid, "malformed \\u escape: expected four hexadecimal digits"};
      unit = unit * 16 + static_cast<uint32_t>(digit);
    }
    return unit;
  }

  static int HexDigit(char c) {
    if (c >= '0' && c <= '9') return c - '0';
    if (c >= 'a' && c <= 'f') return c - 'a' + 10;
    if (c >= 'A' && c <= 'F') return c - 'A' + 10;
    return -1;
  }

  std::string_view rest_;
};

struct RawPair {
  std::string_view key, value;
};

// Splits a line into its key and its value. The key ends at the first blank, '=' or ':' that is not escaped. Blanks
// and one '=' or ':' separate the key from the value.
RawPair SplitPair(std::string_view line) {
  size_t end = 0;
  while (end < line.size() && std::string_view("=: \t\f").find(line[end]) == std::string_view::npos) {
    end += line[end] == '\\' ? 2 : 1;
  }
  end = std::min(end, line.size());
  std::string_view value = line.substr(end);
  const auto skip_blanks = [&value] { value.remove_prefix(std::min(value.find_first_not_of(kBlanks), value.size())); };
  skip_blanks();
  if (value.starts_with('=') || value.starts_with(':')) {
    value.remove_prefix(1);
    skip_blanks();
  }
  return {line.substr(0, end), value};
}

// Returns the place of a pair for messages: the line, or the key as it was written if origins do not name lines.
std::string PlaceOf(const RawPair& pair, const std::string& origin, Lines lines) {
  if (lines == Lines::kTold) return origin;
  return StrCat(origin, ": key ", ReplaceInvalidUtf8(pair.key.substr(0, kLongestKey)));
}

Result<Properties> Parse(std::string_view text, const std::string& name, Lines lines) {
  if (text.starts_with("\xEF\xBB\xBF")) text.remove_prefix(3);  // an editor's byte order mark
  Properties properties;
  LineReader reader(text);
  while (const auto line = reader.Next()) {
    const std::string origin = lines == Lines::kTold ? StrCat(name, ":", line->number) : name;
    const RawPair pair = SplitPair(line->text);
    const auto key = Unescaper(pair.key).Run();
    if (!key.ok()) return Annotate(key.error(), PlaceOf(pair, origin, lines));
    auto value = Unescaper(pair.value).Run();
    if (!value.ok()) return Annotate(value.error(), PlaceOf(pair, origin, lines));
    properties.Set(*key, *std::move(value), origin);
  }
  return properties;
}

// Azkaban reads the bytes of a .job file as ISO-8859-1. If the characters of a value, taken as bytes, are valid UTF-8,
// the value was UTF-8 in the file. Latin-1 text that people write is practically never valid UTF-8 by chance.
void RestoreUtf8(Properties& properties) {
  std::vector<std::pair<std::string, Property>> restored;
  for (const auto& [key, property] : properties.all()) {
    auto bytes = Latin1FromUtf8(property.value);
    if (!bytes || *bytes == property.value || !IsUtf8(*bytes)) continue;
    restored.emplace_back(key, Property{*std::move(bytes), property.origin});
  }
  std::string keys;
  for (auto& [key, property] : restored) {
    keys += StrCat(keys.empty() ? "" : ", ", key.substr(0, kLongestKey));
    properties.Set(key, std::move(property));
  }
  if (!keys.empty())
    properties.Warn(StrCat(keys,
                           ": Azkaban read this UTF-8 text as ISO-8859-1, and TonY has restored the UTF-8; to avoid "
                           "this warning, write characters beyond ASCII as \\uXXXX in the .job file"));
}

}  // namespace

Result<Properties> ParseJavaProperties(std::string_view text, const std::string& name) {
  TRY(CheckConfigText(text, name));
  return Parse(text, name, Lines::kTold);
}

Result<Properties> ParseStepProperties(std::string_view text, const std::string& name) {
  if (text.find('\0') != text.npos)
    return Error{ErrorCode::kInvalid, StrCat(name, ": the text contains a NUL character")};
  TRY_ASSIGN(Properties properties,
             Parse(IsUtf8(text) ? std::string(text) : Utf8FromLatin1(text), name, Lines::kUntold));
  RestoreUtf8(properties);
  return properties;
}

}  // namespace tony
