// A test bed with a store, sources to stage into it, and views of the store's contents.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <fstream>
#include <set>
#include <sstream>
#include <string>

#include "runtime/os/files.h"
#include "runtime/staging/stage.h"
#include "tests/support/archive_builder.h"
#include "tests/support/temp_folder.h"

namespace tony {

class StagingTest : public ::testing::Test {
 protected:
  using fs_path = std::filesystem::path;
  using Entries = std::vector<BuiltEntry>;
  using Kind = BuiltEntry::Kind;

  StagingTest() { std::filesystem::create_directories(src_); }
  ~StagingTest() override {
    EXPECT_TRUE(RemoveTree(home_).ok());
    EXPECT_FALSE(std::filesystem::exists(temp_.path() / "escaped")) << "something was written outside";
  }

  static void Write(const fs_path& path, const std::string& text) {
    std::filesystem::create_directories(path.parent_path());
    std::ofstream(path, std::ios::binary) << text;
  }
  static std::string Text(const fs_path& path) {
    std::ostringstream text;
    text << std::ifstream(path, std::ios::binary).rdbuf();
    return text.str();
  }
  static struct stat Look(const fs_path& path) {
    struct stat info {};
    EXPECT_EQ(lstat(path.c_str(), &info), 0) << path;
    return info;
  }
  static mode_t Mode(const fs_path& path) { return Look(path).st_mode & 07777; }

  // Returns all names in the store except its lock, manifests and remembered hashes.
  std::set<std::string> InStore() const {
    std::set<std::string> names;
    std::error_code error;
    for (const auto& entry : std::filesystem::directory_iterator(home_ / "staged", error)) {
      const std::string name = entry.path().filename();
      if (name != ".lock" && !name.starts_with(".manifest-") && !name.starts_with(".hashes-")) names.insert(name);
    }
    return names;
  }

  static JobSpec Job() {
    JobSpec spec;
    RoleSpec worker;
    worker.name = "worker";
    worker.command = "python3 train.py";
    spec.roles = {worker};
    return spec;
  }
  JobSpec JobOfFolder() const {
    JobSpec spec = Job();
    spec.src_dir = src_.string();
    return spec;
  }
  JobSpec JobOfArchive(const Entries& entries, ArchiveForm form = ArchiveForm::kTar) const {
    BuildArchive(archive_, form, entries);
    JobSpec spec = Job();
    spec.src_dir = archive_.string();
    return spec;
  }

  Result<StagedFiles> StageIt(const JobSpec& spec) {
    TRY_ASSIGN(const StagedStore store, StagedStore::Open(home_, stop_.get_token()));
    const StageWatch watch = {[this](const StageProgress& progress) { progress_ = progress; }, stop_.get_token()};
    return Stage(spec, store, watch, look_, limits_);
  }
  // Stages the job, and returns the entry that was made of its src_dir.
  fs_path Staged(const JobSpec& spec) {
    const auto staged = StageIt(spec);
    EXPECT_TRUE(staged.ok()) << staged.error().message;
    return staged.ok() && !staged->job.empty() ? staged->job.back().path : fs_path("/nowhere");
  }
  // Expects that staging is refused and leaves nothing in the store; returns the error.
  Error Refused(const JobSpec& spec) {
    const auto staged = StageIt(spec);
    EXPECT_FALSE(staged.ok());
    EXPECT_THAT(InStore(), ::testing::IsEmpty());
    return staged.ok() ? Error{} : staged.error();
  }

  TempFolder temp_;
  const fs_path home_ = temp_.path() / "home";
  const fs_path src_ = temp_.path() / "src";
  const fs_path archive_ = temp_.path() / "archive";
  std::stop_source stop_;
  ListRemoteFiles look_ = NoRemoteFiles;
  UnpackLimits limits_;
  StageProgress progress_;  // the newest progress
};

}  // namespace tony
