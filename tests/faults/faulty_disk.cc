#include "tests/faults/faulty_disk.h"

#include <fcntl.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cerrno>
#include <iterator>
#include <mutex>
#include <set>

#include "runtime/base/strings.h"
#include "tests/support/file_front.h"
#include "tests/support/temp_folder.h"

namespace tony {
namespace {

namespace fs = std::filesystem;

constexpr int kErrors[] = {EIO, ENOSPC, EMFILE};
constexpr int kMostOperations = 2000;

constexpr std::string_view kNeedRoom[] = {"write",   "mkdir", "rename",    "link",
                                          "symlink", "fsync", "fdatasync", "syncfs"};

constexpr std::string_view kOfFolders[] = {"unlink", "chmod", "resize"};

bool MayFail(const FileCall& call, int error) {
  if (call.name == "close") return false;
  if (error == EMFILE) return call.name == "open";
  if (error == EROFS && std::ranges::count(kOfFolders, call.name) > 0) return true;
  if (error == EROFS && call.name == "open") return (call.flags & (O_ACCMODE | O_CREAT)) != O_RDONLY;
  if (error != ENOSPC && error != EROFS) return true;
  return std::ranges::count(kNeedRoom, call.name) > 0 || (call.name == "open" && (call.flags & O_CREAT) != 0);
}

std::string PathOf(const FileCall& call) {
  if (!call.path) return PathOfFd(call.fd);
  if (fs::path(call.path).is_absolute() || call.fd < 0) return call.path;
  return StrCat(PathOfFd(call.fd), "/", call.path);
}

}  // namespace

class FaultyDisk::Hook : public FileHook {
 public:
  Hook(fs::path folder, const DiskFault& fault, bool is_sound)
      : folder_(std::move(folder)), fault_(fault), is_sound_(is_sound) {}

  int Before(FileCall& call) override {
    const std::lock_guard lock(mutex_);
    if (is_sound_ || !MayFail(call, fault_.error) || !IsBelow(PathOf(call))) return 0;
    if (call.name == "write" && call.fd == half_written_) {
      half_written_ = -1;
      return fault_.error;
    }
    if (++count_ < fault_.nth || (count_ > fault_.nth && !fault_.stays)) return 0;
    if (count_ > fault_.nth) return fault_.error;
    failed_ = call.name;
    path_ = PathOf(call);
    if (fault_.error != ENOSPC || call.name != "write" || call.size < 2) return fault_.error;
    call.size /= 2;
    half_written_ = call.fd;
    return 0;
  }

  void SetSound(bool is_sound) {
    const std::lock_guard lock(mutex_);
    is_sound_ = is_sound;
  }
  std::string failed() {
    const std::lock_guard lock(mutex_);
    return failed_;
  }
  std::string point() {
    const std::lock_guard lock(mutex_);
    return StrCat(strerrorname_np(fault_.error), " at operation ", fault_.nth, ", ", failed_, " of ", path_,
                  fault_.stays ? ", from then on" : ", once");
  }

 private:
  bool IsBelow(const std::string& path) const {
    const std::string normal = fs::path(path).lexically_normal().string();
    return normal == folder_ || normal.starts_with(folder_.string() + "/");
  }

  const fs::path folder_;
  const DiskFault fault_;
  bool is_sound_;
  int count_ = 0;
  int half_written_ = -1;  // The descriptor whose next write fails.
  std::string failed_, path_;
};

FaultyDisk::FaultyDisk(const fs::path& folder, const DiskFault& fault, bool is_sound)
    : hook_(std::make_unique<Hook>(folder, fault, is_sound)) {
  SetFileHook(hook_.get());
}
FaultyDisk::~FaultyDisk() { SetFileHook(nullptr); }
void FaultyDisk::Break() { hook_->SetSound(false); }
void FaultyDisk::Repair() { hook_->SetSound(true); }
bool FaultyDisk::HasFailed() const { return !hook_->failed().empty(); }
std::string FaultyDisk::failed() const { return hook_->failed(); }
std::string FaultyDisk::point() const { return hook_->point(); }

namespace {

std::ptrdiff_t OpenDescriptors() {
  return std::distance(fs::directory_iterator("/proc/self/fd"), fs::directory_iterator());
}

// Returns names of hidden files without their random parts. Locks and files that are being removed may stay.
std::multiset<std::string> HiddenFiles(const fs::path& folder) {
  std::multiset<std::string> names;
  for (const auto& entry : fs::recursive_directory_iterator(folder)) {
    const std::string name = entry.path().filename();
    const bool may_stay = name == ".tony" || name.starts_with(".busy-") || name.starts_with(".old-");
    if (name.starts_with(".") && !may_stay) names.insert(name.substr(0, 4));
  }
  return names;
}

std::multiset<std::string> HiddenWithoutFault(const FailingCall& failing) {
  const TempFolder folder(MemoryFolder());
  failing.prepare(folder.path());
  const auto before = OpenDescriptors();
  const Status done = failing.call(folder.path());
  EXPECT_TRUE(done.ok()) << done.error().message;
  EXPECT_EQ(OpenDescriptors(), before);
  failing.look(folder.path(), true);
  return HiddenFiles(folder.path());
}

// Returns false if the call ended before the fault.
bool Try(const FailingCall& failing, const DiskFault& fault, const std::multiset<std::string>& usual) {
  const TempFolder folder(MemoryFolder());
  failing.prepare(folder.path());
  FaultyDisk disk(folder.path(), fault);
  const auto before = OpenDescriptors();
  const Status done = failing.call(folder.path());
  EXPECT_EQ(OpenDescriptors(), before) << disk.point();
  disk.Repair();
  if (!disk.HasFailed()) return false;
  SCOPED_TRACE(disk.point());
  const bool is_told = disk.failed().ends_with("sync") || (failing.tells_every_fault && disk.failed() != "access");
  if (is_told) {
    EXPECT_FALSE(done.ok());
  }
  const bool cleans_up = !fault.stays && disk.failed() != "unlink";
  if (cleans_up) {
    EXPECT_TRUE(std::ranges::includes(usual, HiddenFiles(folder.path()))) << "temporary files";
  }
  if (!done.ok() && failing.names_the_file) {
    EXPECT_NE(done.error().message.find(folder.path().string()), std::string::npos) << done.error().message;
  }
  failing.look(folder.path(), done.ok());
  const Status again = failing.call(folder.path());
  EXPECT_TRUE(again.ok()) << again.error().message;
  failing.look(folder.path(), again.ok());
  if (cleans_up) {
    EXPECT_EQ(HiddenFiles(folder.path()), usual);
  }
  return true;
}

}  // namespace

void TryEveryFault(const FailingCall& failing) {
  const std::multiset<std::string> usual = HiddenWithoutFault(failing);
  for (const int error : kErrors) {
    for (const bool stays : {false, true}) {
      int nth = 1;
      while (nth < kMostOperations && Try(failing, {nth, error, stays}, usual)) {
        if (testing::Test::HasFatalFailure()) return;
        ++nth;
      }
      EXPECT_LT(nth, kMostOperations);
      if (error == EIO) {
        EXPECT_GT(nth, 1);
      }
    }
  }
}

}  // namespace tony
