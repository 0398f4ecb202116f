#include "runtime/hadoop/sasl.h"

#include <gtest/gtest.h>

#include "runtime/hadoop/digest_md5.h"
#include "runtime/hadoop/rpc_frames.h"

namespace tony::hadoop {
namespace {

const Token kSaslToken{"an identifier", "a password", "YARN_AM_RM_TOKEN", ""};
constexpr char kOfferedChallenge[] = "realm=\"default\",nonce=\"n\",qop=\"auth-int\",charset=utf-8,algorithm=md5-sess";
constexpr char kFixedNonce[] = "c";

SaslExchange TokenExchange() { return SaslExchange(MakeDigestMechanism(LoginOf(kSaslToken), kFixedNonce)); }

wire::RpcSasl Offer(const std::string& method, const std::string& mechanism) {
  wire::RpcSasl offer;
  offer.set_state(wire::RpcSasl::NEGOTIATE);
  auto& kerberos = *offer.add_auths();
  kerberos.set_method("KERBEROS");
  kerberos.set_mechanism("GSSAPI");
  auto& auth = *offer.add_auths();
  auth.set_method(method);
  auth.set_mechanism(mechanism);
  auth.set_protocol("");
  auth.set_serverid("default");
  auth.set_challenge(kOfferedChallenge);
  return offer;
}

wire::RpcSasl Success(const std::string& token) { return SaslMessage(wire::RpcSasl::SUCCESS, token); }

TEST(SaslTest, ATokenIsAuthenticatedInTwoMessages) {
  SaslExchange exchange = TokenExchange();
  EXPECT_EQ(exchange.Start().state(), wire::RpcSasl::NEGOTIATE);
  const auto initiate = exchange.Next(Offer("TOKEN", "DIGEST-MD5"));
  ASSERT_TRUE(initiate.ok()) << initiate.error().message;
  ASSERT_TRUE(*initiate);
  EXPECT_EQ((*initiate)->state(), wire::RpcSasl::INITIATE);
  EXPECT_NE((*initiate)->token().find("qop=auth-int"), std::string::npos);
  ASSERT_EQ((*initiate)->auths_size(), 1);
  // The server compares this field, and an empty text is not an absent one.
  EXPECT_TRUE((*initiate)->auths(0).has_protocol());
  EXPECT_FALSE((*initiate)->auths(0).has_challenge());
  EXPECT_FALSE(exchange.TakeLayer());
  const auto end = exchange.Next(
      Success(AnswerDigest(LoginOf(kSaslToken), kOfferedChallenge, "/default", kFixedNonce)->server_proof));
  ASSERT_TRUE(end.ok()) << end.error().message;
  EXPECT_FALSE(*end);
  EXPECT_TRUE(exchange.TakeLayer());
  EXPECT_FALSE(exchange.Next(Success("")).ok());
}

TEST(SaslTest, AServerThatDoesNotKnowTheTokenPasswordIsRejected) {
  SaslExchange exchange = TokenExchange();
  ASSERT_TRUE(exchange.Next(Offer("TOKEN", "DIGEST-MD5")).ok());
  const auto end = exchange.Next(Success("rspauth=00000000000000000000000000000000"));
  EXPECT_EQ(end.error().code, ErrorCode::kNotPermitted);
}

TEST(SaslTest, AServerThatDoesNotAcceptTokensIsRejected) {
  EXPECT_EQ(TokenExchange().Next(Offer("SIMPLE", "")).error().message,
            "the server accepts no token; it offers KERBEROS, SIMPLE");
  EXPECT_EQ(TokenExchange().Next(Success("")).error().message, "the server accepts no token; it offers nothing");
  EXPECT_EQ(TokenExchange().Next(Offer("TOKEN", "SCRAM-SHA-256")).error().message,
            "the server checks tokens with SCRAM-SHA-256; only DIGEST-MD5 is supported");
}

TEST(SaslTest, AnUnexpectedSaslStateFromTheServerIsRejected) {
  const wire::RpcSasl wrapped = SaslMessage(wire::RpcSasl::WRAP, "");
  EXPECT_EQ(TokenExchange().Next(wrapped).error().code, ErrorCode::kInvalid);
  SaslExchange exchange = TokenExchange();
  ASSERT_TRUE(exchange.Next(Offer("TOKEN", "DIGEST-MD5")).ok());
  EXPECT_EQ(exchange.Next(wrapped).error().code, ErrorCode::kInvalid);
  EXPECT_EQ(exchange.Next(SaslMessage(wire::RpcSasl::CHALLENGE, kOfferedChallenge)).error().message,
            "the server sends a second DIGEST-MD5 challenge, which is not expected now");
}

// ---- A mechanism with several rounds, such as GSSAPI

class TicketMechanism : public SaslMechanism {
 public:
  const SaslMethod& method() const override { return method_; }
  Result<std::string> Begin(const wire::RpcSasl::SaslAuth& offer) override { return offer.mechanism() + " ticket"; }
  Result<std::string> Respond(std::string_view challenge) override {
    if (challenge == "expired") return UnavailableError("the ticket has expired");
    return std::string(challenge == "first" ? "" : "last answer");
  }
  Result<std::unique_ptr<SaslLayer>> Finish(std::string_view token) override {
    if (token.empty()) return std::unique_ptr<SaslLayer>();
    return InvalidError("a token");
  }

 private:
  const SaslMethod method_{"KERBEROS", "GSSAPI", "Kerberos ticket"};
};

SaslExchange TicketExchange() { return SaslExchange(std::make_unique<TicketMechanism>()); }

TEST(SaslTest, AMechanismAnswersSeveralChallengesAndSendsEmptyAnswers) {
  SaslExchange exchange = TicketExchange();
  EXPECT_EQ((*exchange.Next(Offer("TOKEN", "DIGEST-MD5")))->token(), "GSSAPI ticket");
  const auto empty = *exchange.Next(SaslMessage(wire::RpcSasl::CHALLENGE, "first"));
  EXPECT_EQ(empty->state(), wire::RpcSasl::RESPONSE);
  EXPECT_TRUE(empty->has_token());
  EXPECT_EQ(empty->token(), "");
  EXPECT_EQ((*exchange.Next(SaslMessage(wire::RpcSasl::CHALLENGE, "second")))->token(), "last answer");
  wire::RpcSasl success;
  success.set_state(wire::RpcSasl::SUCCESS);
  EXPECT_FALSE(*exchange.Next(success));
  EXPECT_FALSE(exchange.TakeLayer());
}

TEST(SaslTest, AnErrorOfTheMechanismIsReturned) {
  SaslExchange exchange = TicketExchange();
  wire::RpcSasl offer = Offer("TOKEN", "DIGEST-MD5");
  offer.mutable_auths()->DeleteSubrange(0, 1);
  EXPECT_EQ(exchange.Next(offer).error().message, "the server accepts no Kerberos ticket; it offers TOKEN");
  ASSERT_TRUE(exchange.Next(Offer("TOKEN", "DIGEST-MD5")).ok());
  const auto answer = exchange.Next(SaslMessage(wire::RpcSasl::CHALLENGE, "expired"));
  EXPECT_EQ(answer.error().code, ErrorCode::kUnavailable);
}

}  // namespace
}  // namespace tony::hadoop
