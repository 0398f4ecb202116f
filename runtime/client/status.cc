// `tony status`: what is known of jobs now. Only reads.
#include "runtime/base/strings.h"
#include "runtime/client/commands.h"
#include "runtime/client/output.h"
#include "runtime/client/progress.h"

namespace tony {

Result<int> RunStatus(const CommandLine& line) {
  const bool json = line.Has("json");
  std::vector<std::string> documents;
  std::string text;
  for (const std::string& id : line.words()) {
    TRY_ASSIGN(const JobFolder folder, FindJob(id));
    TRY_ASSIGN(const KnownStatus known, AskStatus(folder));
    if (json) {
      documents.push_back(ToJson(known));
    } else {
      text += StatusText(known, folder, RealClock().Now());
    }
  }
  if (!json) {
    Print(text);
  } else if (documents.size() == 1) {
    PrintLine(documents.front());
  } else {
    PrintLine(StrCat(R"({"schema":1,"jobs":[)", Join(documents, ","), "]}"));
  }
  return 0;
}

}  // namespace tony
