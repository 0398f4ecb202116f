// The manual page tony(1), made of the table of verbs.
#pragma once

#include <string>

#include "runtime/base/time.h"

namespace tony {

std::string ManualPage(Instant date);  // in the macros of man(7)

}  // namespace tony
