// How often a test of random cases repeats.
#pragma once

#include <algorithm>
#include <cstdlib>

namespace tony {

// All of them where $TONY_FULL_ROUNDS is set, as in continuous integration and for mutants, and a tenth where somebody waits.
inline int Rounds(int all) { return std::getenv("TONY_FULL_ROUNDS") != nullptr ? all : std::max(1, all / 10); }

}  // namespace tony
