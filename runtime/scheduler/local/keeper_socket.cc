#include "runtime/scheduler/local/keeper_socket.h"

#include "runtime/base/strings.h"
#include "runtime/net/unix_socket.h"

namespace tony {
namespace {

SocketPlace PlaceIn(const JobFolder& folder) { return {folder.path(), "keeper.sock"}; }

}  // namespace

Result<UniqueFd> ListenAsKeeper(const JobFolder& folder) {
  constexpr int kBacklog = 16;  // one AM connects, again and again at worst
  return ListenAt(PlaceIn(folder), SocketKind::kMessages, kBacklog);
}

Result<UniqueFd> ConnectToKeeper(const JobFolder& folder) {
  TRY_ASSIGN(auto socket, ConnectTo(PlaceIn(folder), SocketKind::kMessages));
  if (socket) return *std::move(socket);
  return Error{ErrorCode::kUnavailable, StrCat("connect to ", ToString(PlaceIn(folder)), ": its queue is full")};
}

void RemoveKeeperSocket(const JobFolder& folder) { RemoveSocket(PlaceIn(folder)); }

}  // namespace tony
