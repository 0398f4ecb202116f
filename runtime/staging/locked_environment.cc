#include "runtime/staging/locked_environment.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/stat.h>
#include <sys/utsname.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <map>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "runtime/base/strings.h"
#include "runtime/base/unique_fd.h"
#include "runtime/os/files.h"
#include "runtime/os/sha256.h"
#include "runtime/os/start_program.h"
#include "runtime/spec/property_values.h"
#include "runtime/staging/conda_environment.h"

namespace tony {
namespace {

namespace fs = std::filesystem;

constexpr size_t kMostOutput = 1 << 20, kMostErrors = 4096;
constexpr std::chrono::milliseconds kLook{100};
// The time that a stopped tool has to remove its unfinished files.
constexpr std::chrono::seconds kPatience{3};

std::vector<std::string> EnvironmentWith(const Tool& tool) {
  std::map<std::string, std::string> all;
  for (char** entry = environ; *entry != nullptr; ++entry) {
    const std::string_view line = *entry;
    all[std::string(line.substr(0, line.find('=')))] = line.substr(std::min(line.find('=') + 1, line.size()));
  }
  for (const auto& [name, value] : tool.environment) all[name] = value;
  std::vector<std::string> lines;
  for (const auto& [name, value] : all) lines.push_back(StrCat(name, "=", value));
  return lines;
}

Result<pid_t> Spawn(const Tool& tool, int output, int errors) {
  std::vector<std::string> lines = EnvironmentWith(tool);
  std::vector<char*> environment;
  for (std::string& line : lines) environment.push_back(line.data());
  environment.push_back(nullptr);
  auto started = StartProgram(tool.words, environment.data(), {.output = output, .errors = errors});
  if (!started.ok()) return Annotate(started.error(), "start " + tool.words.front());
  return started;
}

// Appends to `text` what the tool has written so far. Returns false if the tool has closed the pipe.
bool ReadSome(int from, std::string& text) {
  char piece[4096];
  const ssize_t size = read(from, piece, sizeof piece);
  if (size > 0) text.append(piece, static_cast<size_t>(size));
  return size > 0 || (size < 0 && (errno == EINTR || errno == EAGAIN));
}

int ExitCode(int status) { return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status); }

void EndGroup(pid_t group) {
  kill(-group, SIGTERM);
  const auto end = std::chrono::steady_clock::now() + kPatience;
  while (waitpid(group, nullptr, WNOHANG) == 0) {
    if (std::chrono::steady_clock::now() >= end) {
      kill(-group, SIGKILL);
      waitpid(group, nullptr, 0);
      return;
    }
    std::this_thread::sleep_for(kLook / 10);
  }
  kill(-group, SIGKILL);  // kills children that the tool left
}

// The size limit of a lock file in bytes. The lock of 1000 packages for all platforms has 3 MB.
constexpr size_t kLargestLock = 64 << 20;

std::string LastLines(const std::string& text) {
  std::vector<std::string> lines;
  for (const std::string& line : Split(text, '\n')) {
    if (!Trim(line).empty()) lines.push_back(std::string(Trim(line)));
  }
  constexpr size_t kMost = 4;
  if (lines.size() > kMost) lines.erase(lines.begin(), lines.end() - kMost);
  return Join(lines, " ");
}

// Makes the tree read-only, like everything that is staged.
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

// Increase this number with each change of uv's options. The number is part of the environment's name, because other
// options make another environment.
constexpr std::string_view kUvRecipe = "tony environment 1";

enum class FileKind { kUv, kPylock, kRequirements };

FileKind KindOfLock(const fs::path& file) {
  const std::string name = file.filename().string();
  if (name == "uv.lock") return FileKind::kUv;
  return name.ends_with(".toml") ? FileKind::kPylock : FileKind::kRequirements;
}

constexpr std::string_view kFolderOfThisMachine =
    "this line names a folder or file of this machine, whose content a lock file does not pin; put the folder or file "
    "into src_dir";

// Accepts lines such as "name==1.2 ; marker --hash=sha256:..." and "name @ https://host/x.whl#sha256=...", options, and
// comments.
Status CheckRequirements(std::string_view text) {
  size_t number = 0;
  bool goes_on = false;  // previous line ended with a backslash
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
      return RefuseLine(
          number, line,
          "this line names another file, whose content this lock file does not pin; copy the lines of that file into "
          "this file");
    if (word.starts_with('-')) continue;
    any = true;
    if (word.find("==") == std::string_view::npos && word.find(" @ ") == std::string_view::npos)
      return RefuseLine(number, line,
                        "expected an exact version, such as NAME==1.2; \"uv pip compile requirements.in -o "
                        "requirements.txt\" writes a lock file with exact versions");
  }
  return any ? Ok() : RefuseLock("the lock file names no packages");
}

