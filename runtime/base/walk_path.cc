#include "runtime/base/walk_path.h"

#include <fcntl.h>
#include <limits.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <deque>
#include <optional>

#include "runtime/base/strings.h"

namespace tony {
namespace {

namespace fs = std::filesystem;

constexpr int kMostLinks = 40;  // same as the kernel's MAXSYMLINKS
constexpr mode_t kOthersMayWrite = S_IWGRP | S_IWOTH;

class Walk {
 public:
  Result<WalkedPath> Go(const fs::path& path) {
    TRY(BeginAtRoot(path));
    while (!left_.empty()) {
      const std::string name = left_.front();
      left_.pop_front();
      TRY_ASSIGN(const bool is_there, Step(name));
      if (!is_there) return WalkedPath{.risks = std::move(risks_)};
    }
    return WalkedPath{.folder = std::move(at_), .info = info_, .risks = std::move(risks_)};
  }

 private:
  Status BeginAtRoot(const fs::path& target) {
    std::deque<std::string> parts;
    for (const fs::path& part : target.relative_path())
      if (!part.empty() && part != ".") parts.push_back(part.string());
    left_.insert(left_.begin(), parts.begin(), parts.end());
    if (!target.is_absolute()) return Ok();
    at_name_ = "/";
    return Enter(UniqueFd(open("/", O_PATH | O_DIRECTORY | O_CLOEXEC)));
  }

  Status Enter(UniqueFd folder) {
    if (!folder.valid() || fstat(folder.get(), &info_) != 0) return Refused(at_name_, errno);
    at_ = std::move(folder);
    return Ok();
  }

  // Moves to an entry of the current folder, or to the target of the entry if it is a link. Returns whether the entry
  // exists.
  Result<bool> Step(const std::string& name) {
    if (name == "..") {
      at_name_ = at_name_.parent_path();
      TRY(Enter(UniqueFd(openat(at_.get(), "..", O_PATH | O_DIRECTORY | O_CLOEXEC))));
      return true;
    }
    UniqueFd entry(openat(at_.get(), name.c_str(), O_PATH | O_NOFOLLOW | O_CLOEXEC));
    struct stat info {};
    const bool is_there = entry.valid() && fstat(entry.get(), &info) == 0;
    const int error = errno;
    const fs::path part = at_name_ / name;
    Judge(part, is_there ? std::optional(info) : std::nullopt);
    if (!is_there && error == ENOENT) return false;
    if (!is_there) return Refused(part, error);
    if (S_ISLNK(info.st_mode)) {
      TRY(Follow(part, entry.get()));
      return true;
    }
    if (!S_ISDIR(info.st_mode)) return Refused(part, ENOTDIR);
    at_name_ = part;
    TRY(Enter(std::move(entry)));
    return true;
  }

  Status Follow(const fs::path& part, int link) {
    char target[PATH_MAX];
    const ssize_t size = readlinkat(link, "", target, sizeof target);
    if (size < 0) return Refused(part, errno);
    if (++links_ > kMostLinks) return Refused(part, ELOOP);
    return BeginAtRoot(std::string(target, static_cast<size_t>(size)));
  }

  // Adds each user who can replace this entry of the current folder.
  void Judge(const fs::path& part, const std::optional<struct stat>& entry) {
    AddRisk(part, info_.st_uid);
    if (entry && S_ISLNK(entry->st_mode)) AddRisk(part, entry->st_uid);
    if ((info_.st_mode & kOthersMayWrite) == 0) return;
    if (entry && (info_.st_mode & S_ISVTX) != 0)
      AddRisk(part, entry->st_uid);
    else
      risks_.push_back({.part = part, .is_everybodys = true});
  }
  void AddRisk(const fs::path& part, uid_t user) {
    if (user != 0 && HasNumberHere(user)) risks_.push_back({.part = part, .user = user});
  }

  static Error Refused(const fs::path& part, int error) {
    const bool may_not = error == EACCES || error == EPERM;
    const bool is_wrong = error == ENOTDIR || error == ELOOP || error == ENAMETOOLONG;
    return {may_not    ? ErrorCode::kNotPermitted
            : is_wrong ? ErrorCode::kCannotWrite
                       : ErrorCode::kUnavailable,
            StrCat("check ", part.string(), ": ", ErrnoText(error))};
  }

  fs::path at_name_;
  UniqueFd at_;
  struct stat info_ {};  // stat of `at_`
  std::deque<std::string> left_;
  std::vector<PathRisk> risks_;
  int links_ = 0;
};

}  // namespace

const PathRisk* WalkedPath::RiskFromOthers(uid_t user) const {
  const auto found =
      std::ranges::find_if(risks, [&](const PathRisk& risk) { return risk.is_everybodys || risk.user != user; });
  return found == risks.end() ? nullptr : &*found;
}

Result<WalkedPath> WalkPath(const fs::path& path) { return Walk().Go(path); }

bool HasNumberHere(uid_t user) {
  std::FILE* const map = std::fopen("/proc/self/uid_map", "re");
  if (!map) return true;
  unsigned long inside = 0, outside = 0, count = 0;
  bool found = false;
  while (!found && std::fscanf(map, "%lu %lu %lu", &inside, &outside, &count) == 3)
    found = user >= inside && user - inside < count;
  (void)std::fclose(map);
  return found;
}

}  // namespace tony
