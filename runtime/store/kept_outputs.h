// What the chief's program leaves for those who come after it: one JSON object in $TONY_OUTPUT_FILE
// (work/<task>/<attempt>/tony-output.json). When its process has ended well, the executor keeps a copy beside the
// attempt's logs, before it keeps and reports the outcome: whoever knows that the attempt succeeded finds it there.
//
//   output.json      the file, byte for byte; of one that is too long, the members that fit
//   output.left-out  beside it: which members did not fit
//   output.problem   instead: one line, why there is no copy
//
// None: the program wrote nothing. A program may put anything in the place of its file, also a link or a pipe: it is
// never followed, never waited for, and never read beyond the bound.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "runtime/base/result.h"
#include "runtime/job/outputs.h"

namespace tony {

inline constexpr int64_t kLongestOutputs = 1 << 20;   // that is kept
inline constexpr int64_t kMostOutputsRead = 4 << 20;  // to find what fits

// Of an attempt that has ended: nothing writes to `file` any more. What is wrong with it, for the log. Failed: none of
// the files could be written.
Result<std::vector<OutputProblem>> KeepOutputs(const std::filesystem::path& file,
                                               const std::filesystem::path& log_folder);

struct KeptOutputs {
  std::string text;
  std::vector<OutputProblem> left_out;  // what is not in it
};
// Nothing: the program wrote none. kInvalid says why it could not be kept, or is none now.
Result<std::optional<KeptOutputs>> ReadKeptOutputs(const std::filesystem::path& log_folder);

std::filesystem::path KeptOutputsFile(const std::filesystem::path& log_folder);

}  // namespace tony
