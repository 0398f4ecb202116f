#include "runtime/hadoop/sasl.h"

#include <gtest/gtest.h>

#include "tests/unit/hadoop/hex.h"

namespace tony::hadoop {
namespace {

// Values that the SaslServer of Java 17 accepted, and its answers.
constexpr char kUser[] = "CgkKBwgBEJDOsgE=";
constexpr char kNonce[] = "p9mdzTeW4vjDln0FJuyWfRNsdxcMCugUccSBPmHj";
constexpr char kClientNonce[] = "OA6MHXh6VqTrRk0P1nDw0w==";
constexpr char kProof[] = "4b1f02d65bfd7c3de8f0ee16f1ffa841";
constexpr char kServerProof[] = "ffe5d28f0bd477e201b3e925beef8784";
const std::string kChallenge =
    "realm=\"default\",nonce=\"p9mdzTeW4vjDln0FJuyWfRNsdxcMCugUccSBPmHj\",qop=\"auth\",charset=utf-8,"
    "algorithm=md5-sess";
const Token kNodeToken{FromHex("0a090a07080110"
                               "90ceb201"),
                       "secret-password", "YARN_AM_RM_TOKEN", ""};

TEST(DigestMd5Test, ClientAndServerProofsMatchThoseOfJava) {
  DigestInput input{kUser, "c2VjcmV0LXBhc3N3b3Jk", "default", kNonce, kClientNonce, "/default", "auth"};
  EXPECT_EQ(ProveDigest(input)->client, kProof);
  EXPECT_EQ(ProveDigest(input)->server, kServerProof);
  input.qop = "auth-int";
  input.nonce = "+67BfP60AvfEmGuEAv3ZdfgRwrHlzVXBHPV8W7zp";
  EXPECT_EQ(ProveDigest(input)->client, "652da7cd2459df8feca2c45c9459372c");
  EXPECT_EQ(ProveDigest(input)->server, "ccd598b10def9f81160d45c146ecbdba");
}

TEST(DigestMd5Test, TheIdentifierAndPasswordOfATokenServeAsDigestUserNameAndPassword) {
  const auto answer = AnswerDigest(kNodeToken, kChallenge, "/default", kClientNonce);
  ASSERT_TRUE(answer.ok()) << answer.error().message;
  EXPECT_EQ(answer->response, std::string("charset=utf-8,username=\"") + kUser + "\",realm=\"default\",nonce=\"" +
                                  kNonce + "\",nc=00000001,cnonce=\"" + kClientNonce +
                                  "\",digest-uri=\"/default\",maxbuf=65536,response=" + kProof + ",qop=auth");
  EXPECT_EQ(answer->server_proof, std::string("rspauth=") + kServerProof);
}

std::string Refusal(const std::string& challenge) {
  const auto answer = AnswerDigest(kNodeToken, challenge, "/default", kClientNonce);
  return answer.ok() ? "accepted" : answer.error().message;
}

TEST(DigestMd5Test, ADigestChallengeIsAcceptedOnlyIfItOffersQopAuth) {
  EXPECT_EQ(Refusal("realm=\"default\",nonce=\"n\",qop=\"auth-conf,auth\",cipher=\"3des,rc4\",algorithm=md5-sess"),
            "accepted");
  EXPECT_EQ(
      Refusal("realm=\"default\",nonce=\"n\",qop=\"auth-conf\",algorithm=md5-sess"),
      "the server demands the protection auth-conf (hadoop.rpc.protection); only \"authentication\" is supported");
}

TEST(DigestMd5Test, AMalformedDigestChallengeIsRejected) {
  EXPECT_EQ(Refusal(""), "the server's DIGEST-MD5 challenge: the nonce is missing");
  EXPECT_EQ(Refusal("nonce=\"n"), "the server's DIGEST-MD5 challenge: a quote is not closed");
  EXPECT_EQ(Refusal("nonce=\"n\\"), "the server's DIGEST-MD5 challenge: a quote is not closed");
  EXPECT_EQ(Refusal("nonce=\"n\" algorithm=md5-sess"), "the server's DIGEST-MD5 challenge: a comma is missing");
  EXPECT_EQ(Refusal("nonce"), "the server's DIGEST-MD5 challenge: a name has no value");
  EXPECT_EQ(Refusal("nonce=\"n\",algorithm=md5"),
            "the server's DIGEST-MD5 challenge: the algorithm is \"md5\", expected md5-sess");
  EXPECT_EQ(Refusal(std::string(3000, 'x')),
            "the server's DIGEST-MD5 challenge: the challenge is longer than 2048 bytes");
}

TEST(DigestMd5Test, ARealmWithQuotesIsEscaped) {
  const auto answer = AnswerDigest(kNodeToken, "realm=\"a\\\"b\",nonce=n,algorithm=md5-sess", "/x", "c");
  ASSERT_TRUE(answer.ok()) << answer.error().message;
  EXPECT_NE(answer->response.find("realm=\"a\\\"b\","), std::string::npos) << answer->response;
}

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
  auth.set_challenge(kChallenge);
  return offer;
}

wire::RpcSasl Success(const std::string& token) {
  wire::RpcSasl message;
  message.set_state(wire::RpcSasl::SUCCESS);
  message.set_token(token);
  return message;
}

TEST(SaslTest, ATokenIsAuthenticatedInTwoMessages) {
  SaslExchange exchange(kNodeToken, kClientNonce);
  EXPECT_EQ(exchange.Start().state(), wire::RpcSasl::NEGOTIATE);
  const auto initiate = exchange.Next(Offer("TOKEN", "DIGEST-MD5"));
  ASSERT_TRUE(initiate.ok()) << initiate.error().message;
  ASSERT_TRUE(*initiate);
  EXPECT_EQ((*initiate)->state(), wire::RpcSasl::INITIATE);
  EXPECT_NE((*initiate)->token().find(kProof), std::string::npos);
  ASSERT_EQ((*initiate)->auths_size(), 1);
  // The server compares this field, and an empty text is not an absent one.
  EXPECT_TRUE((*initiate)->auths(0).has_protocol());
  EXPECT_FALSE((*initiate)->auths(0).has_challenge());
  const auto end = exchange.Next(Success(std::string("rspauth=") + kServerProof));
  ASSERT_TRUE(end.ok()) << end.error().message;
  EXPECT_FALSE(*end);
  EXPECT_FALSE(exchange.Next(Success("")).ok());
}

TEST(SaslTest, AServerThatDoesNotKnowTheTokenPasswordIsRejected) {
  SaslExchange exchange(kNodeToken, kClientNonce);
  ASSERT_TRUE(exchange.Next(Offer("TOKEN", "DIGEST-MD5")).ok());
  const auto end = exchange.Next(Success("rspauth=00000000000000000000000000000000"));
  EXPECT_EQ(end.error().code, ErrorCode::kNotPermitted);
}

TEST(SaslTest, AServerThatDoesNotAcceptTokensIsRejected) {
  EXPECT_EQ(SaslExchange(kNodeToken, "c").Next(Offer("SIMPLE", "")).error().message,
            "the server accepts no token; it offers KERBEROS, SIMPLE");
  EXPECT_EQ(SaslExchange(kNodeToken, "c").Next(Success("")).error().message,
            "the server accepts no token; it offers nothing");
  EXPECT_EQ(SaslExchange(kNodeToken, "c").Next(Offer("TOKEN", "SCRAM-SHA-256")).error().message,
            "the server checks tokens with SCRAM-SHA-256; only DIGEST-MD5 is supported");
}

TEST(SaslTest, AnUnexpectedSaslStateFromTheServerIsRejected) {
  wire::RpcSasl wrapped;
  wrapped.set_state(wire::RpcSasl::WRAP);
  EXPECT_EQ(SaslExchange(kNodeToken, "c").Next(wrapped).error().code, ErrorCode::kInvalid);
  SaslExchange exchange(kNodeToken, kClientNonce);
  ASSERT_TRUE(exchange.Next(Offer("TOKEN", "DIGEST-MD5")).ok());
  EXPECT_EQ(exchange.Next(wrapped).error().code, ErrorCode::kInvalid);
}

}  // namespace
}  // namespace tony::hadoop
