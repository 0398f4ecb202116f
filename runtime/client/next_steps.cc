#include "runtime/client/next_steps.h"

#include <unistd.h>

#include "runtime/base/strings.h"
#include "runtime/client/output.h"
#include "runtime/client/terminal.h"

namespace tony {

void SayNext(const CommandLine& line, const std::vector<std::string>& commands) {
  if (line.Has("json") || line.Has("quiet") || !IsTerminal(STDERR_FILENO)) return;
  std::vector<std::string> typed;
  for (const std::string& command : commands) typed.push_back(StrCat("tony ", command));
  Say(StrCat("next: ", Join(typed, ", ")));
}

}  // namespace tony
