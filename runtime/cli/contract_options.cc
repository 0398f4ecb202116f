#include "runtime/cli/contract_options.h"

#include <algorithm>

#include "runtime/base/strings.h"
#include "runtime/base/utf8.h"
#include "runtime/cli/numbers.h"

namespace tony {
namespace {

constexpr size_t kLongestRequest = 4096;
constexpr size_t kLongestToken = 255;
constexpr size_t kShown = 60;  // of a value that is refused

Result<std::string> Token(const CommandLine& line, const std::string& option) {
  if (!line.Has(option)) return std::string();
  const std::string token = line.Value(option);
  const bool printable = std::ranges::all_of(token, [](char c) { return c > ' ' && c <= '~'; });
  if (!token.empty() && token.size() <= kLongestToken && printable) return token;
  return RefusedOption(line, option, "1 to 255 printable ASCII characters without blanks");
}

Result<Duration> WatchTimeout(const CommandLine& line) {
  constexpr Duration kLongest = std::chrono::hours(24 * 366);  // what an AM takes
  TRY_ASSIGN(const auto timeout, SecondsOption(line, "watch-timeout"));
  if (!timeout) return Duration(0);
  if (*timeout < std::chrono::seconds(1) || *timeout > kLongest)
    return RefusedOption(line, "watch-timeout", "seconds, from 1 to those of a year");
  return *timeout;
}

}  // namespace

Error RefusedOption(const CommandLine& line, const std::string& option, std::string_view expected) {
  const std::string value = ReplaceInvalidUtf8(line.Value(option));
  const std::string shown = value.size() <= kShown ? value : ReplaceInvalidUtf8(value.substr(0, kShown)) + "...";
  return {ErrorCode::kUsage, StrCat(Dashed(option), " \"", shown, "\": expected ", expected)};
}

Result<RequestId> RequestIdOption(const CommandLine& line) {
  const std::string option = "request-id";
  if (!line.Has(option)) return RequestId();
  const std::string id = line.Value(option);
  // It is told in JSON, where other bytes could not come back as they were.
  const bool text = id.find('\n') == std::string::npos && ReplaceInvalidUtf8(id) == id;
  if (!id.empty() && id.size() <= kLongestRequest && text) return RequestId{id};
  return RefusedOption(line, option, "1 to 4096 bytes of UTF-8 without a line end");
}

Result<OwnerToken> OwnerOption(const CommandLine& line, const std::string& option) {
  TRY_ASSIGN(std::string token, Token(line, option));
  return OwnerToken{std::move(token)};
}

Result<WatcherToken> WatcherOption(const CommandLine& line, const std::string& option) {
  TRY_ASSIGN(std::string token, Token(line, option));
  return WatcherToken{std::move(token)};
}

Result<SubmitOrder> ReadSubmitOrder(const CommandLine& line) {
  SubmitOrder order;
  TRY_ASSIGN(order.request, RequestIdOption(line));
  TRY_ASSIGN(order.claim.owner, OwnerOption(line, "owner"));
  TRY_ASSIGN(order.claim.watch_timeout, WatchTimeout(line));
  for (const char* option : {"submission", "on-existing", "first-try", "run"}) {
    if (line.Has(option) && order.request.value.empty())
      return Error{ErrorCode::kUsage, StrCat(Dashed(option), " says nothing without --request-id")};
  }
  TRY_ASSIGN(const auto number, NumberOption(line, "submission"));
  order.ask.number = number.value_or(0);
  TRY_ASSIGN(order.ask.run.value, Token(line, "run"));
  if (line.Has("first-try")) {
    order.ask.asker = SubmitAsker::kFirstTry;
  } else if (!order.claim.owner.value.empty()) {
    order.ask.asker = SubmitAsker::kLaterTry;
  }
  if (!line.Has("on-existing")) return order;
  const auto policy = OnExistingFromString(line.Value("on-existing"));
  if (!policy) return RefusedOption(line, "on-existing", "adopt, attach or never");
  order.ask.on_existing = *policy;
  return order;
}

Result<KillRequest> ReadKillRequest(const CommandLine& line, Instant now) {
  KillRequest request = {.reason = line.Has("reason") ? line.Value("reason") : "tony kill"};
  TRY_ASSIGN(request.if_owner, OwnerOption(line, "if-owner"));
  TRY_ASSIGN(request.if_watcher, WatcherOption(line, "if-watcher"));
  TRY_ASSIGN(const auto delay, SecondsOption(line, "delay"));
  if (delay && *delay > Duration(0)) {
    request.due = now + *delay;
    request.delay = *delay;
  }
  return request;
}

}  // namespace tony
