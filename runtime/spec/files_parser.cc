// What a job brings along: its program, its Python environment, and TonY's lists of SRC[::NAME][#archive].
#include <algorithm>
#include <optional>

#include "runtime/base/strings.h"
#include "runtime/job/hdfs_place.h"
#include "runtime/spec/parser_parts.h"

namespace tony {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kSource = "tony.src-dir";
constexpr std::string_view kVenv = "tony.python-venv";
constexpr std::string_view kJobFiles = "tony.containers.resources";
constexpr std::string_view kAmFiles = "tony.am.resources";

constexpr std::string_view kArchive = "#archive";
constexpr std::string_view kForm = "expected SRC[::NAME][#archive]";
constexpr size_t kLongestFileName = 255;  // NAME_MAX

Error BadItem(const PropertyValues& values, std::string_view key, std::string_view item, std::string_view expected) {
  return values.Bad(key, StrCat(Quoted(item), ": ", expected));
}

// Of a URI, as Hadoop reads it: letters before the first colon; "" if the text is a plain path.
std::string_view SchemeOf(std::string_view text) {
  const size_t end = text.find_first_of(":/");
  return end == std::string_view::npos || text[end] == '/' ? std::string_view() : text.substr(0, end);
}

// The path that a plain path or a file: URI means; else what was expected.
Result<std::string> LocalPath(std::string_view text) {
  const std::string_view scheme = SchemeOf(text);
  if (scheme.empty() && !text.starts_with(':')) return std::string(text);
  if (ToLower(scheme) != "file") {
    return Error{ErrorCode::kInvalid, StrCat(scheme,
                                             ": is not supported yet; expected the path of a file or folder "
                                             "on this machine (a name with a colon is written ./NAME)")};
  }
  text.remove_prefix(scheme.size() + 1);
  if (text.starts_with("//")) text.remove_prefix(2);
  const bool names_host = !text.starts_with('/');
  if (names_host) return Error{ErrorCode::kInvalid, "expected file:/PATH, of this machine"};
  return std::string(text);
}

// The absolute path, where there is a file or a folder; else what was expected.
Result<fs::path> Existing(std::string_view text, const fs::path& directory) {
  TRY_ASSIGN(const std::string local, LocalPath(text));
  const fs::path path = AbsolutePath(local, directory);
  std::error_code error;
  const auto status = fs::status(path, error);
  if (fs::is_directory(status) || fs::is_regular_file(status)) return path;
  const bool missing = status.type() == fs::file_type::not_found;
  const bool special = !missing && !error;
  return Error{ErrorCode::kInvalid, StrCat(path.string(), ": ",
                                           special   ? "neither a file nor a folder"
                                           : missing ? "no such file or folder"
                                                     : error.message())};
}

Result<HdfsPlace> ArchiveInHdfs(const PropertyValues& values, std::string_view text) {
  TRY_ASSIGN(HdfsPlace place, ParseInHdfs(values, text));
  if (IsArchiveOfNodes(place.path)) return place;
  return Error{ErrorCode::kInvalid,
               StrCat("a node unpacks archives of HDFS by their names; expected one in ", kArchivesOfNodes)};
}

Result<std::string> SourceOf(const PropertyValues& values, std::string_view key, std::string_view text,
                             const fs::path& directory) {
  if ((key == kSource || key == kVenv) && IsInHdfs(text)) {
    TRY_ASSIGN(const HdfsPlace place, key == kVenv ? ArchiveInHdfs(values, text) : ParseInHdfs(values, text));
    return ToString(place);
  }
  TRY_ASSIGN(const fs::path path, Existing(text, directory));
  return path.string();
}

// The file or folder that is the whole value of `key`; "" if it is not set.
Result<std::string> ParseOne(const PropertyValues& values, std::string_view key, const fs::path& directory) {
  if (!values.Has(key)) return std::string();
  const std::string text = values.Text(key);
  if (text.find('\0') != std::string::npos) return values.Bad(key, "a path cannot hold a NUL character");
  auto source = SourceOf(values, key, Trim(text), directory);
  if (!source.ok()) return values.Bad(key, source.error().message);
  return source;
}

// The same, of a file in Hadoop's XML format.
Result<std::string> ParseSiteFile(const PropertyValues& values, std::string_view key, const fs::path& directory) {
  TRY_ASSIGN(std::string path, ParseOne(values, key, directory));
  std::error_code unknown;
  if (fs::is_directory(path, unknown)) return values.Bad(key, "is a folder, expected a site file as yarn-site.xml");
  return path;
}

std::optional<std::string> TrailingArchive(std::string_view item) {
  if (item.size() < kArchive.size()) return std::nullopt;
  const size_t rest = item.size() - kArchive.size();
  if (ToLower(item.substr(rest)) != kArchive) return std::nullopt;
  return std::string(item.substr(0, rest));
}

Status CheckName(const PropertyValues& values, std::string_view key, const std::string& item, const FileSpec& file) {
  if (!IsFileName(file.name) || file.name.size() > kLongestFileName) {
    return BadItem(values, key, item, "expected as NAME the name of a file, without a slash");
  }
  if (!IsTonysOwnFile(file.name)) return Ok();
  return BadItem(values, key, item,
                 StrCat(file.name, " is a file that TonY itself keeps there; expected another NAME"));
}

// Both are called what their sources are.
Result<FileSpec> FileHere(const std::string& source, bool archive, const fs::path& directory) {
  TRY_ASSIGN(const fs::path path, Existing(source, directory));
  std::error_code unknown;
  return FileSpec{path.string(), path.filename().string(), archive && !fs::is_directory(path, unknown)};
}

Result<FileSpec> FileInHdfs(const PropertyValues& values, const std::string& source, bool archive) {
  TRY_ASSIGN(const HdfsPlace place, archive ? ArchiveInHdfs(values, source) : ParseInHdfs(values, source));
  return FileSpec{ToString(place), fs::path(place.path).filename().string(), archive};
}

Result<FileSpec> ParseItem(const PropertyValues& values, std::string_view key, const std::string& item,
                           const fs::path& directory) {
  const auto archive = TrailingArchive(item);
  std::string source = archive.value_or(item);
  std::optional<std::string> name;
  if (const size_t colons = source.find("::"); colons != std::string::npos) {
    name = Trim(std::string_view(source).substr(colons + 2));
    source.resize(colons);
    if (name->find("::") != std::string::npos) return BadItem(values, key, item, StrCat(kForm, ", with one ::"));
  }
  source = Trim(source);
  if (source.empty()) return BadItem(values, key, item, StrCat(kForm, ", and SRC is empty"));
  if (source.find('\0') != std::string::npos) return BadItem(values, key, item, "a path cannot hold a NUL character");
  const auto found = IsInHdfs(source) ? FileInHdfs(values, source, archive.has_value())
                                      : FileHere(source, archive.has_value(), directory);
  if (!found.ok()) return BadItem(values, key, item, found.error().message);
  FileSpec file = *found;
  if (name) file.name = *name;
  TRY(CheckName(values, key, item, file));
  return file;
}

// `others`: what the same process finds beside them. What is there already, and the same, is left out.
Result<std::vector<FileSpec>> ParseList(const PropertyValues& values, std::string_view key, const fs::path& directory,
                                        const std::vector<FileSpec>& others, bool has_venv) {
  std::vector<FileSpec> files;
  const auto named = [](const std::vector<FileSpec>& list, const std::string& name) {
    const auto found = std::ranges::find(list, name, &FileSpec::name);
    return found == list.end() ? nullptr : &*found;
  };
  for (const auto& item : values.List(key)) {
    TRY_ASSIGN(FileSpec file, ParseItem(values, key, item, directory));
    if (has_venv && file.name == kVenvFolder) {
      return BadItem(values, key, item, StrCat("venv is where ", kVenv, " goes; expected another NAME"));
    }
    const FileSpec* other = named(others, file.name);
    if (!other) other = named(files, file.name);
    if (!other) {
      files.push_back(std::move(file));
    } else if (*other != file) {
      return BadItem(values, key, item,
                     StrCat(other->source, " is called ", file.name, " too; expected another NAME, as SRC::NAME"));
    }
  }
  return files;
}

}  // namespace

