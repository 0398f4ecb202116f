#include "tests/power/recorded_disk.h"

#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cstdarg>
#include <fstream>
#include <map>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

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

// What one call did to the tree.
struct Step {
  std::string text;
  std::function<void(std::vector<Node>&, std::set<std::string>& promised)> act;
};

// The tree as it is now, to find nodes by path, and the steps that made it.
class Recorder {
 public:
  explicit Recorder(fs::path root) : root_(std::move(root)) { nodes_.push_back({.is_folder = true}); }

  struct Place {
    int folder = -1;  // -1: elsewhere
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
  void Opened(int fd, int node) { files_[fd] = node; }

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
  void Promise(const std::string& what) {
    Do("promise " + what, [=](auto&, auto& promised) { promised.insert(what); });
  }

  const std::vector<Step>& steps() const { return steps_; }
  std::mutex mutex;

 private:
  fs::path Below(const fs::path& path) const {
    const fs::path normal = path.lexically_normal();  // "x/.tony/.." ends with a slash then
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
  std::map<int, int> files_;  // descriptor -> node; -1: elsewhere, or closed
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

// The recorder's lock, for the time of a call; nothing while nobody records.
std::unique_lock<std::mutex> Locked() {
  return recorder ? std::unique_lock(recorder->mutex) : std::unique_lock<std::mutex>();
}

int OpenAt(int directory, const char* path, int flags, mode_t mode) {
  const auto lock = Locked();
  const int fd = static_cast<int>(syscall(SYS_openat, directory, path, flags, mode));
  if (!recorder || fd < 0) return fd;
  const auto place = recorder->Find(directory, path);
  int node = recorder->IsRoot(path) ? 0 : recorder->NodeAt(place);
  if (node < 0 && place.folder >= 0 && (flags & O_CREAT) != 0) node = recorder->Make(place, false);
  if (node > 0 && (flags & O_TRUNC) != 0) recorder->Resize(node, 0);
  recorder->Opened(fd, node);
  return fd;
}

int MoveAt(const char* from, const char* to, unsigned flags) {
  const auto lock = Locked();
  const long done = syscall(SYS_renameat2, AT_FDCWD, from, AT_FDCWD, to, flags);
  if (recorder && done == 0) {
    const auto source = recorder->Find(AT_FDCWD, from), target = recorder->Find(AT_FDCWD, to);
    if (source.folder >= 0 && target.folder >= 0) recorder->Move(source, target, (flags & RENAME_EXCHANGE) != 0);
  }
  return static_cast<int>(done);
}

int LinkAt(const char* from, const char* to) {
  const auto lock = Locked();
  const long done = syscall(SYS_linkat, AT_FDCWD, from, AT_FDCWD, to, 0);
  if (recorder && done == 0) {
    const auto source = recorder->Find(AT_FDCWD, from), target = recorder->Find(AT_FDCWD, to);
    if (source.folder >= 0 && target.folder >= 0) recorder->Link(source, target);
  }
  return static_cast<int>(done);
}

int RemoveAt(int directory, const char* path, int flags) {
  const auto lock = Locked();
  const long done = syscall(SYS_unlinkat, directory, path, flags);
  if (recorder && done == 0) {
    const auto place = recorder->Find(directory, path);
    if (place.folder >= 0) recorder->Remove(place);
  }
  return static_cast<int>(done);
}

// However it came there: the kernel may have copied it from another file.
std::string ContentOf(int fd) {
  std::string content;
  char buffer[65536];
  for (long size; (size = syscall(SYS_pread64, fd, buffer, sizeof buffer, content.size())) > 0;)
    content.append(buffer, static_cast<size_t>(size));
  return content;
}

int SyncFd(long call, int fd) {
  const auto lock = Locked();
  const long done = syscall(call, fd);
  const int node = recorder && done == 0 ? recorder->NodeOf(fd) : -1;
  if (node >= 0 && (fcntl(fd, F_GETFL) & O_ACCMODE) == O_RDWR) recorder->Write(node, 0, ContentOf(fd));
  if (node >= 0 && call != SYS_syncfs) recorder->Sync(node);
  if (node >= 0 && call == SYS_syncfs) recorder->SyncAll();
  return static_cast<int>(done);
}

void Wrote(int fd, const void* bytes, ssize_t size, off_t end) {
  const int node = recorder && size > 0 ? recorder->NodeOf(fd) : -1;
  if (node >= 0)
    recorder->Write(node, static_cast<size_t>(end - size),
                    {static_cast<const char*>(bytes), static_cast<size_t>(size)});
}

}  // namespace

RecordedDisk::RecordedDisk(const fs::path& folder) {
  static std::unique_ptr<Recorder> only;
  only = std::make_unique<Recorder>(folder);
  recorder = only.get();
}

RecordedDisk::~RecordedDisk() { recorder = nullptr; }

void RecordedDisk::Promise(const std::string& what) { recorder->Promise(what); }

void RecordedDisk::ForEachCut(const std::function<void(const PowerCut&)>& look) {
  const std::vector<Step> steps = std::exchange(recorder, nullptr)->steps();
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

// In front of the C library. Each does the kernel's call, as it would be done without it.
extern "C" {

int open(const char* path, int flags, ...) {
  va_list rest;
  va_start(rest, flags);
  const mode_t mode = (flags & (O_CREAT | O_TMPFILE)) != 0 ? va_arg(rest, mode_t) : 0;
  va_end(rest);
  return OpenAt(AT_FDCWD, path, flags, mode);
}

int openat(int directory, const char* path, int flags, ...) {
  va_list rest;
  va_start(rest, flags);
  const mode_t mode = (flags & (O_CREAT | O_TMPFILE)) != 0 ? va_arg(rest, mode_t) : 0;
  va_end(rest);
  return OpenAt(directory, path, flags, mode);
}

int close(int fd) {
  const auto lock = Locked();
  if (recorder) recorder->Opened(fd, -1);
  return static_cast<int>(syscall(SYS_close, fd));
}

ssize_t write(int fd, const void* bytes, size_t size) {
  const auto lock = Locked();
  const ssize_t done = syscall(SYS_write, fd, bytes, size);
  if (recorder && recorder->NodeOf(fd) >= 0) Wrote(fd, bytes, done, lseek(fd, 0, SEEK_CUR));
  return done;
}

ssize_t pwrite(int fd, const void* bytes, size_t size, off_t offset) {
  const auto lock = Locked();
  const ssize_t done = syscall(SYS_pwrite64, fd, bytes, size, offset);
  Wrote(fd, bytes, done, offset + done);
  return done;
}

int ftruncate(int fd, off_t size) noexcept {
  const auto lock = Locked();
  const long done = syscall(SYS_ftruncate, fd, size);
  const int node = recorder && done == 0 ? recorder->NodeOf(fd) : -1;
  if (node >= 0) recorder->Resize(node, static_cast<size_t>(size));
  return static_cast<int>(done);
}

int mkdir(const char* path, mode_t mode) noexcept {
  const auto lock = Locked();
  const long done = syscall(SYS_mkdir, path, mode);
  if (recorder && done == 0) {
    const auto place = recorder->Find(AT_FDCWD, path);
    if (place.folder >= 0) recorder->Make(place, true);
  }
  return static_cast<int>(done);
}

int rename(const char* from, const char* to) noexcept { return MoveAt(from, to, 0); }
int renameat2(int, const char* from, int, const char* to, unsigned flags) noexcept { return MoveAt(from, to, flags); }
int link(const char* from, const char* to) noexcept { return LinkAt(from, to); }
int unlink(const char* path) noexcept { return RemoveAt(AT_FDCWD, path, 0); }
int unlinkat(int directory, const char* path, int flags) noexcept { return RemoveAt(directory, path, flags); }
int rmdir(const char* path) noexcept { return RemoveAt(AT_FDCWD, path, AT_REMOVEDIR); }
int fsync(int fd) { return SyncFd(SYS_fsync, fd); }
int fdatasync(int fd) { return SyncFd(SYS_fdatasync, fd); }
int syncfs(int fd) noexcept { return SyncFd(SYS_syncfs, fd); }

}  // extern "C"

}  // namespace tony