// Refuses sources such as { editable = "../other" }; accepts the project itself, which is at ".".
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
  // `text`: content of the file. `project`: content of the pyproject.toml in the folder of uv.lock.
  std::string text, project;
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

  // Returns what uv printed.
  Result<std::string> Run(std::vector<std::string> words,
                          std::vector<std::pair<std::string, std::string>> more = {}) const {
    const std::string what = "uv " + words.front();
    words.insert(words.begin(), program_.string());
    more.insert(more.end(), {{"UV_NO_PROGRESS", "1"}, {"NO_COLOR", "1"}, {"UV_LINK_MODE", "copy"}});
    // uv has one exit code for all failures, so network failures are recognized by these texts.
    return RunEnvironmentMaker(what, {std::move(words), std::move(more)},
                               {"Failed to fetch", "error sending request", "operation timed out", "dns error",
                                "Could not connect", "Failed to download"},
                               meter_);
  }

 private:
  fs::path program_;
  StageMeter& meter_;
};

// Returns the path of the Python that uv chooses for the lock.
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

fs::path FindOnPath(std::string_view name) {
  const char* path = std::getenv("PATH");
  for (const std::string& folder : Split(path ? path : "", ':')) {
    const fs::path program = fs::path(folder.empty() ? "." : folder) / name;
    std::error_code error;
    if (fs::is_regular_file(program, error) && access(program.c_str(), X_OK) == 0) return fs::absolute(program, error);
  }
  return {};
}

Result<ToolEnd> RunTool(const Tool& tool, const std::function<Status()>& check) {
  int out[2], err[2];
  if (pipe2(out, O_CLOEXEC) != 0)
    return Error{ErrorCode::kUnavailable, StrCat("cannot make a pipe: ", ErrnoText(errno))};
  const UniqueFd output(out[0]);
  UniqueFd to_output(out[1]);
  if (pipe2(err, O_CLOEXEC) != 0)
    return Error{ErrorCode::kUnavailable, StrCat("cannot make a pipe: ", ErrnoText(errno))};
  const UniqueFd errors(err[0]);
  UniqueFd to_errors(err[1]);
  TRY_ASSIGN(const pid_t pid, Spawn(tool, to_output.get(), to_errors.get()));
  to_output = UniqueFd();
  to_errors = UniqueFd();

  ToolEnd end;
  int status = 0;
  pollfd wanted[2] = {{output.get(), POLLIN, 0}, {errors.get(), POLLIN, 0}};
  // Waits until the process has exited. The end of the pipes would not suffice, because a child of the process may keep
  // the pipes open.
  while (waitpid(pid, &status, WNOHANG) == 0) {
    const Status wish = check();
    if (!wish.ok()) {
      EndGroup(pid);
      return wish.error();
    }
    // A tool that has closed both pipes is usually about to end, so it is checked more often.
    const bool has_closed = wanted[0].fd < 0 && wanted[1].fd < 0;
    if (poll(wanted, 2, static_cast<int>((has_closed ? kLook / 20 : kLook).count())) <= 0) continue;
    if (wanted[0].revents != 0 && !ReadSome(output.get(), end.output)) wanted[0].fd = -1;
    if (wanted[1].revents != 0 && !ReadSome(errors.get(), end.errors)) wanted[1].fd = -1;
    end.output.resize(std::min(end.output.size(), kMostOutput));
    if (end.errors.size() > kMostErrors) end.errors.erase(0, end.errors.size() - kMostErrors);
  }
  for (const auto& [from, text] : {std::pair(output.get(), &end.output), std::pair(errors.get(), &end.errors)}) {
    fcntl(from, F_SETFL, O_NONBLOCK);
    pollfd left = {from, POLLIN, 0};
    while (poll(&left, 1, 0) > 0 && (left.revents & POLLIN) != 0 && ReadSome(from, *text)) {
    }
  }
  end.exit_code = ExitCode(status);
  return end;
}

