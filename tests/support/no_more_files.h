// A shortage of file descriptors for a test.
#pragma once

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/resource.h>

#include <vector>

#include "runtime/base/unique_fd.h"

namespace tony {

// While it lives, this process can open only `but` more files.
class NoMoreFiles {
 public:
  explicit NoMoreFiles(size_t but = 0) {
    EXPECT_EQ(getrlimit(RLIMIT_NOFILE, &before_), 0);
    const rlimit few = {FirstBehind(but), before_.rlim_max};
    EXPECT_EQ(setrlimit(RLIMIT_NOFILE, &few), 0);
  }
  ~NoMoreFiles() { EXPECT_EQ(setrlimit(RLIMIT_NOFILE, &before_), 0); }
  NoMoreFiles(const NoMoreFiles&) = delete;

 private:
  // Relies on the rule that a new descriptor gets the lowest free number.
  static rlim_t FirstBehind(size_t free) {
    std::vector<UniqueFd> opened;
    while (opened.size() <= free) opened.emplace_back(open("/dev/null", O_RDONLY | O_CLOEXEC));
    return static_cast<rlim_t>(opened.back().get());
  }

  rlimit before_{};
};

}  // namespace tony
