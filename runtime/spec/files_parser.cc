// The files of a job: its program, its Python environment, and TonY's lists of SRC[::NAME][#archive].
#include <sys/stat.h>

#include <algorithm>
#include <fstream>
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

// Returns the scheme of a URI as Hadoop reads it: the text before the first colon. Returns "" for a plain path.
std::string_view SchemeOf(std::string_view text) {
  const size_t end = text.find_first_of(":/");
  return end == std::string_view::npos || text[end] == '/' ? std::string_view() : text.substr(0, end);
}

// Returns the path in a plain path or a file: URI. The error says what was expected.
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
  if (names_host) return Error{ErrorCode::kInvalid, "expected file:/PATH on this machine"};
  return std::string(text);
}

// Returns the absolute path of an existing file or folder. The error says what was expected.
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
  return Error{
      ErrorCode::kInvalid,
      StrCat("a node recognises archives in HDFS by their names; expected a name that ends in ", kArchivesOfNodes)};
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

// Returns the path of the one file or folder that `key` names; "" if the key is not set.
Result<std::string> ParseOne(const PropertyValues& values, std::string_view key, const fs::path& directory) {
  if (!values.Has(key)) return std::string();
  const std::string text = values.Text(key);
  if (text.find('\0') != std::string::npos) return values.Bad(key, "a path cannot contain a NUL character");
  auto source = SourceOf(values, key, Trim(text), directory);
  if (!source.ok()) return values.Bad(key, source.error().message);
  return source;
}

// Returns the path of the Hadoop site file that `key` names; "" if the key is not set.
Result<std::string> ParseSiteFile(const PropertyValues& values, std::string_view key, const fs::path& directory) {
  TRY_ASSIGN(std::string path, ParseOne(values, key, directory));
  std::error_code unknown;
  if (fs::is_directory(path, unknown))
    return values.Bad(key, "is a folder; expected a site file such as yarn-site.xml");
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
    return BadItem(values, key, item, "expected a file name without a slash as NAME");
  }
  if (!IsReservedFileName(file.name)) return Ok();
  return BadItem(values, key, item,
                 StrCat(file.name,
                        " is the name of a file that TonY writes into the same folder; expected another NAME"));
}

// FileHere() and FileInHdfs() return a file whose name is the last part of the source's path.
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
  if (source.empty()) return BadItem(values, key, item, StrCat(kForm, ", but SRC is empty"));
  if (source.find('\0') != std::string::npos)
    return BadItem(values, key, item, "a path cannot contain a NUL character");
  const auto found = IsInHdfs(source) ? FileInHdfs(values, source, archive.has_value())
                                      : FileHere(source, archive.has_value(), directory);
  if (!found.ok()) return BadItem(values, key, item, found.error().message);
  FileSpec file = *found;
  if (name) file.name = *name;
  TRY(CheckName(values, key, item, file));
  return file;
}

// Returns the files in the list. `others` are further files of the same process. A file that is repeated unchanged in
// the list or in `others` is left out.
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
      return BadItem(values, key, item, StrCat("the folder venv belongs to ", kVenv, "; expected another NAME"));
    }
    const FileSpec* other = named(others, file.name);
    if (!other) other = named(files, file.name);
    if (!other) {
      files.push_back(std::move(file));
    } else if (*other != file) {
      return BadItem(values, key, item,
                     StrCat(other->source, " has the name ", file.name, ", too; expected another NAME, as SRC::NAME"));
    }
  }
  return files;
}

// ---- Commands that name programs of the job: `-executes train.py`, as users of TonY write it, or a path into src_dir.

constexpr std::string_view kSuffix = ".py";

constexpr std::string_view kBlanks = " \t\n";

// Returns whether the character has no special meaning to a shell. Characters outside of ASCII never have one.
bool IsPlain(char c) {
  const bool alphanumeric = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
  return alphanumeric || c < 0 || std::string_view("_./-+").find(c) != std::string_view::npos;
}

// Returns the first word as a shell reads it, with quotes and backslashes removed. Returns "" if only a shell can
// expand the word.
std::string FirstWord(std::string_view text) {
  std::string word;
  char quote = 0;
  for (size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (quote == 0 && kBlanks.find(c) != kBlanks.npos) return word;
    if (c == quote) {
      quote = 0;
    } else if (quote == 0 && (c == '"' || c == '\'')) {
      quote = c;
    } else if (quote == 0 && c == '\\' && i + 1 < text.size()) {
      word += text[++i];
    } else if (quote == '\'' || (quote == '"' && std::string_view("$`\\").find(c) == std::string_view::npos) ||
               (quote == 0 && IsPlain(c))) {
      word += c;
    } else {
      return "";
    }
  }
  return quote == 0 ? word : "";
}

