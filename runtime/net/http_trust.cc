#include "runtime/net/http_client.h"

#include <unistd.h>

#include <cstdlib>

#include "runtime/base/strings.h"

namespace tony {

std::string SystemAuthorities() {
  constexpr const char* kFiles[] = {
      "/etc/ssl/certs/ca-certificates.crt",                 // Debian, Arch
      "/etc/pki/ca-trust/extracted/pem/tls-ca-bundle.pem",  // Red Hat
      "/etc/pki/tls/certs/ca-bundle.crt",                   // older Red Hat
      "/etc/ssl/ca-bundle.pem",                             // SUSE
      "/etc/ssl/cert.pem",                                  // Alpine
  };
  const char* own = std::getenv("SSL_CERT_FILE");
  if (own != nullptr && *own != '\0') return own;
  for (const char* file : kFiles)
    if (access(file, R_OK) == 0) return file;
  return "";
}

Error DistrustError(const HttpTrust& trust, std::string_view host, Distrust kind, std::string_view reason) {
  const std::string certificate = StrCat("the certificate of ", host);
  switch (kind) {
    case Distrust::kTime:
      return UnavailableError(certificate, " is not valid now: ", reason, "; renew it, or correct the clock");
    case Distrust::kHost:
      return NotPermittedError(certificate, " is for other hosts (", reason,
                               "); call the server by a name in its certificate");
    case Distrust::kAuthority:
      break;
  }
  return NotPermittedError(certificate, " is not trusted (", reason, "); expected a certificate of an authority in ",
                           trust.origin.empty() ? "the system's bundle " + SystemAuthorities() : trust.origin);
}

Error NoTlsError(std::string_view host) {
  return InvalidError(host, " answers without TLS; expected the port of an HTTPS server");
}

}  // namespace tony
