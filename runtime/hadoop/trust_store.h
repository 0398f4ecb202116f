// Reads the certificates that Hadoop's clients trust, from the truststore that ssl-client.xml names. Java's tools write
// two formats, and Java reads both under either name: JKS, and PKCS12, which has been keytool's default since Java 9.
//
//   JKS    key_store.h
//   PKCS12 a structure of ASN.1, which OpenSSL reads. A digest depends on the password. Java 8 to 15 encrypt the
//          certificates with RC2 and a key of 40 bits. A static OpenSSL does not offer this cipher for PKCS12, so they
//          are decrypted here. Newer releases use AES
//
// The keys in ssl-client.xml:
//
//   ssl.client.truststore.location, .type, .password   the file, its format, and the password of a PKCS12, which may
//                                                      be in a credential provider (credential_providers.h)
//   hadoop.ssl.hostname.verifier                       ALLOW_ALL: names of servers are not compared
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/base/result.h"
#include "runtime/hadoop/hadoop_xml.h"
#include "runtime/net/http_client.h"

namespace tony::hadoop {

// Returns the certificates (DER) in a JKS: the trusted ones, and the first certificate of each key, as Java does. The
// password protects only the digest, which is not checked. kInvalid: the bytes have another form. Pure.
Result<std::vector<std::string>> CertificatesInJks(std::string_view bytes);

// Returns the certificates in a truststore of either format as PEM. kInvalid: the bytes have another form, contain no
// certificate, or need another password. Pure.
Result<std::string> PemOfTrustStore(std::string_view bytes, const std::optional<std::string>& password);

// Returns what the clients of a cluster with HTTPS trust. `sites` are the properties of the site files, and `folders`
// may contain ssl-client.xml (hadoop.ssl.client.conf). If none of them names a truststore, the authorities of this
// machine are trusted. kInvalid, with file and key: a value cannot be used, or a file cannot be read or is malformed.
Result<HttpTrust> ReadHttpTrust(const Properties& sites, const std::vector<std::filesystem::path>& folders,
                                SiteConfiguration::Environment environment);

}  // namespace tony::hadoop
