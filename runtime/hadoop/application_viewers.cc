#include "runtime/hadoop/application_viewers.h"

#include <algorithm>
#include <boost/json/parse.hpp>
#include <string_view>
#include <utility>

#include "runtime/base/strings.h"

namespace tony::hadoop {
namespace {

constexpr Duration kHolds{10'000};
constexpr Duration kLimit{5000};
constexpr size_t kMostKnown = 256;
constexpr size_t kLongestUser = 256;

// What Java's URLEncoder leaves.
bool IsEncoded(std::string_view user) {
  constexpr std::string_view kOthers = "._-*+%";
  return user.size() <= kLongestUser && std::ranges::all_of(user, [&](char c) {
           return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
                  kOthers.find(c) != std::string_view::npos;
         });
}

// Who may not see an application is told that it is there, but nothing of its containers.
Result<bool> MaySee(const Result<HttpResponse>& response) {
  TRY(response);
  if (response->status != 200) return Error{ErrorCode::kUnavailable, StrCat("HTTP ", response->status)};
  boost::system::error_code error;
  const boost::json::value document = boost::json::parse(response->body, error);
  if (error || !document.find_pointer("/app/id", error))
    return Error{ErrorCode::kUnavailable, "not what a ResourceManager says of an application"};
  return document.find_pointer("/app/amContainerLogs", error) != nullptr;
}

}  // namespace

ApplicationViewers::ApplicationViewers(EventLoop& loop, std::string rm_web, std::string application)
    : loop_(loop), url_(StrCat(std::move(rm_web), "/ws/v1/cluster/apps/", application)), http_(loop) {}

void ApplicationViewers::Ask(const std::string& user, Done done) {
  if (!IsEncoded(user)) return done(Error{ErrorCode::kInvalid, "a user's name that is not encoded"});
  const auto known = known_.find(user);
  if (known != known_.end() && loop_.Now() < known->second.until) return done(known->second.may_see);
  HttpCall call{.url = user.empty() ? url_ : StrCat(url_, "?user.name=", user),
                .headers = {{"Accept", "application/json"}}};
  call.limits.connect = call.limits.stalled = call.limits.whole = kLimit;
  const auto place = calls_.insert(calls_.end(), nullptr);
  *place =
      http_.Send(std::move(call), [this, user, place, done = std::move(done)](const Result<HttpResponse>& response) {
        const Call ended = std::move(*place);
        calls_.erase(place);
        const Result<bool> may_see = MaySee(response);
        if (known_.size() >= kMostKnown) known_.clear();
        if (may_see.ok()) known_.insert_or_assign(user, Known{*may_see, loop_.Now() + kHolds});
        done(may_see);
      });
}

}  // namespace tony::hadoop
