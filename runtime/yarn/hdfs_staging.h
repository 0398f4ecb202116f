// Uploads the files that a job's processes need on a node to the user's folder in HDFS: the results of local staging,
// and our programs.
//
//   FOLDER/<hash>, <hash>-x     a file, with the name of its entry in $TONY_HOME/staged
//   FOLDER/<hash>-tree.tar.gz   a folder; the node unpacks it
//   FOLDER/.put-...             an unfinished upload, which is never used (hadoop/hdfs.h)
//
// Our programs have a folder of their own, which others may enter, because they hold no secret. If others may also
// enter its parents, the programs are public resources of YARN: a node fetches them with its own identity, even when
// the job's tokens have ended, and keeps them for all users. Users may share one such folder (kSharedPrograms). Only
// the user and the owner of HDFS's root folder may be able to change the folder, its parents and these programs.
//
// A name identifies its content, so an existing file is not sent again. A file gets its name only when it is complete,
// and is never changed after that: a node refuses a file if its modification time is not the one that the job was
// given. Only its user may write into a folder, because anybody else who can write there could change what that user's
// jobs run. yarn_garbage.h removes files that no job needs.
#pragma once

#include <filesystem>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/base/endpoint.h"
#include "runtime/base/result.h"
#include "runtime/hadoop/hdfs.h"
#include "runtime/hadoop/yarn_records.h"
#include "runtime/records/staged_files.h"
#include "runtime/staging/stage.h"

namespace tony {

struct HdfsStore {
  hadoop::Hdfs::Options hdfs;
  Endpoint name_node;  // address that the cluster's programs use
  std::string folder;  // "/user/eve/.tony/staged"; created with its parents
  enum class Use { kFiles, kOwnPrograms, kSharedPrograms } use = Use::kFiles;
  // A local folder for the archive of a folder while the archive is sent.
  std::filesystem::path scratch;
};

struct HdfsSource {
  std::string key;  // name in the container's folder
  // Name in the store, which identifies the content. The node unpacks a file whose name ends with .tar.gz.
  std::string name;
  // Local path of a file, or of a folder, which is packed.
  std::filesystem::path path;
  // State of the source when its name was computed (records/entry_store.h). Empty: its state when it is sent.
  std::string manifest{};
};
// Returns the entries of `files` that are on this machine, each once. Their keys are their names in the local store.
std::vector<HdfsSource> SelectSources(const StagedFiles& files);
// Returns a program, a program's bundle (.tar.gz) or a large spec as a source, named by the SHA-256 of its current
// content. kInvalid, kUnavailable: the file cannot be read.
Result<HdfsSource> FileSource(std::string key, const std::filesystem::path& file);

// The files as they are in HDFS, with the sizes, times and visibilities that a node needs. Key: HdfsSource::key.
using HdfsFiles = std::map<std::string, hadoop::LocalResource>;
std::string ToJson(const HdfsFiles& files);
Result<HdfsFiles> HdfsFilesFromJson(std::string_view json);

// Uploads the sources that are missing, and blocks until all are in HDFS. Call it on any thread that has no loop of its
// own. `watch` is called on this thread. If a stop is requested, the current upload is cut off. Errors name source and
// place. kInvalid: a source cannot be read. kUnavailable: a source changed while it was read, HDFS cannot be reached,
// or `watch.stop` was requested. kNotPermitted: the folder belongs to another user, or shared programs are not safe.
// kCannotWrite: quota, full disks, or the scratch folder. A failure leaves only complete files.
Result<HdfsFiles> SendToHdfs(const HdfsStore& store, const std::vector<HdfsSource>& sources, const StageWatch& watch);

}  // namespace tony
