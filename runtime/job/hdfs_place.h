// Files and folders in HDFS, as a user names them.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/base/endpoint.h"
#include "runtime/base/result.h"
#include "runtime/job/job_spec.h"

namespace tony {

struct HdfsPlace {
  std::optional<Endpoint> name_node;  // nothing: that of the cluster which runs the job
  std::string path;                   // absolute, without "." and "..", and no slash at its end
  bool operator==(const HdfsPlace&) const = default;
};

bool IsInHdfs(std::string_view source);  // whether it begins with "hdfs:"

// "hdfs://nn:8020/data/x", "hdfs://nn/data/x" (8020), "hdfs:///data/x". kInvalid says what was expected.
Result<HdfsPlace> ParseHdfsPlace(std::string_view source);
std::string ToString(const HdfsPlace& place);  // which is parsed to the same

// Whether a node unpacks a file of that name: it goes by the ending alone.
bool IsArchiveOfNodes(std::string_view path);
inline constexpr std::string_view kArchivesOfNodes = ".zip, .jar, .tar, .tar.gz or .tgz";

FileSpec VenvOf(const JobSpec& spec);                    // the Python environment, as a file of the job
FileSpec SrcDirOf(const JobSpec& spec);                  // its name is empty
std::string NameOfSource(const FileSpec& file);          // for messages: "src_dir hdfs:///x"
std::vector<FileSpec> FilesInHdfs(const JobSpec& spec);  // of the job, its roles and its AM; some of them twice

}  // namespace tony
