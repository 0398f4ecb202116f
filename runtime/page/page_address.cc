#include "runtime/page/page_address.h"

#include <algorithm>

#include "runtime/base/log.h"
#include "runtime/base/secret.h"
#include "runtime/base/strings.h"
#include "runtime/net/tcp.h"
#include "runtime/store/files.h"

namespace tony {
namespace {

constexpr const char* kHost = "127.0.0.1";
constexpr size_t kTokenLength = 32;  // hex digits

int PortBefore(const JobFolder& folder) {
  const auto text = ReadFile(folder.path() / "page-port");
  return text.ok() ? static_cast<int>(std::clamp<int64_t>(ParseInt(*text).value_or(0), 0, 65535)) : 0;
}

void NotePort(const JobFolder& folder, int port) {
  const Status noted = WriteFileByRename(folder.path() / "page-port", std::to_string(port), /*durable=*/false);
  if (!noted.ok()) LogDebug(noted.error().message);  // the next AM serves the page at another port
}

}  // namespace

Result<std::string> ReadPageToken(const JobFolder& folder) {
  TRY_ASSIGN(std::string token, ReadFile(folder.path() / "page-token"));
  const bool whole = token.size() == kTokenLength && token.find_first_not_of("0123456789abcdef") == std::string::npos;
  // After a power cut the file may be empty.
  if (!whole) return Error{ErrorCode::kNotFound, StrCat((folder.path() / "page-token").string(), ": no token")};
  return token;
}

Result<PageSocket> ListenForPage(const JobFolder& folder) {
  const int before = PortBefore(folder);
  Result<UniqueFd> listening = ListenOn({kHost, before});
  if (!listening.ok() && before != 0) listening = ListenOn({kHost, 0});
  if (!listening.ok()) return listening.error();
  TRY_ASSIGN(const int port, BoundPort(*listening));
  if (port != before) NotePort(folder, port);
  return PageSocket{*std::move(listening), port};
}

std::string PageUrl(int port, const std::string& token) { return StrCat("http://", kHost, ":", port, "/", token, "/"); }

bool HasToken(const HttpRequest& request, const std::string& token) {
  return !request.path.empty() && SameSecret(request.path.front(), token);
}

}  // namespace tony
