// What a job's processes need on a node, in the user's folder of HDFS: what local staging made, and our programs.
//
//   FOLDER/<hash>, <hash>-x     a file, as the entry of $TONY_HOME/staged
//   FOLDER/<hash>-tree.tar.gz   a folder; the node unpacks it
//   FOLDER/.put-...             half of one: nobody uses such a name (hadoop/webhdfs.h)
//
// A name says its content, so what is there is not sent again. Nothing has such a name before it is whole, and nothing
// that has one is changed: a node refuses a file whose time of modification is not what a job was told. The folder is
// its user's alone (0700): who could write there could say what that user's jobs run. yarn_garbage.h removes what no
// job needs.
#pragma once

#include <filesystem>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/base/endpoint.h"
#include "runtime/base/result.h"
#include "runtime/hadoop/webhdfs.h"
#include "runtime/hadoop/yarn_records.h"
#include "runtime/records/staged_files.h"
#include "runtime/staging/stage.h"

namespace tony {

struct HdfsStore {
  hadoop::WebHdfs::Options hdfs;
  Endpoint name_node;             // as the cluster's own programs name it
  std::string folder;             // "/user/eve/.tony/staged"; made with those above it
  std::filesystem::path scratch;  // a folder here, for the archive of a folder while it is sent
};

struct HdfsSource {
  std::string key;             // its name in the container's folder
  std::string name;            // its name in the store, which says its content. One in .tar.gz is unpacked on the node
  std::filesystem::path path;  // here: a file, or a folder, which is packed
  std::string manifest{};  // what it looked like when it was given its name (records/entry_store.h); "": as it is sent
};
// The entries of `files` that are here, each once; their keys are their names in the store here.
std::vector<HdfsSource> SourcesOf(const StagedFiles& files);
// A program, a bundle of one (.tar.gz) or a large spec, by the SHA-256 of what it is now. kInvalid, kUnavailable: it
// cannot be read.
Result<HdfsSource> FileSource(std::string key, const std::filesystem::path& file);

using HdfsFiles = std::map<std::string, hadoop::LocalResource>;  // by key; as HDFS says size and time
std::string ToJson(const HdfsFiles& files);
Result<HdfsFiles> HdfsFilesFromJson(std::string_view json);

// Blocks until all is there; on any thread that has no loop of its own. `watch` is called on this thread; when it asks
// to stop, what is being sent is cut off. Errors name source and place: kInvalid: it cannot be read; kUnavailable: it
// changed while it was read, or HDFS cannot be reached, or `watch.stop` was asked; kNotPermitted: the folder is
// somebody else's; kCannotWrite: quota, full disks, the scratch folder. A failure leaves complete files only.
Result<HdfsFiles> SendToHdfs(const HdfsStore& store, const std::vector<HdfsSource>& sources, const StageWatch& watch);

}  // namespace tony
