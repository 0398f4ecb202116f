#include "runtime/backend/backend.h"
#include "runtime/backend/local_backend.h"
#include "runtime/backend/yarn_backend.h"
#include "runtime/scheduler/yarn/yarn_configured.h"

namespace tony {

std::span<const BackendEntry> Backends() {
  static constexpr BackendEntry kBackends[] = {
      {"local", "local-", LocalBackend},
      {"yarn", "application_", YarnBackend, CheckYarnConfigured, [] { return true; }, "hdfs"},
  };
  return kBackends;
}

}  // namespace tony
