#include "runtime/hadoop/sasl.h"

#include <openssl/evp.h>

#include <algorithm>
#include <array>
#include <map>
#include <utility>
#include <vector>

#include "runtime/base/secret.h"
#include "runtime/base/strings.h"

namespace tony::hadoop {
namespace {

constexpr char kNonceCount[] = "00000001";  // each nonce is used once
constexpr char kNoBodyDigest[] = ":00000000000000000000000000000000";
constexpr size_t kLongestChallenge = 2048;  // RFC 2831, 2.1.1

using Directives = std::map<std::string, std::string>;

Result<std::string> Md5(std::string_view bytes) {
  std::array<unsigned char, EVP_MAX_MD_SIZE> digest;
  unsigned size = 0;
  if (EVP_Digest(bytes.data(), bytes.size(), digest.data(), &size, EVP_md5(), nullptr) != 1)
    return Error{ErrorCode::kInternal,
                 "OpenSSL refuses MD5 on this machine, as in FIPS mode, and Hadoop checks tokens with MD5"};
  return std::string(reinterpret_cast<const char*>(digest.data()), size);
}

Error BadChallenge(std::string_view what) { return InvalidError("the server's DIGEST-MD5 challenge: ", what); }

// Returns the text of "..." without its quotes, and removes it from `rest`.
Result<std::string> TakeQuoted(std::string_view& rest) {
  std::string value;
  for (size_t i = 1; i < rest.size(); ++i) {
    if (rest[i] == '"') {
      rest.remove_prefix(i + 1);
      return value;
    }
    if (rest[i] == '\\') ++i;
    if (i < rest.size()) value.push_back(rest[i]);
  }
  return BadChallenge("a quote is not closed");
}

std::string TakePlain(std::string_view& rest) {
  const size_t end = std::min(rest.find(','), rest.size());
  std::string value(Trim(rest.substr(0, end)));
  rest.remove_prefix(end);
  return value;
}

// Parses name=value or name="value", separated by commas. If a name occurs twice, the first one counts.
Result<Directives> ParseDirectives(std::string_view rest) {
  if (rest.size() > kLongestChallenge) return BadChallenge("the challenge is longer than 2048 bytes");
  Directives directives;
  for (rest = Trim(rest); !rest.empty(); rest = Trim(rest)) {
    const size_t equals = rest.find('=');
    if (equals == std::string_view::npos) return BadChallenge("a name has no value");
    std::string name = ToLower(Trim(rest.substr(0, equals)));
    rest.remove_prefix(equals + 1);
    std::string value;
    if (rest.starts_with('"')) {
      TRY_ASSIGN(value, TakeQuoted(rest));
    } else {
      value = TakePlain(rest);
    }
    directives.emplace(std::move(name), std::move(value));
    rest = Trim(rest);
    if (rest.empty()) break;
    if (rest.front() != ',') return BadChallenge("a comma is missing");
    rest.remove_prefix(1);
  }
  return directives;
}

std::string Quoted(std::string_view text) {
  std::string out = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') out.push_back('\\');
    out.push_back(c);
  }
  return out + '"';
}

Status CheckQop(const Directives& directives) {
  const auto qop = directives.find("qop");
  if (qop == directives.end()) return Ok();  // RFC 2831: the default is auth
  const std::vector<std::string> offered = Split(qop->second, ',');
  const auto is_auth = [](const std::string& one) { return Trim(one) == "auth"; };
  if (std::ranges::any_of(offered, is_auth)) return Ok();
  return NotPermittedError("the server demands the protection ", qop->second,
                           " (hadoop.rpc.protection); only \"authentication\" is supported");
}

}  // namespace

