// The backend for a Hadoop cluster's YARN, as $HADOOP_CONF_DIR describes it.
#pragma once

#include "runtime/backend/backend.h"

namespace tony {

const Backend& YarnBackend();

}  // namespace tony
