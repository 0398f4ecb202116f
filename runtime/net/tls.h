// TLS between the programs of one job, the certificates of a job, and TLS to HTTPS servers.
//
// Owned holds an object that a C library has made, and frees it with the library's function.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "runtime/base/result.h"
#include "runtime/base/time.h"
#include "runtime/net/frame_connection.h"
#include "runtime/net/http_client.h"

namespace tony {

template <auto Free>
struct Freed {
  template <class T>
  void operator()(T* it) const {
    Free(it);
  }
};
template <class T, auto Free>
using Owned = std::unique_ptr<T, Freed<Free>>;

// The identity of a job's program towards the other programs: a certificate of the job's own authority, which contains
// a role.

enum class TlsRole { kMaster, kExecutor, kClient };
// Returns the role as a certificate contains it, e.g. "tony:master". The role is the only URI among the certificate's
// names.
std::string ToString(TlsRole role);

// All parts are PEM. A program that has the key has that role of the job. Therefore the key is stored only where the
// job's token is stored.
struct TlsIdentity {
  // The job's authority. No other authority is trusted, not even those of the system.
  std::string ca;
  std::string certificate;
  std::string key;
  bool operator==(const TlsIdentity&) const = default;
};

// TLS 1.3 between the programs of one job, for runtime/rpc. Both ends show a certificate of the job's own authority,
// with a role. The role alone identifies the other end. Names of hosts are not compared, because hosts are not known
// when certificates are made. Tickets, resumption and other protocol versions are not used, and OpenSSL's configuration
// file is not read.
//
// A handshake takes two flights and a millisecond of CPU. The connection's reads and writes drive the handshake, and
// the user of the channel limits its time. Before the peer is known, no written bytes are sent, and no received bytes
// are returned. A connection takes at most 80 KiB of memory during the handshake, and 20 KiB afterwards. A length that
// a peer only announces does not allocate memory.
//
// The functions below return a function that makes channels from sockets. Each copy of the returned function may be
// used on the thread of one loop. The channels may outlive the function. kInvalid: the identity cannot be read, or has
// another role. MakeTlsServer() is for accepted sockets of executors and clients.
Result<MakeChannel> MakeTlsServer(const TlsIdentity& master);
// Returns a function for connections to the AM. `own` is an executor's or a client's identity.
Result<MakeChannel> MakeTlsClient(const TlsIdentity& own);

// Returns a function for connections to an HTTPS server, for programs without libcurl and without a name service. TLS
// 1.2 or newer. `host` is the name of the server without its port; the server shows a certificate for this name.
// kInvalid: the authorities cannot be read. The channel's errors are those of DistrustError().
Result<MakeChannel> MakeHttpsClient(const HttpTrust& trust, const std::string& host);

// The identity of a server that YARN gives to an AM, and its only client: YARN's proxy. All parts are DER.
struct ProxiedServer {
  std::vector<std::string> chain;  // the server's own certificate first
  std::string key;                 // PKCS #8
  std::string client;              // the certificate of the proxy
};

// Returns a function for accepted sockets of an HTTPS server. TLS 1.2 or newer. A client without the certificate
// `client` is refused. Times and issuers are not checked, because YARN's certificates for AMs expire at once. kInvalid:
// the identity cannot be used.
Result<MakeChannel> MakeProxiedServer(const ProxiedServer& own);

// Returns a function for accepted sockets of an HTTPS server for browsers, which show no certificates. TLS 1.2 or newer.
// `chain` has the server's certificate, and the certificates of the authorities between it and a known one; `key` is its
// key. Both are PEM. kInvalid: they cannot be used.
Result<MakeChannel> MakeBrowserServer(const std::string& chain, const std::string& key);

// The three certificates of one job, which the job's own authority signs. The authority's key is discarded afterwards.
// Therefore a fourth certificate cannot be made, not even by the job's user.

struct JobCertificates {
  TlsIdentity master, executor, client;
};

// Makes the certificates of a job. Clocks of nodes differ, so a certificate is valid from a day before `now` until a
// day after `validity`. If a clock is wrong by more than a day, connections are refused, and the error names the
// reason. `validity` must be longer than the job may take, because certificates are not renewed. kInternal: OpenSSL
// failed (no random numbers, no memory).
Result<JobCertificates> MakeJobCertificates(const std::string& job, Instant now, Duration validity);

}  // namespace tony
