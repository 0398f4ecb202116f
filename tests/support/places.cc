#include "tests/support/places.h"

namespace tony {

std::string SourceFolder() { return TONY_SOURCE_DIR; }
std::string ProgramFolder() { return TONY_BIN_DIR; }
std::string TestProgram(const std::string& name) { return std::string(TONY_TESTS_DIR) + "/" + name; }

}  // namespace tony
