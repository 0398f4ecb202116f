#include "runtime/keeper/page_holder.h"

#include <utility>

#include "runtime/base/log.h"
#include "runtime/page/page_address.h"

namespace tony::keeper {

std::optional<int> PageHolder::SocketForMaster() {
  if (socket_.valid()) return socket_.get();
  auto opened = ListenForPage(records_, kLoopback);
  if (opened.ok()) {
    socket_ = std::move(opened->listening);
  } else if (opened.error().code != ErrorCode::kNotFound) {
    LogWarn(opened.error().message);
  }
  if (!socket_.valid()) return std::nullopt;
  return socket_.get();
}

void PageHolder::Take(UniqueFd socket) {
  if (socket_.valid() || !socket.valid()) return;
  auto adopted = AdoptPageSocket(std::move(socket));
  if (!adopted.ok()) return LogWarn(adopted.error().message);
  socket_ = std::move(adopted->listening);
}

}  // namespace tony::keeper
