// Host name lookups of a static program.
#pragma once

namespace tony {

// Limits getaddrinfo() from now on to /etc/hosts and the name servers. Other sources in nsswitch.conf may be modules
// for another C library than the one in a static program. Has no effect in a dynamic program. Returns true if this
// program is static. Any thread may call it, any number of times.
bool RestrictNameService();

}  // namespace tony
