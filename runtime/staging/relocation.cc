#include "runtime/staging/relocation.h"

#include <sys/stat.h>

#include <algorithm>
#include <fstream>
#include <optional>

#include "runtime/base/strings.h"
#include "runtime/os/files.h"

namespace tony {
namespace {

namespace fs = std::filesystem;

constexpr int64_t kLongestFile = 1 << 20;
// The beginning of a script that pip and uv write if the path is too long for a "#!" line. sh replaces itself by
// Python, and Python reads the two lines as one string.
constexpr std::string_view kShellStart = "#!/bin/sh\n'''exec' ";
// The task's folder, in a form that every shell understands. The executor sets TONY_NOTICE_FILE to a file in this
// folder.
constexpr std::string_view kTasksFolder = "${TONY_NOTICE_FILE%/*}";

std::string FolderOf(const std::string& name) { return fs::path(name).parent_path().string(); }
std::string InFolder(const std::string& folder, std::string_view name) {
  return StrCat(folder, folder.empty() || name.empty() ? "" : "/", name);
}

// The first lines of a script.
struct Start {
  std::string interpreter;  // absolute path
  std::string options;      // e.g. " -E"
  size_t length = 0;        // bytes that are replaced
};

std::optional<Start> ParseStart(const std::string& text) {
  Start start;
  if (text.starts_with(kShellStart)) {
    const std::string_view rest = std::string_view(text).substr(kShellStart.size());
    const size_t first = rest.starts_with('"') ? 1 : 0;
    const size_t end = rest.find(first ? '"' : ' ', first), line = rest.find('\n');
    const size_t second = line == rest.npos ? rest.npos : rest.find('\n', line + 1);
    if (end == rest.npos || second == rest.npos || end > line) return std::nullopt;
    start = {std::string(rest.substr(first, end - first)), "", kShellStart.size() + second + 1};
  } else if (text.starts_with("#!")) {
    const size_t end = std::min(text.find('\n'), text.size());
    const std::string_view line = Trim(std::string_view(text).substr(2, end - 2));
    const size_t blank = std::min(line.find(' '), line.size());
    start = {std::string(line.substr(0, blank)), std::string(line.substr(blank)), std::min(end + 1, text.size())};
  }
  const std::string program = fs::path(start.interpreter).filename().string();
  if (!start.interpreter.starts_with('/') || !(program.starts_with("python") || program.starts_with("pypy")))
    return std::nullopt;
  return start;
}

// Returns the script with a new beginning. `python` is a path relative to the script's folder.
std::string WithPython(const std::string& python, const Start& start, const std::string& text) {
  return StrCat(kShellStart, "\"$(dirname -- \"$0\")/", python, "\"", start.options, " \"$0\" \"$@\"\n' '''\n",
                text.substr(start.length));
}

std::string HomeOf(const fs::path& settings) {
  const auto text = ReadFile(settings);
  if (!text.ok()) return "";
  for (const std::string& line : Split(*text, '\n'))
    if (line.starts_with("home")) return std::string(Trim(std::string_view(line).substr(line.find('=') + 1)));
  return "";
}

class Relocation {
 public:
  Relocation(const fs::path& folder, const std::vector<SourceItem>& items, const CopyPlace& place)
      : folder_(folder), items_(items), place_(place) {
    for (const SourceItem& item : items) {
      const bool is_venv = item.kind == SourceItem::Kind::kFile && fs::path(item.name).filename() == "pyvenv.cfg";
      if (is_venv && item.size <= kLongestFile) homes_[FolderOf(item.name)] = HomeOf(folder / item.name);
      const bool is_conda = item.kind == SourceItem::Kind::kFolder && fs::path(item.name).filename() == "conda-meta";
      if (is_conda) homes_[FolderOf(item.name)];
    }
    if (!place.name.empty()) homes_[""];
  }

  std::map<std::string, std::string> Run() const {
    std::map<std::string, std::string> changed;
    for (const SourceItem& item : items_) {
      if (item.kind != SourceItem::Kind::kFile || item.size > kLongestFile || !IsCandidate(item)) continue;
      const auto text = ReadFile(folder_ / item.name);
      if (!text.ok()) continue;
      if (auto content = Changed(item, *text); content && *content != *text) changed[item.name] = *std::move(content);
    }
    return changed;
  }

