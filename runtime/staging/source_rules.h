// Patterns of .gitignore and .tonyignore. Both are read as git reads .gitignore.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "runtime/job/job_spec.h"
#include "runtime/staging/source_tree.h"

namespace tony {

struct IgnorePattern {
  // The pattern as written in the file, e.g. "data/". Used in messages.
  std::string text;
  // The file's path from the source folder: "sub/.gitignore".
  std::string file;
  std::vector<std::string> parts;
  // The length of the file's folder in bytes, e.g. of "sub/". The pattern is matched against a path without this
  // beginning.
  size_t folder = 0;
  bool is_from_tonyignore = false;  // the pattern is from a .tonyignore
  bool keeps = false;               // the pattern begins with "!"
  bool only_folders = false;
  // The pattern has no slash, so it is matched against the last part of a path.
  bool only_name = false;
};

class IgnoreRules {
 public:
  // Adds the patterns of one file. The last pattern that matches decides, so the file of a folder must be added before
  // the files of its subfolders. Cut() with an earlier size() removes the patterns that were added since.
  void Add(std::string_view text, const std::string& file, bool is_from_tonyignore);
  size_t size() const { return patterns_.size(); }
  void Cut(size_t size) { patterns_.resize(size); }

  // Returns the pattern that decides about `path`; null if none matches. `path` is relative to the source folder. The
  // caller ensures that no folder above `path` is left out. `only_tonys`: only patterns of a .tonyignore count.
  const IgnorePattern* Find(std::string_view path, bool is_folder, bool only_tonys = false) const;

 private:
  std::vector<IgnorePattern> patterns_;
};

// The rules that decide which files of a job's src_dir are sent to its tasks. They are derived from the job's
// specification.

struct JobSources {
  SourceRules rules;
  // Warnings about scripts that the job names and that cannot run as they are, one line each.
  std::vector<std::string> warnings;
};

// Returns the rules for src_dir. Reads the shell scripts that the commands name, because the files named in these
// scripts are sent to the tasks, too. `as_tony`: the job comes from a tony.xml or from Azkaban, and all of src_dir goes
// to its tasks except what .tonyignore names.
JobSources SelectSources(const JobSpec& spec, bool as_tony);

}  // namespace tony
