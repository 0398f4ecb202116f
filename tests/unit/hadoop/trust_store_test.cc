#include "runtime/hadoop/trust_store.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <map>
#include <optional>

#include "runtime/hadoop/key_store.h"
#include "runtime/net/tls.h"
#include "tests/support/java_keystores.h"
#include "tests/support/results.h"
#include "tests/support/temp_folder.h"

namespace tony::hadoop {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

// Truststores that keytool of Java 17 made, with the password "changeit" and the certificate of an authority "a", as
// base64. kJksKey contains the key of the authority.
constexpr char kJks[] =
    "/u3+7QAAAAIAAAABAAAAAgABYQAAAaIq5XB/AAVYLjUwOQAAATQwggEwMIHXoAMCAQICCC8bRHkm82xOMAoGCCqGSM49BAMCMAwx"
    "CjAIBgNVBAMTAWEwIBcNMjYxMTMwMDUyMDA4WhgPMjEyNjExMDYwNTIwMDhaMAwxCjAIBgNVBAMTAWEwWTATBgcqhkjOPQIBBggq"
    "hkjOPQMBBwNCAAQqSczwQKA+GTVQgEn+QVmI36TgzDlm0SLOBE+BUqKa3wsHoyRkNyinwmqqVSzH3i+nnbTb6vlvQGPrPmcLdblZ"
    "oyEwHzAdBgNVHQ4EFgQUBGP/sbp1A7tU3YStiRgQp9UKyawwCgYIKoZIzj0EAwIDSAAwRQIhALTjWm4ee/Ro3NgUAP0bIrQ0aRPl"
    "5OfMzm8Di4R6FN/BAiAuH5WbavyhCT8UKNDOS8OTprCRFPQjUfnyulpZlnAEKzp6OOne5S/EpBAzMVeVJzZHOrzD";
constexpr char kJksKey[] =
    "/u3+7QAAAAIAAAABAAAAAQABYQAAAaIq5W2LAAAAfzB9MA4GCisGAQQBKgIRAQEFAARrHvIdsLct+TS5bY9dVF9uOIapjfjWaahZ"
    "d/rYzEFWl6BGl9K5vZYTljEzwCdmsGfEYVCkKIEtvtnZ95h8Qw+6c7sdvCAbWBiEtqVVSN71uYo6qOsOJR5Rl94Hrqm1/nAIFJ9L"
    "pZa7G1HIS+gAAAABAAVYLjUwOQAAATQwggEwMIHXoAMCAQICCC8bRHkm82xOMAoGCCqGSM49BAMCMAwxCjAIBgNVBAMTAWEwIBcN"
    "MjYxMTMwMDUyMDA4WhgPMjEyNjExMDYwNTIwMDhaMAwxCjAIBgNVBAMTAWEwWTATBgcqhkjOPQIBBggqhkjOPQMBBwNCAAQqSczw"
    "QKA+GTVQgEn+QVmI36TgzDlm0SLOBE+BUqKa3wsHoyRkNyinwmqqVSzH3i+nnbTb6vlvQGPrPmcLdblZoyEwHzAdBgNVHQ4EFgQU"
    "BGP/sbp1A7tU3YStiRgQp9UKyawwCgYIKoZIzj0EAwIDSAAwRQIhALTjWm4ee/Ro3NgUAP0bIrQ0aRPl5OfMzm8Di4R6FN/BAiAu"
    "H5WbavyhCT8UKNDOS8OTprCRFPQjUfnyulpZlnAEK5rJy3DFrQATM4ARORGpeDVhjTRB";
constexpr char kPkcs12[] =
    "MIICogIBAzCCAkwGCSqGSIb3DQEHAaCCAj0EggI5MIICNTCCAjEGCSqGSIb3DQEHBqCCAiIwggIeAgEAMIICFwYJKoZIhvcNAQcB"
    "MGYGCSqGSIb3DQEFDTBZMDgGCSqGSIb3DQEFDDArBBSAAYDL9thjAo9RUDYpy8yQFs1ZFwICJxACASAwDAYIKoZIhvcNAgkFADAd"
    "BglghkgBZQMEASoEEE4sCl3WQxCDIv71eZVvEsuAggGgN6hyR4HstAls1Tb5g/O0g+L4fYkwP7e/IPk+0iHngmPehwaY1CRM4XCz"
    "gu1rm1pZzStPHJgriylY8tzulqKD4VOeg0PtSGt1UJI/knzQ1JSJ36rQndWEyaT/Vihz0f8+OdUtKUt+F88hNxbpHgeZphP3apyK"
    "tKs0yxjmmGesu0L8nELXACmYstmey0zIaP1EMayOSuZsW+wK2Yf6b9BolYnstIZ2qZvAXuruj9AUJszsL/Rg7H3zzqGLytCzMbyV"
    "UKTakM2vcv1GakFiMqxStpJZm7oDtV5vV0F/6i9ofyFVNsnllGZJlKWIjl0E9Dvdab2Av3vv46VAjNSOATe3kqoq2c5ecetbYJhd"
    "bgJYlZ2gJkFpCZHcdIneq5QULL4cAsq8fwcJUTpE87kfhMP6LejD0r6Cr83SP7Jt8VFMNL0FdAdTBv8oXa66RCmGBiu6f1nfnAyI"
    "132jW547zVCXL7dxCNE0oU2nWScpvt6zrTjm4ict2fC6D5YgWKaKinVGIELkT4u/TYl+wgz2X3Zaq7h6GsY1n1WihtASu7SuKFYw"
    "TTAxMA0GCWCGSAFlAwQCAQUABCALcZiO2cwgh/9AXGR8mbNtpbRjRpWcrGYWzEQlJQuhcAQUpFPZ3x+shi+rTinpe+h4CwliOywC"
    "AicQ";
// As Java 8 to 15 made it (-J-Dkeystore.pkcs12.legacy).
constexpr char kOldPkcs12[] =
    "MIICTgIBAzCCAgcGCSqGSIb3DQEHAaCCAfgEggH0MIIB8DCCAewGCSqGSIb3DQEHBqCCAd0wggHZAgEAMIIB0gYJKoZIhvcNAQcB"
    "MCkGCiqGSIb3DQEMAQYwGwQUCnx8XRdO1PxdGK2MLfKk1Mj3WswCAwDDUICCAZhVyvsUJ8VGYpANBvOkvbITRdGYUHfjX6ep25h6"
    "9+EncLfy4WDKinXFrncV/vcyxcgRnlvdMCnbC8Zhu6f4zMLs6aLKINXN6lsTLyJl1Ji6580tD9pQeMg153MJHSFjV/vUiQAETntE"
    "Ds0SmNHjvUd92ZHLMFSd0KxlJnX16k9pD+hFFbXapoD71Hfbbe93cOvAmDIsNuLveQ7cPAoufdzupiqRrIrxwnlkD0nMDsDgPMbY"
    "TkjEpyF3TuBASsrM201X4MaAxLB32IgOvMbwg2B3viVZByzwQlQCvsun32/NquIwk+Kj9F61W29RKOL7WlrptHVSOWY4qwXlIgR+"
    "kv8lTuVK+UORJOKk8gXXSbnl307OqamkQ4i65I87r0e0LekFF7hZOo66/rjgw8NV17f1XeTMmbfUmLToJ4heLz/octrZg/PA4rEd"
    "yEvmAkX8qTx+EKPFvVAumvqGmxlJ8n1hiNel0ds9+fV2QvMjf5f8X4EOqTcdd5YaullPiZX/JYmX76lHHyFVYxqWCut3CQoZyzic"
    "xoPPyxkwPjAhMAkGBSsOAwIaBQAEFAnW/pxD0yzFf//g15BsD4GZobAHBBTeAA2kJ/dwHFXPDmi7V9Ph1xNjewIDAYag";
// Neither encrypted nor protected by a digest.
constexpr char kOpenPkcs12[] =
    "MIIBxwIBAzCCAcAGCSqGSIb3DQEHAaCCAbEEggGtMIIBqTCCAaUGCSqGSIb3DQEHAaCCAZYEggGSMIIBjjCCAYoGCyqGSIb3DQEM"
    "CgEDoIIBTDCCAUgGCiqGSIb3DQEJFgGgggE4BIIBNDCCATAwgdegAwIBAgIILxtEeSbzbE4wCgYIKoZIzj0EAwIwDDEKMAgGA1UE"
    "AxMBYTAgFw0yNjExMzAwNTIwMDhaGA8yMTI2MTEwNjA1MjAwOFowDDEKMAgGA1UEAxMBYTBZMBMGByqGSM49AgEGCCqGSM49AwEH"
    "A0IABCpJzPBAoD4ZNVCASf5BWYjfpODMOWbRIs4ET4FSoprfCwejJGQ3KKfCaqpVLMfeL6edtNvq+W9AY+s+Zwt1uVmjITAfMB0G"
    "A1UdDgQWBBQEY/+xunUDu1TdhK2JGBCn1QrJrDAKBggqhkjOPQQDAgNIADBFAiEAtONabh579Gjc2BQA/RsitDRpE+Xk58zObwOL"
    "hHoU38ECIC4flZtq/KEJPxQo0M5Lw5OmsJEU9CNR+fK6WlmWcAQrMSswEQYJKoZIhvcNAQkUMQQeAgBhMBYGDGCGSAGG+WatynsB"
    "ATEGBgRVHSUA";
constexpr char kJceks[] =
    "zs7OzgAAAAIAAAABAAAAAgABYQAAAaIq5Xt/AAVYLjUwOQAAATQwggEwMIHXoAMCAQICCC8bRHkm82xOMAoGCCqGSM49BAMCMAwx"
    "CjAIBgNVBAMTAWEwIBcNMjYxMTMwMDUyMDA4WhgPMjEyNjExMDYwNTIwMDhaMAwxCjAIBgNVBAMTAWEwWTATBgcqhkjOPQIBBggq"
    "hkjOPQMBBwNCAAQqSczwQKA+GTVQgEn+QVmI36TgzDlm0SLOBE+BUqKa3wsHoyRkNyinwmqqVSzH3i+nnbTb6vlvQGPrPmcLdblZ"
    "oyEwHzAdBgNVHQ4EFgQUBGP/sbp1A7tU3YStiRgQp9UKyawwCgYIKoZIzj0EAwIDSAAwRQIhALTjWm4ee/Ro3NgUAP0bIrQ0aRPl"
    "5OfMzm8Di4R6FN/BAiAuH5WbavyhCT8UKNDOS8OTprCRFPQjUfnyulpZlnAEKxZq0twg3nMG5QQGfUCDchF+EdPs";
constexpr char kCertificate[] =
    "MIIBMDCB16ADAgECAggvG0R5JvNsTjAKBggqhkjOPQQDAjAMMQowCAYDVQQDEwFhMCAXDTI2MTEzMDA1MjAwOFoYDzIxMjYxMTA2"
    "MDUyMDA4WjAMMQowCAYDVQQDEwFhMFkwEwYHKoZIzj0CAQYIKoZIzj0DAQcDQgAEKknM8ECgPhk1UIBJ/kFZiN+k4Mw5ZtEizgRP"
    "gVKimt8LB6MkZDcop8JqqlUsx94vp5202+r5b0Bj6z5nC3W5WaMhMB8wHQYDVR0OBBYEFARj/7G6dQO7VN2ErYkYEKfVCsmsMAoG"
    "CCqGSM49BAMCA0gAMEUCIQC041puHnv0aNzYFAD9GyK0NGkT5eTnzM5vA4uEehTfwQIgLh+Vm2r8oQk/FCjQzkvDk6awkRT0I1H5"
    "8rpaWZZwBCs=";

std::string Decoded(std::string_view base64) { return DecodedBase64(base64); }

// Returns the PEM of kCertificate.
std::string Pem() {
  std::string lines;
  const std::string text = kCertificate;
  for (size_t i = 0; i < text.size(); i += 64) lines += text.substr(i, 64) + "\n";
  return "-----BEGIN CERTIFICATE-----\n" + lines + "-----END CERTIFICATE-----\n";
}

TEST(TrustStoreTest, TheCertificatesOfAJksAreReadWithoutItsPassword) {
  EXPECT_THAT(Must(CertificatesInJks(Decoded(kJks))), ElementsAre(Decoded(kCertificate)));
  EXPECT_THAT(Must(CertificatesInJks(Decoded(kJksKey))), ElementsAre(Decoded(kCertificate)));
  EXPECT_EQ(Must(PemOfTrustStore(Decoded(kJks), std::nullopt)), Pem());
}

TEST(TrustStoreTest, AJksThatIsCutAtAnyByteIsRefused) {
  const std::string whole = Decoded(kJks);
  for (size_t size = 0; size < whole.size(); ++size)
    EXPECT_FALSE(CertificatesInJks(whole.substr(0, size)).ok()) << size;
  EXPECT_FALSE(CertificatesInJks(whole + "x").ok());
}

TEST(TrustStoreTest, AJksWithAMalformedCertificateIsRefused) {
  std::string bytes = Decoded(kJks);
  bytes[bytes.find(Decoded(kCertificate))] = 'x';
  ExpectError(PemOfTrustStore(bytes, std::nullopt), ErrorCode::kInvalid, "~malformed certificate");
}

TEST(KeyStoreTest, TheKeyOfAJksIsDecryptedWithItsPasswordAndBelongsToItsCertificate) {
  const auto entries = Must(EntriesInJks(Decoded(kJksKey)));
  ASSERT_EQ(entries.size(), 1u);
  const std::string key = Must(DecryptJksKey(entries[0].key, "changeit"));
  const ProxiedServer server = Must(ProxiedServerIn(Decoded(kJksKey), Decoded(kJks), "changeit"));
  EXPECT_EQ(server.key, key);
  EXPECT_EQ(server.client, Decoded(kCertificate));
  EXPECT_TRUE(MakeProxiedServer(server).ok());
  ExpectError(ProxiedServerIn(Decoded(kJks), Decoded(kJks), "changeit"), ErrorCode::kInvalid, "~expected one entry, a key");
  ExpectError(ProxiedServerIn(Decoded(kJksKey), "x", "changeit"), ErrorCode::kInvalid, "~truststore: the file is damaged");
  ExpectError(DecryptJksKey(entries[0].key, "changeme"), ErrorCode::kInvalid, "~password is wrong");
  for (size_t size = 0; size < entries[0].key.size(); ++size)
    EXPECT_FALSE(DecryptJksKey(entries[0].key.substr(0, size), "changeit").ok()) << size;
}

TEST(TrustStoreTest, APkcs12IsReadWithItsPassword) {
  for (const char* store : {kPkcs12, kOldPkcs12, kOpenPkcs12})
    EXPECT_EQ(Must(PemOfTrustStore(Decoded(store), "changeit")), Pem()) << store;
  EXPECT_EQ(Must(PemOfTrustStore(Decoded(kOpenPkcs12), std::nullopt)), Pem());
}

TEST(TrustStoreTest, ATruststoreThatCannotBeReadIsRefused) {
  const std::string whole = Decoded(kPkcs12);
  ExpectError(PemOfTrustStore(whole, std::nullopt), ErrorCode::kInvalid, "~needs its password");
  ExpectError(PemOfTrustStore(whole, "other"), ErrorCode::kInvalid, "~the password is wrong");
  ExpectError(PemOfTrustStore(Decoded(kOldPkcs12), "other"), ErrorCode::kInvalid, "~the password is wrong");
  for (const std::string& bytes : {whole.substr(0, 100), Decoded(kJceks), Pem(), std::string()})
    ExpectError(PemOfTrustStore(bytes, "changeit"), ErrorCode::kInvalid, "~neither a JKS nor a PKCS12");
}

TEST(KeyStoreTest, ASecretOfAJceksIsDecryptedWithThePasswordOfTheFile) {
  const std::string name = "ssl.client.truststore.password", one = Decoded(kOnePassword), two = Decoded(kTwoPasswords);
  EXPECT_EQ(Must(SecretInJceks(one, "none", name)), "changeit");
  EXPECT_EQ(Must(SecretInJceks(two, "secret1", name)), "changeit");
  EXPECT_EQ(Must(SecretInJceks(two, "secret1", "other.NAME")), "pa ss-w0rd");
  EXPECT_EQ(Must(SecretInJceks(one, "none", "other.name")), std::nullopt);
  ExpectError(SecretInJceks(two, "none", name), ErrorCode::kInvalid, "~password of the file is wrong");
  EXPECT_THAT(Must(EntriesInJceks(Decoded(kJceks))), testing::SizeIs(1));
}

TEST(KeyStoreTest, AJceksThatIsCutOrDamagedAtAnyByteIsRefused) {
  const std::string whole = Decoded(kOnePassword);
  for (size_t i = 0; i < whole.size(); ++i) {
    EXPECT_FALSE(EntriesInJceks(whole.substr(0, i)).ok()) << i;
    std::string damaged = whole;
    damaged[i] = static_cast<char>(damaged[i] ^ 1);
    EXPECT_FALSE(SecretInJceks(damaged, "none", "ssl.client.truststore.password").ok()) << i;
  }
  EXPECT_FALSE(EntriesInJceks(whole + "x").ok());
  EXPECT_FALSE(EntriesInJks(whole).ok());
}

// ---- ssl-client.xml

class HttpTrustTest : public testing::Test {
 protected:
  HttpTrustTest() {
    Write("trust.jks", Decoded(kJks));
    Write("trust.p12", Decoded(kPkcs12));
  }
  std::string Path(const std::string& name) const { return (temp_.path() / name).string(); }
  void Write(const std::string& name, const std::string& bytes) { std::ofstream(Path(name)) << bytes; }
  void Configure(const std::map<std::string, std::string>& values, const std::string& name = "ssl-client.xml") {
    std::string text = "<configuration>\n";
    for (const auto& [key, value] : values)
      text += "<property><name>" + key + "</name><value>" + value + "</value></property>\n";
    Write(name, text + "</configuration>\n");
  }
  Result<HttpTrust> Read(const std::map<std::string, std::string>& site = {}) {
    Properties sites;
    for (const auto& [key, value] : site) sites.Set(key, value, "core-site.xml:3");
    return ReadHttpTrust(sites, {temp_.path()}, [this](const std::string& name) -> std::optional<std::string> {
      return name == "HADOOP_CREDSTORE_PASSWORD" ? store_password_ : std::nullopt;
    });
  }
  std::string ErrorWith(const std::map<std::string, std::string>& values) {
    Configure(values);
    const auto trust = Read();
    return trust.ok() ? "accepted" : trust.error().message;
  }

