// How a static program finds hosts by name.
#pragma once

namespace tony {

// From here on getaddrinfo() looks into /etc/hosts and asks the name servers, and does nothing else: what more
// nsswitch.conf may name are modules for another C library than the one in a static program. Does nothing in a dynamic
// one, and answers whether this is a static one. Any thread, any number of times.
bool KeepNameServiceInside();

}  // namespace tony
