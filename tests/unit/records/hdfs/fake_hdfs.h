// HDFS in memory. It behaves as Hadoop 3.4.3 was observed to behave (tests/conformance/hadoop), and a test decides what
// the network does to each call. Any thread may call it.
#pragma once

#include <algorithm>
#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "runtime/base/strings.h"
#include "runtime/records/hdfs/hdfs_calls.h"
#include "runtime/records/hdfs/hdfs_record_store.h"

namespace tony {

inline constexpr auto kKept = Durability::kSurvivesPowerCut;
inline const HdfsFolder kJob = {"hdfs://nn:8020", "/jobs/x", "eve"};

// Returns a policy of `count` tries without pauses.
inline HdfsRetryPolicy Tries(size_t count) { return {.pauses = std::vector<Duration>(count - 1, Duration(0))}; }

inline constexpr char kNoXattrs[] =
    "IOException: The XAttr operation has been rejected.  Support for XAttrs has been disabled by setting "
    "dfs.namenode.xattrs.enabled to false.";

class FakeHdfs : public HdfsCalls {
 public:
  enum class Fate {
    kAnswered,
    kNotDone,   // not done, not answered
    kUnheard,   // done, not answered
    kLate,      // not answered; done by RunLate()
    kRepeated,  // done twice; second answer arrives
    // Not answered. Create writes only the first half of the bytes.
    kCut,
  };
  // Returns what happens to the next call; null: every call is answered.
  std::function<Fate(std::string_view call)> fate;
  std::function<void(std::string_view call)> before;  // run before each call
  std::optional<Error> refuses_all;
  bool takes_xattrs = true;
  size_t largest_xattr = 16'384;
  std::vector<std::string> asked;  // calls received, e.g. "CREATE /a/b"
  Instant now{};                   // modification time of new changes

  // Performs one of the late calls. Returns false if no late call is left.
  bool RunLate(size_t which = 0) {
    std::unique_lock lock(mutex_);
    if (late_.empty()) return false;
    const auto at = late_.begin() + static_cast<std::ptrdiff_t>(which % late_.size());
    const auto act = std::move(*at);
    late_.erase(at);
    act();
    return true;
  }
  std::vector<std::string> Files() const {
    const std::lock_guard lock(mutex_);
    std::vector<std::string> paths;
    for (const auto& [path, node] : nodes_) {
      if (!node.is_folder) paths.push_back(path);
    }
    return paths;
  }
  void SetOwner(const std::string& path, const std::string& owner) { nodes_.at(path).owner = owner; }

  Status MakeFolders(const std::string& path) override {
    return Act<Status>("MKDIRS", path, [=, this](bool) -> Status {
      for (size_t end = path.find('/', 1);; end = path.find('/', end + 1)) {
        const auto [at, is_new] = nodes_.emplace(path.substr(0, end), Node{true});
        if (is_new) Changed(at->first);
        const Node& node = at->second;
        if (!node.is_folder) return Refused(ErrorCode::kCannotWrite, "ParentNotDirectoryException");
        if (end == std::string::npos) return Ok();
      }
    });
  }
  Result<hadoop::HdfsEntry> GetEntry(const std::string& path) override {
    return Act<Result<hadoop::HdfsEntry>>("GETFILESTATUS", path, [=, this](bool) -> Result<hadoop::HdfsEntry> {
      if (!nodes_.count(path)) return Missing();
      return EntryOf("", nodes_[path]);
    });
  }
  Result<std::vector<hadoop::HdfsEntry>> List(const std::string& path) override {
    using Entries = std::vector<hadoop::HdfsEntry>;
    return Act<Result<Entries>>("LISTSTATUS", path, [=, this](bool) -> Result<Entries> {
      if (!nodes_.count(path)) return Missing();
      Entries entries;
      for (const auto& [other, node] : nodes_) {
        const std::string_view name = std::string_view(other).substr(std::min(other.size(), path.size() + 1));
        if (!name.empty() && other.starts_with(path + "/") && name.find('/') == std::string::npos)
          entries.push_back(EntryOf(name, node));
      }
      return entries;
    });
  }
  Result<bool> Create(const std::string& path, std::string_view view) override {
    return Act<Result<bool>>("CREATE", path, [=, this, bytes = std::string(view)](bool cut) -> Result<bool> {
      if (!HasParent(path)) return Missing();
      if (nodes_.count(path)) return false;
      nodes_[path].bytes = cut ? bytes.substr(0, bytes.size() / 2) : bytes;
      Changed(path);
      return true;
    });
  }
  Result<std::string> Read(const std::string& path) override {
    return Act<Result<std::string>>("OPEN", path, [=, this](bool) -> Result<std::string> {
      if (!nodes_.count(path)) return Missing();
      return nodes_[path].bytes;
    });
  }
  Result<bool> Rename(const std::string& from, const std::string& to, hadoop::HdfsRename how) override {
    return Act<Result<bool>>("RENAME", from, [=, this](bool) -> Result<bool> {
      if (!nodes_.count(from) || !HasParent(to)) return Missing();
      if (nodes_.count(to) && how == hadoop::HdfsRename::kIfNew) return false;
      if (nodes_.count(to) && nodes_[to].is_folder) return Refused(ErrorCode::kCannotWrite, "IOException");
      std::map<std::string, Node> moved;
      for (const std::string& path : TreeOf(from)) moved[to + path.substr(from.size())] = std::move(nodes_[path]);
      for (const std::string& path : TreeOf(from)) nodes_.erase(path);
      for (auto& [path, node] : moved) nodes_[path] = std::move(node);
      for (const std::string& path : {from, to}) ChangedIn(path);
      return true;
    });
  }
  Result<bool> Remove(const std::string& path) override {
    return Act<Result<bool>>("DELETE", path, [=, this](bool) -> Result<bool> {
      const std::vector<std::string> tree = TreeOf(path);
      for (const std::string& gone : tree) nodes_.erase(gone);
      if (!tree.empty()) ChangedIn(path);
      return !tree.empty();
    });
  }
  Result<bool> SetXattr(const std::string& path, const std::string& name, std::string_view view) override {
    return Act<Result<bool>>("SETXATTR", path, [=, this, value = std::string(view)](bool) -> Result<bool> {
      if (!takes_xattrs) return Refused(ErrorCode::kCannotWrite, kNoXattrs);
      if (!nodes_.count(path)) return Missing();
      Xattrs& xattrs = nodes_[path].xattrs;
      if (xattrs.count(name)) return false;
      if (name.size() + value.size() > largest_xattr) return Refused(ErrorCode::kInvalid, "the XAttr is too big");
      if (xattrs.size() == 32) return Refused(ErrorCode::kCannotWrite, "cannot add additional XAttr to inode");
      xattrs[name] = value;
      return true;
    });
  }
  Result<Xattrs> GetXattrs(const std::string& path) override {
    return Act<Result<Xattrs>>("GETXATTRS", path, [=, this](bool) -> Result<Xattrs> {
      if (!takes_xattrs) return Refused(ErrorCode::kUnavailable, kNoXattrs);
      if (!nodes_.count(path)) return Missing();
      return nodes_[path].xattrs;
    });
  }

