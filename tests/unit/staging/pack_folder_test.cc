#include "runtime/staging/pack_folder.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <cstdlib>
#include <fstream>
#include <map>
#include <random>

#include "runtime/base/strings.h"
#include "runtime/base/unique_fd.h"
#include "runtime/os/files.h"
#include "runtime/staging/archive_reader.h"
#include "runtime/staging/source_tree.h"
#include "tests/support/results.h"
#include "tests/support/temp_folder.h"

namespace tony {
namespace {

namespace fs = std::filesystem;

class PackFolderTest : public testing::Test {
 protected:
  PackFolderTest() { fs::create_directories(folder_); }

  void Write(const std::string& name, const std::string& text) const {
    fs::create_directories((folder_ / name).parent_path());
    std::ofstream(folder_ / name, std::ios::binary) << text;
  }
  Status Pack() {
    packed_ = UniqueFd(open((temp_.path() / "packed.tar.gz").c_str(), O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600));
    return PackFolder(folder_, packed_.get(), [this](int64_t bytes) { return on_packed_(bytes); });
  }
  // Unpacks the archive as a NodeManager does.
  fs::path Unpacked() const {
    const fs::path to = temp_.path() / "unpacked";
    fs::create_directories(to);
    EXPECT_EQ(
        system(StrCat("tar -xzf '", (temp_.path() / "packed.tar.gz").string(), "' -C '", to.string(), "'").c_str()), 0);
    return to;
  }
  // Describes each item by name: its kind, link target and content.
  static std::map<std::string, std::string> Describe(const fs::path& folder) {
    std::map<std::string, std::string> all;
    const auto items = ListSource(folder, {});
    EXPECT_TRUE(items.ok());
    for (const SourceItem& item : items->items) {
      const bool is_file = item.kind == SourceItem::Kind::kFile;
      all[item.name] = StrCat(static_cast<int>(item.kind), item.executable ? "x " : " ", item.target, "|",
                              is_file ? *ReadFile(folder / item.name) : "", "|", is_file ? item.modified.tv_sec : 0);
    }
    return all;
  }

  TempFolder temp_;
  const fs::path folder_ = temp_.path() / "folder";
  UniqueFd packed_;
  std::function<Status(int64_t)> on_packed_ = [](int64_t) { return Ok(); };
};

TEST_F(PackFolderTest, TheTarCommandRestoresAPackedFolder) {
  const std::string long_name(200, 'n');
  Write("train.py", "print()\n");
  Write("empty", "");
  Write("block", std::string(512, 'b'));
  Write("package/sub/" + long_name + "/" + long_name, std::string(100'000, 'x'));
  Write("caf\xc3\xa9 \xff", "any bytes");
  Write("program", "#!/bin/sh\n");
  fs::permissions(folder_ / "program", fs::perms::owner_all);
  fs::create_directory(folder_ / "nothing");
  fs::create_symlink("train.py", folder_ / "link");
  fs::create_symlink("/nowhere/" + long_name, folder_ / "long-link");
  const timespec times[2] = {{1'600'000'000, 0}, {1'600'000'000, 0}};
  utimensat(AT_FDCWD, (folder_ / "train.py").c_str(), times, 0);
  ASSERT_TRUE(Pack().ok());
  EXPECT_EQ(Describe(Unpacked()), Describe(folder_));
}

TEST_F(PackFolderTest, AReadOnlyFolderIsWritableByItsOwnerAfterPackingAndUnpacking) {
  Write("sub/file", "x");
  fs::permissions(folder_ / "sub/file", fs::perms::owner_read);
  fs::permissions(folder_ / "sub", fs::perms::owner_read | fs::perms::owner_exec);
  ASSERT_TRUE(Pack().ok());
  fs::permissions(folder_ / "sub", fs::perms::owner_all);
  struct stat info {};
  const fs::path unpacked = Unpacked();
  ASSERT_EQ(stat((unpacked / "sub").c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 0700, 0700u);
  ASSERT_EQ(stat((unpacked / "sub/file").c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 0700, 0600u);
}

TEST_F(PackFolderTest, ArchiveReaderReadsTheFilesOfAPackedFolder) {
  Write("a", "12345");
  ASSERT_TRUE(Pack().ok());
  const auto reader = Must(ArchiveReader::Open(packed_.get()));
  const auto entry = reader->Next();
  ASSERT_TRUE(entry.ok() && *entry);
  EXPECT_EQ((**entry).name, "a");
  const auto data = reader->NextData();
  ASSERT_TRUE(data.ok() && *data);
  EXPECT_EQ((**data).bytes, "12345");
  EXPECT_FALSE(*reader->Next());
}

TEST_F(PackFolderTest, RandomFolderTreesAreUnchangedAfterPackingAndUnpacking) {
  for (unsigned seed = 1; seed <= 8; ++seed) {
    std::mt19937 random(seed);
    fs::remove_all(folder_);
    fs::remove_all(temp_.path() / "unpacked");
    fs::create_directory(folder_);
    for (int i = 0; i < 20; ++i) {
      std::string name = StrCat("f", i);
      for (unsigned depth = random() % 4; depth > 0; --depth)
        name = StrCat(std::string(1 + random() % 120, 'd'), "/", name);
      Write(name, std::string(random() % 3000, static_cast<char>(random())));
    }
    ASSERT_TRUE(Pack().ok());
    ASSERT_EQ(Describe(Unpacked()), Describe(folder_)) << "seed " << seed;
  }
}

TEST_F(PackFolderTest, TheErrorNamesAFileThatShrinksDuringPacking) {
  Write("a", "first");
  Write("b", "second");
  on_packed_ = [this](int64_t) {
    Write("b", "");
    return Ok();
  };
  const Status packed = Pack();
  ASSERT_FALSE(packed.ok());
  EXPECT_EQ(packed.error().code, ErrorCode::kInvalid);
  EXPECT_THAT(packed.error().message, testing::HasSubstr("/folder/b: the file became shorter while it was packed"));
}

TEST_F(PackFolderTest, AnErrorFromTheProgressCallbackStopsPacking) {
  Write("a", "first");
  on_packed_ = [](int64_t) -> Status { return Error{ErrorCode::kUnavailable, "stopped"}; };
  const Status packed = Pack();
  ASSERT_FALSE(packed.ok());
  EXPECT_EQ(packed.error().message, "stopped");
}

TEST_F(PackFolderTest, PackingToAFullDiskFailsWithTheErrorCodeCannotWrite) {
  Write("a", std::string(1 << 20, 'x'));
  const UniqueFd full(open("/dev/full", O_RDWR | O_CLOEXEC));
  const Status packed = PackFolder(folder_, full.get(), on_packed_);
  ASSERT_FALSE(packed.ok());
  EXPECT_EQ(packed.error().code, ErrorCode::kCannotWrite);
  EXPECT_THAT(packed.error().message, testing::HasSubstr("no space left"));
}

}  // namespace
}  // namespace tony
