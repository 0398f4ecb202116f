// A temporary folder for one test; removed with everything in it.
#pragma once

#include <gtest/gtest.h>
#include <stdlib.h>
#include <unistd.h>

#include <filesystem>
#include <string>

namespace tony {

// Returns a folder in memory, which needs no disk, if there is one.
inline std::filesystem::path MemoryFolder() {
  const std::filesystem::path shared = "/dev/shm";
  return access(shared.c_str(), W_OK | X_OK) == 0 ? shared : std::filesystem::temp_directory_path();
}

class TempFolder {
 public:
  explicit TempFolder(const std::filesystem::path& place = std::filesystem::temp_directory_path()) {
    std::string name = (place / "tony-test-XXXXXX").string();
    EXPECT_NE(mkdtemp(name.data()), nullptr) << name;
    path_ = name;
  }
  ~TempFolder() {
    // A test that made something unremovable has failed already.
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  TempFolder(const TempFolder&) = delete;

  const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
};

}  // namespace tony
