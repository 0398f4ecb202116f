#include "runtime/hadoop/mount_table.h"

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <optional>
#include <utility>

#include "runtime/base/strings.h"

namespace tony::hadoop {
namespace {

constexpr std::string_view kViewScheme = "viewfs://", kHdfsScheme = "hdfs://";
constexpr std::string_view kDefaultNameKey = "default.name.key";
constexpr std::string_view kRoot = "/";

constexpr std::string_view kHome = ".homedir", kMergeSlash = ".linkMergeSlash", kNfly = ".linkNfly.";

// The kinds of entries, by a text behind the name of the table, which may contain dots.
struct Kind {
  std::string_view text;
  bool has_path;
  bool is_followed = true;

  bool IsIn(const std::string& key) const { return has_path ? key.find(text) != key.npos : key.ends_with(text); }
};
constexpr Kind kKinds[] = {{".link./", true},
                           {kNfly, true},
                           {".linkRegex.", true, false},
                           {".linkMerge./", true, false},
                           {".linkFallback", false},
                           {kMergeSlash, false},
                           {kHome, false}};

std::string Normalized(const std::string& path) {
  std::string text = std::filesystem::path("/" + path).lexically_normal().string();
  while (text.starts_with("//")) text.erase(0, 1);
  if (text.size() > 1 && text.ends_with('/')) text.pop_back();
  return text;
}

struct ViewPath {
  std::string table, path;
};

// Returns nullopt if `address` is not an address of ViewFs.
std::optional<ViewPath> ViewPathOf(const std::string& address) {
  if (!address.starts_with(kViewScheme)) return std::nullopt;
  const std::string rest = address.substr(kViewScheme.size());
  const size_t slash = std::min(rest.find('/'), rest.size());
  return ViewPath{rest.substr(0, slash), Normalized(rest.substr(slash))};
}

bool HasAuthority(const std::string& target, std::string_view scheme) {
  return target.starts_with(scheme) && target.size() > scheme.size() && target[scheme.size()] != '/';
}

std::string Described(const std::string& origin, const std::string& key) {
  return StrCat(origin.empty() ? "" : origin + ": ", kMountTablePrefix, key);
}

// In ToText(), all other bytes are written as %XX.
bool IsPlain(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
         std::string_view("-._~/:").find(c) != std::string_view::npos;
}

std::string EscapedWord(const std::string& text) {
  std::string word;
  for (const char c : text) word += IsPlain(c) ? std::string(1, c) : "%" + ToHex(std::string_view(&c, 1));
  return word;
}

std::string UnescapedWord(const std::string& word) {
  std::string text;
  for (size_t at = 0; at < word.size(); ++at) {
    unsigned char byte = 0;
    const char* digits = word.data() + at + 1;
    if (word[at] != '%' || word.size() - at < 3 || std::from_chars(digits, digits + 2, byte, 16).ptr != digits + 2) {
      text += word[at];
      continue;
    }
    text += static_cast<char>(byte);
    at += 2;
  }
  return text;
}

}  // namespace

MountTables::MountTables(std::vector<MountEntry> entries) : entries_(std::move(entries)) {
  for (const MountEntry& entry : entries_) Add(entry);
  for (auto& [name, table] : tables_)
    if (!table.merge.empty() && table.entries > 1)
      table.refusal = table.merge + ": a mount table with this entry cannot have links";
}

void MountTables::Add(const MountEntry& entry) {
  if (entry.key == kDefaultNameKey) {
    default_name_ = entry.value;
    return;
  }
  const auto kind = std::ranges::find_if(kKinds, [&](const Kind& one) { return one.IsIn(entry.key); });
  if (kind == std::end(kKinds)) return;
  const size_t begin = entry.key.find(kind->text);
  Table& table = tables_[entry.key.substr(0, begin)];
  const std::string path = Normalized(kind->has_path ? entry.key.substr(entry.key.find("./", begin) + 1) : "/");
  const std::string key = Described(entry.origin, entry.key);
  if (kind->text == kHome) {
    table.home = Normalized(entry.value);
    return;
  }
  if (kind->text == kMergeSlash) table.merge = key;
  if (!kind->is_followed) table.refusal = key + ": TonY follows only link./PATH, linkFallback and linkMergeSlash";
  if (kind->has_path && path == kRoot) table.refusal = key + ": expected linkMergeSlash for a link of /";
  ++table.entries;
  table.links.insert_or_assign(path, Link{entry.key, entry.value, entry.origin});
}

Result<const MountTables::Table*> MountTables::TableOf(const std::string& name) const {
  const auto found = tables_.find(name.empty() ? default_name_ : name);
  if (found == tables_.end())
    return InvalidError(kViewScheme, name, ": the site files have no mount table of this name; expected keys ",
                        kMountTablePrefix, name.empty() ? default_name_ : name, ".link./PATH");
  if (!found->second.refusal.empty()) return InvalidError(found->second.refusal);
  return &found->second;
}

// Follows the longest link that has the path.
Result<std::string> MountTables::Follow(const std::string& address) const {
  const auto view = ViewPathOf(address);
  TRY_ASSIGN(const Table* const table, TableOf(view->table));
  std::string place = view->path;
  auto link = table->links.find(place);
  while (link == table->links.end() && place != kRoot) {
    place = std::filesystem::path(place).parent_path().string();
    link = table->links.find(place);
  }
  if (link == table->links.end()) {
    std::vector<std::string> paths;
    for (const auto& [path, unused] : table->links) paths.push_back(path);
    return InvalidError(address, ": no link of the mount table has this path; its links are ",
                        paths.empty() ? "none" : Join(paths, ", "));
  }
  std::string target = link->second.target;
  const bool is_nfly = link->second.key.find(kNfly) != std::string::npos;
  if (is_nfly || (!HasAuthority(target, kHdfsScheme) && !target.starts_with(kViewScheme)))
    return InvalidError(Described(link->second.origin, link->second.key), " is \"", target,
                        "\", expected a link to hdfs://HOST:PORT/PATH, hdfs://NAME/PATH or viewfs://NAME/PATH");
  while (target.ends_with('/') && !target.ends_with("://")) target.pop_back();
  return target + (place == kRoot ? view->path : view->path.substr(place.size()));
}

Result<std::string> MountTables::Resolve(const std::string& address) const {
  std::string at = address;
  for (size_t followed = 0; at.starts_with(kViewScheme); ++followed) {
    if (followed > entries_.size())
      return InvalidError(address, ": the links of the mount tables lead round in a circle");
    TRY_ASSIGN(at, Follow(at));
  }
  return at;
}

Result<std::string> MountTables::HomeOf(const std::string& address, const std::string& user) const {
  const auto view = ViewPathOf(address);
  TRY_ASSIGN(const Table* const table, TableOf(view->table));
  return StrCat(kViewScheme, view->table, table->home, "/", user);
}

std::string MountTables::ToText() const {
  std::vector<std::string> words;
  for (const MountEntry& entry : entries_)
    words.push_back(StrCat(EscapedWord(entry.key), "=", EscapedWord(entry.value)));
  return Join(words, ",");
}

MountTables MountTables::FromText(const std::string& text) {
  std::vector<MountEntry> entries;
  for (const std::string& word : Split(text, ',')) {
    const size_t equals = std::min(word.find('='), word.size());
    const std::string value = word.substr(std::min(equals + 1, word.size()));
    entries.push_back({UnescapedWord(word.substr(0, equals)), UnescapedWord(value), ""});
  }
  return MountTables(std::move(entries));
}

}  // namespace tony::hadoop
