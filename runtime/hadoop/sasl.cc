#include "runtime/hadoop/sasl.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "runtime/base/secret.h"
#include "runtime/base/strings.h"
#include "runtime/hadoop/digest_md5.h"

namespace tony::hadoop {
namespace {

Error NotTheProtocol(const wire::RpcSasl& message) {
  return {ErrorCode::kInvalid,
          StrCat("the server answers with SASL state ", static_cast<int>(message.state()), ", which is not its turn")};
}

std::string Methods(const wire::RpcSasl& offer) {
  std::vector<std::string> methods;
  for (const auto& auth : offer.auths()) methods.push_back(auth.method());
  return methods.empty() ? "nothing" : Join(methods, ", ");
}

}  // namespace

SaslExchange::SaslExchange(Token token, std::string client_nonce)
    : token_(std::move(token)), client_nonce_(std::move(client_nonce)) {}

wire::RpcSasl SaslExchange::Start() const {
  wire::RpcSasl message;
  message.set_state(wire::RpcSasl::NEGOTIATE);
  return message;
}

Result<std::optional<wire::RpcSasl>> SaslExchange::Next(const wire::RpcSasl& message) {
  switch (stage_) {
    case Stage::kNegotiating: {
      TRY_ASSIGN(wire::RpcSasl answer, Initiate(message));
      stage_ = Stage::kInitiated;
      return std::optional(std::move(answer));
    }
    case Stage::kInitiated:
      TRY(CheckSuccess(message));
      stage_ = Stage::kDone;
      return std::optional<wire::RpcSasl>();
    case Stage::kDone:
      break;
  }
  return NotTheProtocol(message);
}

Result<wire::RpcSasl> SaslExchange::Initiate(const wire::RpcSasl& offer) {
  // A server without security says SUCCESS at once. Whoever has a token must not be talked out of it.
  const bool is_offer = offer.state() == wire::RpcSasl::NEGOTIATE;
  if (!is_offer && offer.state() != wire::RpcSasl::SUCCESS) return NotTheProtocol(offer);
  const auto& auths = offer.auths();
  const auto token = std::ranges::find_if(auths, [](const auto& auth) { return auth.method() == "TOKEN"; });
  if (!is_offer || token == auths.end())
    return Error{ErrorCode::kNotPermitted, StrCat("the server takes no token; it offers ", Methods(offer))};
  if (token->mechanism() != "DIGEST-MD5")
    return Error{ErrorCode::kNotPermitted,
                 StrCat("the server checks tokens by ", token->mechanism(), "; only DIGEST-MD5 is supported")};
  TRY_ASSIGN(DigestAnswer answer, AnswerDigest(token_, token->challenge(),
                                               StrCat(token->protocol(), "/", token->serverid()), client_nonce_));
  server_proof_ = std::move(answer.server_proof);
  wire::RpcSasl message;
  message.set_state(wire::RpcSasl::INITIATE);
  message.set_token(std::move(answer.response));
  // The server looks for an equal one among its own, so it gets back all that it sent, also a field set to "".
  *message.add_auths() = *token;
  message.mutable_auths(0)->clear_challenge();
  return message;
}

Status SaslExchange::CheckSuccess(const wire::RpcSasl& message) {
  if (message.state() != wire::RpcSasl::SUCCESS) return NotTheProtocol(message);
  if (SameSecret(message.token(), server_proof_)) return Ok();
  return Error{ErrorCode::kNotPermitted, "the server does not know the token's password"};
}

}  // namespace tony::hadoop
