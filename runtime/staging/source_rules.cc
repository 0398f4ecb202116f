#include "runtime/staging/source_rules.h"

#include <fnmatch.h>
#include <sys/stat.h>

#include <algorithm>
#include <array>
#include <optional>

#include "runtime/base/strings.h"
#include "runtime/job/hdfs_place.h"
#include "runtime/os/files.h"

namespace tony {
namespace {

constexpr std::string_view kAnyFolders = "**";

// Removes blanks at the end of a line, except a blank after a backslash.
std::string_view WithoutEnd(std::string_view line) {
  if (line.ends_with('\r')) line.remove_suffix(1);
  while (line.ends_with(' ') || line.ends_with('\t')) {
    if (line.size() > 1 && line[line.size() - 2] == '\\') break;
    line.remove_suffix(1);
  }
  return line;
}

std::optional<IgnorePattern> ParsePattern(std::string_view line) {
  IgnorePattern pattern{.text = std::string(WithoutEnd(line))};
  std::string_view rest = pattern.text;
  if (rest.starts_with('#')) return std::nullopt;
  if (rest.starts_with('!')) {
    pattern.keeps = true;
    rest.remove_prefix(1);
  }
  if (rest.ends_with('/')) {
    pattern.only_folders = true;
    rest.remove_suffix(1);
  }
  if (rest.empty()) return std::nullopt;
  pattern.only_name = rest.find('/') == std::string_view::npos;
  if (rest.starts_with('/')) rest.remove_prefix(1);
  for (std::string& part : Split(rest, '/'))
    if (part != kAnyFolders || pattern.parts.empty() || pattern.parts.back() != kAnyFolders)
      pattern.parts.push_back(std::move(part));
  return pattern;
}

bool MatchesName(const std::string& pattern, const std::string& name) {
  if (pattern.find_first_of("*?[\\") == std::string::npos) return pattern == name;
  return fnmatch(pattern.c_str(), name.c_str(), 0) == 0;
}

using Part = std::vector<std::string>::const_iterator;

bool MatchesParts(Part pattern, Part pattern_end, Part path, Part path_end) {
  for (; pattern != pattern_end; ++pattern, ++path) {
    if (*pattern == kAnyFolders) {
      // A "**" at the end matches everything in a folder, and not the folder itself.
      if (pattern + 1 == pattern_end) return path != path_end;
      for (; path != path_end; ++path)
        if (MatchesParts(pattern + 1, pattern_end, path, path_end)) return true;
      return false;
    }
    if (path == path_end || !MatchesName(*pattern, *path)) return false;
  }
  return path == path_end;
}

namespace fs = std::filesystem;

// The size limit of a script. A larger file counts as data.
constexpr int64_t kLongestScript = 256 << 10;
// Characters that end a path in a line for a shell, or in a text of another language.
constexpr std::string_view kBetweenPaths = " \t\r\n;&|<>()`'\"=,:$\\{}[]!";

void Replace(std::string& text, std::string_view from, std::string_view to) {
  for (size_t at = text.find(from); at != std::string::npos; at = text.find(from, at + to.size()))
    text.replace(at, from.size(), to);
}

// Returns true for options such as "--output-dir", "-o" and "save_path": the program writes into the folder that
// follows.
bool IsForOutput(const std::string& option) {
  const std::string name = ToLower(option);
  if (name == "-o") return true;
  if (!name.starts_with('-') && name.find('_') == std::string::npos) return false;
  constexpr std::array<std::string_view, 3> kMarks = {"out", "save", "log"};
  return std::ranges::any_of(kMarks, [&](std::string_view mark) { return name.find(mark) != std::string::npos; });
}

// Returns true for commands such as "uv run", which run other programs in the environment .venv of the folder.
bool RunsInOwnEnvironment(const std::string& program, const std::string& verb) {
  constexpr std::array<std::string_view, 5> kPrograms = {"uv", "poetry", "pdm", "pipenv", "hatch"};
  return verb == "run" && std::ranges::find(kPrograms, fs::path(program).filename().string()) != kPrograms.end();
}

class NamedPaths {
 public:
  explicit NamedPaths(const std::string& folder) : folder_(folder) {
    std::error_code error;
    real_ = fs::canonical(folder_, error);
  }

