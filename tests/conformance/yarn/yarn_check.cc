//  yarn_check CONFIGURATION_FOLDER [RESTART]   runs the checks of a client against that cluster; some of them start
//                                              this program. RESTART is a shell line that kills the
//                                              ResourceManager and starts it again; it adds one check.
//  yarn_check --master                         in a container, as an application master
//  yarn_check --scheduler                      the same with the product's scheduler
#include <filesystem>
#include <string>

#include "tests/conformance/yarn/check.h"

int main(int argc, char** argv) {
  if (argc < 2 || argc > 3) return 64;
  const std::string what = argv[1];
  if (what == "--master") return tony::hadoop::RunMaster();
  if (what == "--scheduler") return tony::hadoop::RunSchedulerMaster();
  const std::string restart = argc == 3 ? argv[2] : "";
  return tony::hadoop::RunClient(what, restart, std::filesystem::read_symlink("/proc/self/exe").string());
}