bool IsInTasksFolder(std::string_view path) {
  return !path.empty() && !path.starts_with('/') && path.find("..") == std::string_view::npos;
}

// Returns the relative path of the Python file that the command begins with; "" if it begins with something else.
std::string ScriptOf(const std::string& command) {
  std::string word = FirstWord(Trim(command));
  return IsInTasksFolder(word) && word.ends_with(kSuffix) && word.size() > kSuffix.size() ? word : "";
}

// Returns the path on this machine from which the file `script` gets into the task's folder. nullopt: the path is not
// known, because the file is in an archive, or because src_dir is not a folder.
std::optional<fs::path> SourceOf(const fs::path& script, const JobSpec& spec, const RoleSpec& role) {
  const fs::path inside = script.lexically_normal();
  for (const auto* files : {&role.files, &spec.files}) {
    const auto file = std::ranges::find(*files, inside.begin()->string(), &FileSpec::name);
    if (file == files->end()) continue;
    if (file->archive) return std::nullopt;
    const fs::path rest = inside.lexically_relative(*inside.begin());
    return rest == "." ? fs::path(file->source) : file->source / rest;
  }
  std::error_code error;
  if (!fs::is_directory(spec.src_dir, error)) return std::nullopt;
  return fs::path(spec.src_dir) / inside;
}

bool IsFileOfHdfs(const std::string& script, const JobSpec& spec, const RoleSpec& role) {
  const auto is_it = [&](const FileSpec& file) { return file.name == script && IsInHdfs(file.source); };
  return std::ranges::any_of(role.files, is_it) || std::ranges::any_of(spec.files, is_it);
}

// Returns whether the file counts as one that starts by itself: a binary (ELF), a zip archive, or a text whose first
// line names a program without a carriage return at the end. A shell would run any other file as a shell script.
bool StartsByItself(const fs::path& file) {
  std::ifstream stream(file, std::ios::binary);
  std::string line;
  std::getline(stream, line);
  if (line.starts_with("\x7f"
                       "ELF") ||
      line.starts_with("PK\x03\x04"))
    return true;
  return line.starts_with("#!") && line.find('\r') == line.npos;
}

constexpr mode_t kRunBits = S_IXUSR | S_IXGRP | S_IXOTH;

enum class HowToRun { kAsItIs, kByPython, kNotThere };

// Returns how the script has to be run. A name without a slash is searched in PATH only, and never in the task's
// folder.
HowToRun HowToRunIt(const std::string& script, const JobSpec& spec, const RoleSpec& role) {
  const bool path_only = script.find('/') == std::string::npos;
  if (IsFileOfHdfs(script, spec, role)) return HowToRun::kByPython;
  const auto source = SourceOf(script, spec, role);
  // The source cannot be inspected, e.g. because src_dir is an archive.
  if (!source && !spec.src_dir.empty()) return path_only ? HowToRun::kByPython : HowToRun::kAsItIs;
  struct stat file {};
  if (!source || stat(source->c_str(), &file) != 0 || !S_ISREG(file.st_mode))
    return path_only ? HowToRun::kNotThere : HowToRun::kAsItIs;
  const bool runs = (file.st_mode & kRunBits) != 0 && StartsByItself(*source);
  return path_only || !runs ? HowToRun::kByPython : HowToRun::kAsItIs;
}

bool IsFile(const fs::path& path) {
  std::error_code error;
  return fs::is_regular_file(path, error);
}

// Puts quotes around a name with blanks. Example: `my train.py --fast`, if src_dir has the file `my train.py` and no
// file `my`.
void QuoteNameWithBlanks(JobSpec& spec, RoleSpec& role) {
  std::string command(Trim(role.command));
  const std::string first = FirstWord(command);
  size_t begin = 0;
  if (fs::path(first).filename().string().starts_with("python"))
    begin = std::min(command.find_first_not_of(kBlanks, command.find_first_of(kBlanks)), command.size());
  if (IsFile(fs::path(spec.src_dir) / FirstWord(std::string_view(command).substr(begin)))) return;
  for (size_t blank = command.find(' ', begin); blank != command.npos;) {
    blank = command.find(' ', blank + 1);
    const std::string name = command.substr(begin, std::min(blank, command.size()) - begin);
    if (!IsInTasksFolder(name) || name.find('\'') != name.npos || !IsFile(fs::path(spec.src_dir) / name)) continue;
    const std::string_view here = name.find('/') == name.npos ? "./" : "";
    role.command = StrCat(command.substr(0, begin), "'", here, name, "'", command.substr(begin + name.size()));
    return;
  }
}