  // Collects the paths in a command line for a shell, or in a shell script.
  void TakeShell(std::string text) {
    for (const char* here : {"$PWD/", "${PWD}/", "$(pwd)/"}) Replace(text, here, "");
    for (const char quote : {'"', '\''}) {  // quoted names may have blanks
      const std::vector<std::string> parts = Split(text, quote);
      for (size_t i = 1; i < parts.size(); i += 2) Take(parts[i], "");
    }
    std::string last;
    for (std::string& word : SplitAtAny(text, kBetweenPaths)) {
      Take(word, last);
      if (last == "-m") TakeModule(word);
      if (RunsInOwnEnvironment(last, word)) Take(".venv", "");
      if (word == "make") Take("Makefile", "");
      last = std::move(word);
    }
  }

  JobSources Found() && { return std::move(found_); }
  SourceRules& rules() { return found_.rules; }

 private:
  // Returns the path of `word` relative to the folder; "" if `word` is elsewhere, or is the folder itself.
  std::string Inside(const std::string& word) const {
    fs::path path = word;
    if (path.is_absolute()) {
      const fs::path normal = path.lexically_normal();
      path = normal.lexically_relative(folder_);
      if (path.empty() || *path.begin() == "..") path = normal.lexically_relative(real_);
    }
    path = path.lexically_normal();
    if (!path.has_filename()) path = path.parent_path();
    if (path.empty() || path == "." || *path.begin() == "..") return "";
    return path.string();
  }

  // Collects `word` if it is a path in the folder. `before` is the word before it.
  void Take(std::string word, const std::string& before) {
    // A pattern such as "data/*" stands for files of the folder "data", so that folder is collected.
    if (const size_t glob = word.find_first_of("*?"); glob != std::string::npos)
      word.resize(std::min(word.rfind('/', glob), word.size()) == word.size() ? 0 : word.rfind('/', glob));
    if (word.size() > PATH_MAX || word.find('\0') != std::string::npos) return;
    const std::string path = Inside(word);
    struct stat info {};
    if (path.empty() || stat((folder_ / path).c_str(), &info) != 0) return;
    if (S_ISDIR(info.st_mode) && IsForOutput(before)) return;
    if (!found_.rules.named.insert(path).second) return;
    std::error_code error;
    const fs::path end = fs::canonical(folder_ / path, error).lexically_relative(real_);
    if (!error && !end.empty() && end != "." && *end.begin() != "..") found_.rules.named.insert(end.string());
    if (S_ISREG(info.st_mode) && info.st_size <= kLongestScript) TakeScript(path);
  }

  void TakeModule(std::string module) {
    Replace(module, ".", "/");
    Take(module.substr(0, module.find('/')), "");
    Take(module + ".py", "");
  }

  void TakeScript(const std::string& path) {
    const auto text = ReadFile(folder_ / path);
    if (!text.ok()) return;
    const std::string first = text->starts_with("#!") ? text->substr(0, text->find('\n')) : "";
    const bool is_python = path.ends_with(".py") || first.find("python") != std::string::npos;
    const bool is_shell =
        path.ends_with(".sh") || path.ends_with(".bash") || (!is_python && first.find("sh") != first.npos);
    // A program in another language finds its own files in src_dir. Its text may mention Python environments. These are
    // collected, because one of them may have the interpreter of the program, or of a command that the program starts.
    if (!is_shell && fs::path(path).filename() != "Makefile") return TakeEnvironments(*text);
    if (is_shell && text->find("\r\n") != std::string::npos)
      found_.warnings.push_back(StrCat(path,
                                       " has Windows line ends, which a shell reads as part of each line's "
                                       "last word; convert them: dos2unix ",
                                       path));
    TakeShell(*text);
  }

