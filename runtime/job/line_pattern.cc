#include "runtime/job/line_pattern.h"

#include <regex.h>

#include <algorithm>
#include <optional>
#include <string>

#include "runtime/base/strings.h"

namespace tony {
namespace {

constexpr size_t kLongestPattern = 256;
constexpr size_t kLongestLine = 1024;

// Counts multiply when they are nested, and back-references make the C library search instead of read: with neither, a
// pattern is an automaton no larger than its text.
std::optional<std::string> Unbounded(std::string_view pattern) {
  for (size_t at = 0; at < pattern.size(); ++at) {
    if (pattern[at] == '{') return "a count {...}; write \\{ for the character";
    if (pattern[at] != '\\' || ++at == pattern.size()) continue;
    if (pattern[at] >= '1' && pattern[at] <= '9') return StrCat("a back-reference \\", pattern[at]);
  }
  return std::nullopt;
}

}  // namespace

struct LinePattern::Compiled {
  Compiled() = default;
  Compiled(const Compiled&) = delete;
  ~Compiled() {
    if (is_set) regfree(&expression);
  }

  regex_t expression{};
  bool is_set = false;
};

Result<LinePattern> LinePattern::Parse(std::string_view pattern) {
  const auto fail = [](const std::string& what) { return Error{ErrorCode::kInvalid, what}; };
  if (pattern.empty()) return fail("it is empty");
  if (pattern.size() > kLongestPattern) return fail(StrCat("it is longer than ", kLongestPattern, " bytes"));
  if (pattern.find('\0') != std::string_view::npos) return fail("it holds a NUL character");
  if (const auto what = Unbounded(pattern)) return fail("it holds " + *what);
  auto compiled = std::make_shared<Compiled>();
  const int error = regcomp(&compiled->expression, std::string(pattern).c_str(), REG_EXTENDED | REG_NOSUB);
  if (error != 0) {
    char text[128];
    regerror(error, &compiled->expression, text, sizeof(text));
    return fail(ToLower(text));
  }
  compiled->is_set = true;
  LinePattern result;
  result.compiled_ = std::move(compiled);
  return result;
}

bool LinePattern::Matches(std::string_view line) const {
  const std::string text(line.substr(0, std::min(line.size(), kLongestLine)));
  return regexec(&compiled_->expression, text.c_str(), 0, nullptr, 0) == 0;
}

}  // namespace tony
