#include "tests/support/places.h"

#include <cstdlib>
#include <filesystem>

namespace tony {
namespace {

// Tests are built once, and run with programs of several builds.
std::string FromEnvironment(const char* variable, const char* built) {
  const char* value = std::getenv(variable);
  return value == nullptr || *value == '\0' ? built : std::filesystem::absolute(value).string();
}

}  // namespace

std::string SourceFolder() { return TONY_SOURCE_DIR; }
std::string ProgramFolder() { return FromEnvironment("TONY_BIN_DIR", TONY_BIN_DIR); }
std::string TestProgram(const std::string& name) {
  return FromEnvironment("TONY_TESTS_DIR", TONY_TESTS_DIR) + "/" + name;
}

}  // namespace tony