 private:
  static bool IsPathFile(const std::string& name) {
    return name.ends_with(".pth") && name.find("/site-packages/") != std::string::npos;
  }
  // Returns true for setuptools' form of an editable installation: a module that contains the folders as strings.
  static bool IsFinder(const std::string& name) {
    return name.ends_with("_finder.py") && name.find("/site-packages/__editable__") != std::string::npos;
  }
  static bool IsActivate(const std::string& name) { return name == "bin/activate" || name.ends_with("/bin/activate"); }
  static bool IsCandidate(const SourceItem& item) {
    return item.executable || IsActivate(item.name) || IsPathFile(item.name) || IsFinder(item.name);
  }

  std::optional<std::string> Changed(const SourceItem& item, const std::string& text) const {
    if (IsPathFile(item.name)) return WithOwnFolders(item.name, text);
    if (IsFinder(item.name)) return FindingOwnFolders(item.name, text);
    const std::string bin = FolderOf(item.name), environment = FolderOf(bin);
    const bool in_bin = fs::path(bin).filename() == "bin" && homes_.contains(environment);
    if (in_bin && IsActivate(item.name)) return Activating(environment, text);
    const auto start = ParseStart(text);
    if (!start) return std::nullopt;
    const fs::path python = fs::path(start->interpreter).lexically_normal();
    if (in_bin && IsOfEnvironment(environment, python)) return WithPython(python.filename().string(), *start, text);
    const std::string inside = place_.name.empty() ? Inside(python) : "";
    if (inside.empty() || !std::ranges::binary_search(items_, inside, {}, &SourceItem::name)) return std::nullopt;
    return WithPython(fs::path(inside).lexically_relative(bin).string(), *start, text);
  }

  // Returns true if a script that names `python` means the environment's own Python. The environment may have been
  // moved, or packed on another machine, so the folder in `python` may be outdated. Exceptions are a Python of the
  // system, and the Python that made the environment: a script that names one of these means exactly that Python.
  bool IsOfEnvironment(const std::string& environment, const fs::path& python) const {
    std::error_code error;
    for (const char* system : {"/usr/bin", "/bin", "/usr/local/bin"})
      if (python.parent_path() == system) return false;
    return python.parent_path() != homes_.at(environment) &&
           fs::exists(folder_ / environment / "bin" / python.filename(), error);
  }

  // Returns the path relative to src_dir; "" if `path` is elsewhere.
  std::string Inside(const fs::path& path) const {
    if (place_.src_dir.empty() || !path.is_absolute()) return "";
    const fs::path inside = path.lexically_normal().lexically_relative(place_.src_dir);
    return inside.empty() || *inside.begin() == ".." ? "" : inside.string();
  }

  std::string Activating(const std::string& environment, const std::string& text) const {
    const std::string name = InFolder(place_.name, environment);
    std::vector<std::string> lines = Split(text, '\n');
    for (std::string& line : lines) {
      const size_t at = line.find("VIRTUAL_ENV=");
      const std::string before(Trim(line.substr(0, std::min(at, line.size()))));
      std::string_view value = at == line.npos ? "" : std::string_view(line).substr(at + sizeof "VIRTUAL_ENV=" - 1);
      if (value.starts_with('"') || value.starts_with('\'')) value.remove_prefix(1);
      const bool is_it = value.starts_with('/') && (before.empty() || before == "export");
      if (is_it) line = StrCat(line.substr(0, at), "VIRTUAL_ENV=\"", kTasksFolder, name.empty() ? "" : "/", name, "\"");
    }
    return Join(lines, "\n");
  }

  // Each line of a .pth file is a folder, which may be relative to the folder of the file.
  std::string WithOwnFolders(const std::string& name, const std::string& text) const {
    const fs::path from = InFolder(place_.name, FolderOf(name));
    std::vector<std::string> lines = Split(text, '\n');
    for (std::string& line : lines)
      if (const std::string inside = Inside(std::string(Trim(line))); !inside.empty())
        line = fs::path(inside).lexically_relative(from).string();
    return Join(lines, "\n");
  }

