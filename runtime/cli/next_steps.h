// What a person may type next.
#pragma once

#include <string>
#include <vector>

#include "runtime/cli/command_line.h"

namespace tony {

// On standard error, where that is a terminal: "next: tony logs J -f, tony status J" for {"logs J -f", "status J"}, in
// as many lines as it has columns for. Not with --json or --quiet.
void SayNext(const CommandLine& line, const std::vector<std::string>& commands);

}  // namespace tony
