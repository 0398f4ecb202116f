#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <fstream>
#include <sstream>

#include "azkaban-plugin/install.h"
#include "tests/support/temp_folder.h"

namespace tony::azkaban {
namespace {

namespace fs = std::filesystem;

class InstallFilesTest : public testing::Test {
 protected:
  InstallFilesTest() : jobtypes_(folder_.path() / "jobtypes") { fs::create_directory(jobtypes_); }

  static void Write(const fs::path& path, const std::string& text) { std::ofstream(path) << text; }
  static std::string Read(const fs::path& path) {
    std::ostringstream text;
    text << std::ifstream(path).rdbuf();
    return text.str();
  }
  static unsigned Mode(const fs::path& path) {
    struct stat status = {};
    EXPECT_EQ(stat(path.c_str(), &status), 0) << path;
    return status.st_mode & 07777;
  }

  TempFolder folder_;
  const fs::path jobtypes_;
};

TEST_F(InstallFilesTest, WhatIsBuiltEveryUserMayReadWhateverTheUmask) {
  const fs::path program = folder_.path() / "tony-x";
  Write(program, "program");
  const PluginContent content{"private", "plugin", {program}, {}};
  const mode_t old = umask(0077);
  const Status built = BuildPlugin(jobtypes_ / "t", content);
  umask(old);
  ASSERT_TRUE(built.ok()) << built.error().message;
  EXPECT_EQ(Mode(jobtypes_ / "t"), 0755u);
  EXPECT_EQ(Mode(jobtypes_ / "t/private.properties"), 0644u);
  EXPECT_EQ(Mode(jobtypes_ / "t/plugin.properties"), 0644u);
  EXPECT_EQ(Mode(jobtypes_ / "t/bin"), 0755u);
  EXPECT_EQ(Mode(jobtypes_ / "t/bin/tony-x"), 0755u);
  EXPECT_EQ(Read(jobtypes_ / "t/bin/tony-x"), "program");
  EXPECT_TRUE(IsBuilt(jobtypes_ / "t", content));
}

TEST_F(InstallFilesTest, WhatDiffersIsNotBuilt) {
  const fs::path program = folder_.path() / "tony-x", built = jobtypes_ / "t";
  Write(program, "program");
  const PluginContent content{"private", "plugin", {program}, {}};
  ASSERT_TRUE(BuildPlugin(built, content).ok());
  PluginContent other = content;
  other.plugin_text = "plugim";
  EXPECT_FALSE(IsBuilt(built, other));
  other = content;
  other.programs.clear();
  EXPECT_FALSE(IsBuilt(built, other));
  chmod((built / "private.properties").c_str(), 0600);
  EXPECT_FALSE(IsBuilt(built, content));
  chmod((built / "private.properties").c_str(), 0644);
  EXPECT_TRUE(IsBuilt(built, content));
  Write(program, "progrAm");
  EXPECT_FALSE(IsBuilt(built, content));
}

TEST_F(InstallFilesTest, TheAdministratorsFurtherFilesAreCarriedOver) {
  const fs::path old = folder_.path() / "old";
  fs::create_directories(old / "lib/deep");
  fs::create_directory(old / "bin");
  Write(old / "lib/deep/x.jar", "jar");
  Write(old / "notes", "mine");
  Write(old / "plugin.properties", "old");
  fs::create_symlink("notes", old / "link");
  EXPECT_THAT(FurtherFiles(old), testing::ElementsAre("lib", "link", "notes"));
  ASSERT_TRUE(BuildPlugin(jobtypes_ / "t", {"private", "plugin", {}, old}).ok());
  EXPECT_EQ(Read(jobtypes_ / "t/lib/deep/x.jar"), "jar");
  EXPECT_EQ(Read(jobtypes_ / "t/link"), "mine");
  EXPECT_TRUE(fs::is_symlink(jobtypes_ / "t/link"));
  EXPECT_EQ(Read(jobtypes_ / "t/plugin.properties"), "plugin");
  EXPECT_FALSE(fs::exists(jobtypes_ / "t/bin"));
}

TEST_F(InstallFilesTest, TheFolderToWorkInStandsBesideAndGoesWithItsObject) {
  {
    const auto work = WorkFolder::Make(jobtypes_);
    ASSERT_TRUE(work.ok()) << work.error().message;
    EXPECT_EQ(work->path().parent_path(), folder_.path());
    Write(work->path() / "x", "");
    EXPECT_THAT(Leftovers(jobtypes_), testing::ElementsAre(work->path()));
  }
  EXPECT_THAT(Leftovers(jobtypes_), testing::IsEmpty());
  EXPECT_TRUE(fs::is_empty(jobtypes_));
}

TEST_F(InstallFilesTest, TwoInstallationsDoNotWorkBesideEachOther) {
  const auto one = LockBeside(jobtypes_);
  ASSERT_TRUE(one.ok());
  const auto other = LockBeside(jobtypes_);
  ASSERT_FALSE(other.ok());
  EXPECT_EQ(other.error().code, ErrorCode::kUnavailable);
  EXPECT_EQ(other.error().message, folder_.path().string() + ": another installation is at work there");
}

TEST_F(InstallFilesTest, WhatIsInThePlaceIsExchanged) {
  const fs::path made = folder_.path() / "made", place = jobtypes_ / "t";
  fs::create_directory(made);
  ASSERT_TRUE(PutInPlace(made, place).ok());
  EXPECT_FALSE(fs::exists(made));
  Write(made, "a file");
  ASSERT_TRUE(PutInPlace(made, place).ok());
  EXPECT_TRUE(fs::is_directory(made));
  EXPECT_EQ(Read(place), "a file");
}

TEST_F(InstallFilesTest, WhatIsMovedAsideGetsAFreeName) {
  EXPECT_EQ(FreeAside(jobtypes_, "TonyJob"), folder_.path() / "TonyJob.replaced-1");
  fs::create_symlink("nowhere", folder_.path() / "TonyJob.replaced-1");
  EXPECT_EQ(FreeAside(jobtypes_, "TonyJob"), folder_.path() / "TonyJob.replaced-2");
}

}  // namespace
}  // namespace tony::azkaban
