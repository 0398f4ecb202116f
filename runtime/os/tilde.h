// Paths as people write them in files and variables that no shell reads.
#pragma once

#include <string>

namespace tony {

// "~" and "~/x" become the caller's home folder and what is in it: $HOME, else the folder that the machine's users
// have. Every other text stays as it is, "~ana/x" included; so do these where the caller has no home folder.
std::string ExpandTilde(std::string path);

}  // namespace tony
