#include "runtime/staging/source_tree.h"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <functional>
#include <map>
#include <optional>
#include <string_view>
#include <system_error>
#include <utility>

#include "runtime/base/strings.h"
#include "runtime/os/files.h"
#include "runtime/os/sha256.h"
#include "runtime/records/entry_store.h"
#include "runtime/staging/source_rules.h"
#include "runtime/staging/stage.h"

namespace tony {
namespace {

namespace fs = std::filesystem;

constexpr size_t kHashDigits = 64;

template <typename Number>
bool TakeNumber(std::string_view& text, char end, Number& number) {
  const auto [rest, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || rest == text.data() + text.size() || *rest != end) return false;
  text.remove_prefix(static_cast<size_t>(rest - text.data()) + 1);
  return true;
}

// Parses "<device>:<inode>:<size>:<modified>:<changed> <hash>".
std::optional<std::pair<FileStamp, std::string>> ParseLine(std::string_view line) {
  FileStamp stamp;
  const bool whole = TakeNumber(line, ':', stamp.device) && TakeNumber(line, ':', stamp.inode) &&
                     TakeNumber(line, ':', stamp.size) && TakeNumber(line, ':', stamp.modified) &&
                     TakeNumber(line, ' ', stamp.changed) && line.size() == kHashDigits &&
                     line.find_first_not_of("0123456789abcdef") == std::string_view::npos;
  if (!whole) return std::nullopt;
  return std::pair(stamp, std::string(line));
}

bool IsPythonCache(const std::string& name) {
  const std::vector<std::string> parts = Split(name, '/');
  return std::ranges::find(parts, "__pycache__") != parts.end();
}

char KindLetter(const SourceItem& item) {
  switch (item.kind) {
    case SourceItem::Kind::kFolder:
      return 'd';
    case SourceItem::Kind::kFile:
      return item.executable ? 'x' : 'f';
    case SourceItem::Kind::kLink:
      return 'l';
  }
  return '?';
}

std::string Hash(const std::vector<SourceItem>& items, const std::vector<std::string>& hashes,
                 const std::function<bool(const SourceItem&)>& counts) {
  Sha256 sha;
  sha.Update("tony tree 1\n");
  size_t file = 0;
  for (const SourceItem& item : items) {
    const std::string& content = item.kind == SourceItem::Kind::kFile ? hashes.at(file++) : item.target;
    // Names and targets contain no NUL, so two different trees never give the same bytes.
    if (counts(item)) sha.Update(StrCat(KindLetter(item), item.name, '\0', content, '\0'));
  }
  return sha.Hex();
}

// The largest number of left-out files that are counted. Counting this many takes a second on a slow disk.
constexpr int64_t kMostCounted = 100'000;
constexpr std::string_view kSpecial = "neither a file nor a folder nor a symbolic link";
constexpr std::string_view kGit = ".git";
constexpr std::string_view kUnnamedEnvironment = "a Python environment that the job does not use";
constexpr std::string_view kElsewhere = "python_venv, which is venv in the task's folder";
constexpr std::string_view kWritten = "written by the job";

bool IsAtOrBelow(std::string_view path, std::string_view folder) {
  return path.starts_with(folder) && (path.size() == folder.size() || path[folder.size()] == '/');
}

class Listing {
 public:
  Listing(fs::path folder, const fs::path& without, const SourceRules& rules)
      : folder_(std::move(folder)), rules_(rules), has_store_(stat(without.c_str(), &store_) == 0) {}

  Result<SourceListing> Run() {
    TRY(Walk("", {}));
    std::ranges::sort(items_, {}, &SourceItem::name);
    MakeLinksRelative();
    SourceListing listing{.items = std::move(items_)};
    for (auto& [rule, left] : left_out_) {
      listing.left_out.push_back(std::move(left));
    }
    std::ranges::stable_sort(listing.left_out, std::greater(), &LeftOut::bytes);
    return listing;
  }

 private:
  // Facts that apply to all content of one folder.
  struct Scope {
    // True: the job names the folder, or a folder above it.
    bool named = false;
    // True: the job names this folder although a rule leaves it out. Therefore no rule applies in it.
    bool whole = false;
    // True: no .tonyignore has been found so far, so .gitignore applies.
    bool git = true;
    // The rule that leaves out all content of the folder that the job does not name; empty: no such rule.
    std::string left_out;
  };