  // Collects only the environments that the text names. Used for a text that is not a shell script.
  void TakeEnvironments(const std::string& text) {
    for (const std::string& word : SplitAtAny(text, kBetweenPaths)) {
      const size_t bin = word.find("/bin/");
      if (bin == std::string::npos || bin == 0) continue;
      if (const std::string path = Inside(word.substr(0, bin)); !path.empty() && IsEnvironment(folder_ / path))
        found_.rules.named.insert(path);
    }
  }

  const fs::path folder_;
  fs::path real_;
  JobSources found_;
};

// For each path in an environment, adds the whole environment.
void NameWholeEnvironments(const fs::path& folder, std::set<std::string>& named) {
  std::set<std::string> environments;
  for (const std::string& path : named)
    for (fs::path above = path; !above.empty(); above = above.parent_path())
      if (IsEnvironment(folder / above)) environments.insert(above.string());
  named.merge(environments);
}

}  // namespace

void IgnoreRules::Add(std::string_view text, const std::string& file, bool is_from_tonyignore) {
  if (text.starts_with("\xEF\xBB\xBF")) text.remove_prefix(3);
  for (const std::string& line : Split(text, '\n')) {
    auto pattern = ParsePattern(line);
    if (!pattern) continue;
    pattern->file = file;
    pattern->folder = file.rfind('/') == std::string::npos ? 0 : file.rfind('/') + 1;
    pattern->is_from_tonyignore = is_from_tonyignore;
    patterns_.push_back(*std::move(pattern));
  }
}

const IgnorePattern* IgnoreRules::Find(std::string_view path, bool is_folder, bool only_tonys) const {
  const std::string name(path.substr(path.rfind('/') + 1));
  for (size_t i = patterns_.size(); i-- > 0;) {
    const IgnorePattern& pattern = patterns_[i];
    if ((pattern.only_folders && !is_folder) || (only_tonys && !pattern.is_from_tonyignore)) continue;
    if (pattern.only_name) {
      if (MatchesName(pattern.parts[0], name)) return &pattern;
      continue;
    }
    const std::vector<std::string> parts = Split(path.substr(pattern.folder), '/');
    if (MatchesParts(pattern.parts.begin(), pattern.parts.end(), parts.begin(), parts.end())) return &pattern;
  }
  return nullptr;
}

JobSources SelectSources(const JobSpec& spec, bool as_tony) {
  std::error_code error;
  if (spec.src_dir.empty() || IsInHdfs(spec.src_dir) || !fs::is_directory(spec.src_dir, error)) return {};
  NamedPaths paths(spec.src_dir);
  for (const RoleSpec& role : spec.roles) paths.TakeShell(role.command);
  for (const auto* variables : {&spec.execution_env, &spec.container_env})
    for (const auto& [name, value] : *variables) paths.TakeShell(value);
  SourceRules& rules = paths.rules();
  rules.apply = true;
  rules.with_defaults = !as_tony;
  const auto inside = [&](const std::string& path) {
    const fs::path from = fs::path(path).lexically_relative(spec.src_dir);
    return path.empty() || from.empty() || from == "." || *from.begin() == ".." ? "" : from.string();
  };
  for (const std::string& folder : {inside(spec.checkpoint.directory), inside(spec.history_folder)})
    if (!folder.empty()) rules.written.insert(folder);
  if (!spec.python_venv.empty() && !as_tony) {
    // In the task's folder, the name "venv" is a link to the staged environment. Paths in "venv" are therefore not
    // files of src_dir.
    std::erase_if(rules.named,
                  [](const std::string& path) { return path == kVenvFolder || path.starts_with("venv/"); });
    rules.elsewhere = inside(spec.python_venv);
  }
  NameWholeEnvironments(spec.src_dir, rules.named);
  // Folders that the job writes are sent without their content, even if the job names them. A named file in such a
  // folder, e.g. a checkpoint to read, is sent nevertheless.
  for (const std::string& folder : rules.written) rules.named.erase(folder);
  return std::move(paths).Found();
}

}  // namespace tony
