#include "runtime/page/page_address.h"

#include <fcntl.h>
#include <sys/socket.h>

#include <chrono>
#include <climits>
#include <cstdlib>
#include <string_view>
#include <utility>

#include "runtime/base/secret.h"
#include "runtime/base/strings.h"
#include "runtime/net/sockets.h"
#include "runtime/os/file_lock.h"
#include "runtime/os/files.h"

namespace tony {
namespace {

constexpr int kTokenBytes = 16;
// The time that a process waits for the lock on the token's file. Reading and writing the file takes less time, unless
// the disk hangs.
constexpr Duration kLockPatience{5000};

bool IsToken(std::string_view text) {
  return text.size() == 2 * kTokenBytes && text.find_first_not_of("0123456789abcdef") == std::string_view::npos;
}

// Returns the token in the file. The content is checked, because a power cut may leave the file empty.
Result<std::string> ReadToken(const std::filesystem::path& file) {
  TRY_ASSIGN(std::string token, ReadFile(file));
  if (!IsToken(token)) return Error{ErrorCode::kNotFound, StrCat(file.string(), " contains no valid token")};
  return token;
}

// Notes the port of the page's new address, and replaces the token if the page had an address before. The caller
// publishes the address afterwards. If the token cannot be replaced, the page must no longer be served.
Status BeginNewAddress(const JobRecords& records, int port) {
  const std::filesystem::path noted = records.place() / "page-port";
  std::error_code error;
  if (std::filesystem::exists(noted, error) || error)
    TRY(WriteFileByRename(records.place() / "page-token", RandomHex(kTokenBytes), /*durable=*/false));
  return WriteFileByRename(noted, std::to_string(port), /*durable=*/false);
}

}  // namespace

Result<std::string> ReadPageToken(const JobRecords& records) { return ReadToken(records.place() / "page-token"); }

Result<std::string> KeepPageToken(const std::filesystem::path& file) {
  if (auto kept = ReadToken(file); kept.ok()) return kept;
  TRY(MakeFolder(file.parent_path()));
  const auto until = std::chrono::steady_clock::now() + kLockPatience;
  TRY_ASSIGN(const UniqueFd lock,
             LockFile(file, LockKind::kExclusive, [until] { return std::chrono::steady_clock::now() > until; }));
  // Another process may have made the token meanwhile.
  if (auto kept = ReadToken(file); kept.ok()) return kept;
  std::string token = RandomHex(kTokenBytes);
  TRY(WriteFileByRename(file, token, /*durable=*/true));
  return token;
}

Result<PageSocket> ListenForPage(const JobRecords& records, const std::string& host) {
  if (const auto token = ReadPageToken(records); !token.ok()) return token.error();
  TRY_ASSIGN(UniqueFd listening, ListenOn({host, 0}));
  TRY_ASSIGN(Endpoint at, BoundAddress(listening));
  TRY(BeginNewAddress(records, at.port));
  return PageSocket{std::move(listening), std::move(at)};
}

Result<PageSocket> AdoptPageSocket(UniqueFd listening) {
  int listens = 0;
  socklen_t size = sizeof listens;
  if (getsockopt(listening.get(), SOL_SOCKET, SO_ACCEPTCONN, &listens, &size) != 0 || listens == 0)
    return Error{ErrorCode::kUnavailable, "the inherited socket of the job's page does not listen"};
  TRY_ASSIGN(Endpoint at, BoundAddress(listening));
  return PageSocket{std::move(listening), std::move(at)};
}

UniqueFd InheritedPageSocket() {
  const char* text = std::getenv(kPageSocketVariable);
  const auto number = ParseInt(text ? text : "");
  if (!number || *number < 3 || *number > INT_MAX) return UniqueFd();
  unsetenv(kPageSocketVariable);
  const int fd = static_cast<int>(*number);
  return fcntl(fd, F_SETFD, FD_CLOEXEC) == 0 ? UniqueFd(fd) : UniqueFd();
}

std::string PageUrl(const Endpoint& at, const std::string& token) {
  return StrCat("http://", ToString(at), "/", token, "/");
}

bool HasToken(const HttpRequest& request, const std::string& token) {
  return !request.path.empty() && SameSecret(request.path.front(), token);
}

}  // namespace tony
