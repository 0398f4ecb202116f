// The result of staging a job's files: a list of entries in the user's store of staged content, $TONY_HOME/staged. An
// entry is named by the SHA-256 of its content. It is complete or missing, never changes, and is shared by jobs. The
// job's manifest, staged.json, lists its entries; these are kept as long as the job's folder exists.
//
// Files in the file system of a cluster are not in the store, because the nodes fetch them themselves.
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
    // The entry is a folder, whose content is copied into the attempt's folder as the task's own copy (src_dir).
    kContents,
    // The entry is a file, and `name` is the task's own copy of it. The name may contain folders.
    kCopy,
  };
  std::string name;  // empty for kContents
  // The absolute path of the entry in the store. For a remote file, its key (KeyOf).
  std::filesystem::path path;
  Form form = Form::kLink;
  bool operator==(const StagedEntry&) const = default;
};

// A file in the file system of the cluster that runs the job. If the file changes after staging, the node refuses it.
struct RemoteFile {
  // The name in the task's folder. Empty: the file is an archive, whose content is put into the task's folder itself.
  std::string name;
  std::string path;    // path in the cluster's file system
  int64_t size = 0;    // bytes
  Instant modified{};  // in whole milliseconds
  // True if the file is an archive that is unpacked into a folder called `name`.
  bool is_packed = false;
  // The NameNode of another file system of the cluster, e.g. "nn2.example.org:8020". Empty: the user's own.
  std::string name_node = {};
  bool operator==(const RemoteFile&) const = default;
};
// Returns a name by which a remote file is identified; the name is a single component of a path. Files with the same
// key are the same.
std::string KeyOf(const RemoteFile& file);

// Files and folders that a rule has left out. Links count as files. Files beyond 100,000 in total are not counted.
struct LeftOut {
  std::string rule;                // e.g. ".gitignore: data/"
  std::vector<std::string> paths;  // relative, sorted, at most kMostNamed
  int64_t files = 0;
  int64_t bytes = 0;
  bool operator==(const LeftOut&) const = default;
  static constexpr size_t kMostNamed = 5;
};

// The files and bytes of a source folder that go to each task, and the entries of the folder that are left out.
struct SourceSummary {
  std::string folder;  // empty: no source folder
  int64_t files = 0;
  int64_t bytes = 0;
  std::vector<LeftOut> left_out;  // sorted, most bytes first
  bool operator==(const SourceSummary&) const = default;
};

struct StagedFiles {
  std::vector<StagedEntry> job;  // for every task
  // The entries for the tasks of one role. These are placed before the job's entries, so they take precedence if both
  // have the same name.
  std::map<std::string, std::vector<StagedEntry>> roles;
  std::vector<StagedEntry> am;
  // Remote files by their keys. Only used during staging; the manifest does not contain them.
  std::map<std::string, RemoteFile> remote{};
  // The SHA-256 of the names and contents of all files, except __pycache__, which programs write beside their sources.
  // Only used during staging; the manifest does not contain it.
  std::string content{};
  // A summary of src_dir, and warnings for people, one line each. Only used during staging.
  SourceSummary sources{};
  std::vector<std::string> warnings{};
  bool operator==(const StagedFiles&) const = default;
};

std::string ToJson(const StagedFiles& files);
Result<StagedFiles> StagedFilesFromJson(std::string_view json);

// Puts the entries into the existing folder `work`, in their order. A name that exists already stays as it is. For
// kContents, folders are made, files are copied, and links are made with the same target. Files over 16 MiB are not
// copied, even for kCopy; they become links to the store. kUnavailable: an entry is missing, and the message names it.
// kCannotWrite: something could not be made, and the message names it.
Status LinkStaged(const std::vector<StagedEntry>& entries, const std::filesystem::path& work);

}  // namespace tony
