#include "runtime/staging/conda_environment.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <string>
#include <utility>
#include <vector>

#include "runtime/base/strings.h"
#include "runtime/os/files.h"
#include "runtime/os/sha256.h"
#include "runtime/staging/conda_lock.h"
#include "runtime/staging/conda_prefix.h"

namespace tony {
namespace {

namespace fs = std::filesystem;

// Another number for each change of what a client is told or of what is done to its environment.
constexpr std::string_view kCondaRecipe = "tony conda environment 1";

// In a shell micromamba is most often a function, which no other process sees; the variable is there wherever it is.
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
    if (hash != package.sha256) return refuse("the file has another hash: " + hash);
  }
  return Ok();
}

Status InstallByConda(const fs::path& client, const std::string& lock, const fs::path& folder, StageMeter& meter) {
  // What was hashed and looked at, under a name that each client takes: conda wants no explicit requirements.txt.
  const fs::path copy = folder.string() + ".txt";
  TRY(WriteFileByRename(copy, lock, /*durable=*/false));
  const std::string name = client.filename();
  // Not --quiet, which also takes micromamba's error messages away.
  std::vector<std::string> words = {client, "create", "--yes", "--prefix", folder, "--file", copy};
  // Packages of the user's configuration; mamba adds none to an explicit lock, and does not know the option.
  if (name.starts_with("conda")) words.push_back("--no-default-packages");
  std::vector<std::pair<std::string, std::string>> environment = {
      // What is made becomes read-only: with links the user's package cache would.
      {"CONDA_ALWAYS_COPY", "true"},
      {"MAMBA_ALWAYS_COPY", "true"},
      {"CONDA_ALWAYS_SOFTLINK", "false"},
      {"MAMBA_ALWAYS_SOFTLINK", "false"},
      {"CONDA_REGISTER_ENVS", "false"},       // by a path that does not last; mamba cannot be told
      {"CONDA_NUMBER_CHANNEL_NOTICES", "0"},  // which conda fetches even if it has every package
      {"NO_COLOR", "1"}};
  const auto said = RunMaker(name + " create", {std::move(words), std::move(environment)},
                             {"CONNECTION FAILED", "ProxyError", "Download error", "HTTP 5"}, meter);
  unlink(copy.c_str());
  return said.ok() ? Ok() : Status(said.error());
}

Status CheckHasNoHardLinks(const fs::path& client, const fs::path& folder) {
  std::error_code error;
  for (fs::recursive_directory_iterator entry(folder, error), end; !error && entry != end; entry.increment(error)) {
    struct stat info {};
    if (lstat(entry->path().c_str(), &info) != 0 || !S_ISREG(info.st_mode) || info.st_nlink == 1) continue;
    return RefuseLock(StrCat(client.filename().string(), " was asked for copies and made a hard link, ",
                             entry->path().lexically_relative(folder).string(),
                             ", by which its package cache would become read-only"));
  }
  return Ok();
}

}  // namespace

Result<EnvironmentRecipe> CondaEnvironment(const fs::path& file, const StagedStore& store, StageMeter& meter) {
  const fs::path client = FindClient();
  if (client.empty())
    return RefuseLock(
        "micromamba, mamba or conda, one of which makes the environment, is in no folder of PATH, and MAMBA_EXE and "
        "CONDA_EXE name none");
  TRY_ASSIGN(const std::string text, ReadLock(file));
  TRY_ASSIGN(const std::vector<LocalPackage> local, LocalPackagesOf(text, CondaPlatform()));
  std::error_code error;
  // As clients resolve it; what they write is looked for by its letters.
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
