// What `tony help` prints: the help of a verb, the table of keys, and the manual page. All from the tables that the
// parsers read.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "runtime/base/time.h"
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

// The table of keys for people, and the rows of runtime/config/KEYS.md.
// The keys with `part` in their names; empty: there is none.
std::string KeyList(std::string_view part);
std::string KeyRowsInMarkdown();

// The manual page tony(1), in the macros of man(7).
std::string ManualPage(Instant date);

}  // namespace tony
