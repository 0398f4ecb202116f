#include "runtime/records/manifest.h"

#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <utility>
#include <vector>

#include "runtime/base/strings.h"
#include "runtime/os/files.h"
#include "runtime/os/sha256.h"

namespace tony {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kHeader = "tony manifest 1 ";
constexpr size_t kHashSize = 64;
constexpr std::string_view kWhole = ".";  // the file or folder itself

std::string Octal(mode_t mode) {
  char text[16];
  std::snprintf(text, sizeof text, "%04o", mode & 07777U);
  return text;
}

std::string Time(const timespec& time) { return StrCat(time.tv_sec, ".", time.tv_nsec); }

// Four fields, each followed by a NUL: what must not differ, times, name, target. Names and targets hold no NUL.
Result<std::string> Record(const fs::path& path, const std::string& name) {
  struct stat info {};
  if (lstat(path.c_str(), &info) != 0) return FileError(ErrorCode::kUnavailable, "read", path, errno);
  std::string target;
  if (S_ISLNK(info.st_mode)) {
    std::error_code error;
    target = fs::read_symlink(path, error).string();
    if (error) return FileError(ErrorCode::kUnavailable, "read", path, error.value());
  }
  // The size and the times of a folder are its file system's business; what is in it is listed.
  const bool is_file = S_ISREG(info.st_mode);
  const std::string kind = S_ISDIR(info.st_mode) ? "folder" : S_ISLNK(info.st_mode) ? "link" : is_file ? "file" : "?";
  return StrCat(kind, " ", Octal(info.st_mode), " ", is_file ? info.st_size : 0, '\0',
                is_file ? StrCat(Time(info.st_mtim), " ", Time(info.st_ctim)) : "", '\0', name, '\0', target, '\0');
}

struct Item {
  std::string name, looks, times, target;
};

std::vector<Item> Items(std::string_view body) {
  const std::vector<std::string> fields = Split(body, '\0');
  std::vector<Item> items;
  for (size_t i = 0; i + 3 < fields.size(); i += 4)
    items.push_back({.name = fields[i + 2], .looks = fields[i], .times = fields[i + 1], .target = fields[i + 3]});
  std::ranges::sort(items, {}, &Item::name);
  return items;
}

std::string Quoted(const std::string& name) { return name == kWhole ? "it" : name; }

// Both are sorted by name.
ManifestMatch Compare(const std::vector<Item>& kept, const std::vector<Item>& present) {
  using State = ManifestMatch::State;
  ManifestMatch match = {State::kSame, ""};
  auto now = present.begin();
  for (const Item& item : kept) {
    if (now == present.end() || now->name > item.name) return {State::kDiffers, Quoted(item.name) + " is missing"};
    if (now->name < item.name) return {State::kDiffers, now->name + " was added"};
    if (now->looks != item.looks || now->target != item.target)
      return {State::kDiffers, StrCat(Quoted(item.name), " is \"", now->looks, "\" instead of \"", item.looks, "\"")};
    if (now->times != item.times && match.first.empty())
      match = {State::kMaybe, StrCat("the times of ", Quoted(item.name), " differ")};
    ++now;
  }
  if (now != present.end()) return {State::kDiffers, now->name + " was added"};
  return match;
}

// Nothing: not whole, as after a power cut.
std::string_view BodyOf(std::string_view manifest) {
  const size_t start = kHeader.size() + kHashSize + 1;
  if (!manifest.starts_with(kHeader) || manifest.size() <= start) return {};
  const std::string_view body = manifest.substr(start);
  return Sha256Hex(body) == manifest.substr(kHeader.size(), kHashSize) ? body : std::string_view();
}

}  // namespace

Result<std::string> ManifestOf(const fs::path& path) {
  TRY_ASSIGN(std::string body, Record(path, std::string(kWhole)));
  std::error_code error;
  if (fs::is_directory(fs::symlink_status(path, error))) {
    fs::recursive_directory_iterator entry(path, error);
    for (; !error && entry != fs::recursive_directory_iterator(); entry.increment(error)) {
      TRY_ASSIGN(const std::string record,
                 Record(entry->path(), entry->path().string().substr(path.string().size() + 1)));
      body += record;
    }
  }
  if (error) return FileError(ErrorCode::kUnavailable, "read", path, error.value());
  return StrCat(kHeader, Sha256Hex(body), "\n", body);
}

ManifestMatch CompareManifests(std::string_view kept, std::string_view present) {
  if (kept == present) return {ManifestMatch::State::kSame, ""};
  const std::string_view body = BodyOf(kept);
  if (body.empty()) return {ManifestMatch::State::kMaybe, "it has no manifest"};
  return Compare(Items(body), Items(BodyOf(present)));
}

}  // namespace tony
