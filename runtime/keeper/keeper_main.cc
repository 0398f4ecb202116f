// The program tony-keeper JOB_FOLDER: supervises one job on this machine.
#include <cstdio>
#include <filesystem>

#include "runtime/base/log.h"
#include "runtime/keeper/run_keeper.h"
#include "runtime/os/start_program.h"

int main(int argc, char** argv) {
  tony::OpenLog("tony-keeper");
  if (argc != 2) {
    std::fprintf(stderr, "usage: tony-keeper JOB_FOLDER\n");
    return static_cast<int>(tony::ErrorCode::kUsage);
  }
  tony::keeper::AmOptions am;
  am.program = tony::SiblingProgram("tony-am");
  // The last component of the canonical path is the job's id, even if the argument ends with "/".
  std::error_code error;
  const auto folder = std::filesystem::canonical(argv[1], error);
  if (error) {
    tony::LogError(std::string("find the job's folder ") + argv[1] + ": " + error.message());
    return static_cast<int>(tony::ErrorCode::kNotFound);
  }
  const auto ended = tony::WithoutThrowing([&] { return tony::keeper::RunKeeper(folder, am); });
  if (ended.ok()) return 0;
  tony::LogError(ended.error().message);
  return static_cast<int>(ended.error().code);
}
