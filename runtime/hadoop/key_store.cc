#include "runtime/hadoop/key_store.h"

#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/x509.h>

#include <array>
#include <cstdint>
#include <utility>

namespace tony::hadoop {
namespace {

constexpr std::string_view kMagic = "\xfe\xed\xfe\xed";
constexpr size_t kSha1Size = 20;

// Reads the fields of a JKS. All getters return an empty value once the bytes are too short.
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
  uint32_t Number(size_t size) {
    uint32_t number = 0;
    for (const char byte : Bytes(size)) number = number << 8 | static_cast<unsigned char>(byte);
    return number;
  }
  std::string_view Name() { return Bytes(Number(2)); }
  std::string_view Block() { return Bytes(Number(4)); }
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

}  // namespace

Result<std::vector<JksEntry>> EntriesInJks(std::string_view bytes) {
  constexpr uint32_t kKey = 1, kTrusted = 2;
  const Error damaged = InvalidError("the file is damaged: it is not a complete JKS");
  JksReader reader(bytes);
  if (reader.Bytes(kMagic.size()) != kMagic) return damaged;
  const uint32_t version = reader.Number(4);
  if (version != 1 && version != 2) return damaged;
  std::vector<JksEntry> entries;
  for (uint32_t left = reader.Number(4); left > 0 && !reader.is_short(); --left) {
    JksEntry entry;
    const uint32_t tag = reader.Number(4);
    reader.Name();
    reader.Bytes(8);
    if (tag != kKey && tag != kTrusted) return damaged;
    if (tag == kKey) entry.key = reader.Block();
    const uint32_t count = tag == kKey ? reader.Number(4) : 1;
    for (uint32_t i = 0; i < count && !reader.is_short(); ++i) {
      if (version == 2) reader.Name();
      entry.certificates.emplace_back(reader.Block());
    }
    entries.push_back(std::move(entry));
  }
  if (reader.is_short() || reader.left() != kSha1Size) return damaged;
  return entries;
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
  std::string wide, plain(bytes.substr(kSha1Size, bytes.size() - 2 * kSha1Size));
  for (const char c : password) wide += {'\0', c};
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
