#include "runtime/staging/venv_check.h"

#include <sys/stat.h>

#include <cctype>
#include <fstream>
#include <optional>

#include "runtime/base/strings.h"

namespace tony {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kFolder = "venv/";
constexpr int kMostLinks = 40;  // as the kernel
constexpr size_t kLongestHashBang = 4096;

// "venv/bin/python3 train.py" -> "bin/python3".
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

// Where the links that begin at `path` end, whether or not anything is there.
fs::path EndOfLinks(fs::path path) {
  std::error_code error;
  for (int i = 0; i < kMostLinks; ++i) {
    const fs::path target = fs::read_symlink(path, error);
    if (error) return path.lexically_normal();
    path = target.is_absolute() ? target : path.parent_path() / target;
  }
  return path;
}

// People pack the folder itself, or what is in it: say where the program is.
std::string Hint(const std::string& program, const fs::path& venv) {
  std::error_code error;
  const fs::path name = fs::path(program).filename();
  for (fs::directory_iterator entry(venv, error), end; !error && entry != end; entry.increment(error)) {
    const fs::path found = entry->path().filename() / "bin" / name;
    if (fs::is_symlink(fs::symlink_status(venv / found, error)) || fs::exists(venv / found, error))
      return StrCat("; it has ", found.string());
  }
  if (fs::exists(venv / "bin" / name, error)) return StrCat("; it has ", (fs::path("bin") / name).string());
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
  return RefuseProgram(program, StrCat("it is a script of ", NotHere(interpreter)));
}

// The value of `key` in pyvenv.cfg: "home = /usr/bin".
std::string Configured(const fs::path& file, std::string_view key) {
  std::ifstream stream(file);
  for (std::string line; std::getline(stream, line);) {
    const size_t equals = line.find('=');
    if (equals == std::string::npos || ToLower(Trim(line.substr(0, equals))) != key) continue;
    return std::string(Trim(std::string_view(line).substr(equals + 1)));
  }
  return "";
}

// "3.11" of "3.11.2"; nothing where it is no version.
std::string MinorVersion(std::string_view text) {
  const std::vector<std::string> parts = Split(text, '.');
  if (parts.size() < 2 || !ParseInt(parts[0]) || !ParseInt(parts[1])) return "";
  return StrCat(parts[0], ".", parts[1]);
}

// A Python that runs as bin/python3 of an environment takes its library from the Python that pyvenv.cfg names, and its
// packages from the environment's lib/python<its own version>.
Status CheckConfiguration(const std::string& program, const fs::path& file, const fs::path& real) {
  const fs::path configuration = file.parent_path().parent_path() / "pyvenv.cfg";
  const std::string home = Configured(configuration, "home");
  if (home.empty()) return Ok();
  std::error_code error;
  if (!fs::is_directory(home, error)) return RefuseProgram(program, StrCat("its pyvenv.cfg leads to ", NotHere(home)));
  std::string made = MinorVersion(Configured(configuration, "version"));
  if (made.empty()) made = MinorVersion(Configured(configuration, "version_info"));
  const std::string name = real.filename().string();
  const std::string here = name.starts_with("python") ? MinorVersion(name.substr(6)) : "";
  if (made.empty() || here.empty() || made == here) return Ok();
  return RefuseProgram(
      program, StrCat("the environment was made for Python ", made, ", and ", real.string(), " is Python ", here));
}

// "python", "python3", "python3.11".
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

std::string WhyVenvIsNotUsed(const std::string& command, const fs::path& venv) {
  std::string before, why;
  std::error_code error;
  for (const std::string& word : SplitAtAny(command, " \t\n;&|<>()`'\"=$")) {
    if (word.starts_with(kFolder) || word.find("/venv/") != word.npos) return "";
    const std::string name = fs::path(word).filename().string();
    if (IsLoginShell(before, word)) why = StrCat(before, " ", word, " is a login shell, which sets PATH anew");
    if (IsPython(name) && word != name && word.starts_with('/')) why = StrCat("it runs ", word);
    if (IsPython(word) && !fs::exists(venv / "bin" / word, error))
      why = StrCat("there is no bin/", word, " in it", Hint(word, venv));
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
    return RefuseProgram(*program, StrCat("there is no such file in the Python environment", Hint(*program, venv)));
  if (stat(file.c_str(), &info) != 0) return RefuseProgram(*program, StrCat("it leads to ", NotHere(EndOfLinks(file))));
  if (!S_ISREG(info.st_mode)) return RefuseProgram(*program, "it is not a program");
  if ((info.st_mode & 0111) == 0)
    return RefuseProgram(*program,
                         "it may not be executed; pack the environment with its permissions, as zip and tar do");
  TRY(CheckHashBang(*program, file));
  std::error_code error;
  const fs::path real = fs::canonical(file, error);
  const bool python = fs::path(*program).filename().string().starts_with("python");
  return python && !error ? CheckConfiguration(*program, file, real) : Ok();
}

}  // namespace tony
