#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <fstream>
#include <sstream>

#include "runtime/os/files.h"
#include "runtime/records/staged_files.h"
#include "tests/support/temp_folder.h"

namespace tony {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;
using Form = StagedEntry::Form;

class LinkStagedTest : public ::testing::Test {
 protected:
  LinkStagedTest() {
    fs::create_directories(work_);
    fs::create_directories(tree_ / "package");
    Write(tree_ / "train.py", "import package");
    Write(tree_ / "package/__init__.py", "");
  }
  ~LinkStagedTest() override { EXPECT_TRUE(RemoveTree(temp_.path() / "store").ok()); }
  static void Write(const fs::path& path, const std::string& text) { std::ofstream(path) << text; }
  static std::string Text(const fs::path& path) {
    std::ostringstream text;
    text << std::ifstream(path).rdbuf();
    return text.str();
  }
  static mode_t Mode(const fs::path& path) {
    struct stat info {};
    EXPECT_EQ(lstat(path.c_str(), &info), 0) << path;
    return info.st_mode & 07777;
  }
  Status LinkContents() const { return LinkStaged({{.path = tree_, .form = Form::kContents}}, work_); }

  TempFolder temp_;
  const fs::path tree_ = temp_.path() / "store/tree";
  const fs::path work_ = temp_.path() / "work";
};

TEST_F(LinkStagedTest, ManifestIsReadBackAsItWas) {
  const StagedFiles files = {.job = {{"venv", "/s/a", Form::kLink}, {"", "/s/b", Form::kContents}},
                             .roles = {{"ps", {{"x \"y\"", "/s/c", Form::kCopy}}}},
                             .am = {{"z", "/s/d", Form::kLink}}};
  const auto read = StagedFilesFromJson(ToJson(files));
  ASSERT_TRUE(read.ok()) << read.error().message;
  EXPECT_EQ(*read, files);
}

TEST_F(LinkStagedTest, ACopyOfAFileIsTheTasksOwnAndWhatIsThereStays) {
  fs::create_directory_symlink(tree_ / "package", work_ / "taken");
  fs::create_symlink(tree_ / "train.py", temp_.path() / "link");  // as a node lays it
  const std::vector<StagedEntry> entries = {{"deep/er/train.py", temp_.path() / "link", Form::kCopy},
                                            {"taken/train.py", temp_.path() / "link", Form::kCopy},
                                            {"train.py", tree_ / "train.py", Form::kCopy}};
  const Status linked = LinkStaged(entries, work_);
  ASSERT_TRUE(linked.ok()) << linked.error().message;
  for (const char* name : {"deep/er/train.py", "train.py"}) {
    EXPECT_TRUE(fs::is_regular_file(fs::symlink_status(work_ / name))) << name;
    EXPECT_EQ(Text(work_ / name), "import package");
  }
  EXPECT_FALSE(fs::exists(tree_ / "package/train.py")) << "written through another resource's link";
  fs::resize_file(tree_ / "train.py", 17 << 20);
  EXPECT_TRUE(LinkStaged({{"large", temp_.path() / "link", Form::kCopy}}, work_).ok());
  EXPECT_TRUE(fs::is_symlink(work_ / "large"));
  EXPECT_EQ(LinkStaged({{"x", temp_.path() / "gone", Form::kCopy}}, work_).error().code, ErrorCode::kUnavailable);
}

TEST_F(LinkStagedTest, DamagedManifestIsRefusedByItsField) {
  EXPECT_THAT(StagedFilesFromJson(R"({"schema":1,"job":[{"name":"","path":"/","form":"move"}],"am":[],"roles":[]})")
                  .error()
                  .message,
              HasSubstr("job[0].form"));
  EXPECT_EQ(StagedFilesFromJson("{").error().code, ErrorCode::kInvalid);
}

TEST_F(LinkStagedTest, ResourceIsOneLink) {
  ASSERT_TRUE(LinkStaged({{.name = "code", .path = tree_}}, work_).ok());
  EXPECT_EQ(fs::read_symlink(work_ / "code"), tree_);
}

TEST_F(LinkStagedTest, ContentsAreTheTasksOwnCopies) {
  fs::permissions(tree_ / "train.py", fs::perms(0555));
  fs::permissions(tree_ / "package/__init__.py", fs::perms(0444));
  fs::create_symlink("train.py", tree_ / "main");
  fs::create_symlink("/usr/bin/python3", tree_ / "python");
  ASSERT_TRUE(LinkContents().ok());
  EXPECT_FALSE(fs::is_symlink(work_ / "train.py"));
  EXPECT_EQ(Mode(work_ / "train.py"), 0700u);
  EXPECT_EQ(Mode(work_ / "package"), 0700u);
  EXPECT_EQ(Mode(work_ / "package/__init__.py"), 0600u);
  EXPECT_EQ(fs::last_write_time(work_ / "train.py"), fs::last_write_time(tree_ / "train.py"));
  EXPECT_EQ(fs::read_symlink(work_ / "main"), "train.py");
  EXPECT_EQ(fs::read_symlink(work_ / "python"), "/usr/bin/python3");
  Write(work_ / "train.py", "edited in place");
  Write(work_ / "package/made.py", "");
  EXPECT_EQ(Text(tree_ / "train.py"), "import package");
  EXPECT_FALSE(fs::exists(tree_ / "package/made.py"));
}

TEST_F(LinkStagedTest, FileThatIsTooLargeToCopyIsALink) {
  Write(tree_ / "data.bin", "");
  fs::resize_file(tree_ / "data.bin", (16 << 20) + 1);
  ASSERT_TRUE(LinkContents().ok());
  EXPECT_EQ(fs::read_symlink(work_ / "data.bin"), tree_ / "data.bin");
}

TEST_F(LinkStagedTest, WhatIsThereStays) {
  Write(work_ / "train.py", "mine");
  fs::create_directory(temp_.path() / "other");
  ASSERT_TRUE(LinkStaged({{.name = "package", .path = temp_.path() / "other"}}, work_).ok());
  ASSERT_TRUE(LinkContents().ok());
  EXPECT_EQ(Text(work_ / "train.py"), "mine");
  EXPECT_EQ(fs::read_symlink(work_ / "package"), temp_.path() / "other") << "a resource goes before contents";
  EXPECT_TRUE(fs::is_empty(temp_.path() / "other"));
  EXPECT_TRUE(LinkContents().ok()) << "again";
}

TEST_F(LinkStagedTest, EntryThatIsGoneIsNamed) {
  for (const Form form : {Form::kLink, Form::kContents}) {
    const Status linked = LinkStaged({{.name = "x", .path = temp_.path() / "gone", .form = form}}, work_);
    ASSERT_FALSE(linked.ok());
    EXPECT_EQ(linked.error().code, ErrorCode::kUnavailable);
    EXPECT_THAT(linked.error().message, HasSubstr((temp_.path() / "gone").string()));
  }
}

}  // namespace
}  // namespace tony
