#include "runtime/keeper/keeper_socket.h"

#include "runtime/base/strings.h"
#include "runtime/net/unix_socket.h"

namespace tony {
namespace {

SocketPlace PlaceIn(const JobRecords& records) { return {records.place(), "keeper.sock"}; }

}  // namespace

Result<UniqueFd> ListenAsKeeper(const JobRecords& records) {
  constexpr int kBacklog = 16;  // one AM connects, again and again at worst
  return ListenAt(PlaceIn(records), SocketKind::kMessages, kBacklog);
}

Result<std::optional<UniqueFd>> ReachKeeper(const JobRecords& records) {
  return ConnectTo(PlaceIn(records), SocketKind::kMessages);
}

Result<UniqueFd> ConnectToKeeper(const JobRecords& records) {
  TRY_ASSIGN(auto socket, ReachKeeper(records));
  if (socket) return *std::move(socket);
  return Error{ErrorCode::kUnavailable, StrCat("connect to ", ToString(PlaceIn(records)), ": its queue is full")};
}

void RemoveKeeperSocket(const JobRecords& records) { RemoveSocket(PlaceIn(records)); }

}  // namespace tony
