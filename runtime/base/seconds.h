#pragma once

#include <string>

#include "runtime/base/strings.h"
#include "runtime/base/time.h"

namespace tony {

// For people: "1.5 s".
inline std::string Seconds(Duration d) { return StrCat(d.count() / 1000, ".", d.count() % 1000 / 100, " s"); }

}  // namespace tony
