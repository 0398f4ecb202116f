// Who may know whom, checked on the #include lines. The table in layering.cc says the same as the links in the
// CMakeLists.txt files; a link cannot forbid a header, this can.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace tony::layering {

struct SourceFile {
  std::string path;  // from the root of the repository: "am/core/job.cc"
  std::string text;
};

// Every .h and .cc below `folder`, sorted. `root` is the repository's.
std::vector<SourceFile> ReadSources(const std::string& root, const std::string& folder);

// The paths of the pure cores among `sources`: what the targets named *_core are made of according to
// `cmake_lists` (the CMakeLists.txt of `folder`), with the headers of that folder which they reach.
std::vector<std::string> PureCores(const std::vector<SourceFile>& sources, const std::string& folder,
                                   std::string_view cmake_lists);

// What is wrong with one file, as "am/core/job.cc:12: ..." lines; none: it keeps to the rules.
std::vector<std::string> ArrowViolations(const SourceFile& source);       // folders of ours
std::vector<std::string> ThirdPartyViolations(const SourceFile& source);  // libraries, and headers private to a folder
std::vector<std::string> PurityViolations(const SourceFile& source);      // for the pure cores
std::vector<std::string> LocalSchedulerViolations(const SourceFile& source);  // who knows its headers and locks
std::vector<std::string> LocalLogViolations(const SourceFile& source);        // who knows how local logs are read
std::vector<std::string> JobFolderViolations(const SourceFile& source);    // who knows a job's folder on this machine
std::vector<std::string> LocalStoreViolations(const SourceFile& source);   // who knows where this machine's jobs are
std::vector<std::string> IncludePathViolations(const SourceFile& source);  // paths that the other rules would miss
std::vector<std::string> RawCallViolations(const SourceFile& source);      // what tests cannot stand in front of
std::vector<std::string> UsingNamespaceViolations(const SourceFile& source);
// Types that two headers define under one name: a program that has both would take one's functions for the other's.
std::vector<std::string> TypesOfOneName(const std::vector<SourceFile>& sources);

}  // namespace tony::layering
