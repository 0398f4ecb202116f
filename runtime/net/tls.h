// Owns what a C library has made, and frees it in its way.
#pragma once

#include <memory>
#include <string>

#include "runtime/base/result.h"
#include "runtime/base/time.h"
#include "runtime/net/frame_connection.h"

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

// Who a program of a job is to the others: a certificate of the job's own authority, with a role in it.

enum class TlsRole { kMaster, kExecutor, kClient };
std::string ToString(TlsRole role);  // "tony:master": as it stands in a certificate, the only URI among its names

// All PEM. Whoever has the key is that role of the job: it goes where the job's token goes, and nowhere else.
struct TlsIdentity {
  std::string ca;  // the job's authority; no other is trusted, nor are the system's
  std::string certificate;
  std::string key;
  bool operator==(const TlsIdentity&) const = default;
};

// TLS 1.3 between the programs of one job, for runtime/rpc: both ends show a certificate of the job's own authority,
// with a role. Who the other end is, is that and nothing else: hosts are not known when certificates are made, so their
// names are not compared. No tickets, no resumption, no other protocol version; OpenSSL's configuration file is not
// read.
//
// A handshake takes two flights and a millisecond of CPU, and goes on with the connection's reads and writes; whoever
// uses the channel sets its limit. Before a peer is known nothing of what is written is sent, nothing that it sends is
// given out, and it costs 80 KiB at most (20 afterwards): a length that it announces allocates nothing.

// What makes channels of sockets; each copy may be used on one loop's thread. The channels may outlive it. kInvalid:
// the identity cannot be read, or is of another role.
Result<MakeChannel> MakeTlsServer(const TlsIdentity& master);  // for accepted sockets of executors and clients
Result<MakeChannel> MakeTlsClient(const TlsIdentity& own);     // to the master; own: an executor's or a client's

// The certificates of one job: a certificate authority that signs three of them, and whose key is then forgotten. So
// nobody, the job's user included, can make a fourth.

struct JobCertificates {
  TlsIdentity master, executor, client;
};

// Clocks of nodes differ: a certificate holds from a day before `now` until a day after `validity`. A clock that is
// wrong by more is told so where a connection is refused. `validity` is to be longer than the job may take: nothing is
// renewed. kInternal: OpenSSL could not (no random numbers, no memory).
Result<JobCertificates> MakeJobCertificates(const std::string& job, Instant now, Duration validity);

}  // namespace tony
