// Who a program of a job is to the others: a certificate of the job's own authority, with a role in it.
#pragma once

#include <string>

namespace tony {

enum class TlsRole { kMaster, kExecutor, kClient };
std::string ToString(TlsRole role);  // "tony:master": as it stands in a certificate, the only URI among its names

// All PEM. Whoever has the key is that role of the job: it goes where the job's token goes, and nowhere else.
struct TlsIdentity {
  std::string ca;  // the job's authority; no other is trusted, nor are the system's
  std::string certificate;
  std::string key;
  bool operator==(const TlsIdentity&) const = default;
};

}  // namespace tony
