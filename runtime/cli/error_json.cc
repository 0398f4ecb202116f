#include "runtime/cli/error_json.h"

#include <utility>

#include "runtime/base/check.h"
#include "runtime/base/json_text.h"
#include "runtime/base/strings.h"
#include "runtime/cli/output.h"

namespace tony {

std::string_view ClassName(ErrorCode code) {
  switch (code) {
    case ErrorCode::kUsage:
      return "usage";
    case ErrorCode::kInvalid:
      return "spec_invalid";
    case ErrorCode::kNotFound:
      return "not_found";
    case ErrorCode::kUnavailable:
      return "unavailable";
    case ErrorCode::kInternal:
      return "internal";
    case ErrorCode::kCannotWrite:
      return "cannot_write";
    case ErrorCode::kNotPermitted:
      return "auth";
  }
  CHECK(false);
}

std::string ErrorJson(const Error& error) {
  const bool retryable = error.code == ErrorCode::kUnavailable;
  return StrCat(R"({"code":)", static_cast<int>(error.code), R"(,"class":)", JsonString(ClassName(error.code)),
                R"(,"message":)", JsonString(error.message), R"(,"retryable":)", retryable ? "true" : "false", "}");
}

int Fail(const Error& error, bool json) {
  if (json) return FailWith(error, R"({"schema":1})");
  for (const std::string& line : Split(error.message, '\n')) Say(StrCat("tony: ", line));
  return static_cast<int>(error.code);
}

int FailWith(const Error& error, std::string document) {
  PrintLine(WithFields(std::move(document), {{"error", ErrorJson(error)}}));
  return Fail(error, false);
}

}  // namespace tony
