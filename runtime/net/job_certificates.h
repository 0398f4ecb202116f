// The certificates of one job: a certificate authority that signs three of them, and whose key is then forgotten. So
// nobody, the job's user included, can make a fourth.
#pragma once

#include <string>

#include "runtime/base/result.h"
#include "runtime/base/time.h"
#include "runtime/net/tls_identity.h"

namespace tony {

struct JobCertificates {
  TlsIdentity master, executor, client;
};

// Clocks of nodes differ: a certificate holds from a day before `now` until a day after `validity`. A clock that is
// wrong by more is told so where a connection is refused. `validity` is to be longer than the job may take: nothing is
// renewed. kInternal: OpenSSL could not (no random numbers, no memory).
Result<JobCertificates> MakeJobCertificates(const std::string& job, Instant now, Duration validity);

}  // namespace tony
