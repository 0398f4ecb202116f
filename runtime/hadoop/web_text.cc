#include "runtime/hadoop/web_text.h"

#include <boost/json/parse.hpp>
#include <utility>

#include "runtime/base/strings.h"
#include "runtime/net/http_client.h"

namespace tony::hadoop {
namespace {

std::optional<Result<HttpResponse>> Get(const std::string& url, Duration limit) {
  EventLoop loop;
  HttpClient http(loop);
  HttpCall call{.url = url, .headers = {{"Accept", "application/json"}}};  // else some answer XML
  call.limits.connect = call.limits.stalled = call.limits.whole = limit;
  std::optional<Result<HttpResponse>> answer;
  const auto asking = http.Send(std::move(call), [&](Result<HttpResponse> told) {
    answer = std::move(told);
    loop.Stop();
  });
  loop.Run();
  return answer;
}

}  // namespace

std::optional<std::string> WebText(const std::string& url, const std::string& pointer, Duration limit) {
  const auto answer = Get(url, limit);
  if (!answer->ok() || (*answer)->status != 200) return std::nullopt;
  boost::system::error_code error;
  const boost::json::value document = boost::json::parse((*answer)->body, error);
  if (error) return std::nullopt;
  const boost::json::value* value = document.find_pointer(pointer, error);
  if (error || value == nullptr || !value->is_string()) return std::nullopt;
  return std::string(value->as_string());
}

std::optional<std::string> RmSetting(const std::string& web, const std::string& key, Duration limit) {
  if (web.empty()) return std::nullopt;
  return WebText(StrCat(web, "/conf?name=", key), "/property/value", limit);
}

std::string HostOfUrl(const std::string& url) {
  const size_t scheme = url.find("://");
  const size_t begin = scheme == std::string::npos ? 0 : scheme + 3;
  return url.substr(begin, url.find(':', begin) - begin);
}

}  // namespace tony::hadoop
