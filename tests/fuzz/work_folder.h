// A folder for the files of one fuzz process, and a file without a name. ./run removes the folder also if the process
// crashes.
#pragma once

#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include <filesystem>
#include <string>
#include <string_view>

#include "runtime/base/check.h"
#include "runtime/base/unique_fd.h"

namespace tony::fuzz {

class WorkFolder {
 public:
  WorkFolder() {
    std::string name = (std::filesystem::temp_directory_path() / "tony-fuzz-XXXXXX").string();
    CHECK(mkdtemp(name.data()) != nullptr);
    path_ = name;
  }
  ~WorkFolder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  WorkFolder(const WorkFolder&) = delete;
  const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
};

inline UniqueFd NamelessFile(std::string_view bytes) {
  UniqueFd fd(memfd_create("input", MFD_CLOEXEC));
  CHECK(fd.valid() && write(fd.get(), bytes.data(), bytes.size()) == static_cast<ssize_t>(bytes.size()));
  CHECK(lseek(fd.get(), 0, SEEK_SET) == 0);
  return fd;
}

}  // namespace tony::fuzz
