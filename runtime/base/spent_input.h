// What was read from a descriptor that gives it once, a pipe or a terminal: a program that another one takes the place
// of, with the same arguments, gives it back. Main thread only.
#pragma once

#include <string>

#include "runtime/base/result.h"

namespace tony {

void NoteSpentInput(int descriptor, std::string text);

// Each descriptor, open or not, can be read from its beginning, also behind an exec. In memory alone: there may be
// secrets in it.
Status GiveBackSpentInput();

}  // namespace tony
