#include "runtime/hadoop/digest_md5.h"

#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <sys/random.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <map>
#include <utility>

#include "runtime/base/check.h"
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

bool Lists(std::string_view list, std::string_view name) {
  return std::ranges::any_of(Split(list, ','), [name](const std::string& one) { return Trim(one) == name; });
}

Result<std::string> ChooseQop(const Directives& directives) {
  const auto offered = directives.find("qop");
  if (offered == directives.end()) return std::string("auth");  // RFC 2831: the default is auth
  const auto ciphers = directives.find("cipher");
  for (const std::string qop : {"auth", "auth-int", "auth-conf"}) {
    const bool has_cipher = qop != "auth-conf" || (ciphers != directives.end() && Lists(ciphers->second, "3des"));
    if (has_cipher && Lists(offered->second, qop)) return qop;
  }
  return NotPermittedError("the server demands the protection ", offered->second,
                           " (hadoop.rpc.protection, dfs.data.transfer.protection); only auth, auth-int, and auth-conf "
                           "with 3des are supported");
}

}  // namespace

Result<DigestProofs> ProveDigest(const DigestInput& in) {
  TRY_ASSIGN(const std::string secret, Md5(StrCat(in.user, ":", in.realm, ":", in.password)));
  TRY_ASSIGN(std::string session, Md5(StrCat(secret, ":", in.nonce, ":", in.client_nonce)));
  const auto proof = [&](std::string_view method) -> Result<std::string> {
    TRY_ASSIGN(const std::string what, Md5(StrCat(method, ":", in.uri, in.qop == "auth" ? "" : kNoBodyDigest)));
    TRY_ASSIGN(const std::string digest, Md5(StrCat(ToHex(session), ":", in.nonce, ":", kNonceCount, ":",
                                                    in.client_nonce, ":", in.qop, ":", ToHex(what))));
    return ToHex(digest);
  };
  TRY_ASSIGN(std::string client, proof("AUTHENTICATE"));
  TRY_ASSIGN(std::string server, proof(""));
  return DigestProofs{std::move(client), std::move(server), std::move(session)};
}

