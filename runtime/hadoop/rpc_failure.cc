#include "runtime/hadoop/rpc_failure.h"

#include <algorithm>
#include <iterator>

#include "runtime/base/strings.h"
#include "runtime/base/utf8.h"

namespace tony::hadoop {
namespace {

constexpr size_t kLongestLine = 1000;  // a reason for people, not a stack trace

struct Meaning {
  std::string_view exception;
  ErrorCode code;
};
constexpr Meaning kMeanings[] = {
    {"ApplicationNotFoundException", ErrorCode::kNotFound},
    {"ApplicationAttemptNotFoundException", ErrorCode::kNotFound},
    {"ContainerNotFoundException", ErrorCode::kNotFound},
    {"InvalidToken", ErrorCode::kNotPermitted},
    {"SaslException", ErrorCode::kNotPermitted},
    {"AccessControlException", ErrorCode::kNotPermitted},
    {"AuthorizationException", ErrorCode::kNotPermitted},
    {"YarnException", ErrorCode::kInvalid},
    {"InvalidApplicationMasterRequestException", ErrorCode::kInvalid},
    {"InvalidResourceRequestException", ErrorCode::kInvalid},
    {"InvalidLabelResourceRequestException", ErrorCode::kInvalid},
    {"InvalidResourceBlacklistRequestException", ErrorCode::kInvalid},
    {"InvalidContainerReleaseException", ErrorCode::kInvalid},
    {"InvalidContainerException", ErrorCode::kInvalid},
    {"YARNFeatureNotEnabledException", ErrorCode::kInvalid},
    {"RpcServerException", ErrorCode::kInternal},
    {"RpcNoSuchMethodException", ErrorCode::kInternal},
    {"RpcNoSuchProtocolException", ErrorCode::kInternal},
    {"VersionMismatch", ErrorCode::kInternal},
};

ErrorCode CodeOf(const RpcFailure& failure) {
  using Kind = RpcFailure::Kind;
  switch (failure.kind) {
    case Kind::kLost:
      return ErrorCode::kUnavailable;
    case Kind::kMisunderstood:
      return ErrorCode::kInternal;
    case Kind::kNotPermitted:
      return ErrorCode::kNotPermitted;
    case Kind::kAnswered:
    case Kind::kRefused:
      break;
  }
  const std::string_view name = ShortName(failure.exception_class);
  const auto found = std::ranges::find_if(kMeanings, [name](const Meaning& one) { return one.exception == name; });
  // An IOException, a standby's refusal, a request to try again: it may be otherwise next time.
  return found == std::end(kMeanings) ? ErrorCode::kUnavailable : found->code;
}

}  // namespace

std::string_view ShortName(std::string_view exception_class) {
  const size_t end = exception_class.find_last_of(".$");
  return end == std::string_view::npos ? exception_class : exception_class.substr(end + 1);
}

bool IsException(const RpcFailure& failure, std::string_view name) {
  return ShortName(failure.exception_class) == name;
}

Error ErrorOf(const RpcFailure& failure, std::string_view context) {
  const std::string name = FirstLine(ShortName(failure.exception_class));
  return {CodeOf(failure), StrCat(context, ": ", name, name.empty() ? "" : ": ", failure.message)};
}

std::string FirstLine(std::string_view text) {
  std::string line(text.substr(0, std::min(text.find('\n'), kLongestLine)));
  line.resize(ValidUtf8Prefix(line));
  std::erase_if(line, [](unsigned char c) { return c < ' ' || c == 0x7f; });
  return std::string(Trim(line));
}

std::string OneLine(std::string text) {
  std::ranges::replace(text, '\n', ' ');
  return FirstLine(text);
}

}  // namespace tony::hadoop
