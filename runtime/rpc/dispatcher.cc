#include "runtime/rpc/dispatcher.h"

#include <exception>

#include "runtime/base/log.h"
#include "runtime/base/strings.h"

namespace tony {

Status Dispatcher::Dispatch(const MessageHeader& header, MessageReader& message,
                            const std::shared_ptr<Call>& call) const {
  if (header.type != apache::thrift::protocol::T_CALL) {
    return Error{ErrorCode::kInvalid, StrCat("message type ", static_cast<int>(header.type), ", expected a call")};
  }
  const auto handler = handlers_.find(header.method);
  if (handler != handlers_.end()) return handler->second(message, call);
  call->Fail(Call::Fault::kUnknownMethod, StrCat("unknown method ", header.method));
  return Ok();
}

void Dispatcher::RunGuarded(Call& call, const std::function<void()>& handler) {
  try {
    handler();
  } catch (const std::exception& error) {
    LogError(StrCat("rpc ", call.method(), ": ", error.what()));
    call.Fail(Call::Fault::kInternal, error.what());
  }
}

std::vector<std::string> Dispatcher::methods() const {
  std::vector<std::string> names;
  for (const auto& [name, handler] : handlers_) names.push_back(name);
  return names;
}

}  // namespace tony
