#include "runtime/client/choose_backend.h"
#include "runtime/local/local_backend.h"
#include "runtime/yarn/yarn_backend.h"
#include "runtime/yarn/yarn_configured.h"

namespace tony {

std::span<const BackendEntry> Backends() {
  static constexpr BackendEntry kBackends[] = {
      {"local", "local-", LocalBackend},
      {"yarn", "application_", YarnBackend, CheckYarnConfigured, "hdfs"},
  };
  return kBackends;
}

}  // namespace tony
