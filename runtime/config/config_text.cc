#include "runtime/config/config_text.h"

#include <algorithm>

#include "runtime/base/strings.h"
#include "runtime/base/utf8.h"

namespace tony {

LineIndex::LineIndex(std::string_view text) {
  for (size_t at = text.find('\n'); at != std::string_view::npos; at = text.find('\n', at + 1)) {
    line_ends_.push_back(at);
  }
}

size_t LineIndex::LineOf(size_t offset) const {
  return static_cast<size_t>(std::ranges::lower_bound(line_ends_, offset) - line_ends_.begin()) + 1;
}

Status CheckConfigText(std::string_view text, const std::string& name) {
  const auto fail = [&](size_t offset, std::string_view what) {
    return Error{ErrorCode::kInvalid, StrCat(name, ":", LineIndex(text).LineOf(offset), ": ", what)};
  };
  if (const size_t nul = text.find('\0'); nul != std::string_view::npos) return fail(nul, "a NUL character");
  if (const size_t valid = ValidUtf8Prefix(text); valid < text.size()) return fail(valid, "not valid UTF-8");
  return Ok();
}

bool EndsWithOpenBackslash(std::string_view line) {
  const size_t last_other = line.find_last_not_of('\\');
  const size_t count = last_other == std::string_view::npos ? line.size() : line.size() - last_other - 1;
  return count % 2 == 1;
}

}  // namespace tony
