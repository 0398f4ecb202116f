// The log files of one attempt.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>

namespace tony::executor {

// For people, in an outcome: the last 20 lines of the file, at most 4 KiB, as valid UTF-8 (bad bytes replaced) without
// control characters other than tab and line end. A file that cannot be read has no last lines.
std::string StderrTail(const std::filesystem::path& file);

// The same of a text; StderrTail without the file.
std::string LastLines(std::string_view text);

}  // namespace tony::executor