Result<HdfsPlace> ParseInHdfs(const PropertyValues& values, std::string_view text) {
  if (SchedulerOf(values) == kYarnScheduler) return ParseHdfsPlace(text);
  return Error{ErrorCode::kInvalid,
               "only a job on YARN has files of HDFS (tony.scheduler=yarn); expected the path of a file or folder on "
               "this machine"};
}

Status ParseFiles(const PropertyValues& values, const fs::path& directory, bool single_task, JobSpec& spec) {
  TRY_ASSIGN(spec.src_dir, ParseOne(values, kSource, directory));
  TRY_ASSIGN(spec.python_venv, ParseOne(values, kVenv, directory));
  const bool has_venv = !spec.python_venv.empty();
  TRY_ASSIGN(spec.files, ParseList(values, kJobFiles, directory, {}, has_venv));
  TRY_ASSIGN(spec.am_files, ParseList(values, kAmFiles, directory, {}, false));
  for (auto& role : spec.roles) {
    const std::string key = single_task ? std::string(kAmFiles) : StrCat("tony.", role.name, ".resources");
    TRY_ASSIGN(role.files, ParseList(values, key, directory, spec.files, has_venv));
  }
  return Ok();
}

Result<SiteFiles> ParseSiteFiles(const PropertyValues& values, const fs::path& directory) {
  SiteFiles files;
  if (SchedulerOf(values) != kYarnScheduler) return files;
  TRY_ASSIGN(files.hdfs, ParseSiteFile(values, kHdfsSiteKey, directory));
  TRY_ASSIGN(files.yarn, ParseSiteFile(values, kYarnSiteKey, directory));
  return files;
}

}  // namespace tony
