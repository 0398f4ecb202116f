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

}  // namespace tony
