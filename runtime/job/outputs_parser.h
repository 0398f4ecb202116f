// Reads the JSON object that a chief left as its job's outputs. One bad value does not cost the others. Strict all the
// same: what one reader would take for something else than another does not pass. Pure.
#pragma once

#include <string_view>

#include "runtime/base/result.h"
#include "runtime/job/outputs.h"

namespace tony {

// NaN and the infinities, which Python writes, become the texts "NaN", "Infinity" and "-Infinity": Python's float() and
// Java's parseDouble() read them. Left out, by name: a member that is there twice or has a name twice in it, a number
// beyond those of 64-bit floating point, text that is not UTF-8 or escaped wrongly, what nests deeper than 100. Where
// it ends to be JSON, the members before are kept. kInvalid: no object begins there, or there are none before.
Result<Outputs> ParseOutputs(std::string_view text);

}  // namespace tony
