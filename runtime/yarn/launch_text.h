// Texts of a launch context, whole whatever is in them. A NodeManager writes a shell script of them:
//
//   export NAME="value"
//   exec /bin/bash -c "command"
//
// and puts into both, before that, $NAME for {{NAME}}, the log folder for <LOG_DIR>, and a colon for <CPS>. So a
// backslash, $, " and ` are live in both, and a command is read by two shells. Pure.
#pragma once

#include <string>
#include <string_view>

namespace tony {

// The value of a variable: no NUL.
std::string QuoteValue(std::string_view value);

// One argument of a command, with its quotes: no NUL.
std::string QuoteArgument(std::string_view argument);

}  // namespace tony
