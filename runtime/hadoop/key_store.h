// Reads a JKS, a file of Java with keys and certificates, and a JCEKS, which may also contain secret keys:
//
//   FEEDFEED or CECECECE, version (4), count (4); for each entry: tag (4), name, date (8), and
//   tag 1: key, count (4), certificates of its chain;  tag 2: one certificate;  tag 3: a SealedObject (java_objects.h)
//   SHA-1 of the password, a fixed text and all bytes before (20)
//
//   a name, and in version 2 each certificate's type: length (2), bytes; a key and a certificate: length (4), bytes
//
// A key is an EncryptedPrivateKeyInfo of ASN.1, whose bytes are: salt (20), encrypted key, check (20). The key is
// encrypted by an exclusive or with SHA-1(password, salt), SHA-1(password, the 20 bytes before), and so on. The check
// is SHA-1(password, key). In all of these the password has two bytes for each character.
//
// A SealedObject contains a serialized SecretKeySpec, encrypted by PBEWithMD5AndTripleDES: 3DES with CBC. MD5 is
// applied many times to each half of a salt and the password. The two results are the key (24 bytes) and the first
// block (8).
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/base/result.h"
#include "runtime/net/tls.h"

namespace tony::hadoop {

struct JksEntry {
  std::string name;
  // The encrypted key, or the sealed secret key of a JCEKS. Both empty: the entry is a trusted certificate.
  std::string key, secret;
  // DER: the trusted certificate, or the chain of the key, beginning with the key's own.
  std::vector<std::string> certificates;
};

// kInvalid: the bytes have another form. The digest, which depends on the password, is not checked. Pure.
Result<std::vector<JksEntry>> EntriesInJks(std::string_view bytes);
Result<std::vector<JksEntry>> EntriesInJceks(std::string_view bytes);

// Returns the secret `name` in a JCEKS, which Hadoop's program `hadoop credential` made; nullopt: it has no such
// secret. Upper and lower case of names are the same. kInvalid: the password is wrong, or the bytes have another form.
// Pure.
Result<std::optional<std::string>> SecretInJceks(std::string_view bytes, std::string_view password,
                                                 std::string_view name);

// Returns the key as PKCS #8 (DER). kInvalid: the password is wrong, or the bytes have another form. Pure.
Result<std::string> DecryptJksKey(std::string_view key, std::string_view password);

// Returns the identity in the two files that YARN passes to an AM: a keystore with one key, whose password is that of
// the key, too, and a truststore with the certificate of the proxy. kInvalid: the files have another content. Pure.
Result<ProxiedServer> ProxiedServerIn(std::string_view keystore, std::string_view truststore,
                                      std::string_view password);

}  // namespace tony::hadoop
