#include "runtime/staging/conda_prefix.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <fstream>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/base/strings.h"
#include "runtime/base/unique_fd.h"
#include "runtime/os/files.h"

namespace tony {
namespace {

namespace fs = std::filesystem;

Error CannotRelocate(const fs::path& file) { return FileError(ErrorCode::kCannotWrite, "relocate", file, errno); }

// The kernel and the shell both start these with the Python that is beside the script; Python sees a string.
std::string HashBang(std::string_view python, std::string_view options) {
  return StrCat("#!/bin/sh\n'''exec' \"$(dirname -- \"$(realpath -- \"$0\")\")\"/'", python, "'", options,
                " \"$0\" \"$@\"\n' '''\n");
}

struct Beginning {
  std::string python, options;  // "python3.11", " -E"
  size_t size = 0;              // with its last line end
};

// "<bin>python3.11 -E", or "/usr/bin/env python3.11 -E", which would find the Python of an activated environment.
std::optional<Beginning> ReadCommand(std::string_view command, std::string_view bin, size_t size) {
  constexpr std::string_view kEnv = "/usr/bin/env ";
  const std::string_view before = command.starts_with(kEnv) ? kEnv : bin;
  if (!command.starts_with(before)) return std::nullopt;
  command.remove_prefix(before.size());
  const std::string_view name = command.substr(0, command.find_first_not_of("abcdefghijklmnopqrstuvwxyz0123456789."));
  if (!name.starts_with("python")) return std::nullopt;
  return Beginning{std::string(name), std::string(command.substr(name.size())), size};
}

// What begins a script of Python. For a path that is too long for the kernel or has a blank there are two ways to write
// the shell's line:
//   #!/bin/sh
//   '''exec' "<bin>python3.11" -E "$0" "$@" #'''    as conda's clients do
//   '''exec' <bin>python3.11 "$0" "$@"              as pip does, when a package is built
//   ' '''
std::optional<Beginning> ReadBeginning(std::string_view text, std::string_view bin) {
  constexpr std::string_view kShell = "#!/bin/sh\n'''exec' ", kArguments = " \"$0\" \"$@\"";
  const bool by_shell = text.starts_with(kShell);
  const size_t from = by_shell ? kShell.size() : 2;
  const size_t end = text.find('\n', from);
  if (end == std::string_view::npos) return std::nullopt;
  const std::string_view line = text.substr(from, end - from);
  if (!by_shell) return ReadCommand(Trim(line), bin, end + 1);
  const size_t arguments = line.find(kArguments);
  if (arguments == std::string_view::npos) return std::nullopt;
  std::string command(line.substr(0, arguments));
  std::erase(command, '"');
  constexpr std::string_view kLastLine = "' '''\n";
  const bool one_more = text.substr(end + 1).starts_with(kLastLine);
  return ReadCommand(command, bin, end + 1 + (one_more ? kLastLine.size() : 0));
}

Status RelocateScript(const fs::path& file, const fs::path& bin) {
  char start[2] = {};
  if (!std::ifstream(file, std::ios::binary).read(start, 2) || start[0] != '#' || start[1] != '!') return Ok();
  TRY_ASSIGN(const std::string text, ReadFile(file));
  const auto beginning = ReadBeginning(text, bin.string() + "/");
  if (!beginning || !IsThere(bin / beginning->python)) return Ok();
  if (chmod(file.c_str(), 0700) != 0) return CannotRelocate(file);
  const UniqueFd out(open(file.c_str(), O_WRONLY | O_TRUNC | O_CLOEXEC | O_NOFOLLOW));
  if (!out.valid()) return CannotRelocate(file);
  return WriteAll(out.get(), StrCat(HashBang(beginning->python, beginning->options), text.substr(beginning->size)),
                  file);
}

Status RelocateScripts(const fs::path& bin) {
  std::error_code error;
  for (fs::directory_iterator entry(bin, error), end; !error && entry != end; entry.increment(error)) {
    if (entry->symlink_status(error).type() == fs::file_type::regular) TRY(RelocateScript(entry->path(), bin));
  }
  return Ok();
}

Result<std::vector<off_t>> FindAll(const fs::path& file, const std::string& wanted) {
  std::vector<off_t> found;
  const UniqueFd in(open(file.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW));
  struct stat info {};
  if (!in.valid() || fstat(in.get(), &info) != 0) return CannotRelocate(file);
  const auto size = static_cast<size_t>(info.st_size);
  if (size < wanted.size()) return found;
  void* const memory = mmap(nullptr, size, PROT_READ, MAP_PRIVATE, in.get(), 0);
  if (memory == MAP_FAILED) return CannotRelocate(file);
  const char* const begin = static_cast<const char*>(memory);
  for (const char* at = begin;; at += wanted.size()) {
    at = static_cast<const char*>(memmem(at, size - static_cast<size_t>(at - begin), wanted.data(), wanted.size()));
    if (at == nullptr) break;
    found.push_back(at - begin);
  }
  munmap(memory, size);
  return found;
}

Status RelocateFile(const fs::path& file, const std::string& from, const std::string& to) {
  TRY_ASSIGN(const std::vector<off_t> places, FindAll(file, from));
  if (places.empty()) return Ok();
  struct stat info {};
  if (lstat(file.c_str(), &info) != 0 || chmod(file.c_str(), info.st_mode | S_IWUSR) != 0) return CannotRelocate(file);
  const UniqueFd out(open(file.c_str(), O_WRONLY | O_CLOEXEC | O_NOFOLLOW));
  if (!out.valid()) return CannotRelocate(file);
  for (const off_t place : places) {
    if (pwrite(out.get(), to.data(), to.size(), place) != static_cast<ssize_t>(to.size())) return CannotRelocate(file);
  }
  const timespec times[2] = {info.st_atim, info.st_mtim};
  return futimens(out.get(), times) == 0 ? Ok() : Status(CannotRelocate(file));
}

Status RelocateLink(const fs::path& link, const std::string& from, const std::string& to) {
  std::error_code error;
  const std::string target = fs::read_symlink(link, error).string();
  if (error || !target.starts_with(from)) return Ok();
  if (unlink(link.c_str()) != 0 || symlink((to + target.substr(from.size())).c_str(), link.c_str()) != 0)
    return CannotRelocate(link);
  return Ok();
}

}  // namespace

Status RelocateCondaEnvironment(const fs::path& folder, const fs::path& to) {
  const std::string from = folder.string();
  if (to.string().size() > from.size())
    return Error{ErrorCode::kInvalid, StrCat("relocate ", from, ": ", to.string(), " is longer")};
  const std::string slashes(from.size() - to.string().size() + 1, '/');
  const std::string as_long = StrCat(to.parent_path().string(), slashes, to.filename().string());
  TRY(RelocateScripts(folder / "bin"));
  std::error_code error;
  for (fs::recursive_directory_iterator entry(folder, error), end; !error && entry != end; entry.increment(error)) {
    const fs::file_type type = entry->symlink_status(error).type();
    if (type == fs::file_type::regular) TRY(RelocateFile(entry->path(), from, as_long));
    if (type == fs::file_type::symlink) TRY(RelocateLink(entry->path(), from, as_long));
  }
  return error ? Status(FileError(ErrorCode::kCannotWrite, "relocate", folder, error.value())) : Ok();
}

}  // namespace tony
