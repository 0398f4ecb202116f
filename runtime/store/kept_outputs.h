// What the chief's program leaves for those who come after it: one JSON object in $TONY_OUTPUT_FILE
// (work/<task>/<attempt>/tony-output.json). When its process has ended well, the executor keeps a copy beside the
// attempt's logs, before it keeps and reports the outcome: whoever knows that the attempt succeeded finds it there.
//
//   output.json     the file, byte for byte; nobody has looked at what it says
//   output.problem  instead: one line, why there is no copy
//
// Neither: the program wrote nothing. A program may put anything in the place of its file, also a link or a pipe: it is
// never followed, never waited for, and never read beyond the bound.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>

#include "runtime/base/result.h"

namespace tony {

inline constexpr int64_t kLongestOutputs = 1 << 20;

// Of an attempt that has ended: nothing writes to `file` any more. Failed: neither file could be written.
Status KeepOutputs(const std::filesystem::path& file, const std::filesystem::path& log_folder);

// The text that was kept; nothing: the program wrote none. kInvalid says why it could not be kept, or is none now.
Result<std::optional<std::string>> ReadKeptOutputs(const std::filesystem::path& log_folder);

std::filesystem::path KeptOutputsFile(const std::filesystem::path& log_folder);

}  // namespace tony
