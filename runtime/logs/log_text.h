// What readers of logs do with text that grows, and whose middle may have been cut out.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "runtime/logs/log_source.h"

namespace tony {

bool LineBegins(const LogStream& log, uint64_t offset);  // what is before the offset ended a line
// Where the line begins that the offset is in, or ends behind: at most a megabyte before it, and behind what is cut.
uint64_t LineBeginAt(const LogStream& log, uint64_t offset);
bool IsCut(const LogStream& log, uint64_t offset);  // what follows the offset has been cut out

// The log is shorter than what was read of it: its writer emptied it, and it began again. Not of one that cannot be
// seen.
bool WasEmptied(const LogStream& log, uint64_t read);
inline constexpr std::string_view kEmptiedLine = "[... the task emptied this log ...]\n";

// "[... 1234 MB cut ...]", a line of its own, in place of what has been cut out.
std::string CutLine(int64_t bytes, bool line_begins);

// Length of the part of `text` that ends between two characters of UTF-8, for text cut at an arbitrary byte.
size_t WholeCharacters(std::string_view text);

}  // namespace tony
