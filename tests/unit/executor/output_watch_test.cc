#include <gtest/gtest.h>

#include <fstream>

#include "executor/attempt_files.h"
#include "tests/support/temp_folder.h"

namespace tony::executor {
namespace {

const Instant kStart{Duration(1'000'000)};

class OutputWatchTest : public testing::Test {
 protected:
  void Write(const char* name) { std::ofstream(temp_.path() / name, std::ios::app) << "a line\n" << std::flush; }

  const TempFolder temp_;
  OutputWatch watch_{{temp_.path() / "stdout", temp_.path() / "stderr"}, kStart};
};

TEST_F(OutputWatchTest, WhoNeverWroteIsQuietSinceItsStart) {
  EXPECT_EQ(watch_.Quiet(kStart + Duration(7000)), Duration(7000));
  EXPECT_EQ(watch_.Quiet(kStart + Duration(9000)), Duration(9000));
}

TEST_F(OutputWatchTest, WhatWasWrittenCountsFromWhenItWas) {
  for (const char* name : {"stdout", "stderr"}) {
    Write(name);
    const Instant look = kStart + Duration(name[3] == 'o' ? 60'000 : 120'000);
    const Duration quiet = watch_.Quiet(look);
    EXPECT_LT(quiet, Duration(30'000)) << "the file was written just now";
    EXPECT_EQ(watch_.Quiet(look + Duration(5000)), quiet + Duration(5000));
  }
}

TEST_F(OutputWatchTest, ItWasWrittenAfterTheLastLookWhateverTheClockSays) {
  watch_.Quiet(kStart + Duration(50'000));
  Write("stdout");
  std::filesystem::last_write_time(temp_.path() / "stdout",
                                   std::filesystem::file_time_type::clock::now() - std::chrono::hours(1));
  EXPECT_EQ(watch_.Quiet(kStart + Duration(60'000)), Duration(10'000));
}

}  // namespace
}  // namespace tony::executor
