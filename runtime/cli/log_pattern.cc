#include "runtime/cli/log_pattern.h"

#include <re2/re2.h>

#include "runtime/base/strings.h"

namespace tony {

struct LogPattern::Compiled {
  Compiled(const std::string& expression, const re2::RE2::Options& options) : regex(expression, options) {}
  const re2::RE2 regex;
};

Result<LogPattern> LogPattern::Parse(const std::string& expression) {
  re2::RE2::Options options;
  options.set_log_errors(false);
  auto compiled = std::make_shared<const Compiled>(expression, options);
  const re2::RE2& regex = compiled->regex;
  if (regex.ok()) return LogPattern(std::move(compiled));
  const size_t place = expression.find(regex.error_arg());
  const std::string where =
      place == std::string::npos || regex.error_arg().empty() ? "" : StrCat(", from character ", place + 1, " on");
  return Error{ErrorCode::kUsage, StrCat("--grep \"", expression, "\": ", regex.error(), where)};
}

bool LogPattern::IsIn(std::string_view line) const {
  return re2::RE2::PartialMatch(re2::StringPiece(line.data(), line.size()), compiled_->regex);
}

}  // namespace tony
