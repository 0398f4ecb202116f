#include "runtime/client/outputs_json.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdlib>
#include <set>

#include "runtime/base/check.h"
#include "runtime/base/strings.h"
#include "runtime/base/utf8.h"

namespace tony {
namespace {

constexpr int kDeepest = 100;  // what people write has 5; the default of some readers is 32, of others a stack overflow

bool IsDigit(char c) { return c >= '0' && c <= '9'; }
bool IsBlank(char c) { return c == ' ' || c == '\t' || c == '\n' || c == '\r'; }

class Scanner {
 public:
  explicit Scanner(std::string_view text) : text_(text) {}

  Result<std::string> Run() {
    if (const size_t valid = ValidUtf8Prefix(text_); valid != text_.size()) return Bad(valid, "not UTF-8");
    SkipBlanks();
    if (Next() != '{') return Bad(at_, "no JSON object begins here");
    TRY(Value(0));
    SkipBlanks();
    if (at_ != text_.size()) return Bad(at_, "something follows the JSON object");
    return std::move(out_);
  }

  std::vector<OutputMember> TakeMembers() { return std::move(members_); }  // of the outermost object

 private:
  Error Bad(size_t at, std::string_view what) const {
    const auto lines = std::ranges::count(text_.substr(0, at), '\n');
    return {ErrorCode::kInvalid, StrCat("line ", lines + 1, ", offset ", at, ": ", what)};
  }

  // 0 at the end; a zero byte is nowhere allowed, so that one never passes for the other.
  char Next() const { return at_ < text_.size() ? text_[at_] : '\0'; }
  void SkipBlanks() {
    while (at_ < text_.size() && IsBlank(text_[at_])) ++at_;
  }
  void Take() { out_.push_back(text_[at_++]); }
  bool TakeIf(char c) {
    if (Next() != c) return false;
    Take();
    return true;
  }

  Status Value(int depth) {
    if (depth > kDeepest) return Bad(at_, StrCat("nested deeper than ", kDeepest));
    const char first = Next();
    if (first == '{') return Object(depth);
    if (first == '[') return Array(depth);
    if (first == '"') {
      TRY_ASSIGN(last_string_, String());
      return Ok();
    }
    if (first == '-' || IsDigit(first)) return Number();
    for (const std::string_view word : {"true", "false", "null"}) {
      if (!text_.substr(at_).starts_with(word)) continue;
      out_.append(word);
      at_ += word.size();
      return Ok();
    }
    for (const std::string_view word : {"NaN", "Infinity"}) {
      if (text_.substr(at_).starts_with(word)) return Bad(at_, StrCat(word, " is no JSON value"));
    }
    return Bad(at_, at_ == text_.size() ? "it ends where a value is missing" : "expected a value");
  }

  Status Object(int depth) {
    std::set<std::string> names;
    Take();
    SkipBlanks();
    if (TakeIf('}')) return Ok();
    do {
      SkipBlanks();
      const size_t begin = at_;
      if (Next() != '"') return Bad(at_, "expected a name in double quotes");
      TRY_ASSIGN(const std::string name, String());
      if (!names.insert(name).second) return Bad(begin, StrCat("the name \"", name, "\" is there twice"));
      SkipBlanks();
      if (!TakeIf(':')) return Bad(at_, "expected : after the name");
      SkipBlanks();
      const size_t value = out_.size();
      TRY(Value(depth + 1));
      if (depth == 0) members_.push_back({name, MeaningOf(std::string_view(out_).substr(value))});
      SkipBlanks();
    } while (TakeIf(','));
    return TakeIf('}') ? Ok() : Status(Bad(at_, "expected , or } after the member"));
  }

  Status Array(int depth) {
    Take();
    SkipBlanks();
    if (TakeIf(']')) return Ok();
    do {
      SkipBlanks();
      TRY(Value(depth + 1));
      SkipBlanks();
    } while (TakeIf(','));
    return TakeIf(']') ? Ok() : Status(Bad(at_, "expected , or ] after the element"));
  }

  bool TakeDigits() {
    const size_t begin = at_;
    while (IsDigit(Next())) Take();
    return at_ != begin;
  }

