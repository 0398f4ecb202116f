#include "runtime/staging/conda_environment.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "runtime/base/strings.h"
#include "runtime/base/unique_fd.h"
#include "runtime/os/files.h"
#include "runtime/os/sha256.h"
#include "runtime/staging/locked_environment.h"

namespace tony {
namespace {

namespace fs = std::filesystem;

Error CannotRelocate(const fs::path& file) { return FileError(ErrorCode::kCannotWrite, "relocate", file, errno); }

// Returns new first lines for a script. The kernel starts sh, and sh replaces itself by the Python in the script's
// folder. Python reads the same lines as a string.
std::string HashBang(std::string_view python, std::string_view options) {
  return StrCat("#!/bin/sh\n'''exec' \"$(dirname -- \"$(realpath -- \"$0\")\")\"/'", python, "'", options,
                " \"$0\" \"$@\"\n' '''\n");
}

struct Beginning {
  std::string python, options;  // "python3.11", " -E"
  size_t size = 0;              // bytes, including the last line end
};

// Parses "<bin>python3.11 -E". Also parses "/usr/bin/env python3.11 -E", because a script that begins in this way would
// use the Python of an activated environment.
std::optional<Beginning> ReadCommand(std::string_view command, std::string_view bin, size_t size) {
  constexpr std::string_view kEnv = "/usr/bin/env ";
  const std::string_view before = command.starts_with(kEnv) ? kEnv : bin;
  if (!command.starts_with(before)) return std::nullopt;
  command.remove_prefix(before.size());
  const std::string_view name = command.substr(0, command.find_first_not_of("abcdefghijklmnopqrstuvwxyz0123456789."));
  if (!name.starts_with("python")) return std::nullopt;
  return Beginning{std::string(name), std::string(command.substr(name.size())), size};
}

// Parses the beginning of a Python script. If the path is too long for the kernel, or has a blank in it, a shell starts
// the Python. Two forms exist:
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

constexpr std::string_view kMark = "@EXPLICIT", kLocal = "file://";

bool IsHex(std::string_view text, size_t size) {
  return text.size() == size && text.find_first_not_of("0123456789abcdef") == std::string_view::npos;
}

// Returns the SHA-256 in `hash`; "" if `hash` is of another kind.
std::string_view Sha256Of(std::string_view hash) {
  constexpr std::string_view kSaidSo = "sha256:";
  if (hash.starts_with(kSaidSo)) hash.remove_prefix(kSaidSo.size());
  return IsHex(hash, 64) ? hash : "";
}

struct Package {
  std::string_view url, hash;
  bool has_hash = false;
};

Package Parse(std::string_view line) {
  const size_t mark = line.find('#');
  if (mark == std::string_view::npos) return {line, "", false};
  return {line.substr(0, mark), line.substr(mark + 1), true};
}

// Returns why the package is refused; "" if it is accepted.
std::string WhyPackageIsRefused(const Package& package, std::string_view platform) {
  const auto& [url, hash, has_hash] = package;
  const bool is_url = url.find("://") != std::string_view::npos && url.find_first_of(" \t") == std::string_view::npos;
  if (!is_url || !(url.ends_with(".conda") || url.ends_with(".tar.bz2")))
    return "expected the URL of a package file (.conda or .tar.bz2)";
  if (has_hash && !IsHex(hash, 32) && Sha256Of(hash).empty())
    return "expected an MD5 (32 hexadecimal digits) or a SHA-256 (64) in lower case after the #";
  if (url.starts_with(kLocal) && Sha256Of(hash).empty())
    return "a package that is a file on this machine needs its SHA-256 after a #; \"conda list --explicit --sha256\" "
           "writes lines with a SHA-256";
  const std::string_view folders = url.substr(0, url.rfind('/'));
  const std::string_view folder = folders.substr(folders.rfind('/') + 1);  // e.g. "linux-64", "noarch"
  const std::string_view system = folder.substr(0, folder.find('-'));
  const bool is_platform = system.size() < folder.size() && (system == "linux" || system == "osx" || system == "win");
  if (is_platform && folder != platform)
    return StrCat("this package is for ", folder, ", but this machine is ", platform);
  return "";
}

// Increase this number with each change of the options that are passed to conda, or of the steps that follow. The
// number is part of the environment's name.
constexpr std::string_view kCondaRecipe = "tony conda environment 1";

// In a shell, micromamba is usually a function, which other processes do not see. The variable $MAMBA_EXE names the
// program in any case.
fs::path FindClient() {
  for (const char* name : {"$MAMBA_EXE", "micromamba", "mamba", "$CONDA_EXE", "conda"}) {
    const char* program = *name == '$' ? std::getenv(name + 1) : name;
    if (program == nullptr || *program == '\0') continue;
    if (fs::path found = FindOnPath(program); !found.empty()) return found;
  }
  return {};
}

Status CheckLocalPackages(const std::vector<LocalPackage>& packages, const StageMeter& meter) {
  for (const LocalPackage& package : packages) {
    const auto refuse = [&](const std::string& why) { return RefuseLine(package.number, package.line, why); };
    const auto file = OpenRegularFile(package.file, O_RDONLY);
    if (!file.ok()) return refuse(file.error().message);
    TRY_ASSIGN(const std::string hash,
               Sha256OfFile(file->fd.get(), package.file, [&](int64_t) { return meter.CheckStop(); }));
    if (hash != package.sha256) return refuse("the hash in the lock file does not match; the file has " + hash);
  }
  return Ok();
}

Status InstallByConda(const fs::path& client, const std::string& lock, const fs::path& folder, StageMeter& meter) {
  // The program `client` reads a copy of the lock file, so that it installs exactly the text that was hashed and
  // checked. The copy has a name of its own, because conda refuses an explicit lock file that is called
  // requirements.txt.
  const fs::path copy = folder.string() + ".txt";
  TRY(WriteFileByRename(copy, lock, /*durable=*/false));
  const std::string name = client.filename();
  // --quiet is left out, because it would also suppress micromamba's error messages.
  std::vector<std::string> words = {client, "create", "--yes", "--prefix", folder, "--file", copy};
  // This option leaves out the packages that the user's configuration adds to each environment. mamba adds none to an
  // explicit lock, and does not know the option.
  if (name.starts_with("conda")) words.push_back("--no-default-packages");
  std::vector<std::pair<std::string, std::string>> environment = {
      // Packages are copied and not linked. The environment becomes read-only, and with links the user's package cache
      // would become read-only, too.
      {"CONDA_ALWAYS_COPY", "true"},
      {"MAMBA_ALWAYS_COPY", "true"},
      {"CONDA_ALWAYS_SOFTLINK", "false"},
      {"MAMBA_ALWAYS_SOFTLINK", "false"},
      // Conda does not register the environment, because its path is temporary. mamba has no such setting.
      {"CONDA_REGISTER_ENVS", "false"},
      // Without this setting, conda would fetch channel notices even if it has every package.
      {"CONDA_NUMBER_CHANNEL_NOTICES", "0"},
      {"NO_COLOR", "1"}};
  const auto said = RunEnvironmentMaker(name + " create", {std::move(words), std::move(environment)},
                                        {"CONNECTION FAILED", "ProxyError", "Download error", "HTTP 5"}, meter);
  unlink(copy.c_str());
  return said.ok() ? Ok() : Status(said.error());
}

Status CheckHasNoHardLinks(const fs::path& client, const fs::path& folder) {
  std::error_code error;
  for (fs::recursive_directory_iterator entry(folder, error), end; !error && entry != end; entry.increment(error)) {
    struct stat info {};
    if (lstat(entry->path().c_str(), &info) != 0 || !S_ISREG(info.st_mode) || info.st_nlink == 1) continue;
    return RefuseLock(StrCat(client.filename().string(), " made a hard link instead of a copy: ",
                             entry->path().lexically_relative(folder).string(),
                             "; with this link, TonY would make the package cache read-only"));
  }
  return Ok();
}

}  // namespace

Status RelocateCondaEnvironment(const fs::path& folder, const fs::path& to) {
  const std::string from = folder.string();
  if (to.string().size() > from.size())
    return Error{ErrorCode::kInvalid,
                 StrCat("cannot relocate ", from, ", because the new path ", to.string(), " is longer")};
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

bool IsCondaLock(const fs::path& file) {
  std::error_code error;
  if ((file.extension() != ".lock" && file.extension() != ".txt") || !fs::is_regular_file(file, error)) return false;
  const auto text = ReadLock(file);
  return text.ok() &&
         std::ranges::any_of(Split(*text, '\n'), [](const std::string& line) { return Trim(line) == kMark; });
}

bool IsOtherCondaFile(const fs::path& file) {
  return file.filename() == "pixi.lock" || file.extension() == ".yml" || file.extension() == ".yaml";
}

Error RefuseOtherCondaFile(const fs::path& file) {
  const std::string name = file.filename(), platform = CondaPlatform();
  std::string command = StrCat("conda-lock lock --kind explicit --platform ", platform, " --file ", name);
  if (name == "pixi.lock") command = StrCat("pixi workspace export conda-explicit-spec --platform ", platform, " .");
  if (file.stem().string().ends_with("conda-lock"))
    command = StrCat("conda-lock render --kind explicit --platform ", platform, " ", name);
  return RefuseLock(StrCat("expected an explicit conda lock file, with a line ", kMark, "; make one with: ", command));
}

Result<std::vector<LocalPackage>> LocalPackagesOf(std::string_view lock, std::string_view platform) {
  std::vector<LocalPackage> local;
  size_t number = 0;
  bool marked = false, any = false;
  for (const std::string& whole : Split(lock, '\n')) {
    const std::string line(Trim(whole));
    ++number;
    // conda-lock and conda list write these lines for the reader. The clients ignore them as comments, so the packages
    // would be missing from the environment.
    if (line.starts_with("# pip ") || line.starts_with("# no URL for"))
      return RefuseLine(number, line, "conda's clients do not install this package from a lock file");
    if (line.empty() || line.starts_with('#')) continue;
    if (line == kMark) {
      marked = true;
      continue;
    }
    if (!marked)
      return RefuseLine(
          number, line,
          StrCat("expected this line below the line ", kMark,
                 ", because conda's clients treat packages above that line differently"));
    const Package package = Parse(line);
    if (const std::string wrong = WhyPackageIsRefused(package, platform); !wrong.empty())
      return RefuseLine(number, line, wrong);
    any = true;
    if (package.url.starts_with(kLocal))
      local.push_back({line, number, package.url.substr(kLocal.size()), std::string(Sha256Of(package.hash))});
  }
  if (!any) return RefuseLock("the lock file names no packages");
  return local;
}

std::string CondaPlatform() {
  struct utsname machine {};
  uname(&machine);
  const std::string processor = machine.machine;
  return "linux-" + (processor == "x86_64" ? "64" : processor);
}

Result<EnvironmentRecipe> CondaEnvironment(const fs::path& file, const StagedStore& store, StageMeter& meter) {
  const fs::path client = FindClient();
  if (client.empty())
    return RefuseLock(
        "the environment needs micromamba, mamba or conda; none of them is in a folder of PATH, and MAMBA_EXE and "
        "CONDA_EXE do not name one");
  TRY_ASSIGN(const std::string text, ReadLock(file));
  TRY_ASSIGN(const std::vector<LocalPackage> local, LocalPackagesOf(text, CondaPlatform()));
  std::error_code error;
  // The path is resolved as conda and mamba resolve it, because RelocateCondaEnvironment() searches for exactly the
  // bytes that they write.
  const fs::path folder = fs::canonical(store.entries().folder(), error);
  if (error) return FileError(ErrorCode::kUnavailable, "resolve", store.entries().folder(), error.value());
  std::string name = NameOfEnvironment({kCondaRecipe, text, folder.string()});
  const fs::path entry = folder / name;
  const auto make = [=, &meter](const fs::path& temporary) -> Status {
    TRY(CheckLocalPackages(local, meter));
    const fs::path made = folder / temporary.filename();
    TRY(InstallByConda(client, text, made, meter));
    TRY(CheckHasNoHardLinks(client, made));
    return RelocateCondaEnvironment(made, entry);
  };
  return EnvironmentRecipe{std::move(name), make};
}

}  // namespace tony
