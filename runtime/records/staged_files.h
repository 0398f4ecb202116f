// The result of staging a job's files: entries of the user's store of staged content, $TONY_HOME/staged. An entry is
// named by the SHA-256 of its content. It is complete or missing, never changes, and is shared by jobs. A job's
// manifest is its staged.json; the entries in it are kept as long as the job's folder exists.
//
// Files in the file system of a cluster are not in the store: the nodes fetch them themselves.
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
    // `name` in the attempt's folder is a symbolic link to the entry, which is a file or a folder.
    kLink,
    // The content of the entry, a folder, is copied into the attempt's folder itself, as the task's own copy (src_dir).
    kContents,
    // `name`, which may lie in a folder, is the task's own copy of the entry, a file.
    kCopy,
  };
  std::string name;  // empty for kContents
  // The absolute path of the entry in the store; for a remote file its key.
  std::filesystem::path path;
  Form form = Form::kLink;
  bool operator==(const StagedEntry&) const = default;
};

// A file in the file system of the cluster that runs the job. If the file changes after staging, the node refuses it.
struct RemoteFile {
  // The name in the task's folder; empty: the content of the archive is put into the task's folder itself.
  std::string name;
  std::string path;    // path in the cluster's file system
  int64_t size = 0;    // bytes
  Instant modified{};  // in whole milliseconds
  // The file is an archive, and `name` becomes a folder with its content.
  bool is_packed = false;
  bool operator==(const RemoteFile&) const = default;
};
// Returns a single component of a path; files with the same key are the same.
std::string KeyOf(const RemoteFile& file);

// Files and folders that a rule has left out. Links count as files. Files beyond 100,000 in total are not counted.
struct LeftOut {
  std::string rule;                // ".gitignore: data/"
  std::vector<std::string> paths;  // relative, in order, at most kMostNamed
  int64_t files = 0;
  int64_t bytes = 0;
  bool operator==(const LeftOut&) const = default;
  static constexpr size_t kMostNamed = 5;
};

// How much of a source folder goes to each task, and how much is left out.
struct SourceSummary {
  std::string folder;  // empty: the job has none
  int64_t files = 0;
  int64_t bytes = 0;
  std::vector<LeftOut> left_out;  // most bytes first
  bool operator==(const SourceSummary&) const = default;
};

struct StagedFiles {
  std::vector<StagedEntry> job;  // for every task
  // For the tasks of a role. These entries are placed before the job's entries, so they win if both have the same name.
  std::map<std::string, std::vector<StagedEntry>> roles;
  std::vector<StagedEntry> am;
  // Remote files by their keys. Used only while files are staged; the manifest does not contain them.
  std::map<std::string, RemoteFile> remote{};
  // SHA-256 of the names and contents of all files, except __pycache__, which programs write beside their sources. Used
  // only while files are staged; the manifest does not contain it.
  std::string content{};
  // Used only while files are staged: a summary of src_dir, and what a person should know, one line each.
  SourceSummary sources{};
  std::vector<std::string> warnings{};
  bool operator==(const StagedFiles&) const = default;
};

std::string ToJson(const StagedFiles& files);
Result<StagedFiles> StagedFilesFromJson(std::string_view json);

// Puts entries into the existing folder `work`, in their order; a name that exists already stays as it is. For
// kContents, folders are made, files are copied, and links are made with the same target. Files over 16 MiB,
// also those of kCopy, become links to the store. kUnavailable names an entry that is missing; kCannotWrite names what
// could not be made.
Status LinkStaged(const std::vector<StagedEntry>& entries, const std::filesystem::path& work);

}  // namespace tony
