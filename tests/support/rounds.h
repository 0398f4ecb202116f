// The number of rounds of a test with random cases.
#pragma once

#include <algorithm>
#include <cstdlib>

namespace tony {

// Returns all rounds if $TONY_FULL_ROUNDS is set, as in continuous integration and for mutants; otherwise a tenth,
// because somebody waits.
inline int Rounds(int all) { return std::getenv("TONY_FULL_ROUNDS") != nullptr ? all : std::max(1, all / 10); }

}  // namespace tony
