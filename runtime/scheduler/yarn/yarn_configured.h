// Whether this process knows of a Hadoop cluster. Apart from cluster.h for programs without Hadoop in them.
#pragma once

#include "runtime/base/result.h"

namespace tony {

inline constexpr char kConfigurationVariable[] = "HADOOP_CONF_DIR";

Status CheckYarnConfigured();  // kInvalid: $HADOOP_CONF_DIR is not set

}  // namespace tony
