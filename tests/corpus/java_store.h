// The text that java.util.Properties.store() writes, which is how a workflow engine hands a step its properties.
#pragma once

#include <string>

#include "runtime/config/properties.h"

namespace tony {

// A date, then the pairs in no order that a reader may count on: ASCII only, everything else as \uXXXX of UTF-16.
// Keys and values must be UTF-8.
std::string StoreAsJava(const Properties& properties);

}  // namespace tony
