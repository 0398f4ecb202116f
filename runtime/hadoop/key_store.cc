#include "runtime/hadoop/key_store.h"

#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/x509.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <utility>

#include "runtime/base/strings.h"
#include "runtime/hadoop/credentials.h"
#include "runtime/hadoop/java_objects.h"

namespace tony::hadoop {
namespace {

constexpr std::string_view kJks = "\xfe\xed\xfe\xed", kJceks = "\xce\xce\xce\xce";
constexpr size_t kSha1Size = 20;
constexpr size_t kMd5Size = 16;
constexpr size_t kTripleDesKey = 24;
constexpr long kMostSealRounds = 5'000'000;  // as Java

// Reads the fields of a keystore. All getters return an empty value once the bytes are too short.
class JksReader {
 public:
  explicit JksReader(std::string_view bytes) : left_(bytes) {}

  std::string_view Bytes(size_t count) {
    if (count > left_.size()) is_short_ = true;
    if (is_short_) return {};
    const std::string_view bytes = left_.substr(0, count);
    left_.remove_prefix(count);
    return bytes;
  }
  uint64_t Number(size_t size) { return BigEndian(Bytes(size)); }
  std::string_view Name() { return Bytes(Number(2)); }
  std::string_view Block() { return Bytes(Number(4)); }
  std::string_view Object() {
    const auto object = JavaObjects::Parse(left_);
    return Bytes(object.ok() ? object->size() : left_.size() + 1);
  }
  bool is_short() const { return is_short_; }
  size_t left() const { return left_.size(); }

