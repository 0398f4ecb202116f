// Commands that begin with the name of a Python file: `-executes train.py`, as users of TonY write it.
#include <sys/stat.h>

#include <algorithm>
#include <optional>

#include "runtime/base/strings.h"
#include "runtime/job/hdfs_place.h"
#include "runtime/job/parser_parts.h"

namespace tony {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kSuffix = ".py";

bool IsPlain(char c) {
  const bool alphanumeric = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
  return alphanumeric || std::string_view("_./-+").find(c) != std::string_view::npos;
}

// The relative path of a Python file that the command begins with; "" if it begins with something else.
std::string ScriptOf(const std::string& command) {
  const std::string_view text = Trim(command);
  const std::string_view word = text.substr(0, text.find_first_of(" \t\n"));
  const bool plain = std::ranges::all_of(word, IsPlain) && !word.starts_with('/') && word.ends_with(kSuffix) &&
                     word.find("..") == std::string_view::npos;
  return plain && word.size() > kSuffix.size() ? std::string(word) : "";
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
  constexpr mode_t kRunBits = S_IXUSR | S_IXGRP | S_IXOTH;
  return path_only || (file.st_mode & kRunBits) == 0 ? HowToRun::kByPython : HowToRun::kAsItIs;
}

}  // namespace

void RunScriptsByPython(JobSpec& spec, Warnings& warnings) {
  const std::string python = spec.python_venv.empty() ? "python3" : StrCat(kVenvFolder, "/bin/python3");
  for (RoleSpec& role : spec.roles) {
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
