#include "runtime/rpc/reach.h"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <random>
#include <vector>

#include "runtime/base/strings.h"
#include "runtime/net/sockets.h"

namespace tony {
namespace {

constexpr Duration kFirstPause{10};
constexpr Duration kLongestPause{160};

Result<std::unique_ptr<Channel>> Reach(const std::filesystem::path& folder, const Endpoint& am,
                                       const MakeChannel& tls) {
  if (tls) {
    TRY_ASSIGN(UniqueFd socket, StartConnect(am));
    ConfigureConnected(socket);
    return tls(std::move(socket));
  }
  return Error{ErrorCode::kNotPermitted,
               StrCat("the application master of ", folder.filename().string(), " is at ", ToString(am),
                      ", of an earlier release: a job's token is not sent over TCP")};
}

// Root may look after the job of another user: that user's AM is then the right one.
std::vector<uid_t> OwnUsers(const std::filesystem::path& folder) {
  std::vector<uid_t> users = {::geteuid()};
  struct stat file = {};
  if (::geteuid() == 0 && ::stat(folder.c_str(), &file) == 0) users.push_back(file.st_uid);
  return users;
}

Result<std::unique_ptr<Channel>> Reach(const std::filesystem::path& folder, const SocketName& am, const MakeChannel&) {
  const SocketPlace place{folder, am.value};
  TRY_ASSIGN(auto socket, ConnectTo(place, SocketKind::kStream));
  if (!socket) return std::unique_ptr<Channel>();
  TRY_ASSIGN(const Peer listener, PeerOf(*socket));
  if (IsOneOf(listener.uid, OwnUsers(folder), ReadUserNames())) return MakePlainChannel(*std::move(socket));
  return Error{ErrorCode::kNotPermitted,
               StrCat("connect to ", ToString(place), ": uid ", listener.uid, " listens there, expected ", ::geteuid(),
                      " or root, and a user who has a name in this user namespace")};
}

}  // namespace

Result<std::unique_ptr<Channel>> ReachAm(const std::filesystem::path& folder, const Address& am,
                                         const MakeChannel& tls) {
  return std::visit([&](const auto& where) { return Reach(folder, where, tls); }, am);
}

QueuePause::QueuePause() : longest_(kFirstPause), random_(std::random_device()()) {}

Duration QueuePause::Next() {
  std::minstd_rand random(random_);
  const auto most = static_cast<unsigned>(longest_.count());
  random_ = static_cast<unsigned>(random());
  longest_ = std::min(longest_ * 2, kLongestPause);
  return Duration(most / 2 + random_ % most);  // half to one and a half
}

}  // namespace tony
