// Where the sources and the built programs are. Only places.cc knows the checkout, so what other tests compile to is the
// same in every checkout, and a compiler cache that one has filled serves the others.
#pragma once

#include <string>

namespace tony {

// Absolute paths without a slash at the end.
std::string SourceFolder();
std::string ProgramFolder();                        // `tony` and what it starts
std::string TestProgram(const std::string& name);  // one of what the tests build for themselves: "rough_daemon"

}  // namespace tony
