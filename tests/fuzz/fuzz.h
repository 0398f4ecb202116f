// A fuzz target: one source file with these two functions, linked with the rooms that read such bytes and no others.
// README.md says how they run.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "runtime/base/check.h"

namespace tony::fuzz {

// Does what the product does with these bytes. Whatever they are it comes back, and keeps its promises: a broken one
// is a CHECK, or what the sanitizers say.
void Read(std::string_view input);

// Inputs that the reader takes, made by the product's own writers or from test data: where libFuzzer begins.
std::vector<std::string> Seeds();

// The content of all files of a folder of this repository whose names end so; folders below it, too.
std::vector<std::string> FilesOf(const std::string& folder, std::string_view ending);

}  // namespace tony::fuzz
