#include "runtime/page/page_address.h"

#include <algorithm>
#include <chrono>
#include <string_view>

#include "runtime/base/log.h"
#include "runtime/base/secret.h"
#include "runtime/base/strings.h"
#include "runtime/net/tcp.h"
#include "runtime/store/file_lock.h"
#include "runtime/store/files.h"

namespace tony {
namespace {

constexpr const char* kHost = "127.0.0.1";
constexpr int kTokenBytes = 16;
// To read a file and to write it takes no longer, but where the disk hangs.
constexpr Duration kLockPatience{5000};

bool IsToken(std::string_view text) {
  return text.size() == 2 * kTokenBytes && text.find_first_not_of("0123456789abcdef") == std::string_view::npos;
}

// After a power cut the file may be empty.
Result<std::string> ReadToken(const std::filesystem::path& file) {
  TRY_ASSIGN(std::string token, ReadFile(file));
  if (!IsToken(token)) return Error{ErrorCode::kNotFound, StrCat(file.string(), ": no token")};
  return token;
}

int PortBefore(const JobFolder& folder) {
  const auto text = ReadFile(folder.path() / "page-port");
  return text.ok() ? static_cast<int>(std::clamp<int64_t>(ParseInt(*text).value_or(0), 0, 65535)) : 0;
}

void NotePort(const JobFolder& folder, int port) {
  const Status noted = WriteFileByRename(folder.path() / "page-port", std::to_string(port), /*durable=*/false);
  if (!noted.ok()) LogDebug(noted.error().message);  // the next AM serves the page at another port
}

}  // namespace

Result<std::string> ReadPageToken(const JobFolder& folder) { return ReadToken(folder.path() / "page-token"); }

Result<std::string> KeepPageToken(const std::filesystem::path& file) {
  if (auto kept = ReadToken(file); kept.ok()) return kept;
  TRY(MakeFolder(file.parent_path()));
  const auto until = std::chrono::steady_clock::now() + kLockPatience;
  TRY_ASSIGN(const UniqueFd lock,
             LockFile(file, LockKind::kAlone, [until] { return std::chrono::steady_clock::now() > until; }));
  if (auto kept = ReadToken(file); kept.ok()) return kept;  // somebody else has made it meanwhile
  std::string token = RandomHex(kTokenBytes);
  TRY(WriteFileByRename(file, token, /*durable=*/true));
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
