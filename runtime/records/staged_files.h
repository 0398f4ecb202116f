// What staging made of a job's files: entries of the user's store of staged content, $TONY_HOME/staged, each named by
// the SHA-256 of what it holds. Entries are complete or not there, never change, and are shared by jobs. The manifest
// of a job is its staged.json; as long as the job's folder is there its entries are kept.
//
// Files of a cluster's own file system are in no store: its nodes fetch them themselves.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/base/result.h"
#include "runtime/base/time.h"

namespace tony {

struct StagedEntry {
  enum class Form {
    kLink,      // `name` in the attempt's folder is a symbolic link to the entry, a file or a folder
    kContents,  // the folder's content is in the attempt's folder itself, as the task's own copy (src_dir)
    kCopy,      // `name`, which may be in a folder, is such a copy of a file
  };
  std::string name;            // empty for kContents
  std::filesystem::path path;  // of the entry in the store, absolute; of a remote file its key
  Form form = Form::kLink;
  bool operator==(const StagedEntry&) const = default;
};

// Of the cluster that runs the job. One that changes behind our look is refused by a node.
struct RemoteFile {
  std::string name;        // what it is called in the task's folder; empty: what is in the archive is there
  std::string path;        // in the cluster's file system
  int64_t size = 0;        // bytes
  Instant modified{};      // in whole milliseconds
  bool is_packed = false;  // `name` is a folder with what is in it
  bool operator==(const RemoteFile&) const = default;
};
std::string KeyOf(const RemoteFile& file);  // one component of a path: files of one key are the same

// Files and folders that a rule has left out. Links count as files; above 100,000 files in all the rest is not counted.
struct LeftOut {
  std::string rule;                // ".gitignore: data/"
  std::vector<std::string> paths;  // from the folder, in order; at most kMostNamed
  int64_t files = 0;
  int64_t bytes = 0;
  bool operator==(const LeftOut&) const = default;
  static constexpr size_t kMostNamed = 5;
};

// How much of a folder goes to each task, and how much does not.
struct SourceSummary {
  std::string folder;  // empty: the job has no such folder
  int64_t files = 0;
  int64_t bytes = 0;
  std::vector<LeftOut> left_out;  // the most bytes first
  bool operator==(const SourceSummary&) const = default;
};

struct StagedFiles {
  std::vector<StagedEntry> job;                           // for every task
  std::map<std::string, std::vector<StagedEntry>> roles;  // for the tasks of a role, after the job's
  std::vector<StagedEntry> am;
  // By their keys; for who staged it: they are not in the manifest.
  std::map<std::string, RemoteFile> remote{};
  // SHA-256 of names and contents of all of it, but of __pycache__, which programs write beside their sources. For who
  // staged it: it is not in the manifest.
  std::string content{};
  // For who staged it, too: of src_dir; and what a person should know, a line each.
  SourceSummary sources{};
  std::vector<std::string> warnings{};
  bool operator==(const StagedFiles&) const = default;
};

std::string ToJson(const StagedFiles& files);
Result<StagedFiles> StagedFilesFromJson(std::string_view json);

// Puts entries into the existing folder `work`, in their order; what is there already stays. Of a kContents folder,
// folders are made, files copied, links made anew as they are; files over 16 MiB, also of kCopy, are links to the
// store. kUnavailable names an entry that is gone, kCannotWrite what could not be made.
Status LinkStaged(const std::vector<StagedEntry>& entries, const std::filesystem::path& work);

}  // namespace tony
