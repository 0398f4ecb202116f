// The help text of one verb, from the table that the parser reads.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "runtime/cli/command_line.h"

namespace tony {

// How a job may be named.
inline constexpr std::string_view kJobWords =
    "JOB is an id; four and more characters that only one begins with, or its last part; the job's name: the newest\n"
    "of that name; or last: the one submitted last";

bool AsksForHelp(const std::vector<std::string>& arguments);
std::string HelpOf(std::string_view program, const VerbSpec& verb);
// Of two columns, on a terminal no wider than that.
std::string HelpRow(std::string left, std::string_view right);

}  // namespace tony
