// The text that java.util.Properties.store() writes. Workflow engines pass a step its properties in this form.
#pragma once

#include <string>

#include "runtime/config/properties.h"

namespace tony {

// Returns a date, followed by the pairs in an arbitrary order: ASCII only, everything else as \uXXXX of UTF-16. Keys
// and values must be UTF-8.
std::string StoreAsJava(const Properties& properties);

}  // namespace tony
