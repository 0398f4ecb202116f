// Where the sources and the built programs are. Only places.cc knows the checkout, so what other tests compile to is
// the same in every checkout, and a compiler cache that one has filled serves the others. The programs are those of the
// build that the test is of, unless the environment names other folders.
#pragma once

#include <string>

namespace tony {

// Absolute paths without a slash at the end.
std::string SourceFolder();
// $TONY_BIN_DIR: `tony` and what it starts.
std::string ProgramFolder();
// In $TONY_TESTS_DIR: one of what the tests build for themselves, "rough_daemon" or "libcrash_shim.so".
std::string TestProgram(const std::string& name);

}  // namespace tony
