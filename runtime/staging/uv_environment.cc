#include "runtime/staging/uv_environment.h"

#include <string>
#include <utility>
#include <vector>

#include "runtime/base/strings.h"

namespace tony {
namespace {

namespace fs = std::filesystem;

// Another number for each change of what uv is told: environments that were made otherwise are others.
constexpr std::string_view kUvRecipe = "tony environment 1";

enum class FileKind { kUv, kPylock, kRequirements };

FileKind KindOfLock(const fs::path& file) {
  const std::string name = file.filename().string();
  if (name == "uv.lock") return FileKind::kUv;
  return name.ends_with(".toml") ? FileKind::kPylock : FileKind::kRequirements;
}

constexpr std::string_view kFolderOfThisMachine =
    "a folder or file of this machine, whose content a lock does not fix; put it into src_dir";

// "name==1.2 ; marker --hash=sha256:..." or "name @ https://host/x.whl#sha256=...", options, and comments.
Status CheckRequirements(std::string_view text) {
  size_t number = 0;
  bool goes_on = false;  // a line that ended with a backslash
  bool any = false;
  for (const std::string& line : Split(text, '\n')) {
    ++number;
    const std::string_view word = Trim(std::string_view(line).substr(0, line.find(" #")));
    const bool belongs_to_last = std::exchange(goes_on, word.ends_with('\\'));
    if (belongs_to_last || word.empty() || word.starts_with('#')) continue;
    if (word.starts_with("-e") || word.starts_with("--editable") || word.starts_with('.') || word.starts_with('/') ||
        word.find("file:") != std::string_view::npos)
      return RefuseLine(number, line, kFolderOfThisMachine);
    if (word.starts_with("-r") || word.starts_with("--requirement") || word.starts_with("-c") ||
        word.starts_with("--constraint"))
      return RefuseLine(number, line, "another file, which this one does not fix");
    if (word.starts_with('-')) continue;
    any = true;
    if (word.find("==") == std::string_view::npos && word.find(" @ ") == std::string_view::npos)
      return RefuseLine(number, line,
                        "expected one version, as NAME==1.2; \"uv pip compile requirements.in -o requirements.txt\" "
                        "finds them all");
  }
  return any ? Ok() : RefuseLock("it names no package");
}

// source = { editable = "../other" }; the project itself is at ".".
Status CheckTomlLock(std::string_view text) {
  size_t number = 0;
  for (const std::string& line : Split(text, '\n')) {
    ++number;
    for (const std::string_view key : {"editable = \"", "directory = \"", "virtual = \"", "path = \""}) {
      const size_t at = line.find(key);
      if (at == std::string::npos || line.find('{') > at) continue;
      if (!std::string_view(line).substr(at + key.size()).starts_with(".\""))
        return RefuseLine(number, line, kFolderOfThisMachine);
    }
  }
  return Ok();
}

struct UvLock {
  fs::path file;
  FileKind kind = FileKind::kUv;
  std::string text, project;  // of the file, and of the pyproject.toml beside uv.lock
};

Result<UvLock> ReadUvLock(const fs::path& file) {
  std::error_code error;
  UvLock lock{.file = fs::absolute(file, error), .kind = KindOfLock(file)};
  TRY_ASSIGN(lock.text, ReadLock(file));
  if (lock.kind == FileKind::kUv) {
    TRY_ASSIGN(lock.project, ReadLock(lock.file.parent_path() / "pyproject.toml"));
  }
  TRY(lock.kind == FileKind::kRequirements ? CheckRequirements(lock.text) : CheckTomlLock(lock.text));
  return lock;
}

class Uv {
 public:
  Uv(fs::path program, StageMeter& meter) : program_(std::move(program)), meter_(meter) {}

  // What it printed.
  Result<std::string> Run(std::vector<std::string> words,
                          std::vector<std::pair<std::string, std::string>> more = {}) const {
    const std::string what = "uv " + words.front();
    words.insert(words.begin(), program_.string());
    more.insert(more.end(), {{"UV_NO_PROGRESS", "1"}, {"NO_COLOR", "1"}, {"UV_LINK_MODE", "copy"}});
    // uv has one exit code for all that goes wrong.
    return RunMaker(what, {std::move(words), std::move(more)},
                    {"Failed to fetch", "error sending request", "operation timed out", "dns error",
                     "Could not connect", "Failed to download"},
                    meter_);
  }

 private:
  fs::path program_;
  StageMeter& meter_;
};

// The Python that uv takes for the lock, as a path.
Result<std::string> FindPython(const Uv& uv, const UvLock& lock) {
  std::vector<std::string> words = {"python", "find"};
  if (lock.kind == FileKind::kUv) {
    words.insert(words.end(), {"--project", lock.file.parent_path().string()});
  } else {
    words.push_back("--no-project");
  }
  TRY_ASSIGN(const std::string found, uv.Run(words, {{"VIRTUAL_ENV", ""}}));
  return std::string(Trim(found));
}

Result<std::string> NameOfUvs(const UvLock& lock, const std::string& python, StageMeter& meter) {
  TRY_ASSIGN(const ToolEnd version, RunTool({{python, "-VV"}}, [&] { return meter.CheckStop(); }));
  const std::string kind = StrCat(static_cast<int>(lock.kind));
  return NameOfEnvironment({kUvRecipe, kind, lock.text, lock.project, python, version.output});
}

Status InstallByUv(const Uv& uv, const UvLock& lock, const std::string& python, const fs::path& environment) {
  TRY_ASSIGN(std::string said, uv.Run({"venv", "--relocatable", "--no-project", "--python", python, environment}));
  if (lock.kind == FileKind::kUv) {
    TRY_ASSIGN(said, uv.Run({"sync", "--frozen", "--no-install-project", "--no-dev", "--no-editable",
                             "--compile-bytecode", "--python", python, "--project", lock.file.parent_path()},
                            {{"UV_PROJECT_ENVIRONMENT", environment}, {"VIRTUAL_ENV", ""}}));
    return Ok();
  }
  std::vector<std::string> words = {"pip", "sync", "--compile-bytecode", "--python", environment / "bin/python"};
  if (lock.text.find("--hash=") != std::string::npos) words.push_back("--require-hashes");
  words.push_back(lock.file);
  TRY_ASSIGN(said, uv.Run(std::move(words)));
  return Ok();
}

}  // namespace

bool IsUvLock(const fs::path& file) {
  const std::string name = file.filename().string();
  return name == "uv.lock" || name == "pylock.toml" || (name.starts_with("pylock.") && name.ends_with(".toml")) ||
         (name.starts_with("requirements") && name.ends_with(".txt"));
}

Result<EnvironmentRecipe> UvEnvironment(const fs::path& file, StageMeter& meter) {
  const fs::path program = FindOnPath("uv");
  if (program.empty()) return RefuseLock("uv, which makes the environment, is in no folder of PATH: pip install uv");
  TRY_ASSIGN(const UvLock lock, ReadUvLock(file));
  const Uv uv(program, meter);
  TRY_ASSIGN(const std::string python, FindPython(uv, lock));
  TRY_ASSIGN(std::string name, NameOfUvs(lock, python, meter));
  return EnvironmentRecipe{std::move(name), [uv, lock, python](const fs::path& temporary) {
                             return InstallByUv(uv, lock, python, temporary);
                           }};
}

}  // namespace tony
