#include "runtime/staging/relocation.h"

#include <algorithm>
#include <optional>

#include "runtime/base/strings.h"
#include "runtime/os/files.h"

namespace tony {
namespace {

namespace fs = std::filesystem;

constexpr int64_t kLongestFile = 1 << 20;
// pip and uv write it where "#!" cannot hold the path: sh becomes the Python, for which the two lines are one text.
constexpr std::string_view kShellStart = "#!/bin/sh\n'''exec' ";
// The task's folder, in the words of each shell, because the executor sets the variable.
constexpr std::string_view kTasksFolder = "${TONY_NOTICE_FILE%/*}";

bool IsPythonsName(std::string_view name) { return name.starts_with("python") || name.starts_with("pypy"); }

std::string FolderOf(const std::string& name) { return fs::path(name).parent_path().string(); }
std::string InFolder(const std::string& folder, std::string_view name) {
  return StrCat(folder, folder.empty() || name.empty() ? "" : "/", name);
}

// The first lines of a script.
struct Start {
  std::string interpreter;  // absolute
  std::string options;      // " -E"
  size_t length = 0;        // of what is to be replaced
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
  if (!start.interpreter.starts_with('/') || !IsPythonsName(fs::path(start.interpreter).filename().string()))
    return std::nullopt;
  return start;
}

// `python`: from the script's folder.
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
  // setuptools' form of an editable installation: a module with the folders as texts.
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

  // The environment may have been moved, or packed elsewhere: its scripts still mean its own Python. Those of the
  // Python that it was made from mean that.
  bool IsOfEnvironment(const std::string& environment, const fs::path& python) const {
    std::error_code error;
    for (const char* system : {"/usr/bin", "/bin", "/usr/local/bin"})
      if (python.parent_path() == system) return false;
    return python.parent_path() != homes_.at(environment) &&
           fs::exists(folder_ / environment / "bin" / python.filename(), error);
  }

  // In src_dir; empty: elsewhere.
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

  // A line is a folder, which may be relative to the one of the file.
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
  // Each environment, and the folder of the Python that made it.
  std::map<std::string, std::string> homes_;
};

}  // namespace

std::map<std::string, std::string> RelocatedFiles(const fs::path& folder, const std::vector<SourceItem>& items,
                                                  const CopyPlace& place) {
  return Relocation(folder, items, place).Run();
}

}  // namespace tony
