//   yarn_check CONFIGURATION_FOLDER     runs the checks of a client against that cluster; one of them starts this
//   program yarn_check --master                 in a container, as an application master
#include <filesystem>
#include <string>

#include "tests/conformance/yarn/check.h"

int main(int argc, char** argv) {
  if (argc != 2) return 64;
  const std::string what = argv[1];
  if (what == "--master") return tony::hadoop::RunMaster();
  return tony::hadoop::RunClient(what, std::filesystem::read_symlink("/proc/self/exe").string());
}