Result<DigestAnswer> AnswerDigest(const DigestLogin& login, std::string_view challenge, const std::string& uri,
                                  const std::string& client_nonce) {
  TRY_ASSIGN(const Directives directives, ParseDirectives(challenge));
  const auto value = [&](const char* name) {
    const auto found = directives.find(name);
    return found == directives.end() ? std::string() : found->second;
  };
  if (value("nonce").empty()) return BadChallenge("the nonce is missing");
  if (value("algorithm") != "md5-sess")
    return BadChallenge(StrCat("the algorithm is \"", value("algorithm"), "\", expected md5-sess"));
  TRY_ASSIGN(const std::string qop, ChooseQop(directives));
  const DigestInput input{.user = login.user,
                          .password = login.password,
                          .realm = value("realm"),
                          .nonce = value("nonce"),
                          .client_nonce = client_nonce,
                          .uri = uri,
                          .qop = qop};
  TRY_ASSIGN(const DigestProofs proofs, ProveDigest(input));
  TRY_ASSIGN(auto layer, MakeDigestLayer(proofs.session_key, qop, DigestSide::kClient));
  return DigestAnswer{StrCat("charset=utf-8,username=", Quoted(input.user), ",realm=", Quoted(input.realm),
                             ",nonce=", Quoted(input.nonce), ",nc=", kNonceCount, ",cnonce=", Quoted(client_nonce),
                             ",digest-uri=", Quoted(uri), ",maxbuf=65536,response=", proofs.client, ",qop=", qop,
                             qop == "auth-conf" ? ",cipher=\"3des\"" : ""),
                      StrCat("rspauth=", proofs.server), std::move(layer)};
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

class DigestMechanism : public SaslMechanism {
 public:
  DigestMechanism(DigestLogin login, std::string client_nonce)
      : login_(std::move(login)), client_nonce_(std::move(client_nonce)) {}

  const SaslMethod& method() const override { return method_; }

  Result<std::string> Begin(const wire::RpcSasl::SaslAuth& offer) override {
    TRY_ASSIGN(answer_,
               AnswerDigest(login_, offer.challenge(), StrCat(offer.protocol(), "/", offer.serverid()), client_nonce_));
    return answer_.response;
  }

  Result<std::string> Respond(std::string_view) override {
    return InvalidError("the server sends a second DIGEST-MD5 challenge, which is not expected now");
  }

  Result<std::unique_ptr<SaslLayer>> Finish(std::string_view token) override {
    if (SameSecret(token, answer_.server_proof)) return std::move(answer_.layer);
    return NotPermittedError("the server does not know the token's password");
  }

 private:
  const SaslMethod method_{"TOKEN", "DIGEST-MD5", "token"};
  const DigestLogin login_;
  const std::string client_nonce_;
  DigestAnswer answer_;
};

// ---- Layers
//
//   auth-int:   message, signature, trailer
//   auth-conf:  encrypted {message, padding, signature}, trailer
//
// The trailer has the type (2 bytes) and the number of the message, which is also signed. Each direction counts from 0
// and has its own keys. The encryption of a message continues the encryption of the message before it.

constexpr size_t kSignatureSize = 10;
constexpr std::string_view kType{"\0\1", 2};
constexpr size_t kTrailerSize = kType.size() + sizeof(uint32_t);
constexpr size_t kBlockSize = 8;   // 3DES
constexpr size_t kDesKeySize = 7;  // without parity bits
// A Hadoop server sets no maxbuf, so RFC 2831's default of 65,536 bytes applies, less what Java's client leaves for the
// rest of a token.
constexpr size_t kLongestSigned = 65536 - 16;
constexpr size_t kLongestEncrypted = 65536 - 26;

struct FreeCipher {
  void operator()(EVP_CIPHER_CTX* cipher) const { EVP_CIPHER_CTX_free(cipher); }
};
using Cipher = std::unique_ptr<EVP_CIPHER_CTX, FreeCipher>;

struct Stream {
  std::string signing_key;
  Cipher cipher;  // null: auth-int
  uint32_t count = 0;
};

const unsigned char* Bytes(std::string_view text) { return reinterpret_cast<const unsigned char*>(text.data()); }

std::string FourBytes(uint32_t number) {
  std::string bytes;
  AppendBigEndian(bytes, number, 4);
  return bytes;
}

Result<std::string> Sign(const Stream& stream, std::string_view message) {
  const std::string input = StrCat(FourBytes(stream.count), message);
  std::string digest(EVP_MAX_MD_SIZE, '\0');
  if (!HMAC(EVP_md5(), stream.signing_key.data(), static_cast<int>(stream.signing_key.size()), Bytes(input),
            input.size(), reinterpret_cast<unsigned char*>(digest.data()), nullptr))
    return Error{ErrorCode::kInternal, "OpenSSL refuses HMAC-MD5 on this machine, and Hadoop signs messages with it"};
  digest.resize(kSignatureSize);
  return digest;
}

// Spreads 56 bits over the upper seven bits of eight bytes. OpenSSL ignores the lowest bits, which are for parity.
std::string DesKey(std::string_view bytes) {
  const uint64_t bits = BigEndian(bytes);
  std::string key;
  for (int shift = 49; shift >= 0; shift -= 7) key.push_back(static_cast<char>((bits >> shift & 0x7f) << 1));
  return key;
}

Error CipherRefused() {
  return {ErrorCode::kInternal, "OpenSSL refuses 3DES on this machine, as in FIPS mode, and Hadoop encrypts with 3DES"};
}

// `key` has 16 bytes: two DES keys, and the start value in the last eight bytes, which overlaps the second key.
Result<Cipher> MakeCipher(std::string_view key, bool encrypts) {
  const std::string first = DesKey(key.substr(0, kDesKeySize));
  const std::string keys = StrCat(first, DesKey(key.substr(kDesKeySize, kDesKeySize)), first);
  Cipher cipher(EVP_CIPHER_CTX_new());
  if (!cipher || EVP_CipherInit_ex(cipher.get(), EVP_des_ede3_cbc(), nullptr, Bytes(keys),
                                   Bytes(key.substr(key.size() - kBlockSize)), encrypts ? 1 : 0) != 1)
    return CipherRefused();
  EVP_CIPHER_CTX_set_padding(cipher.get(), 0);  // a token has its own padding
  return cipher;
}

// Encrypts or decrypts whole blocks.
Result<std::string> Crypt(const Cipher& cipher, std::string_view blocks) {
  std::string out(blocks.size(), '\0');
  int size = 0;
  if (EVP_CipherUpdate(cipher.get(), reinterpret_cast<unsigned char*>(out.data()), &size, Bytes(blocks),
                       static_cast<int>(blocks.size())) != 1 ||
      static_cast<size_t>(size) != out.size())
    return CipherRefused();
  return out;
}

Result<Stream> MakeStream(std::string_view session_key, std::string_view qop, bool to_server, bool encrypts) {
  const std::string_view way = to_server ? "client-to-server" : "server-to-client";
  Stream stream;
  TRY_ASSIGN(stream.signing_key,
             Md5(StrCat(session_key, "Digest session key to ", way, " signing key magic constant")));
  if (qop != "auth-conf") return stream;
  TRY_ASSIGN(const std::string key, Md5(StrCat(session_key, "Digest H(A1) to ", way, " sealing key magic constant")));
  TRY_ASSIGN(stream.cipher, MakeCipher(key, encrypts));
  return stream;
}

class DigestLayer : public SaslLayer {
 public:
  DigestLayer(Stream sent, Stream received) : sent_(std::move(sent)), received_(std::move(received)) {}

  size_t LongestWrap() const override { return sent_.cipher ? kLongestEncrypted : kLongestSigned; }

  Result<std::string> Wrap(std::string_view bytes) override {
    TRY_ASSIGN(const std::string signature, Sign(sent_, bytes));
    const size_t padding = kBlockSize - (bytes.size() + kSignatureSize) % kBlockSize;
    std::string token = StrCat(bytes, std::string(sent_.cipher ? padding : 0, static_cast<char>(padding)), signature);
    if (sent_.cipher) {
      TRY_ASSIGN(token, Crypt(sent_.cipher, token));
    }
    return StrCat(token, kType, FourBytes(sent_.count++));
  }

  Result<std::string> Unwrap(std::string_view token) override {
    const size_t rest = token.size() - std::min(token.size(), kTrailerSize);
    if (token.substr(rest) != StrCat(kType, FourBytes(received_.count))) return Damaged("number");
    std::string text(token.substr(0, rest));
    if (received_.cipher) {
      if (text.size() % kBlockSize != 0) return Damaged("length");
      TRY_ASSIGN(text, Crypt(received_.cipher, text));
    }
    if (text.size() < kSignatureSize) return Damaged("length");
    const std::string signature = text.substr(text.size() - kSignatureSize);
    text.resize(text.size() - kSignatureSize);
    if (received_.cipher) {
      // The last byte of the padding is its length.
      const size_t padding = text.empty() ? 0 : static_cast<unsigned char>(text.back());
      text.resize(text.size() - std::min(padding, text.size()));
    }
    TRY_ASSIGN(const std::string expected, Sign(received_, text));
    if (!SameSecret(signature, expected)) return Damaged("signature");
    ++received_.count;
    return text;
  }

 private:
  Error Damaged(std::string_view part) const {
    return UnavailableError("message ", received_.count,
                            " from the server was changed, repeated or lost on its way: its ", part, " is wrong");
  }

  Stream sent_;
  Stream received_;
};

}  // namespace

DigestLogin LoginOf(const Token& token) { return {Base64(token.identifier), Base64(token.password)}; }

std::string NewClientNonce() {
  std::array<char, 16> bytes;
  CHECK(::getrandom(bytes.data(), bytes.size(), 0) == static_cast<ssize_t>(bytes.size()));
  return Base64({bytes.data(), bytes.size()});
}

std::unique_ptr<SaslMechanism> MakeDigestMechanism(DigestLogin login, std::string client_nonce) {
  return std::make_unique<DigestMechanism>(std::move(login), std::move(client_nonce));
}

Result<std::unique_ptr<SaslLayer>> MakeDigestLayer(std::string_view session_key, std::string_view qop,
                                                   DigestSide side) {
  std::unique_ptr<SaslLayer> layer;
  if (qop == "auth") return layer;
  const bool is_client = side == DigestSide::kClient;
  TRY_ASSIGN(Stream sent, MakeStream(session_key, qop, is_client, true));
  TRY_ASSIGN(Stream received, MakeStream(session_key, qop, !is_client, false));
  layer = std::make_unique<DigestLayer>(std::move(sent), std::move(received));
  return layer;
}

}  // namespace tony::hadoop
