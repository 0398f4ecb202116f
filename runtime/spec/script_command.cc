// Commands that name programs of the job's: `-executes train.py`, as users of TonY write it, or a path into src_dir.
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

constexpr std::string_view kSuffix = ".py";

constexpr std::string_view kBlanks = " \t\n";

// Outside of ASCII no character means anything to a shell.
bool IsPlain(char c) {
  const bool alphanumeric = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
  return alphanumeric || c < 0 || std::string_view("_./-+").find(c) != std::string_view::npos;
}

// The first word as a shell takes it, quotes and backslashes removed; "" where it needs a shell to say what it is.
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

// The relative path of a Python file that the command begins with; "" if it begins with something else.
std::string ScriptOf(const std::string& command) {
  std::string word = FirstWord(Trim(command));
  return IsInTasksFolder(word) && word.ends_with(kSuffix) && word.size() > kSuffix.size() ? word : "";
}

// Where a file of the task's folder comes from; nothing: from nowhere that can be looked at.
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

// The kernel starts a file that is not a text, or whose first line names a program without a carriage return at the end
// of that name. A shell takes any other file for a script of its own.
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

// A name without a slash is looked for in PATH alone, and never in the task's folder.
HowToRun HowToRunIt(const std::string& script, const JobSpec& spec, const RoleSpec& role) {
  const bool path_only = script.find('/') == std::string::npos;
  if (IsFileOfHdfs(script, spec, role)) return HowToRun::kByPython;
  const auto source = SourceOf(script, spec, role);
  if (!source && !spec.src_dir.empty()) return path_only ? HowToRun::kByPython : HowToRun::kAsItIs;  // an archive
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

// `my train.py --fast` where src_dir has a file `my train.py` and none `my`: the name gets quotes.
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

// A file that is run, as its kind says. A command may mean the original of another file, as a log that outlives the
// job.
bool IsProgram(const fs::path& file) {
  struct stat info {};
  if (stat(file.c_str(), &info) != 0 || !S_ISREG(info.st_mode)) return false;
  const std::string suffix = file.extension().string();
  return (info.st_mode & kRunBits) != 0 || suffix == kSuffix || suffix == ".sh" || suffix == ".bash" ||
         (file.filename() == "activate" && file.parent_path().filename() == "bin");
}

// A program of src_dir by its absolute path is the one of the task's copy.
void MeanCopy(JobSpec& spec, RoleSpec& role, Warnings& warnings) {
  constexpr std::string_view kAround = " \t\n;&|<>()`'\"=:,";
  const std::string prefix = spec.src_dir + "/";
  std::string& command = role.command;
  for (size_t at = command.find(prefix); at != command.npos; at = command.find(prefix, at + 1)) {
    if (at > 0 && kAround.find(command[at - 1]) == kAround.npos) continue;
    const char before = at > 0 ? command[at - 1] : ' ';
    const bool quoted = before == '"' || before == '\'';
    const size_t end = std::min(quoted ? command.find(before, at) : command.find_first_of(kAround, at), command.size());
    const std::string file = command.substr(at, end - at), inside = file.substr(prefix.size());
    // A relative path would lead elsewhere.
    const bool moves = command.find("cd ") < at || command.find("pushd ") < at;
    if (IsProgram(file) && !moves) {
      command.replace(at, file.size(), "./" + inside);
    } else if (IsFile(file)) {
      warnings.push_back(StrCat("role ", role.name, ": its command names ", file,
                                ", the original, whose later changes ", "the job sees; the task's own copy is ",
                                inside));
    }
  }
  const size_t cd = command.find("cd " + spec.src_dir);
  const size_t end = cd + 3 + spec.src_dir.size();
  if (cd != command.npos && (cd == 0 || kAround.find(command[cd - 1]) != kAround.npos) &&
      (end == command.size() || command[end] == '/' || kAround.find(command[end]) != kAround.npos))
    warnings.push_back(StrCat("role ", role.name, ": its command goes to ", spec.src_dir,
                              ", the original, whose later ", "changes the job sees; a task starts in its own copy"));
}

}  // namespace

void RunScriptsByPython(JobSpec& spec, Warnings& warnings) {
  const std::string python = spec.python_venv.empty() ? "python3" : StrCat(kVenvFolder, "/bin/python3");
  std::error_code error;
  const bool is_folder = spec.src_dir.starts_with('/') && fs::is_directory(spec.src_dir, error);
  for (RoleSpec& role : spec.roles) {
    if (is_folder) MeanCopy(spec, role, warnings);
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
        warnings.push_back(StrCat("role ", role.name, ": its command is ", script,
                                  ", which is not among the job's files: a task finds it only in its PATH; -src_dir ",
                                  "FOLDER gives tasks what is in a folder"));
        break;
    }
  }
}

}  // namespace tony
