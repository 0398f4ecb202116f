#include "runtime/rpc/server_connection.h"

#include <algorithm>
#include <exception>
#include <utility>

#include "runtime/base/log.h"
#include "runtime/base/strings.h"

namespace tony {

Status Dispatcher::Dispatch(const MessageHeader& header, MessageReader& message,
                            const std::shared_ptr<Call>& call) const {
  if (header.type != apache::thrift::protocol::T_CALL)
    return InvalidError("message type ", static_cast<int>(header.type), ", expected a call");
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

ServerConnection::ServerConnection(const Context& context, std::unique_ptr<Channel> channel, std::string other_user,
                                   Events events)
    : context_(context), other_user_(std::move(other_user)), events_(std::move(events)), heard_(context.loop.Now()) {
  FrameConnection::Callbacks callbacks{[this](std::string_view frame) { OnFrame(frame); },
                                       [this](const std::string& reason) { OnClosed(reason); }};
  const FrameConnection::Limits limits{context_.options.stranger_frame, context_.options.stranger_unsent,
                                       &context_.budget};
  frames_ = std::make_shared<FrameConnection>(context_.loop, std::move(channel), limits, std::move(callbacks));
}

ServerConnection::~ServerConnection() {
  frames_->Close();
  AbandonCalls();
}

void ServerConnection::Stop() {
  AbandonCalls();
  frames_->Finish();
}

void ServerConnection::CallerKnown() {
  if (!events_.on_known) return;
  frames_->Allow(context_.options.max_frame, context_.options.max_unsent);
  std::exchange(events_.on_known, nullptr)();
}

void ServerConnection::OnFrame(std::string_view frame) {
  heard_ = context_.loop.Now();
  MessageReader message(frame);
  const auto header = message.ReadHeader();
  if (!header.ok()) return frames_->Abort(header.error().message);
  const auto call = std::make_shared<Call>(context_.loop, weak_from_this(), header->method, header->seq);
  open_calls_.push_back(call.get());
  if (open_calls_.size() > static_cast<size_t>(context_.options.max_open_calls))
    return call->Fail(Call::Fault::kInternal, "too many calls of this connection have no answer yet; try again later");
  const Status dispatched = context_.dispatcher.Dispatch(*header, message, call);
  if (!dispatched.ok()) frames_->Abort(dispatched.error().message);
}

void ServerConnection::CallEnded(Call& call, std::string message) {
  std::erase(open_calls_, &call);
  if (message.empty()) return frames_->Abort(StrCat(call.method(), " was dropped without an answer"));
  frames_->Send(std::move(message));
}

void ServerConnection::OnClosed(const std::string& reason) {
  LogDebug(StrCat("rpc connection closed: ", reason));
  AbandonCalls();
  const auto on_closed = std::exchange(events_.on_closed, nullptr);
  on_closed();  // may destroy this object
}

void ServerConnection::AbandonCalls() {
  while (!open_calls_.empty()) {
    Call* const call = open_calls_.back();
    open_calls_.pop_back();
    // The callback may destroy the call, and end other calls of this connection.
    call->Abandon();
  }
}

}  // namespace tony
