#include "runtime/hadoop/sasl.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "runtime/base/strings.h"
#include "runtime/hadoop/rpc_frames.h"

namespace tony::hadoop {
namespace {

Error NotTheProtocol(const wire::RpcSasl& message) {
  return InvalidError("the server answers with SASL state ", static_cast<int>(message.state()),
                      ", which is not expected now");
}

std::string Methods(const wire::RpcSasl& offer) {
  std::vector<std::string> methods;
  for (const auto& auth : offer.auths()) methods.push_back(auth.method());
  return methods.empty() ? "nothing" : Join(methods, ", ");
}

}  // namespace

wire::RpcSasl SaslExchange::Start() const {
  wire::RpcSasl message;
  message.set_state(wire::RpcSasl::NEGOTIATE);
  return message;
}

Result<std::optional<wire::RpcSasl>> SaslExchange::Next(const wire::RpcSasl& message) {
  if (stage_ == Stage::kNegotiating) {
    TRY_ASSIGN(wire::RpcSasl first, Initiate(message));
    stage_ = Stage::kInitiated;
    return std::optional(std::move(first));
  }
  if (stage_ == Stage::kInitiated && message.state() == wire::RpcSasl::CHALLENGE) {
    TRY_ASSIGN(std::string token, mechanism_->Respond(message.token()));
    return std::optional(SaslMessage(wire::RpcSasl::RESPONSE, std::move(token)));
  }
  if (stage_ == Stage::kDone || message.state() != wire::RpcSasl::SUCCESS) return NotTheProtocol(message);
  TRY_ASSIGN(layer_, mechanism_->Finish(message.token()));
  stage_ = Stage::kDone;
  return std::optional<wire::RpcSasl>();
}

Result<wire::RpcSasl> SaslExchange::Initiate(const wire::RpcSasl& offer) {
  // A server without security sends SUCCESS at once. A client that can prove its identity must not accept this, because
  // the server has proved nothing.
  const bool is_offer = offer.state() == wire::RpcSasl::NEGOTIATE;
  if (!is_offer && offer.state() != wire::RpcSasl::SUCCESS) return NotTheProtocol(offer);
  const SaslMethod& method = mechanism_->method();
  const auto& auths = offer.auths();
  const auto found = std::ranges::find_if(auths, [&](const auto& auth) { return auth.method() == method.name; });
  if (!is_offer || found == auths.end())
    return NotPermittedError("the server accepts no ", method.credential, "; it offers ", Methods(offer));
  if (found->mechanism() != method.mechanism)
    return NotPermittedError("the server checks ", method.credential, "s with ", found->mechanism(), "; only ",
                             method.mechanism, " is supported");
  TRY_ASSIGN(std::string token, mechanism_->Begin(*found));
  wire::RpcSasl message = SaslMessage(wire::RpcSasl::INITIATE, std::move(token));
  // The server searches its own list for an entry that equals the sent one. Every field is therefore sent back, even if
  // it is empty.
  *message.add_auths() = *found;
  message.mutable_auths(0)->clear_challenge();
  return message;
}

}  // namespace tony::hadoop
