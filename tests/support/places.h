// The paths of the sources and of the built programs. Only places.cc knows the checkout, so all other tests compile to
// the same objects in every checkout and can share a compiler cache. The programs are those of the test's own build,
// unless the environment names other folders.
#pragma once

#include <string>

namespace tony {

// Returns an absolute path without a slash at the end, like the other functions.
std::string SourceFolder();
// Returns $TONY_BIN_DIR: the folder of `tony` and of the programs that it starts.
std::string ProgramFolder();
// Returns a program in $TONY_TESTS_DIR that the tests build for themselves: "rough_daemon" or "libcrash_shim.so".
std::string TestProgram(const std::string& name);

}  // namespace tony