  std::string FindingOwnFolders(const std::string& name, std::string text) const {
    const fs::path from = InFolder(place_.name, FolderOf(name));
    for (size_t at = text.find("'/"); at != text.npos; at = text.find("'/", at + 1)) {
      const size_t end = text.find('\'', at + 1);
      if (end == text.npos) break;
      const std::string inside = Inside(text.substr(at + 1, end - at - 1));
      if (inside.empty()) continue;
      const std::string relative = fs::path(inside).lexically_relative(from).string();
      text.replace(at, end + 1 - at, StrCat("__import__('os').path.abspath(__file__ + '/../", relative, "')"));
    }
    return text;
  }

  const fs::path& folder_;
  const std::vector<SourceItem>& items_;
  const CopyPlace& place_;
  // Key: an environment. Value: the folder of the Python that made the environment.
  std::map<std::string, std::string> homes_;
};

constexpr std::string_view kFolder = "venv/";
constexpr int kMostLinks = 40;  // the kernel's limit
constexpr size_t kLongestHashBang = 4096;

// Returns the path of the program within the environment: "bin/python3" for "venv/bin/python3 train.py".
std::optional<std::string> ProgramInVenv(const std::string& command) {
  std::string_view word = Trim(command);
  word = word.substr(0, word.find_first_of(" \t\n;&|<>()"));
  if (word.starts_with("./")) word.remove_prefix(2);
  if (!word.starts_with(kFolder) || word.find_first_of("'\"$\\`*?[") != std::string_view::npos) return std::nullopt;
  return std::string(word.substr(kFolder.size()));
}

Error RefuseProgram(const std::string& program, const std::string& why) {
  return {ErrorCode::kInvalid, StrCat(kFolder, program, ": ", why)};
}

std::string NotHere(const fs::path& path) {
  return StrCat(path.string(), ", which is not on this machine; the environment was made for another Python");
}

// Follows the links that begin at `path`, and returns the path to which they lead. That file may be missing.
fs::path EndOfLinks(fs::path path) {
  std::error_code error;
  for (int i = 0; i < kMostLinks; ++i) {
    const fs::path target = fs::read_symlink(path, error);
    if (error) return path.lexically_normal();
    path = target.is_absolute() ? target : path.parent_path() / target;
  }
  return path;
}

// Returns a hint that names the place of the program in the environment. The place varies, because some archives
// contain the environment's folder, and others only the content of the folder.
std::string Hint(const std::string& program, const fs::path& venv) {
  std::error_code error;
  const fs::path name = fs::path(program).filename();
  for (fs::directory_iterator entry(venv, error), end; !error && entry != end; entry.increment(error)) {
    const fs::path found = entry->path().filename() / "bin" / name;
    if (fs::is_symlink(fs::symlink_status(venv / found, error)) || fs::exists(venv / found, error))
      return StrCat("; the environment has ", found.string());
  }
  if (fs::exists(venv / "bin" / name, error))
    return StrCat("; the environment has ", (fs::path("bin") / name).string());
  return "";
}

Status CheckHashBang(const std::string& program, const fs::path& file) {
  std::ifstream stream(file, std::ios::binary);
  char start[2] = {};
  if (!stream.read(start, 2) || start[0] != '#' || start[1] != '!') return Ok();
  std::string line(kLongestHashBang, '\0');
  stream.read(line.data(), static_cast<std::streamsize>(line.size()));
  line.resize(static_cast<size_t>(stream.gcount()));
  std::string_view interpreter = Trim(std::string_view(line).substr(0, line.find('\n')));
  interpreter = interpreter.substr(0, interpreter.find_first_of(" \t"));
  std::error_code error;
  if (!interpreter.starts_with('/') || fs::exists(interpreter, error)) return Ok();
  return RefuseProgram(program, StrCat("the first line of the script names ", NotHere(interpreter)));
}

// Returns the value of `key` in pyvenv.cfg, which has lines such as "home = /usr/bin".
std::string Configured(const fs::path& file, std::string_view key) {
  std::ifstream stream(file);
  for (std::string line; std::getline(stream, line);) {
    const size_t equals = line.find('=');
    if (equals == std::string::npos || ToLower(Trim(line.substr(0, equals))) != key) continue;
    return std::string(Trim(std::string_view(line).substr(equals + 1)));
  }
  return "";
}

// Returns "3.11" for "3.11.2"; "" if the text is not a version.
std::string MinorVersion(std::string_view text) {
  const std::vector<std::string> parts = Split(text, '.');
  if (parts.size() < 2 || !ParseInt(parts[0]) || !ParseInt(parts[1])) return "";
  return StrCat(parts[0], ".", parts[1]);
}

// A Python that runs as bin/python3 of an environment takes its library from the Python that pyvenv.cfg names, and its
// packages from the environment's lib/python<its own version>. Both must therefore exist with the same version.
Status CheckConfiguration(const std::string& program, const fs::path& file, const fs::path& real) {
  const fs::path configuration = file.parent_path().parent_path() / "pyvenv.cfg";
  const std::string home = Configured(configuration, "home");
  if (home.empty()) return Ok();
  std::error_code error;
  if (!fs::is_directory(home, error))
    return RefuseProgram(program, StrCat("the environment's pyvenv.cfg leads to ", NotHere(home)));
  std::string made = MinorVersion(Configured(configuration, "version"));
  if (made.empty()) made = MinorVersion(Configured(configuration, "version_info"));
  const std::string name = real.filename().string();
  const std::string here = name.starts_with("python") ? MinorVersion(name.substr(6)) : "";
  if (made.empty() || here.empty() || made == here) return Ok();
  return RefuseProgram(
      program, StrCat("the environment was made for Python ", made, ", and ", real.string(), " is Python ", here));
}

// Returns true for names such as "python", "python3" and "python3.11".
bool IsPython(std::string_view name) {
  return name.starts_with("python") && name.find_first_not_of("0123456789.", 6) == std::string_view::npos;
}

bool IsLoginShell(const std::string& shell, const std::string& option) {
  const std::string name = fs::path(shell).filename().string();
  if (name != "bash" && name != "sh" && name != "zsh" && name != "dash" && name != "ksh") return false;
  return option == "--login" ||
         (option.size() > 1 && option[0] == '-' && option[1] != '-' && option.find('l') != option.npos);
}

}  // namespace

std::map<std::string, std::string> RelocatedFiles(const fs::path& folder, const std::vector<SourceItem>& items,
                                                  const CopyPlace& place) {
  return Relocation(folder, items, place).Run();
}

std::string WhyVenvIsNotUsed(const std::string& command, const fs::path& venv) {
  std::string before, why;
  std::error_code error;
  for (const std::string& word : SplitAtAny(command, " \t\n;&|<>()`'\"=$")) {
    if (word.starts_with(kFolder) || word.find("/venv/") != word.npos) return "";
    const std::string name = fs::path(word).filename().string();
    if (IsLoginShell(before, word)) why = StrCat(before, " ", word, " is a login shell, which sets PATH again");
    if (IsPython(name) && word != name && word.starts_with('/')) why = StrCat("it runs ", word);
    if (IsPython(word) && !fs::exists(venv / "bin" / word, error))
      why = StrCat("the environment has no bin/", word, Hint(word, venv));
    if (!why.empty()) return why;
    before = word;
  }
  return "";
}

Status CheckVenvCommand(const std::string& command, const fs::path& venv) {
  const auto program = ProgramInVenv(command);
  if (!program) return Ok();
  const fs::path file = venv / *program;
  struct stat info {};
  if (lstat(file.c_str(), &info) != 0)
    return RefuseProgram(*program, StrCat("the Python environment does not contain this file", Hint(*program, venv)));
  if (stat(file.c_str(), &info) != 0)
    return RefuseProgram(*program, StrCat("the link leads to ", NotHere(EndOfLinks(file))));
  if (!S_ISREG(info.st_mode)) return RefuseProgram(*program, "the path is not a regular file");
  if ((info.st_mode & 0111) == 0)
    return RefuseProgram(*program,
                         "the program is not executable; pack the environment with its permissions, as zip and tar do");
  TRY(CheckHashBang(*program, file));
  std::error_code error;
  const fs::path real = fs::canonical(file, error);
  const bool python = fs::path(*program).filename().string().starts_with("python");
  return python && !error ? CheckConfiguration(*program, file, real) : Ok();
}

}  // namespace tony