  Status Number() {
    const size_t begin = at_;
    const size_t out_begin = out_.size();
    TakeIf('-');
    if (text_.substr(at_).starts_with("Infinity")) return Bad(begin, "-Infinity is no JSON value");
    const bool whole = TakeIf('0') || TakeDigits();
    bool good = whole && !IsDigit(Next());
    if (good && TakeIf('.')) good = TakeDigits();
    if (good && (Next() == 'e' || Next() == 'E')) {
      Take();
      if (!TakeIf('+')) TakeIf('-');
      good = TakeDigits();
    }
    if (!good) return Bad(begin, "expected a number");
    if (!std::isfinite(std::strtod(out_.c_str() + out_begin, nullptr))) return Bad(begin, "a number out of range");
    return Ok();
  }

  // The string's meaning; what was written goes to the output.
  Result<std::string> String() {
    const size_t begin = at_;
    std::string meaning;
    Take();
    while (Next() != '"') {
      const char c = Next();
      if (at_ == text_.size()) return Bad(begin, "a string without its end");
      if (static_cast<unsigned char>(c) < 0x20) return Bad(at_, "a control character in a string");
      if (c != '\\') {
        meaning.push_back(c);
        Take();
        continue;
      }
      TRY(Escape(meaning));
    }
    Take();
    return meaning;
  }

  Status Escape(std::string& meaning) {
    const size_t begin = at_;
    Take();
    constexpr std::string_view kLetters = "\"\\/bfnrt", kMeanings = "\"\\/\b\f\n\r\t";
    if (const size_t which = kLetters.find(Next()); Next() != '\0' && which != std::string_view::npos) {
      meaning.push_back(kMeanings[which]);
      Take();
      return Ok();
    }
    if (Next() != 'u') return Bad(begin, "an unknown escape in a string");
    const int64_t high = CodeUnit();
    if (high < 0) return Bad(begin, "expected \\u and four hexadecimal digits");
    if (high < 0xD800 || high > 0xDFFF) {
      AppendUtf8(meaning, static_cast<uint32_t>(high));
      return Ok();
    }
    const int64_t low = high < 0xDC00 && TakeIf('\\') && Next() == 'u' ? CodeUnit() : -1;
    if (low < 0xDC00 || low > 0xDFFF) return Bad(begin, "half of a character (a surrogate without the other one)");
    AppendUtf8(meaning, static_cast<uint32_t>(0x10000 + ((high - 0xD800) << 10) + (low - 0xDC00)));
    return Ok();
  }

  // Of "uXXXX", which it takes; below 0: there is none.
  int64_t CodeUnit() {
    const std::string_view digits = text_.substr(std::min(at_ + 1, text_.size()), 4);
    unsigned unit = 0;
    const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), unit, 16);
    if (digits.size() < 4 || error != std::errc() || end != digits.data() + 4) return -1;
    out_.append(text_.substr(at_, 5));
    at_ += 5;
    return unit;
  }

  // Of the value that was read last.
  std::optional<std::string> MeaningOf(std::string_view written) const {
    if (written == "null") return std::nullopt;
    return written.starts_with('"') ? last_string_ : std::string(written);
  }

  const std::string_view text_;
  size_t at_ = 0;
  std::string out_;
  std::string last_string_;
  std::vector<OutputMember> members_;
};

}  // namespace

Result<std::string> CompactOutputs(std::string_view text) { return Scanner(text).Run(); }

std::vector<OutputMember> OutputMembers(std::string_view object) {
  Scanner scanner(object);
  CHECK(scanner.Run().ok());
  return scanner.TakeMembers();
}

std::string IndentedOutputs(std::string_view object) {
  std::string out;
  size_t depth = 0;
  bool in_string = false;
  for (size_t i = 0; i < object.size(); ++i) {
    const char c = object[i];
    if (in_string && c == '\\') {
      out.append(object.substr(i++, 2));
      continue;
    }
    if (c == '"') in_string = !in_string;
    const bool empty = !in_string && (c == '{' || c == '[') && i + 1 < object.size() && object[i + 1] == c + 2;
    if (in_string || empty || (c != '}' && c != ']')) out.push_back(c);
    if (in_string) continue;
    if (empty) {
      out.push_back(object[++i]);
    } else if (c == '{' || c == '[') {
      out.append(StrCat("\n", std::string(2 * ++depth, ' ')));
    } else if (c == '}' || c == ']') {
      out.append(StrCat("\n", std::string(2 * --depth, ' '), c));
    } else if (c == ',') {
      out.append(StrCat("\n", std::string(2 * depth, ' ')));
    } else if (c == ':') {
      out.push_back(' ');
    }
  }
  return out;
}

}  // namespace tony
