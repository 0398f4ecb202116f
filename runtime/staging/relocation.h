// Some files of a source contain the path where the source was. In the copies, this path is changed as follows:
//
//   bin/TOOL of a Python environment    the first line leads to the Python in the same folder. If the line would be too
//                                       long, pip writes two lines in its place, which are changed in the same way
//   bin/activate                        VIRTUAL_ENV leads to the environment in the task's folder
//   *.pth, __editable__*_finder.py      a folder of src_dir, e.g. of an editable installation, is replaced by the
//                                       task's copy of the folder
//   a script with a first line that names a Python of src_dir     leads to the task's copy of that Python
//
// Copies contain no absolute path, because each machine may have the copy at another place.
#pragma once

#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "runtime/base/result.h"
#include "runtime/staging/source_tree.h"

namespace tony {

struct CopyPlace {
  // The copy's name in the task's folder, e.g. "venv"; empty: the copy is the task's folder itself.
  std::string name;
  // The user's src_dir, whose copy is the task's folder; empty: the job has none.
  std::string src_dir;
};

// Returns the new content of each file that must change, by the file's name. A file that cannot be read is not changed.
std::map<std::string, std::string> RelocatedFiles(const std::filesystem::path& folder,
                                                  const std::vector<SourceItem>& items, const CopyPlace& place);

// Checks whether a Python environment that the user packed can work on this machine.

// Checks the program that `command` begins with, if its path is in "venv/", within the staged environment `venv`. Other
// commands are accepted. kInvalid: the program is missing or not executable, or it leads to a Python that this machine
// does not have or that has another version. A program may lead to a Python by a link, by "#!" or by pyvenv.cfg. The
// message has the reason.
Status CheckVenvCommand(const std::string& command, const std::filesystem::path& venv);

// Returns why `command` does not use the environment; "" if it may use it. A task's PATH begins with the environment's
// programs, so a usual command uses them. Exceptions are recognized by the text of the command: another Python by its
// path, a Python version that the environment lacks, or a login shell, which sets PATH again.
std::string WhyVenvIsNotUsed(const std::string& command, const std::filesystem::path& venv);

}  // namespace tony
