#include "runtime/scheduler/local/local_am_launcher.h"

#include "runtime/process/sibling_program.h"
#include "runtime/scheduler/local/environment.h"

namespace tony {

Status LocalAmLauncher::Start(const JobFolder& folder) {
  TRY_ASSIGN(const auto environment, folder.ReadEnvironment());
  ProcessSpec keeper;
  keeper.argv = {SiblingProgram("tony-keeper"), folder.path().string()};
  keeper.env = WithoutMarks(environment);
  keeper.directory = folder.path().string();
  keeper.stdout_file = keeper.stderr_file = (folder.path() / "keeper.log").string();
  const auto started = runner_.Start(keeper, [](ExitStatus) {});
  return started.ok() ? Ok() : Status(started.error());
}

}  // namespace tony
