// Reads the JSON object that a chief left as its job's outputs, strictly: what one reader would take for something else
// than another does not pass. Pure.
#pragma once

#include <string>
#include <string_view>

#include "runtime/base/result.h"

namespace tony {

// The object without blanks and line ends, its numbers and strings as they were written. kInvalid says where, by line
// and offset, it is not UTF-8, no JSON (NaN, comments, trailing commas), no object, has a name twice in one object or a
// number beyond those of 64-bit floating point, or nests deeper than 100.
Result<std::string> CompactOutputs(std::string_view text);

// For people: one member a line, indented. `object` as CompactOutputs() made it.
std::string IndentedOutputs(std::string_view object);

}  // namespace tony
