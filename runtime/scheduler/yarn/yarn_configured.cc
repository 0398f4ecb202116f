#include "runtime/scheduler/yarn/yarn_configured.h"

#include <cstdlib>

#include "runtime/base/strings.h"

namespace tony {

Status CheckYarnConfigured() {
  const char* folder = std::getenv(kConfigurationVariable);
  if (folder && *folder) return Ok();
  return Error{ErrorCode::kInvalid, StrCat(kConfigurationVariable,
                                           " is not set: expected the folder with the cluster's "
                                           "core-site.xml, hdfs-site.xml and yarn-site.xml")};
}

}  // namespace tony
