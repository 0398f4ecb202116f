// A fuzz target is one source file with Read() and Seeds(), linked only with the rooms that read such bytes. README.md
// says how targets run.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "runtime/base/check.h"

namespace tony::fuzz {

// Does what the product does with these bytes. It returns for any input and keeps its promises: a broken promise fails
// a CHECK or a sanitizer.
void Read(std::string_view input);

// Returns valid inputs, made by the product's own writers or from test data. libFuzzer begins with them.
std::vector<std::string> Seeds();

// Returns the contents of all files below a folder of this repository whose names end with `ending`.
std::vector<std::string> FilesOf(const std::string& folder, std::string_view ending);

}  // namespace tony::fuzz
