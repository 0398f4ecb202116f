#include "runtime/hadoop/trust_store.h"

// The functions of RC2 are deprecated.
#define OPENSSL_SUPPRESS_DEPRECATED

#include <openssl/asn1t.h>
#include <openssl/bio.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/pkcs12.h>
#include <openssl/pkcs7.h>
#include <openssl/rc2.h>
#include <openssl/x509.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <utility>

#include "runtime/base/strings.h"
#include "runtime/hadoop/credential_providers.h"
#include "runtime/hadoop/key_store.h"
#include "runtime/net/tls.h"
#include "runtime/os/files.h"

namespace tony::hadoop {
namespace {

constexpr std::string_view kJksMagic = "\xfe\xed\xfe\xed";
// Limit of a truststore. The bundle of a Linux distribution takes 200 KB. The certificates travel to each container in
// its credentials.
constexpr size_t kLargestStore = 512 << 10;
// Limit of the rounds in which a key is derived. keytool uses 50,000.
constexpr long kMostRounds = 10'000'000;

using Certificate = Owned<X509, X509_free>;

}  // namespace

Result<std::vector<std::string>> CertificatesInJks(std::string_view bytes) {
  TRY_ASSIGN(const auto entries, EntriesInJks(bytes));
  std::vector<std::string> found;
  for (const JksEntry& entry : entries)
    if (!entry.certificates.empty()) found.push_back(entry.certificates.front());
  return found;
}

namespace {

Result<std::string> PemOf(const std::vector<Certificate>& certificates) {
  const Owned<BIO, BIO_free> memory(BIO_new(BIO_s_mem()));
  for (const Certificate& certificate : certificates)
    if (!memory || PEM_write_bio_X509(memory.get(), certificate.get()) != 1)
      return Error{ErrorCode::kInternal, "write a certificate"};
  char* bytes = nullptr;
  const auto size = static_cast<size_t>(BIO_get_mem_data(memory.get(), &bytes));
  return std::string(bytes, size);
}

Result<std::vector<Certificate>> ReadJks(std::string_view bytes) {
  TRY_ASSIGN(const auto all, CertificatesInJks(bytes));
  std::vector<Certificate> certificates;
  for (const std::string& der : all) {
    const auto* from = reinterpret_cast<const unsigned char*>(der.data());
    certificates.emplace_back(d2i_X509(nullptr, &from, static_cast<long>(der.size())));
    if (!certificates.back()) return InvalidError("the truststore is damaged: it contains a malformed certificate");
  }
  return certificates;
}

void FreeBags(STACK_OF(PKCS12_SAFEBAG) * bags) { sk_PKCS12_SAFEBAG_pop_free(bags, PKCS12_SAFEBAG_free); }
void FreeParts(STACK_OF(PKCS7) * parts) { sk_PKCS7_pop_free(parts, PKCS7_free); }
using Bags = Owned<STACK_OF(PKCS12_SAFEBAG), FreeBags>;

// Decrypts certificates that Java 8 to 15 encrypted, with RC2 and a key of 40 bits. OpenSSL has this cipher only in a
// module that a static program cannot load. The cipher protects nothing, and certificates are not secret.
Bags DecryptRc2(const PKCS7& part, const char* password) {
  constexpr int kKeySize = 5;
  const PKCS7_ENC_CONTENT& content = *part.d.encrypted->enc_data;
  if (OBJ_obj2nid(content.algorithm->algorithm) != NID_pbe_WithSHA1And40BitRC2_CBC || !content.enc_data) return nullptr;
  const Owned<PBEPARAM, PBEPARAM_free> how(static_cast<PBEPARAM*>(
      ASN1_TYPE_unpack_sequence(ASN1_ITEM_rptr(PBEPARAM), content.algorithm->parameter)));
  std::array<unsigned char, kKeySize> key{};
  std::array<unsigned char, RC2_BLOCK> start{};
  const auto derive = [&](int id, auto& to) {
    const long rounds = how->iter ? ASN1_INTEGER_get(how->iter) : 1;
    return rounds <= kMostRounds &&
           PKCS12_key_gen_utf8(password, -1, how->salt->data, how->salt->length, id, static_cast<int>(rounds),
                               static_cast<int>(to.size()), to.data(), EVP_sha1()) == 1;
  };
  if (!how || !derive(PKCS12_KEY_ID, key) || !derive(PKCS12_IV_ID, start)) return nullptr;
  const ASN1_OCTET_STRING& encrypted = *content.enc_data;
  if (encrypted.length == 0 || encrypted.length % RC2_BLOCK != 0) return nullptr;
  std::vector<unsigned char> plain(static_cast<size_t>(encrypted.length));
  RC2_KEY schedule;
  RC2_set_key(&schedule, kKeySize, key.data(), kKeySize * 8);
  RC2_cbc_encrypt(encrypted.data, plain.data(), encrypted.length, &schedule, start.data(), RC2_DECRYPT);
  const unsigned char* from = plain.data();
  return Bags(reinterpret_cast<STACK_OF(PKCS12_SAFEBAG)*>(
      ASN1_item_d2i(nullptr, &from, encrypted.length, ASN1_ITEM_rptr(PKCS12_SAFEBAGS))));
}

Bags BagsIn(PKCS7& part, const char* password) {
  if (PKCS7_type_is_data(&part)) return Bags(PKCS12_unpack_p7data(&part));
  if (!PKCS7_type_is_encrypted(&part)) return nullptr;
  Bags bags(PKCS12_unpack_p7encdata(&part, password, -1));
  return bags ? std::move(bags) : DecryptRc2(part, password);
}

Result<std::vector<Certificate>> ReadPkcs12(std::string_view bytes, const std::optional<std::string>& password) {
  const auto* from = reinterpret_cast<const unsigned char*>(bytes.data());
  const Owned<PKCS12, PKCS12_free> store(d2i_PKCS12(nullptr, &from, static_cast<long>(bytes.size())));
  if (!store) return InvalidError("the file is damaged, or is neither a JKS nor a PKCS12 truststore");
  const char* text = password ? password->c_str() : nullptr;
  if (PKCS12_mac_present(store.get()) == 1 && PKCS12_verify_mac(store.get(), text, -1) != 1)
    return InvalidError(password ? "the password is wrong, or the file is damaged"
                                 : "a PKCS12 truststore needs its password in ssl.client.truststore.password, or in a "
                                   "provider of hadoop.security.credential.provider.path");
  const Owned<STACK_OF(PKCS7), FreeParts> parts(PKCS12_unpack_authsafes(store.get()));
  std::vector<Certificate> certificates;
  for (int i = 0; i < sk_PKCS7_num(parts.get()); ++i) {
    const Bags bags = BagsIn(*sk_PKCS7_value(parts.get(), i), text);
    if (!bags)
      return InvalidError("the certificates cannot be decrypted; convert the file to JKS: keytool -importkeystore "
                          "-srckeystore FILE -destkeystore NEW -deststoretype JKS");
    for (int bag = 0; bag < sk_PKCS12_SAFEBAG_num(bags.get()); ++bag)
      if (X509* certificate = PKCS12_SAFEBAG_get1_cert(sk_PKCS12_SAFEBAG_value(bags.get(), bag)))
        certificates.emplace_back(certificate);
  }
  return certificates;
}

}  // namespace

Result<std::string> PemOfTrustStore(std::string_view bytes, const std::optional<std::string>& password) {
  ERR_clear_error();
  const bool is_jks = bytes.starts_with(kJksMagic);
  auto certificates = is_jks ? ReadJks(bytes) : ReadPkcs12(bytes, password);
  ERR_clear_error();
  TRY(certificates.status());
  if (certificates->empty()) return InvalidError("the truststore contains no certificate");
  return PemOf(*certificates);
}

namespace {

constexpr const char* kLocation = "ssl.client.truststore.location";
constexpr const char* kType = "ssl.client.truststore.type";
constexpr const char* kPassword = "ssl.client.truststore.password";
constexpr const char* kVerifier = "hadoop.ssl.hostname.verifier";

using Value = SiteConfiguration::Value;

Error Wrong(const char* key, const Value& value, std::string_view expected) {
  return InvalidError(value.origin, ": ", key, " is \"", value.text, "\", expected ", expected);
}

Result<bool> ChecksNames(const SiteConfiguration& site) {
  constexpr std::string_view kKnown[] = {"DEFAULT", "DEFAULT_AND_LOCALHOST", "STRICT", "STRICT_IE6", "ALLOW_ALL"};
  TRY_ASSIGN(const auto value, site.Find(kVerifier));
  if (!value || value->text.empty()) return true;
  const auto* const known =
      std::ranges::find_if(kKnown, [&](auto name) { return ToLower(name) == ToLower(value->text); });
  if (known != std::end(kKnown)) return *known != "ALLOW_ALL";
  return Wrong(kVerifier, *value, "DEFAULT, DEFAULT_AND_LOCALHOST, STRICT, STRICT_IE6 or ALLOW_ALL");
}

Status RefuseClientCertificates(const SiteConfiguration& site) {
  for (const char* key : {"hadoop.ssl.require.client.cert", "dfs.client.https.need-auth"}) {
    TRY_ASSIGN(const auto value, site.Find(key));
    if (value && ToLower(value->text) == "true")
      return Wrong(key, *value, "false, because TonY has no certificate for Hadoop's servers");
  }
  return Ok();
}

using FindValue = std::function<Result<std::optional<Value>>()>;

// Returns the file of a truststore as PEM. `find_password` is called only if the format needs a password.
Result<std::string> ReadStore(const SiteConfiguration& site, const Value& location, const FindValue& find_password) {
  TRY_ASSIGN(const auto type, site.Find(kType));
  const std::string lower = type ? ToLower(type->text) : "";
  if (!lower.empty() && lower != "jks" && lower != "pkcs12") return Wrong(kType, *type, "jks or pkcs12");
  const auto bytes = ReadFile(location.text);
  if (!bytes.ok()) return InvalidError(bytes.error().message);
  if (bytes->size() > kLargestStore)
    return InvalidError(location.text, ": the truststore is larger than ", kLargestStore >> 10, " KiB");
  if (bytes->starts_with(kJksMagic)) return Annotate(PemOfTrustStore(*bytes, std::nullopt), location.text);
  TRY_ASSIGN(const auto password, find_password());
  return Annotate(PemOfTrustStore(*bytes, password ? std::optional(password->text) : std::nullopt),
                  StrCat(location.text, password ? StrCat(" (", kPassword, " in ", password->origin, ")") : ""));
}

}  // namespace

Result<HttpTrust> ReadHttpTrust(const Properties& sites, const std::vector<std::filesystem::path>& folders,
                                SiteConfiguration::Environment environment) {
  TRY_ASSIGN(const auto name, SiteConfiguration(sites, environment).Find("hadoop.ssl.client.conf"));
  Properties all = sites, own;
  for (const std::filesystem::path& folder : folders) {
    const auto more = ReadSite(folder / (name && !name->text.empty() ? name->text : "ssl-client.xml"));
    if (!more.ok() && more.error().code == ErrorCode::kNotFound) continue;
    if (!more.ok()) return InvalidError(more.error().message);
    all.Merge(*more);
    own.Merge(*more);
  }
  const SiteConfiguration site(all, environment);
  TRY(RefuseClientCertificates(site));
  HttpTrust trust;
  TRY_ASSIGN(trust.checks_names, ChecksNames(site));
  TRY_ASSIGN(const auto location, site.Find(kLocation));
  if (!location || location->text.empty()) return trust;
  const std::string from = StrCat(location->origin, ": ", kLocation);
  // Java reads only ssl-client.xml for this. The providers of the other files are for other passwords, so they count
  // only without a plain text.
  const bool has_plain_text = own.Find(kPassword) && !own.Find(kCredentialProviders);
  const auto find_password = [&] {
    return has_plain_text ? site.Find(kPassword) : FindPassword(site, folders, environment, kPassword);
  };
  TRY_ASSIGN(trust.authorities, Annotate(ReadStore(site, *location, find_password), from));
  trust.origin = StrCat(location->text, " (", kLocation, " in ", location->origin, ")");
  return trust;
}

}  // namespace tony::hadoop
