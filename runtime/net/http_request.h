// What a browser asks for, and what it gets. Values.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace tony {

struct HttpRequest {
  bool head = false;                         // HEAD: the headers of the answer alone
  std::vector<std::string> path;             // decoded: "/a/b%20c/" is {"a", "b c", ""}
  std::map<std::string, std::string> query;  // decoded; of a name that comes twice, the last
  std::string cookies;                       // "a=b; c=d", as they came; empty: none
};

// The value of the cookie, as it came. Empty: there is none.
std::string CookieOf(const HttpRequest& request, std::string_view name);

struct HttpAnswer {
  int status = 200;
  std::string content_type = "text/html; charset=utf-8";
  std::shared_ptr<const std::string> body;  // may be shared by many answers; null: empty
  std::vector<std::pair<std::string, std::string>> headers;
};

HttpAnswer TextAnswer(int status, std::string text);
HttpAnswer NotFound();  // tells nothing: the same for a wrong token as for a page that is not there

// Of a request's target ("/a/b?c=d") the path and the query. Nothing: bad percent-encoding, a control character, or a
// component of the path that is ".", ".." or, decoded, has a "/".
std::optional<HttpRequest> ParseTarget(std::string_view target);

}  // namespace tony
