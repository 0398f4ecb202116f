// An environment of conda's clients knows its own path, the prefix, which they write into its files. This makes one fit
// for another path before it is renamed to that.
//
//   a script in bin/ that the environment's Python runs   finds the Python beside itself, wherever the folder is, and
//                                                          needs no activated environment
//   any other file, any symbolic link                     gets the new path for the old one, and as many slashes before
//                                                          the last name ("/store///env") as make it as long: then no
//                                                          byte moves, and strings with a length, bytecode and its time
//                                                          stamps stay right, too
//
// Files are searched as a whole: what packages declare is not all (their scripts write, too), and micromamba does not
// keep what they declare.
#pragma once

#include <filesystem>

#include "runtime/base/result.h"

namespace tony {

// Changes files in place: none may have another name. kInvalid: `to` is longer than `folder`, which is absolute and as
// the client was told. A failure leaves some changed.
Status RelocateCondaEnvironment(const std::filesystem::path& folder, const std::filesystem::path& to);

}  // namespace tony
