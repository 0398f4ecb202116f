// `tony version`.
#include "runtime/base/strings.h"
#include "runtime/client/commands.h"
#include "runtime/client/output.h"

namespace tony {

Result<int> RunVersion(const CommandLine& line) {
  if (line.Has("json")) {
    PrintLine(StrCat(R"({"schema":1,"version":)", JsonString(TONY_VERSION), "}"));
  } else {
    PrintLine(StrCat("tony ", TONY_VERSION));
  }
  return 0;
}

}  // namespace tony