Error RefuseLock(const std::string& why) { return {ErrorCode::kInvalid, why}; }

Error RefuseLine(size_t line, std::string_view text, std::string_view why) {
  constexpr size_t kLongestLine = 300;  // bytes; long enough for package URLs
  return RefuseLock(StrCat("line ", line, ", ", Quoted(Trim(text), kLongestLine), ": ", why));
}

Result<std::string> ReadLock(const fs::path& file) {
  std::error_code error;
  if (fs::is_regular_file(file, error) && fs::file_size(file, error) > kLargestLock)
    return RefuseLock(StrCat(file.string(), ": larger than ", kLargestLock >> 20, " MB"));
  auto text = ReadFile(file);
  if (!text.ok()) return RefuseLock(text.error().message);
  return text;
}

std::string NameOfEnvironment(std::initializer_list<std::string_view> parts) {
  struct utsname machine {};
  uname(&machine);
  Sha256 sha;
  const auto add = [&](std::string_view part) { sha.Update(StrCat(part.size(), ":", part)); };
  std::ranges::for_each(parts, add);
  add(machine.machine);
  return sha.Hex() + "-venv";
}

Result<std::string> RunEnvironmentMaker(const std::string& what, const Tool& tool,
                                        std::initializer_list<std::string_view> network, StageMeter& meter) {
  TRY_ASSIGN(const ToolEnd end, RunTool(tool, [&] { return meter.Done(0); }));
  if (end.exit_code == 0) return end.output;
  const bool of_network =
      std::ranges::any_of(network, [&](std::string_view said) { return end.errors.find(said) != std::string::npos; });
  return Error{of_network ? ErrorCode::kUnavailable : ErrorCode::kInvalid,
               StrCat(what, ": exit code ", end.exit_code, ": ", LastLines(end.errors))};
}

bool IsLockFileName(const fs::path& file) {
  return IsUvLock(file) || IsOtherCondaFile(file) || file.extension() == ".lock" || file.extension() == ".txt";
}

bool IsEnvironmentLock(const fs::path& file) { return IsUvLock(file) || IsOtherCondaFile(file) || IsCondaLock(file); }

Result<StagedSource> StageLockedEnvironment(const fs::path& file, const StageContext& context) {
  if (IsOtherCondaFile(file)) return RefuseOtherCondaFile(file);
  // The content decides and not the name, because people also name conda's explicit files requirements.txt.
  TRY_ASSIGN(const EnvironmentRecipe recipe, IsCondaLock(file) ? CondaEnvironment(file, context.store, context.meter)
                                                               : UvEnvironment(file, context.meter));
  const auto make = [&](const fs::path& temporary) -> Status {
    TRY(recipe.make(temporary));
    return SealTree(temporary);
  };
  const auto damaged = [&](const std::string& damage) {
    context.watch.on_damage(context.meter.progress().what, damage);
  };
  TRY_ASSIGN(fs::path entry, context.store.entries().Keep(recipe.name, context.watch.stop,
                                                          {.make = make, .verify = {}, .on_damage = damaged}));
  return StagedSource{std::move(entry), recipe.name};
}

bool IsUvLock(const fs::path& file) {
  const std::string name = file.filename().string();
  return name == "uv.lock" || name == "pylock.toml" || (name.starts_with("pylock.") && name.ends_with(".toml")) ||
         (name.starts_with("requirements") && name.ends_with(".txt"));
}

Result<EnvironmentRecipe> UvEnvironment(const fs::path& file, StageMeter& meter) {
  const fs::path program = FindOnPath("uv");
  if (program.empty())
    return RefuseLock("the environment needs uv, which is not in PATH; install uv: pip install uv");
  TRY_ASSIGN(const UvLock lock, ReadUvLock(file));
  const Uv uv(program, meter);
  TRY_ASSIGN(const std::string python, FindPython(uv, lock));
  TRY_ASSIGN(std::string name, NameOfUvs(lock, python, meter));
  return EnvironmentRecipe{std::move(name), [uv, lock, python](const fs::path& temporary) {
                             return InstallByUv(uv, lock, python, temporary);
                           }};
}

}  // namespace tony
