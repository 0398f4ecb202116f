#include "runtime/rpc/server_connection.h"

#include <algorithm>
#include <utility>

#include "runtime/base/log.h"
#include "runtime/base/strings.h"

namespace tony {

ServerConnection::ServerConnection(const Context& context, UniqueFd socket, std::function<void()> on_closed)
    : context_(context), on_closed_(std::move(on_closed)) {
  FrameConnection::Callbacks callbacks{[this](std::string_view frame) { OnFrame(frame); },
                                       [this](const std::string& reason) { OnClosed(reason); }};
  const FrameConnection::Limits limits{context_.options.max_frame, context_.options.max_unsent};
  frames_ = std::make_shared<FrameConnection>(context_.loop, std::move(socket), limits, std::move(callbacks));
}

ServerConnection::~ServerConnection() {
  frames_->Close();
  AbandonCalls();
}

void ServerConnection::Stop() {
  AbandonCalls();
  frames_->Finish();
}

void ServerConnection::OnFrame(std::string_view frame) {
  MessageReader message(frame);
  const auto header = message.ReadHeader();
  if (!header.ok()) return frames_->Abort(header.error().message);
  const auto call = std::make_shared<Call>(context_.loop, weak_from_this(), header->method, header->seq);
  open_calls_.push_back(call.get());
  if (open_calls_.size() > static_cast<size_t>(context_.options.max_open_calls)) {
    return call->Fail(Call::Fault::kInternal, "too many open calls");
  }
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
  const auto on_closed = std::exchange(on_closed_, nullptr);
  on_closed();  // may destroy this
}

void ServerConnection::AbandonCalls() {
  while (!open_calls_.empty()) {
    Call* const call = open_calls_.back();
    open_calls_.pop_back();
    call->Abandon();  // may destroy it, and end others of ours
  }
}

}  // namespace tony
