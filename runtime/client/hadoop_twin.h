// Programs with YARN in them are twins of those without, which start in a millisecond: the same sources, linked with
// libcurl and what else Hadoop needs.
#pragma once

#include "runtime/backend/backend.h"

namespace tony {

// A backend's function for programs without YARN: "tony" becomes "tony-hadoop" beside it, with the same arguments and
// what it has read of its input. Where there is none the process ends with 69 (kUnavailable) and one line. Before any
// thread or process has been started.
const Backend& BecomeHadoopTwin();
bool HasHadoopTwin();  // whether there is one

}  // namespace tony