// Returns whether the file is of a kind that is run. A command may name the original of another kind of file on
// purpose, e.g. a log that outlives the job.
bool IsProgram(const fs::path& file) {
  struct stat info {};
  if (stat(file.c_str(), &info) != 0 || !S_ISREG(info.st_mode)) return false;
  const std::string suffix = file.extension().string();
  return (info.st_mode & kRunBits) != 0 || suffix == kSuffix || suffix == ".sh" || suffix == ".bash" ||
         (file.filename() == "activate" && file.parent_path().filename() == "bin");
}

// Replaces the absolute path of a program in src_dir with the path in the task's copy. Warns if the original stays in
// use.
void UseTaskCopy(JobSpec& spec, RoleSpec& role, Warnings& warnings) {
  constexpr std::string_view kAround = " \t\n;&|<>()`'\"=:,";
  const std::string prefix = spec.src_dir + "/";
  std::string& command = role.command;
  for (size_t at = command.find(prefix); at != command.npos; at = command.find(prefix, at + 1)) {
    if (at > 0 && kAround.find(command[at - 1]) == kAround.npos) continue;
    const char before = at > 0 ? command[at - 1] : ' ';
    const bool quoted = before == '"' || before == '\'';
    const size_t end = std::min(quoted ? command.find(before, at) : command.find_first_of(kAround, at), command.size());
    const std::string file = command.substr(at, end - at), inside = file.substr(prefix.size());
    // After cd or pushd, a relative path would lead elsewhere, so the absolute path stays.
    const bool moves = command.find("cd ") < at || command.find("pushd ") < at;
    if (IsProgram(file) && !moves) {
      command.replace(at, file.size(), "./" + inside);
    } else if (IsFile(file)) {
      warnings.push_back(StrCat(
          "role ", role.name, ": its command names ", file,
          ", the original file, so a later change of the file changes the job; use the task's own copy: ", inside));
    }
  }
  const size_t cd = command.find("cd " + spec.src_dir);
  const size_t end = cd + 3 + spec.src_dir.size();
  if (cd != command.npos && (cd == 0 || kAround.find(command[cd - 1]) != kAround.npos) &&
      (end == command.size() || command[end] == '/' || kAround.find(command[end]) != kAround.npos))
    warnings.push_back(StrCat("role ", role.name, ": its command runs \"cd ", spec.src_dir,
                              "\", which leads to the original folder, so a later change of the folder changes the "
                              "job; remove the cd, because a task starts in its own copy of the folder"));
}

}  // namespace

Result<HdfsPlace> ParseInHdfs(const PropertyValues& values, std::string_view text) {
  if (SchedulerOf(values) == kYarnScheduler) return ParseHdfsPlace(text);
  return Error{
      ErrorCode::kInvalid,
      "only a job on YARN can use files in HDFS (tony.scheduler=yarn); expected the path of a file or folder on "
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

void RunScriptsByPython(JobSpec& spec, Warnings& warnings) {
  const std::string python = spec.python_venv.empty() ? "python3" : StrCat(kVenvFolder, "/bin/python3");
  std::error_code error;
  const bool is_folder = spec.src_dir.starts_with('/') && fs::is_directory(spec.src_dir, error);
  for (RoleSpec& role : spec.roles) {
    if (is_folder) UseTaskCopy(spec, role, warnings);
    if (is_folder) QuoteNameWithBlanks(spec, role);
    const std::string script = ScriptOf(role.command);
    if (script.empty()) continue;
    switch (HowToRunIt(script, spec, role)) {
      case HowToRun::kAsItIs:
        break;
      case HowToRun::kByPython:
        role.command = StrCat(python, " ", Trim(role.command));
        break;
      case HowToRun::kNotThere:
        warnings.push_back(StrCat("role ", role.name, ": the job's files do not contain ", script,
                                  ", so a task finds this command only in PATH; use -src_dir FOLDER to give each task ",
                                  "the content of a folder"));
        break;
    }
  }
}

}  // namespace tony
