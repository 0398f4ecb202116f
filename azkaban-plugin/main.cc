// Without arguments this program runs one step of an Azkaban flow. With a verb it manages the plugin for an
// administrator.
#include <unistd.h>

#include <csignal>
#include <string>
#include <vector>

#include "azkaban-plugin/doctor.h"
#include "azkaban-plugin/install.h"
#include "azkaban-plugin/step.h"
#include "runtime/base/log.h"
#include "runtime/base/strings.h"
#include "runtime/cli/help.h"
#include "runtime/cli/output.h"

namespace {

constexpr const char* kHelp =
    "tony-azkaban                              run the step that Azkaban describes in $JOB_PROP_FILE\n"
    "tony-azkaban install JOBTYPES_FOLDER      install the job types tony, TonyJob and TensorFlowJob\n"
    "tony-azkaban doctor [JOBTYPES_FOLDER]     show what prevents steps of type=tony\n"
    "tony-azkaban VERB --help                  print the options of VERB\n";

tony::Result<int> RunVerb(const std::string& verb, const std::vector<std::string>& arguments) {
  if (verb == "install" || verb == "doctor") {
    const bool installs = verb == "install";
    if (tony::RequestsHelp(arguments)) {
      const tony::VerbSpec spec = installs ? tony::azkaban::InstallVerb() : tony::azkaban::DoctorVerb();
      tony::Print(tony::HelpOf("tony-azkaban", spec));
      return 0;
    }
    return installs ? tony::azkaban::RunInstall(arguments) : tony::azkaban::RunAzkabanDoctor(arguments);
  }
  if (verb != "help" && verb != "--help" && verb != "-h") {
    return tony::Error{tony::ErrorCode::kUsage, tony::StrCat("unknown command \"", verb,
                                                             "\"; expected install, doctor, "
                                                             "help, or no command to run a step")};
  }
  tony::Print(kHelp);
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  tony::ReserveOutputs();
  // SIGPIPE is ignored, because a log reader that disconnects must not end the step.
  signal(SIGPIPE, SIG_IGN);
  if (argc < 2) {
    // Both outputs go into one pipe, so the lines appear in the log in their order.
    dup2(STDOUT_FILENO, STDERR_FILENO);
    const auto ran = tony::WithoutThrowing([] { return tony::Result<int>(tony::azkaban::RunStep()); });
    return ran.ok() ? *ran : tony::Fail(ran.error(), /*json=*/false);
  }
  const auto done = tony::WithoutThrowing([&] { return RunVerb(argv[1], {argv + 2, argv + argc}); });
  return tony::ExitAfterOutput(done.ok() ? *done : tony::Fail(done.error(), /*json=*/false));
}