 private:
  struct Node {
    bool is_folder = false;
    std::string bytes, owner = "eve";
    Xattrs xattrs;
    Instant modified{};
    int64_t id = 0;
  };
  // Gives the new node at `path` its modification time and its number.
  void Changed(const std::string& path) {
    nodes_[path].modified = now;
    nodes_[path].id = ++ids_;
    ChangedIn(path);
  }
  void ChangedIn(const std::string& path) {
    const auto parent = nodes_.find(path.substr(0, path.rfind('/')));
    if (parent != nodes_.end()) parent->second.modified = now;
  }

  template <class T, class Do>
  T Act(std::string_view call, const std::string& path, Do act) {
    // The hook is copied, because it may reset `before`.
    if (const auto hook = before) hook(call);
    const std::lock_guard lock(mutex_);
    asked.push_back(StrCat(call, " ", path));
    if (refuses_all) return *refuses_all;
    const Fate met = fate ? fate(call) : Fate::kAnswered;
    if (met == Fate::kLate) late_.push_back([act] { (void)act(false); });
    if (met == Fate::kNotDone || met == Fate::kLate) return Unheard(call, path);
    if (met == Fate::kRepeated) (void)act(false);
    T result = act(met == Fate::kCut);
    if (met != Fate::kAnswered && met != Fate::kRepeated) return Unheard(call, path);
    return result.ok() ? result : T(Annotate(result.error(), StrCat(call, " ", path)));
  }
  static Error Unheard(std::string_view call, const std::string& path) {
    return {ErrorCode::kUnavailable, StrCat(call, " ", path, ": the answer got lost")};
  }
  static Error Refused(ErrorCode code, std::string_view why) { return {code, std::string(why)}; }
  static Error Missing() { return {ErrorCode::kNotFound, "FileNotFoundException"}; }
  static hadoop::HdfsEntry EntryOf(std::string_view name, const Node& node) {
    return {.name = std::string(name),
            .is_folder = node.is_folder,
            .length = static_cast<int64_t>(node.bytes.size()),
            .modified = node.modified,
            .owner = node.owner,
            .id = node.id};
  }
  bool HasParent(const std::string& path) const {
    const auto parent = nodes_.find(path.substr(0, path.rfind('/')));
    return parent != nodes_.end() && parent->second.is_folder;
  }
  std::vector<std::string> TreeOf(const std::string& path) const {
    std::vector<std::string> tree;
    for (const auto& [other, node] : nodes_) {
      if (other == path || other.starts_with(path + "/")) tree.push_back(other);
    }
    return tree;
  }

  mutable std::mutex mutex_;
  std::map<std::string, Node> nodes_;  // by path
  int64_t ids_ = 0;
  std::vector<std::function<void()>> late_;
};

}  // namespace tony
