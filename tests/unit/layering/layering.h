// Checks on the #include lines which code may include which. The table in layering.cc matches the links in the
// CMakeLists.txt files; this check can forbid single headers, which a link cannot.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace tony::layering {

struct SourceFile {
  std::string path;  // relative to the repository: "am/core/job.cc"
  std::string text;
};

// Returns every .h and .cc file below `folder`, sorted. `root` is the repository's root.
std::vector<SourceFile> ReadSources(const std::string& root, const std::string& folder);

// Returns the paths of the pure cores among `sources`: the sources of the targets named *_core in `cmake_lists` (the
// CMakeLists.txt of `folder`), and the headers of that folder that they reach.
std::vector<std::string> PureCores(const std::vector<SourceFile>& sources, const std::string& folder,
                                   std::string_view cmake_lists);

// Each check returns the violations in one file, as "am/core/job.cc:12: ..." lines; empty if there are none.
std::vector<std::string> ArrowViolations(const SourceFile& source);           // our own folders
std::vector<std::string> ThirdPartyViolations(const SourceFile& source);      // libraries, headers private to a folder
std::vector<std::string> PurityViolations(const SourceFile& source);          // for the pure cores
std::vector<std::string> LocalSchedulerViolations(const SourceFile& source);  // the local scheduler's headers and locks
std::vector<std::string> LocalLogViolations(const SourceFile& source);        // reading local logs
std::vector<std::string> JobFolderViolations(const SourceFile& source);       // a job's folder on this machine
std::vector<std::string> LocalStoreViolations(const SourceFile& source);      // the jobs of this machine
std::vector<std::string> IncludePathViolations(const SourceFile& source);     // include paths that other checks miss
std::vector<std::string> RawCallViolations(const SourceFile& source);         // system calls that tests cannot replace
std::vector<std::string> UsingNamespaceViolations(const SourceFile& source);
// Returns types that two headers define under one name. A program with both headers would call one type's functions for
// the other.
std::vector<std::string> TypesOfOneName(const std::vector<SourceFile>& sources);

}  // namespace tony::layering
