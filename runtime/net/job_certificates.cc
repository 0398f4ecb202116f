#include "runtime/net/job_certificates.h"

#include <openssl/ec.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/x509.h>
#include <openssl/x509v3.h>

#include <algorithm>
#include <utility>

#include "runtime/base/strings.h"
#include "runtime/net/owned.h"

namespace tony {
namespace {

using Key = Owned<EVP_PKEY, EVP_PKEY_free>;
using Certificate = Owned<X509, X509_free>;

constexpr Duration kClocksDiffer = std::chrono::hours(24);
constexpr size_t kLongestName = 64;  // RFC 5280's ub-common-name

struct Validity {
  Instant from, until;
};

struct Pair {
  Key key;
  Certificate certificate;
};

// What a certificate says beside its key and its time.
struct Content {
  int number = 0;  // of those of one authority
  std::string name;
  const char* basic = "";
  const char* usage = "";
  std::string alternative;  // none: empty
};

bool SetName(X509_NAME* to, const std::string& name) {
  const auto* bytes = reinterpret_cast<const unsigned char*>(name.data());
  const int size = static_cast<int>(std::min(name.size(), kLongestName));
  return X509_NAME_add_entry_by_txt(to, "CN", MBSTRING_ASC, bytes, size, -1, 0) == 1;
}

bool SetTime(ASN1_TIME* to, Instant when) {
  return ASN1_TIME_set(to, std::chrono::duration_cast<std::chrono::seconds>(when.time_since_epoch()).count()) !=
         nullptr;
}

bool Extend(X509* certificate, int extension, const std::string& value) {
  X509V3_CTX context;
  X509V3_set_ctx(&context, nullptr, certificate, nullptr, nullptr, 0);
  const Owned<X509_EXTENSION, X509_EXTENSION_free> made(
      X509V3_EXT_nconf_nid(nullptr, &context, extension, value.c_str()));
  return made && X509_add_ext(certificate, made.get(), -1) == 1;
}

bool Fill(X509* certificate, const Content& content, const Validity& validity) {
  return X509_set_version(certificate, X509_VERSION_3) == 1 &&
         ASN1_INTEGER_set(X509_get_serialNumber(certificate), content.number) == 1 &&
         SetName(X509_get_subject_name(certificate), content.name) &&
         SetTime(X509_getm_notBefore(certificate), validity.from) &&
         SetTime(X509_getm_notAfter(certificate), validity.until) &&
         Extend(certificate, NID_basic_constraints, content.basic) &&
         Extend(certificate, NID_key_usage, content.usage) &&
         (content.alternative.empty() || Extend(certificate, NID_subject_alt_name, content.alternative));
}

// `authority`: null for the authority itself.
Result<Pair> Sign(const Content& content, const Validity& validity, const Pair* authority) {
  ERR_clear_error();
  Pair pair{Key(EVP_EC_gen("P-256")), Certificate(X509_new())};
  const Pair& signer = authority ? *authority : pair;
  if (pair.key && pair.certificate && Fill(pair.certificate.get(), content, validity) &&
      X509_set_pubkey(pair.certificate.get(), pair.key.get()) == 1 &&
      X509_set_issuer_name(pair.certificate.get(), X509_get_subject_name(signer.certificate.get())) == 1 &&
      X509_sign(pair.certificate.get(), signer.key.get(), EVP_sha256()) != 0)
    return pair;
  const char* why = ERR_reason_error_string(ERR_peek_error());
  return Error{ErrorCode::kInternal, StrCat("make the certificate of ", content.name, ": ", why ? why : "unknown")};
}

template <class Write>
std::string Pem(const Write& write) {
  const Owned<BIO, BIO_free> memory(BIO_new(BIO_s_mem()));
  if (!memory || write(memory.get()) != 1) return "";
  const char* bytes = nullptr;
  const auto size = static_cast<size_t>(BIO_get_mem_data(memory.get(), &bytes));
  return {bytes, size};
}

std::string PemOf(const Certificate& certificate) {
  return Pem([&](BIO* to) { return PEM_write_bio_X509(to, certificate.get()); });
}

Result<TlsIdentity> MakeIdentity(int number, TlsRole role, const Validity& validity, const Pair& authority) {
  const Content content{number, ToString(role), "critical,CA:FALSE", "critical,digitalSignature",
                        "URI:" + ToString(role)};
  TRY_ASSIGN(const Pair own, Sign(content, validity, &authority));
  TlsIdentity identity{PemOf(authority.certificate), PemOf(own.certificate), Pem([&](BIO* to) {
                         return PEM_write_bio_PrivateKey(to, own.key.get(), nullptr, nullptr, 0, nullptr, nullptr);
                       })};
  if (identity.ca.empty() || identity.certificate.empty() || identity.key.empty())
    return Error{ErrorCode::kInternal, StrCat("write the certificate of ", content.name)};
  return identity;
}

}  // namespace

std::string ToString(TlsRole role) {
  switch (role) {
    case TlsRole::kMaster:
      return "tony:master";
    case TlsRole::kExecutor:
      return "tony:executor";
    case TlsRole::kClient:
      return "tony:client";
  }
  return "";
}

Result<JobCertificates> MakeJobCertificates(const std::string& job, Instant now, Duration validity) {
  const Validity valid{now - kClocksDiffer, now + validity + kClocksDiffer};
  const Content authority{1, "TonY job " + job, "critical,CA:TRUE,pathlen:0", "critical,keyCertSign", ""};
  TRY_ASSIGN(const Pair ca, Sign(authority, valid, nullptr));
  JobCertificates made;
  TRY_ASSIGN(made.master, MakeIdentity(2, TlsRole::kMaster, valid, ca));
  TRY_ASSIGN(made.executor, MakeIdentity(3, TlsRole::kExecutor, valid, ca));
  TRY_ASSIGN(made.client, MakeIdentity(4, TlsRole::kClient, valid, ca));
  return made;
}

}  // namespace tony
