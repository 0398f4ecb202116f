#include "runtime/staging/conda_lock.h"

#include <sys/utsname.h>

#include <algorithm>

#include "runtime/base/strings.h"
#include "runtime/staging/environment_recipe.h"

namespace tony {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kMark = "@EXPLICIT", kLocal = "file://";

bool IsMark(const std::string& line) { return Trim(line) == kMark; }

bool IsHex(std::string_view text, size_t size) {
  return text.size() == size && text.find_first_not_of("0123456789abcdef") == std::string_view::npos;
}

// Empty: it is none.
std::string_view Sha256Of(std::string_view hash) {
  constexpr std::string_view kSaidSo = "sha256:";
  if (hash.starts_with(kSaidSo)) hash.remove_prefix(kSaidSo.size());
  return IsHex(hash, 64) ? hash : "";
}

bool IsPlatform(std::string_view folder) {
  const std::string_view system = folder.substr(0, folder.find('-'));
  return system.size() < folder.size() && (system == "linux" || system == "osx" || system == "win");
}

// The last folder of a package's URL: "linux-64", "noarch".
std::string_view PlatformOf(std::string_view url) {
  const std::string_view folders = url.substr(0, url.rfind('/'));
  return folders.substr(folders.rfind('/') + 1);
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

// Nothing if it is sound.
std::string WhatIsWrong(const Package& package, std::string_view platform) {
  const auto& [url, hash, has_hash] = package;
  const bool is_url = url.find("://") != std::string_view::npos && url.find_first_of(" \t") == std::string_view::npos;
  if (!is_url || !(url.ends_with(".conda") || url.ends_with(".tar.bz2")))
    return "expected the URL of a package, a .conda or .tar.bz2";
  if (has_hash && !IsHex(hash, 32) && Sha256Of(hash).empty())
    return "expected 32 hexadecimal digits of MD5 or 64 of SHA-256 behind the #, in lower case";
  if (url.starts_with(kLocal) && Sha256Of(hash).empty())
    return "a file of this machine, which needs its SHA-256 behind a #, as \"conda list --explicit --sha256\" writes "
           "it";
  const std::string_view folder = PlatformOf(url);
  if (IsPlatform(folder) && folder != platform)
    return StrCat("a package for ", folder, ", and this machine is ", platform);
  return "";
}

}  // namespace

bool IsCondaLock(const fs::path& file) {
  std::error_code error;
  if ((file.extension() != ".lock" && file.extension() != ".txt") || !fs::is_regular_file(file, error)) return false;
  const auto text = ReadLock(file);
  return text.ok() && std::ranges::any_of(Split(*text, '\n'), IsMark);
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
  return RefuseLock(StrCat("of conda's files the explicit ones are taken, with a line ", kMark, ": ", command));
}

Result<std::vector<LocalPackage>> LocalPackagesOf(std::string_view lock, std::string_view platform) {
  std::vector<LocalPackage> local;
  size_t number = 0;
  bool marked = false, any = false;
  for (const std::string& whole : Split(lock, '\n')) {
    const std::string line(Trim(whole));
    ++number;
    // conda-lock and conda list leave these for the reader; the clients take them for comments.
    if (line.starts_with("# pip ") || line.starts_with("# no URL for"))
      return RefuseLine(number, line, "a package that no client of conda installs from here");
    if (line.empty() || line.starts_with('#')) continue;
    if (line == kMark) {
      marked = true;
      continue;
    }
    if (!marked) return RefuseLine(number, line, StrCat("before the line ", kMark, ", where clients differ about it"));
    const Package package = Parse(line);
    if (const std::string wrong = WhatIsWrong(package, platform); !wrong.empty())
      return RefuseLine(number, line, wrong);
    any = true;
    if (package.url.starts_with(kLocal))
      local.push_back({line, number, package.url.substr(kLocal.size()), std::string(Sha256Of(package.hash))});
  }
  if (!any) return RefuseLock("it names no package");
  return local;
}

std::string CondaPlatform() {
  struct utsname machine {};
  uname(&machine);
  const std::string processor = machine.machine;
  return "linux-" + (processor == "x86_64" ? "64" : processor);
}

}  // namespace tony
