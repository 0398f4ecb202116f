// Fuzzes truststores and the keystores of credential providers, which a site's administrator wrote.
#include "runtime/hadoop/trust_store.h"

#include "runtime/hadoop/key_store.h"
#include "tests/fuzz/fuzz.h"
#include "tests/support/java_keystores.h"

namespace tony::fuzz {

void Read(std::string_view input) {
  const auto certificates = hadoop::CertificatesInJks(input);
  size_t size = 0;
  if (certificates.ok())
    for (const std::string& certificate : *certificates) size += certificate.size();
  CHECK(size <= input.size());
  const auto pem = hadoop::PemOfTrustStore(input, "changeit");
  CHECK(!pem.ok() || pem->starts_with("-----BEGIN CERTIFICATE-----"));
  const auto entries = hadoop::EntriesInJceks(input);
  if (entries.ok())
    for (const hadoop::JksEntry& entry : *entries) CHECK(entry.secret.size() + entry.key.size() <= input.size());
  const auto secret = hadoop::SecretInJceks(input, "none", "ssl.client.truststore.password");
  CHECK(!secret.ok() || !*secret || (*secret)->size() <= input.size());
}

std::vector<std::string> Seeds() {
  using std::string_literals::operator""s;
  const std::string head = "\xfe\xed\xfe\xed\0\0\0\2\0\0\0\1"s;
  const std::string named = "\0\1"s + "a" + std::string(8, '\0');
  const std::string certificate = "\0\5"s + "X.509" + "\0\0\0\2\x30\0"s;
  const std::string digest(20, 'd');
  return {head + "\0\0\0\2"s + named + certificate + digest,
          head + "\0\0\0\1"s + named + "\0\0\0\1k\0\0\0\2"s + certificate + certificate + digest,
          DecodedBase64(kOnePassword), DecodedBase64(kTwoPasswords),
          // An empty PKCS12 without a digest.
          "\x30\x18\x02\x01\x03\x30\x13\x06\x09\x2a\x86\x48\x86\xf7\x0d\x01\x07\x01\xa0\x06\x04\x04\x30\x02\x30\x00"s};
}

}  // namespace tony::fuzz
