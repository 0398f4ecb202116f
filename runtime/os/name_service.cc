#include "runtime/os/name_service.h"

#include <netdb.h>
#include <nss.h>
#include <sys/auxv.h>

namespace tony {

bool RestrictNameService() {
  static const bool is_static = getauxval(AT_BASE) == 0;  // no dynamic loader was mapped
  static const int once = is_static ? __nss_configure_lookup("hosts", "files dns") : 0;
  (void)once;
  return is_static;
}

}  // namespace tony
