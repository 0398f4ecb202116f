#include "tests/power/recorded_disk.h"

#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <map>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

#include "tests/support/file_front.h"
#include "tests/support/temp_folder.h"

namespace tony {
namespace {

namespace fs = std::filesystem;

using Names = std::map<std::string, int>;  // name -> node

// A file or a folder.
struct Node {
  bool is_folder = false;
  std::string content, synced_content;
  Names names, synced_names;
};

// The change that one call made to the tree.
struct Step {
  std::string text;
  std::function<void(std::vector<Node>&, std::set<std::string>& promised)> act;
};

// Reads the file because its bytes may come from anywhere: the kernel may have copied them from another file.
std::string ContentOf(int fd) {
  std::string content;
  char buffer[65536];
  for (ssize_t size; (size = pread(fd, buffer, sizeof buffer, static_cast<off_t>(content.size()))) > 0;)
    content.append(buffer, static_cast<size_t>(size));
  return content;
}

// Keeps the tree in its present state, to find nodes by path, and the steps that made it.
class Recorder : public FileHook {
 public:
  explicit Recorder(fs::path root) : root_(std::move(root)) { nodes_.push_back({.is_folder = true}); }

  std::unique_lock<std::mutex> Lock(const FileCall& call) override {
    // Calls without changes take no lock because they may wait for another thread.
    const bool changes = call.name != "read" && call.name != "lock" && call.name != "stat" && call.name != "list";
    return changes ? std::unique_lock(mutex_) : std::unique_lock<std::mutex>();
  }
  void After(const FileCall& call, long result) override {
    if (call.name == "open") Opened(call, static_cast<int>(result));
    if (call.name == "close") files_[call.fd] = -1;
    if (call.name == "write") Wrote(call, result);
    if (call.name == "resize" && NodeOf(call.fd) >= 0) Resize(NodeOf(call.fd), call.size);
    if (call.name == "fsync" || call.name == "fdatasync" || call.name == "syncfs") Synced(call);
    if (call.path) ChangedNames(call);
  }

  void Promise(const std::string& what) {
    Do("promise " + what, [=](auto&, auto& promised) { promised.insert(what); });
  }
  const std::vector<Step>& steps() const { return steps_; }

 private:
  struct Place {
    int folder = -1;  // -1: outside the recorded folder
    std::string name;
  };
  Place Find(int directory, const char* text) const {
    const fs::path path(text);
    if (path.is_relative()) {
      const int folder = NodeOf(directory);
      return {path.has_parent_path() ? -1 : folder, path.filename()};
    }
    const fs::path below = Below(path);
    if (below.empty() || *below.begin() == ".." || below == ".") return {};
    int folder = 0;
    for (const auto& part : below.parent_path()) folder = NodeAt({folder, part});
    return {folder, below.filename()};
  }
  bool IsRoot(const char* path) const { return Below(path) == "."; }
  int NodeAt(const Place& place) const {
    if (place.folder < 0) return -1;
    const Names& names = nodes_[place.folder].names;
    const auto found = names.find(place.name);
    return found == names.end() ? -1 : found->second;
  }
  int NodeOf(int fd) const {
    const auto found = files_.find(fd);
    return found == files_.end() ? -1 : found->second;
  }

  void Opened(const FileCall& call, int fd) {
    const auto place = Find(call.fd, call.path);
    int node = IsRoot(call.path) ? 0 : NodeAt(place);
    if (node < 0 && place.folder >= 0 && (call.flags & O_CREAT) != 0) node = Make(place, false);
    if (node > 0 && (call.flags & O_TRUNC) != 0) Resize(node, 0);
    files_[fd] = node;
  }
  void Wrote(const FileCall& call, long size) {
    const int node = size > 0 && call.bytes ? NodeOf(call.fd) : -1;
    if (node < 0) return;
    const off_t at = call.offset >= 0 ? call.offset : lseek(call.fd, 0, SEEK_CUR) - size;
    Write(node, static_cast<size_t>(at), {static_cast<const char*>(call.bytes), static_cast<size_t>(size)});
  }
  void Synced(const FileCall& call) {
    const int node = NodeOf(call.fd);
    if (node < 0) return;
    if ((fcntl(call.fd, F_GETFL) & O_ACCMODE) == O_RDWR) Write(node, 0, ContentOf(call.fd));
    if (call.name == "syncfs") {
      SyncAll();
    } else {
      Sync(node);
    }
  }
  void ChangedNames(const FileCall& call) {
    const auto from = Find(call.fd, call.path);
    const auto to = call.to ? Find(AT_FDCWD, call.to) : Place();
    if (call.name == "mkdir" && from.folder >= 0) Make(from, true);
    if (call.name == "unlink" && from.folder >= 0) Remove(from);
    if (from.folder < 0 || to.folder < 0) return;
    if (call.name == "rename") Move(from, to, (call.flags & RENAME_EXCHANGE) != 0);
    if (call.name == "link") Link(from, to);
  }

