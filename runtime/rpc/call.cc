#include "runtime/rpc/call.h"

#include <thrift/TApplicationException.h>

#include <utility>

namespace tony {

using apache::thrift::TApplicationException;

void Call::Fail(Fault fault, const std::string& message) {
  if (state_ != State::kOpen) return;
  const auto type =
      fault == Fault::kUnknownMethod ? TApplicationException::UNKNOWN_METHOD : TApplicationException::INTERNAL_ERROR;
  End(WriteMessage({method_, apache::thrift::protocol::T_EXCEPTION, seq_}, TApplicationException(type, message)));
}

void Call::OnAbandoned(std::function<void()> fn) {
  if (state_ == State::kOpen) on_abandoned_ = std::move(fn);
  if (state_ == State::kAbandoned) loop_.Post(std::move(fn));
}

void Call::Abandon() {
  if (state_ != State::kOpen) return;
  state_ = State::kAbandoned;
  const auto fn = std::exchange(on_abandoned_, nullptr);
  if (fn) fn();  // may destroy this call
}

void Call::End(std::string message) {
  if (state_ != State::kOpen) return;
  state_ = State::kEnded;
  on_abandoned_ = nullptr;
  if (const auto origin = origin_.lock()) origin->CallEnded(*this, std::move(message));
}

}  // namespace tony
