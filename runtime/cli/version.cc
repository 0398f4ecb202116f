// `tony version`.
#include "runtime/base/json_text.h"
#include "runtime/base/strings.h"
#include "runtime/cli/commands.h"
#include "runtime/cli/commit.h"
#include "runtime/cli/output.h"

namespace tony {

Result<int> RunVersion(const CommandLine& line) {
  if (line.Has("json")) {
    // "schemas": the numbers that answers may have, for a reader that knows some of them.
    PrintLine(StrCat(R"({"schema":1,"version":)", JsonString(TONY_VERSION), R"(,"commit":)", JsonString(Commit()),
                     R"(,"schemas":[1]})"));
  } else {
    PrintLine(StrCat("tony ", TONY_VERSION, " (", Commit(), ")"));
  }
  return 0;
}

}  // namespace tony
