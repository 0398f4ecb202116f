#include "runtime/job/hdfs_place.h"

#include <algorithm>
#include <filesystem>

#include "runtime/base/strings.h"

namespace tony {
namespace {

// The default ports of HDFS (HdfsClientConfigKeys). The name of a mount table has no port.
struct SchemeOfHdfs {
  std::string_view name;
  int port;
};
constexpr SchemeOfHdfs kSchemes[] = {{"hdfs", 8020}, {"viewfs", -1}, {"webhdfs", 9870}, {"swebhdfs", 9871}};
// The endings of the archives that Hadoop's FSDownload.unpack unpacks. Other files stay packed.
constexpr std::string_view kUnpacked[] = {".zip", ".jar", ".tar", ".tar.gz", ".tgz"};

const SchemeOfHdfs* SchemeIn(std::string_view source) {
  const std::string name = ToLower(source.substr(0, source.find(':')));
  const auto* found = std::ranges::find(kSchemes, name, &SchemeOfHdfs::name);
  return found == std::end(kSchemes) || name.size() == source.size() ? nullptr : found;
}

std::string Normalized(std::string_view path) {
  std::string text = std::filesystem::path(path).lexically_normal().string();
  while (text.starts_with("//")) text.erase(0, 1);
  if (text.size() > 1 && text.ends_with('/')) text.pop_back();
  return text;
}

}  // namespace

std::string HdfsAuthority(const Endpoint& name_node) {
  return name_node.port < 0 ? name_node.host : ToString(name_node);
}

bool IsInHdfs(std::string_view source) { return SchemeIn(source) != nullptr; }

Result<HdfsPlace> ParseHdfsPlace(std::string_view source) {
  const Error wrong{ErrorCode::kInvalid, "expected hdfs://HOST:PORT/PATH, or hdfs:///PATH for the cluster's own HDFS"};
  const SchemeOfHdfs* scheme = SchemeIn(source);
  if (scheme == nullptr) return wrong;
  std::string_view rest = source.substr(scheme->name.size() + 1);
  HdfsPlace place{.scheme = std::string(scheme->name)};
  if (rest.starts_with("//")) {
    rest.remove_prefix(2);
    const std::string authority(rest.substr(0, rest.find('/')));
    rest.remove_prefix(authority.size());
    if (!authority.empty()) {
      place.name_node =
          scheme->port < 0 ? Endpoint{authority, -1} : ParseEndpoint(ToLower(authority), scheme->port);
      if (!place.name_node) return wrong;
    }
  }
  if (!rest.starts_with('/')) return wrong;
  place.path = Normalized(rest);
  return place;
}

std::string ToString(const HdfsPlace& place) {
  return StrCat(place.scheme, "://", place.name_node ? HdfsAuthority(*place.name_node) : "", place.path);
}

bool IsArchiveOfNodes(std::string_view path) {
  const std::string name = ToLower(path);
  return std::ranges::any_of(kUnpacked, [&](std::string_view end) { return name.ends_with(end); });
}

FileSpec SrcDirOf(const JobSpec& spec) { return {spec.src_dir, "", /*archive=*/true}; }

std::string NameOfSource(const FileSpec& file) {
  return StrCat(file.name.empty() ? "src_dir " : "resource ", file.source);
}

FileSpec VenvOf(const JobSpec& spec) { return {spec.python_venv, std::string(kVenvFolder), /*archive=*/true}; }

std::vector<FileSpec> FilesInHdfs(const JobSpec& spec) {
  std::vector<FileSpec> found;
  const auto add = [&found](const std::vector<FileSpec>& files) {
    for (const FileSpec& file : files)
      if (IsInHdfs(file.source)) found.push_back(file);
  };
  add({VenvOf(spec), SrcDirOf(spec)});
  add(spec.files);
  for (const RoleSpec& role : spec.roles) add(role.files);
  add(spec.am_files);
  return found;
}

}  // namespace tony
