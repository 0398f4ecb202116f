#include "runtime/staging/locked_environment.h"

#include <sys/stat.h>
#include <sys/utsname.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <initializer_list>
#include <string>
#include <utility>
#include <vector>

#include "runtime/base/strings.h"
#include "runtime/staging/tool_run.h"
#include "runtime/store/files.h"
#include "runtime/store/sha256.h"

namespace tony {
namespace {

namespace fs = std::filesystem;

// Another number for each change of what uv is told: environments that were made otherwise are others.
constexpr std::string_view kRecipe = "tony environment 1";
constexpr size_t kLargestLock = 64 << 20;  // bytes; that of 1000 packages for all platforms has 3 MB

enum class FileKind { kUv, kPylock, kRequirements };

FileKind KindOf(const fs::path& file) {
  const std::string name = file.filename().string();
  if (name == "uv.lock") return FileKind::kUv;
  return name.ends_with(".toml") ? FileKind::kPylock : FileKind::kRequirements;
}

Error Refuse(const std::string& why) { return {ErrorCode::kInvalid, why}; }

Error RefuseLine(size_t line, const std::string& text, const std::string& why) {
  return Refuse(StrCat("line ", line, ", \"", Trim(text), "\": ", why));
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
      return RefuseLine(number, line, std::string(kFolderOfThisMachine));
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
  return any ? Ok() : Refuse("it names no package");
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
        return RefuseLine(number, line, std::string(kFolderOfThisMachine));
    }
  }
  return Ok();
}

struct Lock {
  fs::path file;
  FileKind kind = FileKind::kUv;
  std::string text, project;  // of the file, and of the pyproject.toml beside uv.lock
};

Result<std::string> ReadSmall(const fs::path& file) {
  std::error_code error;
  if (fs::is_regular_file(file, error) && fs::file_size(file, error) > kLargestLock)
    return Refuse(StrCat(file.string(), ": larger than ", kLargestLock >> 20, " MB"));
  auto text = ReadFile(file);
  if (!text.ok()) return Refuse(text.error().message);
  return text;
}

Result<Lock> ReadLock(const fs::path& file) {
  std::error_code error;
  Lock lock{.file = fs::absolute(file, error), .kind = KindOf(file)};
  TRY_ASSIGN(lock.text, ReadSmall(file));
  if (lock.kind == FileKind::kUv) {
    TRY_ASSIGN(lock.project, ReadSmall(lock.file.parent_path() / "pyproject.toml"));
  }
  TRY(lock.kind == FileKind::kRequirements ? CheckRequirements(lock.text) : CheckTomlLock(lock.text));
  return lock;
}

std::string LastLines(const std::string& text) {
  std::vector<std::string> lines;
  for (const std::string& line : Split(text, '\n')) {
    if (!Trim(line).empty()) lines.push_back(std::string(Trim(line)));
  }
  constexpr size_t kMost = 4;
  if (lines.size() > kMost) lines.erase(lines.begin(), lines.end() - kMost);
  return Join(lines, " ");
}

// uv has one exit code for all that goes wrong.
bool IsOfTheNetwork(const std::string& errors) {
  constexpr std::array kSaid = {"Failed to fetch", "error sending request", "operation timed out",
                                "dns error",       "Could not connect",     "Failed to download"};
  return std::ranges::any_of(kSaid, [&](const char* said) { return errors.find(said) != std::string::npos; });
}

class Uv {
 public:
  Uv(fs::path program, StageMeter& meter) : program_(std::move(program)), meter_(meter) {}

  // What it printed.
  Result<std::string> Run(std::vector<std::string> words, std::vector<std::pair<std::string, std::string>> more = {}) {
    const std::string verb = words.front();
    words.insert(words.begin(), program_.string());
    more.insert(more.end(), {{"UV_NO_PROGRESS", "1"}, {"NO_COLOR", "1"}, {"UV_LINK_MODE", "copy"}});
    TRY_ASSIGN(const ToolEnd end, RunTool({std::move(words), std::move(more)}, [this] { return meter_.Done(0); }));
    if (end.exit_code == 0) return end.output;
    const ErrorCode code = IsOfTheNetwork(end.errors) ? ErrorCode::kUnavailable : ErrorCode::kInvalid;
    return Error{code, StrCat("uv ", verb, ": exit code ", end.exit_code, ": ", LastLines(end.errors))};
  }

