// Patterns of .gitignore and .tonyignore, read as git reads those of .gitignore.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "runtime/job/job_spec.h"
#include "runtime/staging/source_tree.h"

namespace tony {

struct IgnorePattern {
  // The pattern as the file has it, for messages: "data/".
  std::string text;
  // The file's path from the source folder: "sub/.gitignore".
  std::string file;
  std::vector<std::string> parts;
  // The bytes of "sub/". The pattern is matched against the rest of a path.
  size_t folder = 0;
  bool is_tonys = false;  // from a .tonyignore
  bool keeps = false;     // it begins with "!"
  bool only_folders = false;
  // The pattern has no slash, so it is matched against the last part of a path.
  bool only_name = false;
};

class IgnoreRules {
 public:
  // The patterns of one file. The file of a folder is added before those of the folders in it, because the last pattern
  // that matches decides; Cut(size()) of before takes them back.
  void Add(std::string_view text, const std::string& file, bool is_tonys);
  size_t size() const { return patterns_.size(); }
  void Cut(size_t size) { patterns_.resize(size); }

  // The pattern that decides on `path`, a path from the source folder whose folder is kept; null: none matches.
  const IgnorePattern* Find(std::string_view path, bool is_folder, bool only_tonys = false) const;

 private:
  std::vector<IgnorePattern> patterns_;
};

// The rules for what of a job's src_dir travels, made from what the job says.

struct JobSources {
  SourceRules rules;
  // Scripts that the job names and that cannot run as they are, a line each.
  std::vector<std::string> warnings;
};

// Reads the shell scripts that the commands name, because what these name travels as well. `as_tony`: the job is one of
// a tony.xml or of Azkaban, and all of src_dir goes to its tasks except what .tonyignore names.
JobSources SourcesOf(const JobSpec& spec, bool as_tony);

}  // namespace tony
