#include "runtime/client/job_programs.h"

#include <unistd.h>

#include <vector>

#include "runtime/base/strings.h"
#include "runtime/os/sibling_program.h"
#include "runtime/records/user_home.h"

namespace tony {

Result<ProgramsOfJob> ProgramsForJob(const Backend& backend) {
  if (!backend.KeepsPrograms()) return ProgramsOfJob();
  TRY_ASSIGN(const auto home, TonyHome());
  std::vector<std::filesystem::path> installed;
  for (const std::string_view name : kJobPrograms) installed.emplace_back(SiblingProgram(name));
  for (const std::string_view name : kGpuPrograms)
    if (const std::string file = SiblingProgram(name); access(file.c_str(), R_OK) == 0) installed.emplace_back(file);
  Result<KeptPrograms> kept = KeepPrograms(home, installed, RealClock().Now());
  if (kept.ok()) return ProgramsOfJob{*std::move(kept), ""};
  return ProgramsOfJob{
      {},
      StrCat("tony: warning: the job keeps no programs of its own: ", kept.error().message, "; it runs those in ",
             installed.front().parent_path().string(), ", which are not to be replaced before it has ended")};
}

}  // namespace tony
