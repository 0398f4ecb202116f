// Files and folders in HDFS, in the notations that users write: hdfs://HOST:PORT/PATH, an address of ViewFs, which leads
// to an HDFS, or one of WebHDFS.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/base/endpoint.h"
#include "runtime/base/result.h"
#include "runtime/job/job_spec.h"

namespace tony {

// Returns the authority of a NameNode in "hdfs://" addresses: "nn.example.org:8020", or "cluster" for the logical name
// of several NameNodes, whose Endpoint has port -1.
std::string HdfsAuthority(const Endpoint& name_node);

struct HdfsPlace {
  // The NameNode; for viewfs the mount table, and for webhdfs a web server. Not set: the default of the cluster that
  // runs the job.
  std::optional<Endpoint> name_node;
  // An absolute path without "." and "..", and without a slash at its end.
  std::string path;
  std::string scheme = "hdfs";  // or viewfs, webhdfs, swebhdfs
  bool operator==(const HdfsPlace&) const = default;
};

// Returns whether the text begins with one of the four schemes, in any case.
bool IsInHdfs(std::string_view source);

// Reads "hdfs://nn:8020/data/x", "hdfs://nn/data/x" (port 8020), "hdfs:///data/x", or the same with another scheme.
// kInvalid says what was expected.
Result<HdfsPlace> ParseHdfsPlace(std::string_view source);
// Returns a text that ParseHdfsPlace() reads as the same place.
std::string ToString(const HdfsPlace& place);

// Returns whether a node of the cluster unpacks a file of this name. Nodes decide by the ending of the name alone.
bool IsArchiveOfNodes(std::string_view path);
inline constexpr std::string_view kArchivesOfNodes = ".zip, .jar, .tar, .tar.gz or .tgz";

// Returns the job's Python environment, JobSpec::python_venv, as a file of the job.
FileSpec VenvOf(const JobSpec& spec);
// Returns JobSpec::src_dir as a file of the job. FileSpec::name is empty, because src_dir has no name of its own in a
// task's folder.
FileSpec SrcDirOf(const JobSpec& spec);
// Returns the kind and the source of the file for messages, e.g. "src_dir hdfs:///x".
std::string NameOfSource(const FileSpec& file);
// Returns the files in HDFS of the job, its roles and its AM. A file may be listed twice.
std::vector<FileSpec> FilesInHdfs(const JobSpec& spec);

}  // namespace tony
