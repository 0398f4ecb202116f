// Reads the JSON object that a chief left as its job's outputs, strictly: what one reader would take for something else
// than another does not pass. Pure.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/base/result.h"

namespace tony {

// The object without blanks and line ends, its numbers and strings as they were written. kInvalid says where, by line
// and offset, it is not UTF-8, no JSON (NaN, comments, trailing commas), no object, has a name twice in one object or a
// number beyond those of 64-bit floating point, or nests deeper than 100.
Result<std::string> CompactOutputs(std::string_view text);

struct OutputMember {
  std::string name;
  std::optional<std::string> text;  // of a string what it says, of anything else its JSON; nothing: null
};
// The object's own, in their order. `object` as CompactOutputs() made it.
std::vector<OutputMember> OutputMembers(std::string_view object);

// For people: one member a line, indented. `object` as CompactOutputs() made it.
std::string IndentedOutputs(std::string_view object);

}  // namespace tony
