// Whether a Python environment that somebody packed can work on this machine.
#pragma once

#include <filesystem>
#include <string>

#include "runtime/base/result.h"

namespace tony {

// Looks at the program that `command` begins with, where that is in "venv/", within the staged environment `venv`;
// other commands are fine. kInvalid says what is wrong: it is missing, may not be executed, or it leads, by a link, by
// "#!" or by pyvenv.cfg, to a Python that this machine does not have.
Status CheckVenvCommand(const std::string& command, const std::filesystem::path& venv);

// A task finds the environment's programs first in its PATH. Empty: `command` may use them; else why it does not, as
// far as its text says: another Python by its path, one of a version that is not there, a login shell, which sets PATH
// anew.
std::string WhyVenvIsNotUsed(const std::string& command, const std::filesystem::path& venv);

}  // namespace tony
