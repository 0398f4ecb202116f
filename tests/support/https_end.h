// Servers with TLS, and their certificates: those of a site's authority, and those that a client must refuse.
#pragma once

#include <string>

#include "runtime/net/frame_connection.h"
#include "runtime/net/tls.h"
#include "tests/unit/net/raw_tls.h"

namespace tony {

// The site's authority. All certificates are valid from 2020 to 2120, unless said otherwise.
inline constexpr char kSiteAuthority[] = R"(-----BEGIN CERTIFICATE-----
MIIC8TCCAdmgAwIBAgIBAzANBgkqhkiG9w0BAQsFADAZMRcwFQYDVQQDDA5zaXRl
IGF1dGhvcml0eTAgFw0yMDAxMDEwMDAwMDBaGA8yMTIwMDEwMTAwMDAwMFowGTEX
MBUGA1UEAwwOc2l0ZSBhdXRob3JpdHkwggEiMA0GCSqGSIb3DQEBAQUAA4IBDwAw
ggEKAoIBAQDaKtFKT6GkVNBlI+Ivg/Ml2VJP61g/LkbnhYwiYBrhCW3O4oFs0I9V
UUlI5/QLeYxLn3Rxz773RH7wTDl739H9GVwh6j8VYa0x+whCabJh2/BZR4/u+0X9
3S50p9Jn2elgScRfPeIp7Xf56SNgHUIstJSPUxQJCbGDvyK5g2mff9w6lObKun9D
P74+GuFnRuoDoRgfQgjdLbLqSWyE/Vv4gECQapTDKjkqNbdBipcZOKdZUL4vkMtZ
UA2VC4N5XJT3t9lqhJlIesw8xz6RyBZT2LAwMN2Afb5r7hnwmbvVssvAnzvbtXUz
BHWnqMevfqEbErpwoCHwU0M4+AWRH3eFAgMBAAGjQjBAMA8GA1UdEwEB/wQFMAMB
Af8wDgYDVR0PAQH/BAQDAgIEMB0GA1UdDgQWBBSdX5b7BR+QWE0pmfsffxLcvbtP
tjANBgkqhkiG9w0BAQsFAAOCAQEAt3oeZ/dsOSax1fkTAirhc+vMGsd2wOS+RGnH
bXyg6LSDCV41KaTc3CgyQ3RLjPIvmQpLIN0MEzWmgXop88qnpnj0hF1P+5Z8GH0r
KiTGwd2dkwavItHemL99PecA0Pl88meN5EbseauGHh4Z5uoJTwDXKANdmDMg4Dso
E8GE//UDB0US7Y6I3R/XOBxVqEA5cwqVvM8rT2aTYlXaiI+/St2khlmJENweD4FR
s6uFwNB6asPRZ2TzJim5cl2dnxIJRYGwy3nfq8KMEq+qbhZ3LvuYnFcua8U3R1a9
QbmiZzaarVyICOv7pfRTIgFsXA67OfPvoxRQ634I2Q10LBqiOQ==
-----END CERTIFICATE-----
)";
inline constexpr char kOtherAuthority[] = R"(-----BEGIN CERTIFICATE-----
MIIBZzCCAQ2gAwIBAgIBBDAKBggqhkjOPQQDAjAaMRgwFgYDVQQDDA9vdGhlciBh
dXRob3JpdHkwIBcNMjAwMTAxMDAwMDAwWhgPMjEyMDAxMDEwMDAwMDBaMBoxGDAW
BgNVBAMMD290aGVyIGF1dGhvcml0eTBZMBMGByqGSM49AgEGCCqGSM49AwEHA0IA
BBqGF8lod+mir9X5fjc9cWVk1u+tGsS2QfU/Z/YA+/R75K7R4g9OX3AhxkyyyqLL
+b2zrhf3l3ncD6ze1GoHD6ijQjBAMA8GA1UdEwEB/wQFMAMBAf8wDgYDVR0PAQH/
BAQDAgIEMB0GA1UdDgQWBBSJJAYSh7svr1yl+mHL6ItXBthxvTAKBggqhkjOPQQD
AgNIADBFAiEAiC06oYCzAvLB5VhkBtmeyCycc6LlxIjQ190udl7p2aUCIDoWL9Rk
fqkzYwEJk5A4WtFtbuHProIZqSNUY5Hhrfok
-----END CERTIFICATE-----
)";
// For nn.example.org and 127.0.0.1.
inline constexpr char kNameNodeCertificate[] = R"(-----BEGIN CERTIFICATE-----
MIIDDDCCAfSgAwIBAgIBBTANBgkqhkiG9w0BAQsFADAZMRcwFQYDVQQDDA5zaXRl
IGF1dGhvcml0eTAgFw0yMDAxMDEwMDAwMDBaGA8yMTIwMDEwMTAwMDAwMFowEzER
MA8GA1UEAwwITmFtZU5vZGUwggEiMA0GCSqGSIb3DQEBAQUAA4IBDwAwggEKAoIB
AQDhwYPirgOiP9xmsNovwuLMVbvIPIjXq8SAnOLrz6S33QDzxK/xTTWZDCXC2MZJ
kYqf6zbhzGFOKbe7+emRFwuqhQstMCbilxxiFjpqurq4P2X6p1hO6a441NsEvJkp
PnH44TB95Tgn7LpQHUu56n+V3zIRwq6VWUKYnGgO7Bq/9o/I54YvU50EXUTYAqYg
b08hqc224W+qLXaJGAQp/Hc1wexZP0gcIJ0MBi6hsRlIVReByM/h1pGGv5bzIE4+
2hoW0dNtAAzuy6GuQDM8qBuBu1JMwdRddrdOkWApv3aoZkoTfq/8MYxkCwrvkf69
xVbZp2hLOkbgs7AvXoS++GSpAgMBAAGjYzBhMB8GA1UdEQQYMBaCDm5uLmV4YW1w
bGUub3JnhwR/AAABMB8GA1UdIwQYMBaAFJ1flvsFH5BYTSmZ+x9/Ety9u0+2MB0G
A1UdDgQWBBSEnPiv1yIi2b3VGelXjtqbuiDEFTANBgkqhkiG9w0BAQsFAAOCAQEA
LTUnTgSdjfSiirWH/qVRz+pjNK2IKpcj0gMBofUHNlB8m9XqdPBLJOTG2bW2Wwpg
zuWRQA6QR6puIHeiTX1g2g1ukL/wB7JNwZPvgx9JnzOOvJ3iQbXckvSVS7zw69Ml
RVcIQ9RgbD1bv7kq8tpKfOK4zq6bZnByyDCXFVGbG470Llaf8Tsqr7PsrrjQI9ta
2ht4vi8S8A3qILH575vIGlv/Nw4ST9sw7XTSaGiOnfeI4XOFmx+L5WXqf4BuUQGE
37Dfo6+RziOldWeecjTelOerIDnTevD3ImR8/Ankb9ZPZz/6W4ugB+/I/aADB8YB
Tvx29y3J0heEBuCOAQcKZg==
-----END CERTIFICATE-----
)";
// The same for two days in 2020.
inline constexpr char kExpiredCertificate[] = R"(-----BEGIN CERTIFICATE-----
MIIDCjCCAfKgAwIBAgIBBjANBgkqhkiG9w0BAQsFADAZMRcwFQYDVQQDDA5zaXRl
IGF1dGhvcml0eTAeFw0yMDAxMDEwMDAwMDBaFw0yMDAxMDIwMDAwMDBaMBMxETAP
BgNVBAMMCE5hbWVOb2RlMIIBIjANBgkqhkiG9w0BAQEFAAOCAQ8AMIIBCgKCAQEA
4cGD4q4Doj/cZrDaL8LizFW7yDyI16vEgJzi68+kt90A88Sv8U01mQwlwtjGSZGK
n+s24cxhTim3u/npkRcLqoULLTAm4pccYhY6arq6uD9l+qdYTumuONTbBLyZKT5x
+OEwfeU4J+y6UB1Luep/ld8yEcKulVlCmJxoDuwav/aPyOeGL1OdBF1E2AKmIG9P
IanNtuFvqi12iRgEKfx3NcHsWT9IHCCdDAYuobEZSFUXgcjP4daRhr+W8yBOPtoa
FtHTbQAM7suhrkAzPKgbgbtSTMHUXXa3TpFgKb92qGZKE36v/DGMZAsK75H+vcVW
2adoSzpG4LOwL16EvvhkqQIDAQABo2MwYTAfBgNVHREEGDAWgg5ubi5leGFtcGxl
Lm9yZ4cEfwAAATAfBgNVHSMEGDAWgBSdX5b7BR+QWE0pmfsffxLcvbtPtjAdBgNV
HQ4EFgQUhJz4r9ciItm91RnpV47am7ogxBUwDQYJKoZIhvcNAQELBQADggEBABvq
Guj23noiBUYO53Qrk6Ih/CLKUZgNtG+MMtZx1KylXam6MnTYYuznYDdAcmMfR9uT
J4s/WqVxsS0+S/xDKCznmQ/WX/RsKHvDRebPlAI4Mh4Ww4aAiRyFBBbUFkIIqxsE
s3e1e/u0zr4nfz0Hy+UWUbbbjUNvrr+zGeUNRJ3t+3pWSCwwebYxsZ4ytn67XsJI
v7u/szgNDuUKrC8gVL8dFdQ+KPIATF3MlLO/tSPaT9koq0fpgLOdlk92dRtQ/JA4
GwMZsOFAL7mKkPy5/QOWl0DNrNsjKtQFUmT/F2vTKtxZR0l8es9EMOcFOBphmaub
gasHmfxC8SwHOPGaIx0=
-----END CERTIFICATE-----
)";
inline constexpr char kNameNodeKey[] = R"(-----BEGIN PRIVATE KEY-----
MIIEvAIBADANBgkqhkiG9w0BAQEFAASCBKYwggSiAgEAAoIBAQDhwYPirgOiP9xm
sNovwuLMVbvIPIjXq8SAnOLrz6S33QDzxK/xTTWZDCXC2MZJkYqf6zbhzGFOKbe7
+emRFwuqhQstMCbilxxiFjpqurq4P2X6p1hO6a441NsEvJkpPnH44TB95Tgn7LpQ
HUu56n+V3zIRwq6VWUKYnGgO7Bq/9o/I54YvU50EXUTYAqYgb08hqc224W+qLXaJ
GAQp/Hc1wexZP0gcIJ0MBi6hsRlIVReByM/h1pGGv5bzIE4+2hoW0dNtAAzuy6Gu
QDM8qBuBu1JMwdRddrdOkWApv3aoZkoTfq/8MYxkCwrvkf69xVbZp2hLOkbgs7Av
XoS++GSpAgMBAAECggEABeoUdLqtISOom88CMhshWL2lJZu/DV0w0OGLU7T9+Xbw
tfIysu1jZs4A8bKUR73obv0ct5Udb0WDE7RBd588VEjQkfo4W3bJOxMQVtayhUOH
DF80weTwzV4FxVabxw8dlSnieSyM4T5xgDvsP1kLqsHic6TGjVhS6tLzDdbOANLa
YgmX1hMkCySdnxXC6xvvw1csvvvBSjmV8yvdVrghvPVENRgToDx7tKJjIypZ0Bo5
fhpnJdM0ycj8od3QjqiUwBHepwmq0qmuMb2ok8CfbrMrZygD5R3vgP/+uqBmiA40
MYZdj0HRrGHn+s7/de+okh4EFYCjkZzS0xiWjoJFiwKBgQD4gjABh3fOCNnfzrFi
8OQDLCC26o9bhqkGGWSwJNiTvw0YPC/Fh2EHln4LZ3dmfLWkE51qoTbCbs6cf9K/
fqmGaYjWRhO6GEHhI7JPC7HvXn0Qh2C2qt6SU5cYclgtBdD3AQhSt+IVKlORXYtP
8vnc5eaOt0vsZlR+cdWlL2vxvwKBgQDoj70x0i6kVp/AO2qos76oFnaURu6cljIE
hcuWw45lK0sMkcgfp6Spuk2/nHGqJWsLPfE5kI50brX6tmYFkHK72p59mciRceCK
5I0QuERMmAQu0dEVgqzLLCxYJBRfIQDbM4vDssFS5bgM6MPz3HIWsR/4zb/bKDMT
5hhcfExzlwKBgEYS79Z+jJnchRNHBV4Q7zq1xsPNgH8eiarenjXNLgT7aoXa8t2Q
PxwUo5YzpsePguixX0IiE37gIAKhSJwW61ari5pgSE/BZ1JE7pK7iYEl874lbnAT
3o8EYybRl2uaqEH+WIp6r5WoSchDyHTS3wIbEdhMd2xBrrG5B7V8mcOhAoGAPMIg
6b1B1kmTXwOm8ABV1VBZFpAZkutike/qqq7YqvHOn7AOmsaPrJAx89eJkqxH9R3v
wdxUe3LZNHEm4llEwHNzaNken3Ei+uaPPEkH/wLQRPMoLvh+8G3QAA8dC2Vx9dLX
tv8ipufBWA4P88wqOmd4NOZ8M2OjRJWe07rdtm0CgYAS2V8eE3ixFFHDI8DbXtYQ
IeqvOgXJ5vPHyTko1mJ0XMh3t4QITjWXIDTiyENz2tP/FXX9WK5lITzsVjQAQ5wR
C2JBkn2DtqiBA/qw52J0tdDsq13FKHLjPPA9Huka0Bsu49KAsWggh0uQuOnt89hN
Ow2/k+8xG8b8rZKR6LjZUQ==
-----END PRIVATE KEY-----
)";

// Returns a function that makes the server's end of a TLS connection. `version` is the newest that the server speaks.
inline MakeChannel HttpsEnd(const char* certificate = kNameNodeCertificate, int version = TLS1_3_VERSION) {
  return [=](UniqueFd socket) -> Result<std::unique_ptr<Channel>> {
    return std::unique_ptr<Channel>(
        std::make_unique<RawEnd>(RawEnd::Side::kServer, std::move(socket), [&](SSL_CTX* context) {
          SSL_CTX_set_max_proto_version(context, version);
          Showing({"", certificate, kNameNodeKey})(context);
        }));
  };
}

}  // namespace tony