  int Make(const Place& at, bool is_folder) {
    const int node = static_cast<int>(nodes_.size());
    Do("make " + at.name, [=](auto& nodes, auto&) {
      nodes.push_back({.is_folder = is_folder});
      nodes[at.folder].names[at.name] = node;
    });
    return node;
  }
  void Write(int node, size_t offset, const std::string& bytes) {
    Do("write", [=](auto& nodes, auto&) {
      std::string& content = nodes[node].content;
      content.resize(std::max(content.size(), offset + bytes.size()));
      content.replace(offset, bytes.size(), bytes);
    });
  }
  void Resize(int node, size_t size) {
    Do("resize", [=](auto& nodes, auto&) { nodes[node].content.resize(size); });
  }
  void Sync(int node) {
    Do("sync", [=](auto& nodes, auto&) { SyncNode(nodes[node]); });
  }
  void SyncAll() {
    Do("sync all", [](auto& nodes, auto&) { std::ranges::for_each(nodes, SyncNode); });
  }
  void Move(const Place& from, const Place& to, bool exchange) {
    Do("rename " + to.name, [=, node = NodeAt(from), other = NodeAt(to)](auto& nodes, auto&) {
      nodes[from.folder].names.erase(from.name);
      if (exchange) nodes[from.folder].names[from.name] = other;
      nodes[to.folder].names[to.name] = node;
    });
  }
  void Link(const Place& from, const Place& to) {
    Do("link " + to.name, [=, node = NodeAt(from)](auto& nodes, auto&) { nodes[to.folder].names[to.name] = node; });
  }
  void Remove(const Place& at) {
    Do("remove " + at.name, [=](auto& nodes, auto&) { nodes[at.folder].names.erase(at.name); });
  }

  fs::path Below(const fs::path& path) const {
    // "x/.tony/.." becomes a path with a final slash
    const fs::path normal = path.lexically_normal();
    return (normal.has_filename() ? normal : normal.parent_path()).lexically_relative(root_);
  }
  static void SyncNode(Node& node) {
    node.synced_content = node.content;
    node.synced_names = node.names;
  }
  template <class Act>
  void Do(std::string text, Act act) {
    std::set<std::string> ignored;
    act(nodes_, ignored);
    steps_.push_back({std::move(text), std::move(act)});
  }

  const fs::path root_;
  std::vector<Node> nodes_;
  // descriptor -> node; -1: outside or closed
  std::map<int, int> files_;
  std::vector<Step> steps_;
};

Recorder* recorder = nullptr;

void Build(const std::vector<Node>& nodes, const Node& folder, const fs::path& at, Survives survives) {
  for (const auto& [name, number] : survives == Survives::kNames ? folder.names : folder.synced_names) {
    const Node& node = nodes[number];
    if (node.is_folder) {
      fs::create_directory(at / name);
      Build(nodes, node, at / name, survives);
    } else {
      std::ofstream(at / name, std::ios::binary)
          << (survives == Survives::kContents ? node.content : node.synced_content);
    }
  }
}

}  // namespace

RecordedDisk::RecordedDisk(const fs::path& folder) {
  static std::unique_ptr<Recorder> only;
  only = std::make_unique<Recorder>(folder);
  recorder = only.get();
  SetFileHook(recorder);
}

RecordedDisk::~RecordedDisk() { SetFileHook(nullptr); }

void RecordedDisk::Promise(const std::string& what) { recorder->Promise(what); }

void RecordedDisk::ForEachCut(const std::function<void(const PowerCut&)>& look) {
  SetFileHook(nullptr);
  const std::vector<Step> steps = recorder->steps();
  static constexpr std::pair<Survives, const char*> kKinds[] = {
      {Survives::kSynced, ""}, {Survives::kNames, ", names survive"}, {Survives::kContents, ", contents survive"}};
  std::vector<Node> nodes = {{.is_folder = true}};
  std::set<std::string> promised;
  for (size_t i = 0; i < steps.size(); ++i) {
    steps[i].act(nodes, promised);
    for (const auto& [survives, text] : kKinds) {
      const TempFolder left;
      Build(nodes, nodes[0], left.path(), survives);
      look({left.path(), promised,
            "after " + std::to_string(i + 1) + " of " + std::to_string(steps.size()) + ", " + steps[i].text + text});
    }
  }
}

}  // namespace tony
