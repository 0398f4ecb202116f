// A fixture for tests that need a file system of their own: an ext4 in a file, mounted in a mount namespace that only
// the test and its children see. Only root can run them.
#pragma once

#include <sys/mount.h>

#include "tests/e2e/tony_test.h"

namespace tony {

class OwnDiskTest : public TonyTest {
 protected:
  void SetUp() override {
    if (geteuid() != 0) GTEST_SKIP() << "needs to be root, to mount a file system";
    // The machine has room for one job at a time: the next one is admitted when the previous one has given back its
    // memory.
    box_.SetMachine(R"({"memory_mb":2048})");
  }
  void TearDown() override {
    EXPECT_TRUE(WaitFor([&] { return box_.Processes().empty(); })) << ToString(box_.Processes());
    if (!place_.empty()) umount2(place_.c_str(), MNT_DETACH);
  }

  void MountAt(const fs::path& place) {
    fs::create_directories(place);
    const bool mounted = unshare(CLONE_NEWNS) == 0 && mount("none", "/", nullptr, MS_REC | MS_PRIVATE, nullptr) == 0 &&
                         Shell("truncate -s 64M " + box_.File("disk") + " && mkfs.ext4 -q " + box_.File("disk")) == 0 &&
                         MountFile(place);
    if (!mounted) GTEST_SKIP() << "needs mkfs.ext4 and a loop device";
    place_ = place;
  }
  bool MountFile(const fs::path& place) const {
    return Shell("mount -o loop,errors=remount-ro " + box_.File("disk") + " " + place.string()) == 0;
  }
  int Shell(const std::string& command) const {
    return Background({"/bin/sh", "-c", command}, {"PATH=/usr/sbin:/usr/bin:/sbin:/bin"}, box_.folder()).Wait().exit;
  }

  fs::path place_;
};

}  // namespace tony
