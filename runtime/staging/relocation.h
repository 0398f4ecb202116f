// Files of a source that lead to where the source lay: what they are in the copy, so that they lead to the copy.
//
//   bin/TOOL of a Python environment    its first line, or pip's form of a long one: the Python beside it
//   bin/activate                        VIRTUAL_ENV: the environment in the task's folder
//   *.pth, __editable__*_finder.py      a folder of src_dir, as of an editable installation: the task's copy of it
//   a script with a first line that names a Python of src_dir: the task's copy of it
//
// No copy has an absolute path, because a machine may have it anywhere.
#pragma once

#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "runtime/base/result.h"
#include "runtime/staging/source_tree.h"

namespace tony {

struct CopyPlace {
  // The copy's name in the task's folder, as "venv"; empty: the copy is that folder.
  std::string name;
  // The user's src_dir, whose copy is the task's folder; empty: the job has none.
  std::string src_dir;
};

// By their names; the other files stay as they are. What cannot be read stays, too.
std::map<std::string, std::string> RelocatedFiles(const std::filesystem::path& folder,
                                                  const std::vector<SourceItem>& items, const CopyPlace& place);

// Whether a Python environment that somebody packed can work on this machine.

// Looks at the program that `command` begins with, where that is in "venv/", within the staged environment `venv`;
// other commands are fine. kInvalid says what is wrong: it is missing, may not be executed, or it leads, by a link, by
// "#!" or by pyvenv.cfg, to a Python that this machine does not have.
Status CheckVenvCommand(const std::string& command, const std::filesystem::path& venv);

// A task finds the environment's programs first in its PATH. Empty: `command` may use them; else why it does not, as
// far as its text says: another Python by its path, one of a version that is not there, a login shell, which sets PATH
// anew.
std::string WhyVenvIsNotUsed(const std::string& command, const std::filesystem::path& venv);

}  // namespace tony