  Status Walk(const std::string& name, Scope scope) {
    const size_t known = ignored_.size();
    if (rules_.apply && !scope.whole && scope.left_out.empty()) TRY(ReadRules(name, scope));
    const fs::path path = name.empty() ? folder_ : folder_ / name;
    std::error_code error;
    fs::directory_iterator entry(path, error);
    for (; !error && entry != fs::directory_iterator(); entry.increment(error)) {
      const std::string leaf = entry->path().filename().string();
      TRY(Take(entry->path(), name.empty() ? leaf : StrCat(name, "/", leaf), scope));
    }
    if (error) return FileError(ErrorCode::kInvalid, "read", path, error.value());
    ignored_.Cut(known);
    return Ok();
  }

  Status ReadRules(const std::string& name, Scope& scope) {
    for (const bool is_from_tonyignore : {true, false}) {
      if (!is_from_tonyignore && (!rules_.with_defaults || !scope.git || scope.named)) return Ok();
      const std::string file = StrCat(name, name.empty() ? "" : "/", is_from_tonyignore ? ".tonyignore" : ".gitignore");
      const fs::path path = folder_ / file;
      if (struct stat info{}; stat(path.c_str(), &info) != 0 || !S_ISREG(info.st_mode)) continue;
      auto text = ReadFile(path);
      if (!text.ok()) return Error{ErrorCode::kInvalid, text.error().message};
      ignored_.Add(*text, file, is_from_tonyignore);
      if (is_from_tonyignore) scope.git = false;
    }
    return Ok();
  }

  Status Take(const fs::path& path, const std::string& name, const Scope& scope) {
    struct stat info {};
    if (lstat(path.c_str(), &info) != 0) return FileError(ErrorCode::kInvalid, "read", path, errno);
    const bool is_folder = S_ISDIR(info.st_mode);
    if (is_folder && has_store_ && info.st_dev == store_.st_dev && info.st_ino == store_.st_ino) return Ok();
    if (!is_folder && !S_ISREG(info.st_mode) && !S_ISLNK(info.st_mode)) return LeaveOut(kSpecial, path, name, info);
    Scope inside = scope;
    inside.named = scope.named || rules_.named.contains(name);
    if (rules_.apply && !scope.whole) {
      const std::string rule = scope.left_out.empty() ? RuleFor(path, name, is_folder, scope) : scope.left_out;
      if (!rule.empty() && !inside.named && !HasNamedBelow(name)) return LeaveOut(rule, path, name, info);
      inside.whole = inside.named && !rule.empty();
      inside.left_out = inside.named ? "" : rule;
    }
    TRY(Add(path, name, info));
    if (is_folder && rules_.written.contains(name)) inside = {.left_out = std::string(kWritten)};
    return is_folder ? Walk(name, inside) : Ok();
  }

  // Returns the rule that leaves out `path`; "" if no rule leaves it out. In a folder that the job names, only
  // .tonyignore leaves out files.
  std::string RuleFor(const fs::path& path, const std::string& name, bool is_folder, const Scope& scope) const {
    if (name == rules_.elsewhere) return std::string(kElsewhere);
    if (const IgnorePattern* pattern = ignored_.Find(name, is_folder, scope.named))
      return pattern->keeps ? "" : StrCat(pattern->file, ": ", pattern->text);
    if (!rules_.with_defaults || scope.named) return "";
    if (name.substr(name.rfind('/') + 1) == kGit) return std::string(kGit);
    return is_folder && IsEnvironment(path) ? std::string(kUnnamedEnvironment) : "";
  }

  bool HasNamedBelow(const std::string& name) const {
    const auto next = rules_.named.lower_bound(name + "/");
    return next != rules_.named.end() && IsAtOrBelow(*next, name);
  }

  Status Add(const fs::path& path, const std::string& name, const struct stat& info) {
    SourceItem item{.name = name, .modified = info.st_mtim};
    if (S_ISDIR(info.st_mode)) {
      item.kind = SourceItem::Kind::kFolder;
    } else if (S_ISLNK(info.st_mode)) {
      item.kind = SourceItem::Kind::kLink;
      std::error_code error;
      item.target = fs::read_symlink(path, error).string();
      if (error) return FileError(ErrorCode::kInvalid, "read", path, error.value());
    } else {
      item.executable = (info.st_mode & S_IXUSR) != 0;
      item.size = info.st_size;
    }
    items_.push_back(std::move(item));
    if (static_cast<int64_t>(items_.size()) <= kMostEntries) return Ok();
    return Error{ErrorCode::kInvalid,
                 StrCat(folder_.string(), ": more than ", kMostEntries, " files; check that this is the right folder")};
  }

  Status LeaveOut(std::string_view rule, const fs::path& path, const std::string& name, const struct stat& info) {
    LeftOut& left = left_out_[std::string(rule)];
    left.rule = rule;
    left.paths.insert(std::ranges::upper_bound(left.paths, name), name);
    if (left.paths.size() > LeftOut::kMostNamed) left.paths.pop_back();
    Count(path, info, left);
    return Ok();
  }