 private:
  const fs::path program_;
  StageMeter& meter_;
};

// The Python that uv takes for the lock, as a path.
Result<std::string> FindPython(Uv& uv, const Lock& lock) {
  std::vector<std::string> words = {"python", "find"};
  if (lock.kind == FileKind::kUv) {
    words.insert(words.end(), {"--project", lock.file.parent_path().string()});
  } else {
    words.push_back("--no-project");
  }
  TRY_ASSIGN(const std::string found, uv.Run(words, {{"VIRTUAL_ENV", ""}}));
  return std::string(Trim(found));
}

Result<std::string> NameOf(const Lock& lock, const std::string& python, StageMeter& meter) {
  TRY_ASSIGN(const ToolEnd version, RunTool({{python, "-VV"}}, [&] { return meter.CheckStop(); }));
  struct utsname machine {};
  uname(&machine);
  const std::string kind = StrCat(static_cast<int>(lock.kind));
  Sha256 sha;
  for (const std::string_view part : std::initializer_list<std::string_view>{kRecipe, kind, lock.text, lock.project,
                                                                             python, version.output, machine.machine})
    sha.Update(StrCat(part.size(), ":", part));
  return sha.Hex() + "-venv";
}

Status Install(Uv& uv, const Lock& lock, const std::string& python, const fs::path& environment) {
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

// Read-only, as all that is staged.
Status SealTree(const fs::path& folder) {
  std::vector<fs::path> folders = {folder};
  std::error_code error;
  for (fs::recursive_directory_iterator entry(folder, error), end; !error && entry != end; entry.increment(error)) {
    const fs::file_status status = entry->symlink_status(error);
    if (status.type() == fs::file_type::directory) folders.push_back(entry->path());
    if (status.type() != fs::file_type::regular) continue;
    const bool executable = (status.permissions() & fs::perms::owner_exec) != fs::perms::none;
    if (chmod(entry->path().c_str(), executable ? 0555 : 0444) != 0)
      return FileError(ErrorCode::kCannotWrite, "finish", entry->path(), errno);
  }
  if (error) return FileError(ErrorCode::kCannotWrite, "finish", folder, error.value());
  for (const fs::path& one : folders) {
    if (chmod(one.c_str(), 0555) != 0) return FileError(ErrorCode::kCannotWrite, "finish", one, errno);
  }
  return Ok();
}

}  // namespace

bool IsPythonLock(const fs::path& file) {
  const std::string name = file.filename().string();
  return name == "uv.lock" || name == "pylock.toml" || (name.starts_with("pylock.") && name.ends_with(".toml")) ||
         (name.starts_with("requirements") && name.ends_with(".txt"));
}

Result<StagedSource> StageLockedEnvironment(const fs::path& file, const StageContext& context) {
  const fs::path program = FindOnPath("uv");
  if (program.empty()) return Refuse("uv, which makes the environment, is in no folder of PATH: pip install uv");
  TRY_ASSIGN(const Lock lock, ReadLock(file));
  Uv uv(program, context.meter);
  TRY_ASSIGN(const std::string python, FindPython(uv, lock));
  TRY_ASSIGN(const std::string name, NameOf(lock, python, context.meter));
  const auto make = [&](const fs::path& temporary) -> Status {
    TRY(Install(uv, lock, python, temporary));
    return SealTree(temporary);
  };
  const auto damaged = [&](const std::string& damage) {
    context.watch.on_damage(context.meter.progress().what, damage);
  };
  TRY_ASSIGN(fs::path entry, context.store.entries().Keep(name, context.watch.stop,
                                                          {.make = make, .verify = {}, .on_damage = damaged}));
  return StagedSource{std::move(entry), name};
}

}  // namespace tony