Result<DigestProofs> ProveDigest(const DigestInput& in) {
  TRY_ASSIGN(const std::string secret, Md5(StrCat(in.user, ":", in.realm, ":", in.password)));
  TRY_ASSIGN(const std::string session, Md5(StrCat(secret, ":", in.nonce, ":", in.client_nonce)));
  const auto proof = [&](std::string_view method) -> Result<std::string> {
    TRY_ASSIGN(const std::string what, Md5(StrCat(method, ":", in.uri, in.qop == "auth" ? "" : kNoBodyDigest)));
    TRY_ASSIGN(const std::string digest, Md5(StrCat(ToHex(session), ":", in.nonce, ":", kNonceCount, ":",
                                                    in.client_nonce, ":", in.qop, ":", ToHex(what))));
    return ToHex(digest);
  };
  TRY_ASSIGN(std::string client, proof("AUTHENTICATE"));
  TRY_ASSIGN(std::string server, proof(""));
  return DigestProofs{std::move(client), std::move(server)};
}

Result<DigestAnswer> AnswerDigest(const Token& token, std::string_view challenge, const std::string& uri,
                                  const std::string& client_nonce) {
  TRY_ASSIGN(const Directives directives, ParseDirectives(challenge));
  const auto value = [&](const char* name) {
    const auto found = directives.find(name);
    return found == directives.end() ? std::string() : found->second;
  };
  if (value("nonce").empty()) return BadChallenge("the nonce is missing");
  if (value("algorithm") != "md5-sess")
    return BadChallenge(StrCat("the algorithm is \"", value("algorithm"), "\", expected md5-sess"));
  TRY(CheckQop(directives));
  const DigestInput input{.user = Base64(token.identifier),
                          .password = Base64(token.password),
                          .realm = value("realm"),
                          .nonce = value("nonce"),
                          .client_nonce = client_nonce,
                          .uri = uri,
                          .qop = "auth"};
  TRY_ASSIGN(const DigestProofs proofs, ProveDigest(input));
  return DigestAnswer{StrCat("charset=utf-8,username=", Quoted(input.user), ",realm=", Quoted(input.realm),
                             ",nonce=", Quoted(input.nonce), ",nc=", kNonceCount, ",cnonce=", Quoted(client_nonce),
                             ",digest-uri=", Quoted(uri), ",maxbuf=65536,response=", proofs.client, ",qop=auth"),
                      StrCat("rspauth=", proofs.server)};
}

std::string Base64(std::string_view bytes) {
  std::string out((bytes.size() + 2) / 3 * 4 + 1, '\0');  // with space for OpenSSL's NUL
  const int size =
      EVP_EncodeBlock(reinterpret_cast<unsigned char*>(out.data()),
                      reinterpret_cast<const unsigned char*>(bytes.data()), static_cast<int>(bytes.size()));
  out.resize(static_cast<size_t>(size));
  return out;
}

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
  // A server without security sends SUCCESS at once. A client with a token must not accept this, because the server has
  // proved nothing.
  const bool is_offer = offer.state() == wire::RpcSasl::NEGOTIATE;
  if (!is_offer && offer.state() != wire::RpcSasl::SUCCESS) return NotTheProtocol(offer);
  const auto& auths = offer.auths();
  const auto token = std::ranges::find_if(auths, [](const auto& auth) { return auth.method() == "TOKEN"; });
  if (!is_offer || token == auths.end())
    return NotPermittedError("the server accepts no token; it offers ", Methods(offer));
  if (token->mechanism() != "DIGEST-MD5")
    return NotPermittedError("the server checks tokens with ", token->mechanism(), "; only DIGEST-MD5 is supported");
  TRY_ASSIGN(DigestAnswer answer, AnswerDigest(token_, token->challenge(),
                                               StrCat(token->protocol(), "/", token->serverid()), client_nonce_));
  server_proof_ = std::move(answer.server_proof);
  wire::RpcSasl message;
  message.set_state(wire::RpcSasl::INITIATE);
  message.set_token(std::move(answer.response));
  // The server searches its own list for an entry that equals the sent one. Every field is therefore sent back, even if
  // it is empty.
  *message.add_auths() = *token;
  message.mutable_auths(0)->clear_challenge();
  return message;
}

Status SaslExchange::CheckSuccess(const wire::RpcSasl& message) {
  if (message.state() != wire::RpcSasl::SUCCESS) return NotTheProtocol(message);
  if (SameSecret(message.token(), server_proof_)) return Ok();
  return NotPermittedError("the server does not know the token's password");
}

}  // namespace tony::hadoop
