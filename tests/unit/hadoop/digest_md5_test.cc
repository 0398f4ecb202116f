#include "runtime/hadoop/digest_md5.h"

#include <gtest/gtest.h>

#include "runtime/base/strings.h"
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
  const auto answer = AnswerDigest(LoginOf(kNodeToken), kChallenge, "/default", kClientNonce);
  ASSERT_TRUE(answer.ok()) << answer.error().message;
  EXPECT_EQ(answer->response, std::string("charset=utf-8,username=\"") + kUser + "\",realm=\"default\",nonce=\"" +
                                  kNonce + "\",nc=00000001,cnonce=\"" + kClientNonce +
                                  "\",digest-uri=\"/default\",maxbuf=65536,response=" + kProof + ",qop=auth");
  EXPECT_EQ(answer->server_proof, std::string("rspauth=") + kServerProof);
}

std::string Refusal(const std::string& challenge) {
  const auto answer = AnswerDigest(LoginOf(kNodeToken), challenge, "/default", kClientNonce);
  return answer.ok() ? "accepted" : answer.error().message;
}

TEST(DigestMd5Test, TheWeakestProtectionThatTheServerAcceptsIsChosen) {
  const auto chosen = [](const std::string& offered) {
    const auto answer =
        AnswerDigest(LoginOf(kNodeToken), "nonce=\"n\",algorithm=md5-sess" + offered, "/default", kClientNonce);
    return answer.ok() ? answer->response.substr(answer->response.find("qop=")) : answer.error().message;
  };
  EXPECT_EQ(chosen(""), "qop=auth");
  EXPECT_EQ(chosen(",qop=\"auth-conf, auth-int,auth\",cipher=\"3des\""), "qop=auth");
  EXPECT_EQ(chosen(",qop=\"auth-conf,auth-int\",cipher=\"3des\""), "qop=auth-int");
  EXPECT_EQ(chosen(",qop=\"auth-conf\",cipher=\"rc4,3des\""), "qop=auth-conf,cipher=\"3des\"");
  const std::string only =
      " (hadoop.rpc.protection, dfs.data.transfer.protection); only auth, auth-int, and auth-conf with 3des are "
      "supported";
  EXPECT_EQ(chosen(",qop=\"auth-conf\",cipher=\"rc4,des\""), "the server demands the protection auth-conf" + only);
  EXPECT_EQ(chosen(",qop=\"auth-new\""), "the server demands the protection auth-new" + only);
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
  const auto answer = AnswerDigest(LoginOf(kNodeToken), "realm=\"a\\\"b\",nonce=n,algorithm=md5-sess", "/x", "c");
  ASSERT_TRUE(answer.ok()) << answer.error().message;
  EXPECT_NE(answer->response.find("realm=\"a\\\"b\","), std::string::npos) << answer->response;
}

// ---- Layers. Keys and tokens are those of Java 17, whose SaslServer also accepted the client's tokens.

struct Session {
  const char* qop;
  const char* nonce;
  std::vector<std::pair<std::string, std::string>> to_server;  // messages with their tokens
  std::vector<std::pair<std::string, std::string>> to_client;
};
const Session kSigned{"auth-int",
                      "6/XRGUW/15QRP2yjfwu2RyQczRPLklKVoQz1W6qc",
                      {{"hello hadoop", "68656c6c6f206861646f6f70d041a1e634bb332a5d88000100000000"},
                       {"second", "7365636f6e643e1f3a2a0723d0252f95000100000001"}},
                      {{"hello hadoop", "68656c6c6f206861646f6f705bc9b5bfb5a39ad9a32e000100000000"},
                       {"second", "7365636f6e642f376756efa424a38d45000100000001"}}};
const Session kEncrypted{"auth-conf",
                         "ZGlt5r8N1rIMTsRqS5AlntegNKZWZnTCvo4Gt/9D",
                         {{"hello hadoop", "dd05099c7bca991b60dfd088abcf3bc9901eecbb18faab6f000100000000"},
                          {"second", "d66b062455773e29a0f09b949ef5078f33cdb8f706e37114000100000001"}},
                         {{"hello hadoop", "4f6c50b50e426a0708ced33d1b1fc1c052633c61c8052649000100000000"},
                          {"second", "bff562cb1eaebb4198c13b2e12d5d6d8fb2cb740d8de7d46000100000001"}}};

std::unique_ptr<SaslLayer> LayerOf(const Session& session, DigestSide side = DigestSide::kClient) {
  const auto proofs =
      ProveDigest({kUser, "c2VjcmV0LXBhc3N3b3Jk", "default", session.nonce, kClientNonce, "/default", session.qop});
  return *MakeDigestLayer(proofs->session_key, session.qop, side);
}

TEST(DigestLayerTest, ProtectedMessagesMatchThoseOfJava) {
  for (const Session& session : {kSigned, kEncrypted}) {
    const auto layer = LayerOf(session);
    for (const auto& [message, token] : session.to_server) EXPECT_EQ(ToHex(*layer->Wrap(message)), token);
    for (const auto& [message, token] : session.to_client) EXPECT_EQ(*layer->Unwrap(FromHex(token)), message);
  }
  const Session old{"auth-int", "+67BfP60AvfEmGuEAv3ZdfgRwrHlzVXBHPV8W7zp", {}, {}};
  EXPECT_EQ(ToHex(*LayerOf(old)->Wrap("hello hadoop")), "68656c6c6f206861646f6f70c169a3c836724b467872000100000000");
}

TEST(DigestLayerTest, MessagesOfEveryLengthReachTheOtherSide) {
  for (const Session& session : {kSigned, kEncrypted}) {
    const auto client = LayerOf(session);
    const auto server = LayerOf(session, DigestSide::kServer);
    EXPECT_EQ(client->LongestWrap(), session.qop == kSigned.qop ? 65520u : 65510u);  // as in Java
    for (const size_t size : {1, 2, 3, 4, 5, 6, 7, 8, 9, 65510, 200'000}) {
      const std::string message(size, 'm');
      EXPECT_EQ(*server->Unwrap(*client->Wrap(message)), message);
      EXPECT_EQ(*client->Unwrap(*server->Wrap(message)), message);
    }
  }
}

TEST(DigestLayerTest, ADamagedTokenIsRefusedWithoutAnyOfItsBytes) {
  const std::string refusal = "message 0 from the server was changed, repeated or lost on its way: its ";
  for (const Session& session : {kSigned, kEncrypted}) {
    const std::string token = FromHex(session.to_client[0].second);
    for (size_t i = 0; i < token.size(); ++i) {
      std::string changed = token;
      changed[i] = static_cast<char>(changed[i] ^ 1);
      const auto read = LayerOf(session)->Unwrap(changed);
      ASSERT_FALSE(read.ok()) << i;
      EXPECT_EQ(read.error().code, ErrorCode::kUnavailable);
      EXPECT_EQ(read.error().message, refusal + (i + 6 < token.size() ? "signature" : "number") + " is wrong");
      EXPECT_FALSE(LayerOf(session)->Unwrap(token.substr(0, i)).ok());
      EXPECT_FALSE(LayerOf(session)->Unwrap(token.substr(i + 1)).ok());
    }
    const auto layer = LayerOf(session);
    EXPECT_FALSE(layer->Unwrap(FromHex(session.to_client[1].second)).ok()) << "a lost token";
    EXPECT_TRUE(layer->Unwrap(token).ok());
    EXPECT_FALSE(layer->Unwrap(token).ok()) << "a repeated token";
  }
}

}  // namespace
}  // namespace tony::hadoop
