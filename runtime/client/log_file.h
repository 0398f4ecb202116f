// One log file as a reader sees it: it grows, and a limit on its size may cut out its middle
// (runtime/store/log_holes.h).
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "runtime/base/unique_fd.h"
#include "runtime/job/ids.h"
#include "runtime/store/job_folder.h"

namespace tony {

// Invalid: it is not there (yet).
UniqueFd OpenLog(const JobFolder& folder, const AttemptId& attempt, std::string_view stream);

bool LineBegins(int fd, uint64_t offset);  // what is before the offset ended a line
bool IsCut(int fd, uint64_t offset);       // what follows the offset has been cut out

// "[... 1234 MB cut ...]", a line of its own, in place of what has been cut out.
std::string CutLine(int64_t bytes, bool line_begins);

// Length of the part of `text` that ends between two characters of UTF-8, for text cut at an arbitrary byte.
size_t WholeCharacters(std::string_view text);

}  // namespace tony
