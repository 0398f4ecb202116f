#include "runtime/yarn/log_links.h"

#include <string_view>

#include "runtime/base/strings.h"

namespace tony {
namespace {

constexpr std::string_view kPages = "/node/containerlogs/";

}  // namespace

std::string LinkToLogs(const std::string& node_http, const std::string& container, const std::string& user) {
  return node_http.empty() ? "" : StrCat("http://", node_http, kPages, container, "/", user);
}

LogLink ParseLogLink(const std::string& link) {
  const size_t pages = link.find(kPages);
  if (pages == std::string::npos) return {};
  const size_t begin = pages + kPages.size();
  return {link.substr(0, pages), link.substr(begin, link.find('/', begin) - begin)};
}

}  // namespace tony
