#include "runtime/yarn/node_logs.h"

#include <algorithm>
#include <memory>
#include <optional>
#include <string_view>

#include "runtime/base/event_loop.h"
#include "runtime/base/strings.h"
#include "runtime/net/http_client.h"
#include "runtime/yarn/log_links.h"

namespace tony {
namespace {

constexpr std::string_view kLength = "\nLogLength:";
constexpr std::string_view kContents = "\nLogContents:\n";
constexpr HttpCallLimits kLimits{.connect = Duration(3000),
                                 .stalled = Duration(5000),
                                 .whole = Duration(30'000),
                                 .answer = static_cast<size_t>(kMostOfNodeLog) + (64 << 10)};

Result<HttpResponse> Get(const std::string& url) {
  EventLoop loop;
  HttpClient client(loop);
  std::optional<Result<HttpResponse>> answer;
  const auto call = client.Send({.url = url, .limits = kLimits}, [&](Result<HttpResponse> response) {
    answer = std::move(response);
    loop.Stop();
  });
  loop.Run();
  return *std::move(answer);
}

}  // namespace

Result<LogExcerpt> FetchNodeLog(const std::string& link, const std::string& stream) {
  const auto [node, container] = ParseLogLink(link);
  if (node.empty()) return Error{ErrorCode::kInvalid, StrCat("\"", link, "\" is no link to a node's logs")};
  const std::string url =
      StrCat(node, "/ws/v1/node/containers/", container, "/logs/", stream, "?size=-", kMostOfNodeLog);
  TRY_ASSIGN(const HttpResponse response, Get(url));
  if (response.status == 404) return Error{ErrorCode::kNotFound, StrCat(url, ": the node does not have it")};
  if (response.status != 200) return Error{ErrorCode::kUnavailable, StrCat(url, ": HTTP ", response.status)};
  auto log = NodeLogIn(response.body, stream);
  return log.ok() ? std::move(log) : Annotate(log.error(), url);
}

Result<LogExcerpt> NodeLogIn(const std::string& body, const std::string& stream) {
  const size_t length = body.find(kLength), contents = body.find(kContents);
  if (length == std::string::npos || contents == std::string::npos || contents < length)
    return Error{ErrorCode::kInvalid, "not what a NodeManager says of a log"};
  const size_t digits = length + kLength.size();
  const auto size = ParseInt(body.substr(digits, body.find('\n', digits) - digits));
  if (!size || *size < 0) return Error{ErrorCode::kInvalid, "a log without a length"};
  LogExcerpt log{.stream = stream, .size = *size};
  std::string text = body.substr(contents + kContents.size());
  text.resize(std::min(text.size(), static_cast<size_t>(std::min(*size, kMostOfNodeLog))));
  if (!text.empty()) log.parts.push_back({*size - static_cast<int64_t>(text.size()), std::move(text)});
  return log;
}

}  // namespace tony
