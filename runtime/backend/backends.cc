#include "runtime/backend/backend.h"
#include "runtime/backend/local_backend.h"

namespace tony {

std::span<const BackendEntry> Backends() {
  static constexpr BackendEntry kBackends[] = {{"local", "local-", LocalBackend}};
  return kBackends;
}

}  // namespace tony