 private:
  std::string_view left_;
  bool is_short_ = false;
};

std::string Sha1(std::string_view begin, std::string_view end) {
  const std::string bytes = std::string(begin) + std::string(end);
  std::array<unsigned char, kSha1Size> digest{};
  EVP_Digest(bytes.data(), bytes.size(), digest.data(), nullptr, EVP_sha1(), nullptr);
  return {digest.begin(), digest.end()};
}

std::string WidePassword(std::string_view password) {
  std::string wide;
  for (const char c : password) wide += {'\0', c};
  return wide;
}

Result<std::vector<JksEntry>> EntriesIn(std::string_view bytes, std::string_view magic) {
  constexpr uint64_t kKey = 1, kTrusted = 2, kSecret = 3;
  const bool is_jceks = magic == kJceks;
  const Error damaged = InvalidError("the file is damaged: it is not a complete ", is_jceks ? "JCEKS" : "JKS");
  JksReader reader(bytes);
  if (reader.Bytes(magic.size()) != magic) return damaged;
  const uint64_t version = reader.Number(4);
  if (version != 1 && version != 2) return damaged;
  std::vector<JksEntry> entries;
  for (uint64_t left = reader.Number(4); left > 0 && !reader.is_short(); --left) {
    JksEntry entry;
    const uint64_t tag = reader.Number(4);
    entry.name = reader.Name();
    reader.Bytes(8);
    if (tag != kKey && tag != kTrusted && !(tag == kSecret && is_jceks)) return damaged;
    if (tag == kKey) entry.key = reader.Block();
    if (tag == kSecret) entry.secret = reader.Object();
    const uint64_t count = tag == kKey ? reader.Number(4) : tag == kTrusted ? 1 : 0;
    for (uint64_t i = 0; i < count && !reader.is_short(); ++i) {
      if (version == 2) reader.Name();
      entry.certificates.emplace_back(reader.Block());
    }
    entries.push_back(std::move(entry));
  }
  if (reader.is_short() || reader.left() != kSha1Size) return damaged;
  return entries;
}

// Returns the bytes of the field; empty if the root has no such field.
std::string_view FieldOf(const JavaObjects& object, std::string_view name) {
  const auto* root = std::get_if<const JavaObject*>(&object.root());
  const JavaValue value = root ? (*root)->Field(name) : JavaValue();
  const auto* field = std::get_if<const JavaObject*>(&value);
  return field ? std::string_view((*field)->text) : std::string_view();
}

// Returns the key and the first block of PBEWithMD5AndTripleDES; empty: OpenSSL refuses MD5. Java changes a salt with
// two equal halves, which no random salt has.
std::string SealKey(const std::string& salt, std::string_view password, long rounds) {
  const size_t half = salt.size() / 2;
  const Owned<EVP_MD, EVP_MD_free> md5(EVP_MD_fetch(nullptr, "MD5", nullptr));
  const Owned<EVP_MD_CTX, EVP_MD_CTX_free> context(EVP_MD_CTX_new());
  std::string key;
  for (size_t begin = 0; begin < salt.size(); begin += half) {
    std::array<unsigned char, kMd5Size> digest{};
    std::copy_n(salt.begin() + static_cast<std::ptrdiff_t>(begin), half, digest.begin());
    size_t size = half;
    for (long round = 0; round < rounds; ++round, size = kMd5Size)
      if (!md5 || !context || EVP_DigestInit_ex(context.get(), md5.get(), nullptr) != 1 ||
          EVP_DigestUpdate(context.get(), digest.data(), size) != 1 ||
          EVP_DigestUpdate(context.get(), password.data(), password.size()) != 1 ||
          EVP_DigestFinal_ex(context.get(), digest.data(), nullptr) != 1)
        return "";
    key.append(digest.begin(), digest.end());
  }
  return key;
}

Result<std::string> Unseal(std::string_view object, std::string_view password) {
  constexpr std::string_view kAlgorithm = "PBEWithMD5AndTripleDES";
  constexpr int kSaltSize = 8;
  TRY_ASSIGN(const JavaObjects sealed, JavaObjects::Parse(object));
  const std::string_view algorithm = FieldOf(sealed, "paramsAlg"), parameters = FieldOf(sealed, "encodedParams");
  if (algorithm != kAlgorithm)
    return InvalidError("the secret is encrypted by \"", algorithm, "\", expected ", kAlgorithm);
  const auto* from = reinterpret_cast<const unsigned char*>(parameters.data());
  const Owned<PBEPARAM, PBEPARAM_free> how(d2i_PBEPARAM(nullptr, &from, static_cast<long>(parameters.size())));
  ERR_clear_error();
  const long rounds = how && how->iter ? ASN1_INTEGER_get(how->iter) : 0;
  if (rounds <= 0 || rounds > kMostSealRounds || how->salt->length != kSaltSize)
    return InvalidError("the secret is damaged");
  const std::string key = SealKey({how->salt->data, how->salt->data + kSaltSize}, password, rounds);
  const std::string_view encrypted = FieldOf(sealed, "encryptedContent");
  std::vector<unsigned char> plain(encrypted.size() + EVP_MAX_BLOCK_LENGTH);
  const Owned<EVP_CIPHER_CTX, EVP_CIPHER_CTX_free> context(EVP_CIPHER_CTX_new());
  const auto* bytes = reinterpret_cast<const unsigned char*>(key.data());
  int size = 0, rest = 0;
  const bool is_plain =
      context && !key.empty() &&
      EVP_DecryptInit_ex(context.get(), EVP_des_ede3_cbc(), nullptr, bytes, bytes + kTripleDesKey) == 1 &&
      EVP_DecryptUpdate(context.get(), plain.data(), &size, reinterpret_cast<const unsigned char*>(encrypted.data()),
                        static_cast<int>(encrypted.size())) == 1 &&
      EVP_DecryptFinal_ex(context.get(), plain.data() + size, &rest) == 1;
  ERR_clear_error();
  if (!is_plain) return InvalidError("the secret cannot be decrypted");
  TRY_ASSIGN(const JavaObjects secret,
             JavaObjects::Parse({reinterpret_cast<const char*>(plain.data()), static_cast<size_t>(size + rest)}));
  return std::string(FieldOf(secret, "key"));
}

}  // namespace

Result<std::vector<JksEntry>> EntriesInJks(std::string_view bytes) { return EntriesIn(bytes, kJks); }
Result<std::vector<JksEntry>> EntriesInJceks(std::string_view bytes) { return EntriesIn(bytes, kJceks); }

Result<std::optional<std::string>> SecretInJceks(std::string_view bytes, std::string_view password,
                                                 std::string_view name) {
  TRY_ASSIGN(const auto entries, EntriesInJceks(bytes));
  const size_t signed_size = bytes.size() - kSha1Size;
  if (Sha1(WidePassword(password) + "Mighty Aphrodite", bytes.substr(0, signed_size)) != bytes.substr(signed_size))
    return InvalidError("the password of the file is wrong, or the file is damaged");
  for (const JksEntry& entry : entries) {
    if (entry.secret.empty() || ToLower(entry.name) != ToLower(name)) continue;
    TRY_ASSIGN(std::string secret, Unseal(entry.secret, password));
    return std::optional(std::move(secret));
  }
  return std::optional<std::string>();
}

Result<std::string> DecryptJksKey(std::string_view key, std::string_view password) {
  const auto* from = reinterpret_cast<const unsigned char*>(key.data());
  const Owned<X509_SIG, X509_SIG_free> info(d2i_X509_SIG(nullptr, &from, static_cast<long>(key.size())));
  ERR_clear_error();
  const ASN1_OCTET_STRING* content = nullptr;
  if (info) X509_SIG_get0(info.get(), nullptr, &content);
  if (!content || ASN1_STRING_length(content) < static_cast<int>(2 * kSha1Size))
    return InvalidError("the key is damaged");
  const std::string_view bytes(reinterpret_cast<const char*>(ASN1_STRING_get0_data(content)),
                               static_cast<size_t>(ASN1_STRING_length(content)));
  std::string plain(bytes.substr(kSha1Size, bytes.size() - 2 * kSha1Size));
  const std::string wide = WidePassword(password);
  std::string stream(bytes.substr(0, kSha1Size));
  for (size_t i = 0; i < plain.size(); ++i) {
    if (i % kSha1Size == 0) stream = Sha1(wide, stream);
    plain[i] = static_cast<char>(plain[i] ^ stream[i % kSha1Size]);
  }
  if (Sha1(wide, plain) != bytes.substr(bytes.size() - kSha1Size)) return InvalidError("the key's password is wrong");
  return plain;
}

Result<ProxiedServer> ProxiedServerIn(std::string_view keystore, std::string_view truststore,
                                      std::string_view password) {
  TRY_ASSIGN(auto keys, Annotate(EntriesInJks(keystore), "keystore"));
  TRY_ASSIGN(auto trusted, Annotate(EntriesInJks(truststore), "truststore"));
  if (keys.size() != 1 || keys[0].key.empty()) return InvalidError("keystore: expected one entry, a key");
  if (trusted.size() != 1 || trusted[0].certificates.empty())
    return InvalidError("truststore: expected one entry, the certificate of YARN's proxy");
  TRY_ASSIGN(std::string key, Annotate(DecryptJksKey(keys[0].key, password), "keystore"));
  return ProxiedServer{std::move(keys[0].certificates), std::move(key), std::move(trusted[0].certificates[0])};
}

}  // namespace tony::hadoop
