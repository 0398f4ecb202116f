// The texts that `tony help` prints: the help of a verb, the table of keys, and the manual page. They are generated
// from the tables that the parsers read.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "runtime/base/time.h"
#include "runtime/cli/command_line.h"

namespace tony {

// Help text that explains how a user may name a job.
inline constexpr std::string_view kJobWords =
    "JOB is an id; at least the first four characters of one id, or of the last part of one id; a name, which means\n"
    "the newest job of that name; or the word last, which means the job that was submitted last";

bool RequestsHelp(const std::vector<std::string>& arguments);
std::string HelpOf(std::string_view program, const VerbSpec& verb);
// Returns two columns as rows of text, wrapped to the width of the terminal.
std::string HelpRow(std::string left, std::string_view right);

// Functions that return the table of keys. KeyList() returns, for people, the keys with `part` in their names; empty if
// no name contains `part`. KeyRowsInMarkdown() returns the rows of runtime/config/KEYS.md.
std::string KeyList(std::string_view part);
std::string KeyRowsInMarkdown();

// Returns the manual page tony(1), written with the macros of man(7).
std::string ManualPage(Instant date);

}  // namespace tony