  const TempFolder temp_;
  std::optional<std::string> store_password_;
};

constexpr char kLocation[] = "ssl.client.truststore.location";
constexpr char kType[] = "ssl.client.truststore.type";
constexpr char kPassword[] = "ssl.client.truststore.password";

TEST_F(HttpTrustTest, WithoutATruststoreTheAuthoritiesOfThisMachineAreTrusted) {
  EXPECT_EQ(Must(Read()), HttpTrust());
  Configure({{kType, "jks"}});
  EXPECT_EQ(Must(Read()), HttpTrust());
}

TEST_F(HttpTrustTest, ATruststoreOfEachTypeIsReadUnderEachType) {
  for (const char* store : {"trust.jks", "trust.p12"})
    for (const char* type : {"", "jks", "JKS", "pkcs12"}) {
      Configure({{kLocation, Path(store)}, {kType, type}, {kPassword, "changeit"}});
      const HttpTrust trust = Must(Read());
      EXPECT_EQ(trust.authorities, Pem()) << store << type;
      EXPECT_EQ(trust.origin, Path(store) + " (ssl.client.truststore.location in " + Path("ssl-client.xml") + ":2)");
      EXPECT_TRUE(trust.checks_names);
    }
}

TEST_F(HttpTrustTest, TheFileWithTheTruststoreMayHaveAnotherName) {
  Configure({{kLocation, Path("trust.jks")}}, "other.xml");
  EXPECT_EQ(Must(Read({{"hadoop.ssl.client.conf", "other.xml"}})).authorities, Pem());
}

TEST_F(HttpTrustTest, OnlyAllowAllSwitchesTheCheckOfNamesOff) {
  for (const char* value : {"", "DEFAULT", "DEFAULT_AND_LOCALHOST", "STRICT", "STRICT_IE6"})
    EXPECT_TRUE(Must(Read({{"hadoop.ssl.hostname.verifier", value}})).checks_names) << value;
  EXPECT_FALSE(Must(Read({{"hadoop.ssl.hostname.verifier", "ALLOW_ALL"}})).checks_names);
  ExpectError(Read({{"hadoop.ssl.hostname.verifier", "NONE"}}), ErrorCode::kInvalid,
              "core-site.xml:3: hadoop.ssl.hostname.verifier is \"NONE\", expected DEFAULT, DEFAULT_AND_LOCALHOST, "
              "STRICT, STRICT_IE6 or ALLOW_ALL");
}

TEST_F(HttpTrustTest, AValueThatCannotBeUsedIsNamed) {
  const std::string file = Path("ssl-client.xml");
  const auto error = [&](const std::map<std::string, std::string>& values) { return ErrorWith(values); };
  EXPECT_EQ(error({{kLocation, Path("trust.jks")}, {kType, "bcfks"}}),
            file + ":2: ssl.client.truststore.location: " + file +
                ":3: ssl.client.truststore.type is \"bcfks\", expected jks or pkcs12");
  EXPECT_THAT(error({{kLocation, "/none"}}), HasSubstr(":2: ssl.client.truststore.location: open /none: no such file"));
  EXPECT_THAT(error({{kLocation, temp_.path()}}), HasSubstr(":2: ssl.client.truststore.location: read "));
  EXPECT_THAT(error({{kLocation, Path("trust.p12")}}),
              HasSubstr("trust.p12: a PKCS12 truststore needs its password in ssl.client.truststore.password, or "
                        "in a provider of hadoop.security.credential.provider.path"));
  EXPECT_THAT(error({{kLocation, Path("trust.p12")}, {kPassword, "other"}}),
              HasSubstr("trust.p12 (ssl.client.truststore.password in " + file + ":3): the password is wrong"));
  for (const char* key : {"hadoop.ssl.require.client.cert", "dfs.client.https.need-auth"})
    ExpectError(Read({{key, "true"}}), ErrorCode::kInvalid,
                std::string("core-site.xml:3: ") + key + " is \"true\", expected false, because TonY has no "
                "certificate for Hadoop's servers");
}

constexpr char kProviders[] = "hadoop.security.credential.provider.path";

TEST_F(HttpTrustTest, ThePasswordOfATruststoreIsReadFromTheFirstProviderThatHasIt) {
  Write("one.jceks", Decoded(kOnePassword));
  Write("two.jceks", Decoded(kTwoPasswords));
  std::map<std::string, std::string> values = {{kLocation, Path("trust.p12")}};
  for (const std::string& path :
       {"jceks://file" + Path("one.jceks"), "localjceks://file" + Path("one.jceks"),
        "jceks://file" + Path("none.jceks") + ", localjceks://file" + Path("one.jceks")}) {
    values[kProviders] = path;
    Configure(values);
    EXPECT_EQ(Must(Read()).authorities, Pem()) << path;
  }
  values[kPassword] = "plain text does not win";
  Configure(values);
  EXPECT_EQ(Must(Read()).authorities, Pem());

  values[kProviders] = "jceks://file" + Path("two.jceks");
  EXPECT_THAT(ErrorWith(values), HasSubstr(":2: hadoop.security.credential.provider.path: " + Path("two.jceks") +
                                           ": the password of the file is wrong"));
  store_password_ = "secret1";
  EXPECT_TRUE(Read().ok());
  store_password_.reset();
  Write("the-password", " secret1\n");
  values["hadoop.security.credstore.java-keystore-provider.password-file"] = "the-password";
  EXPECT_EQ(ErrorWith(values), "accepted");
  values["hadoop.security.credstore.java-keystore-provider.password-file"] = "another";
  EXPECT_THAT(ErrorWith(values), HasSubstr("password-file is \"another\", expected the name of a file beside"));
}

TEST_F(HttpTrustTest, APasswordInPlainTextCountsIfNoProviderHasItAndPlainTextIsAllowed) {
  std::map<std::string, std::string> values = {
      {kLocation, Path("trust.p12")}, {kPassword, "changeit"}, {kProviders, "jceks://file" + Path("none.jceks")}};
  EXPECT_EQ(ErrorWith(values), "accepted");
  values["hadoop.security.credential.clear-text-fallback"] = "false";
  EXPECT_THAT(ErrorWith(values), HasSubstr("a PKCS12 truststore needs its password"));
}

TEST_F(HttpTrustTest, ProvidersOfTheSiteFilesCountOnlyWithoutPlainText) {
  const std::map<std::string, std::string> in_hdfs = {{kProviders, "jceks://hdfs@nn/s3.jceks"}};
  Configure({{kLocation, Path("trust.p12")}, {kPassword, "changeit"}});
  EXPECT_TRUE(Read(in_hdfs).ok());
  Configure({{kLocation, Path("trust.p12")}});
  Write("one.jceks", Decoded(kOnePassword));
  EXPECT_TRUE(Read({{kProviders, "jceks://file" + Path("one.jceks")}}).ok());
  const std::string expected =
      "expected jceks://file/PATH or localjceks://file/PATH, because TonY reads only Java's keystores on this machine";
  for (const char* path : {"jceks://hdfs@nn/s3.jceks", "user:///", "jceks:///a.jceks", "bcfks://file/a"})
    ExpectError(Read({{kProviders, path}}), ErrorCode::kInvalid,
                Path("ssl-client.xml") + ":2: ssl.client.truststore.location: core-site.xml:3: " + kProviders +
                    " is \"" + path + "\", " + expected);
}

}  // namespace
}  // namespace tony::hadoop
