#include "runtime/cli/next_steps.h"

#include <unistd.h>

#include <utility>

#include "runtime/base/strings.h"
#include "runtime/cli/output.h"
#include "runtime/cli/terminal.h"

namespace tony {

void SayNext(const CommandLine& line, const std::vector<std::string>& commands) {
  if (line.Has("json") || line.Has("quiet") || !IsTerminal(STDERR_FILENO)) return;
  const auto columns = static_cast<size_t>(SizeOf(STDERR_FILENO).columns);
  std::string row = "next:";
  for (const std::string& command : commands) {
    const std::string typed = StrCat(" tony ", command, &command == &commands.back() ? "" : ",");
    if (TextWidth(row) + TextWidth(typed) > columns) Say(std::exchange(row, ""));  // no command is parted
    row += typed;
  }
  Say(row);
}

}  // namespace tony