  // A folder that cannot be read counts as empty, because it is left out anyway.
  void Count(const fs::path& path, const struct stat& info, LeftOut& left) {
    if (!S_ISDIR(info.st_mode)) {
      ++left.files;
      if (S_ISREG(info.st_mode)) left.bytes += info.st_size;
      return;
    }
    std::error_code error;
    for (fs::directory_iterator entry(path, error); !error && entry != fs::directory_iterator();
         entry.increment(error)) {
      struct stat inside {};
      if (++counted_ > kMostCounted) return;
      if (lstat(entry->path().c_str(), &inside) == 0) Count(entry->path(), inside, left);
    }
  }

  // An absolute link to a file that is staged, too, becomes relative, so that the link leads to the task's copy.
  void MakeLinksRelative() {
    for (SourceItem& item : items_) {
      if (item.kind != SourceItem::Kind::kLink || !item.target.starts_with('/')) continue;
      const fs::path target = fs::path(item.target).lexically_normal().lexically_relative(folder_);
      const std::string inside = target.string();
      if (!inside.starts_with("..") && std::ranges::binary_search(items_, inside, {}, &SourceItem::name))
        item.target = target.lexically_relative(fs::path(item.name).parent_path()).string();
    }
  }

  const fs::path folder_;
  const SourceRules& rules_;
  struct stat store_ {};
  const bool has_store_;
  IgnoreRules ignored_;
  std::vector<SourceItem> items_;
  std::map<std::string, LeftOut> left_out_;  // key: the rule
  // The number of entries counted so far inside the folders that are left out.
  int64_t counted_ = 0;
};

}  // namespace

HashCache HashCache::Load(const fs::path& store, const fs::path& source, int64_t bytes) {
  HashCache known;
  if (bytes < kNotWorthIt) return known;
  std::error_code error;
  known.file_ =
      store / StrCat(EntryStore::kHashesPrefix, Sha256Hex(fs::absolute(source, error).string()).substr(0, 16));
  const auto text = ReadFile(known.file_);
  if (!text.ok()) return known;
  for (std::string_view rest = *text; !rest.empty();) {
    const size_t end = std::min(rest.find('\n'), rest.size());
    if (auto line = ParseLine(rest.substr(0, end))) known.known_.insert(*std::move(line));
    rest.remove_prefix(std::min(end + 1, rest.size()));
  }
  return known;
}

std::string HashCache::Find(const FileStamp& stamp) {
  const auto found = known_.find(stamp);
  if (found == known_.end()) return "";
  seen_.insert(*found);
  return found->second;
}

void HashCache::Add(const FileStamp& stamp, const std::string& hash, Instant read) {
  if (!file_.empty() && IsStampReliable(stamp, read)) seen_[stamp] = hash;
}

void HashCache::Keep() const {
  if (file_.empty() || seen_ == known_) return;
  std::string text;
  for (const auto& [stamp, hash] : seen_) text += StrCat(ToString(stamp), " ", hash, "\n");
  (void)WriteFileByRename(file_, text, /*durable=*/false);
}

void HashCache::Forget() const {
  if (!file_.empty()) unlink(file_.c_str());
}

Result<SourceListing> ListSource(const fs::path& folder, const fs::path& without, const SourceRules& rules) {
  return Listing(folder, without, rules).Run();
}

bool IsEnvironment(const fs::path& folder) {
  struct stat info {};
  return stat((folder / "pyvenv.cfg").c_str(), &info) == 0 || stat((folder / "conda-meta").c_str(), &info) == 0;
}

SourceSummary SummaryOf(const fs::path& folder, const SourceListing& listing) {
  SourceSummary summary{.folder = folder.string(), .bytes = TotalSize(listing.items), .left_out = listing.left_out};
  summary.files = std::ranges::count_if(listing.items,
                                        [](const SourceItem& item) { return item.kind != SourceItem::Kind::kFolder; });
  return summary;
}

int64_t TotalSize(const std::vector<SourceItem>& items) {
  int64_t size = 0;
  for (const SourceItem& item : items) size += item.size;
  return size;
}

std::string TreeHash(const std::vector<SourceItem>& items, const std::vector<std::string>& hashes) {
  return Hash(items, hashes, [](const SourceItem&) { return true; });
}

std::string TreeHashOfSources(const std::vector<SourceItem>& items, const std::vector<std::string>& hashes) {
  return Hash(items, hashes, [](const SourceItem& item) { return !IsPythonCache(item.name); });
}

}  // namespace tony
