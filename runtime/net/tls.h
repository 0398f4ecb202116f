// TLS 1.3 between the programs of one job, for runtime/rpc: both ends show a certificate of the job's own authority,
// with a role. Who the other end is, is that and nothing else: hosts are not known when certificates are made, so their
// names are not compared. No tickets, no resumption, no other protocol version; OpenSSL's configuration file is not
// read.
//
// A handshake takes two flights and a millisecond of CPU, and goes on with the connection's reads and writes; whoever
// uses the channel sets its limit. Before a peer is known nothing of what is written is sent, nothing that it sends is
// given out, and it costs 80 KiB at most (20 afterwards): a length that it announces allocates nothing.
#pragma once

#include "runtime/base/result.h"
#include "runtime/net/channel.h"
#include "runtime/net/tls_identity.h"

namespace tony {

// What makes channels of sockets; each copy may be used on one loop's thread. The channels may outlive it. kInvalid:
// the identity cannot be read, or is of another role.
Result<MakeChannel> MakeTlsServer(const TlsIdentity& master);  // for accepted sockets of executors and clients
Result<MakeChannel> MakeTlsClient(const TlsIdentity& own);     // to the master; own: an executor's or a client's

}  // namespace tony
