// That a large source is not read twice, and that this never makes a wrong entry.
#include <fcntl.h>
#include <sys/stat.h>

#include <algorithm>
#include <chrono>
#include <fstream>
#include <thread>

#include "runtime/base/strings.h"
#include "runtime/os/sha256.h"
#include "runtime/staging/source_tree.h"
#include "tests/unit/staging/staging_bed.h"

namespace tony {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;

const std::string kHash(64, 'a');
constexpr FileStamp kStamp{.device = 1, .inode = 2, .size = 3, .modified = 4, .changed = 5};
const Instant kLater = FromMillis(10'000);

class KnownHashesTest : public StagingTest {
 protected:
  KnownHashesTest() { fs::create_directories(home_); }
  KnownHashes Loaded(const fs::path& source = "/data") const {
    return KnownHashes::Load(home_, source, KnownHashes::kNotWorthIt);
  }
};

TEST_F(KnownHashesTest, WhatWasKeptIsKnownOfThatSourceOnly) {
  KnownHashes first = Loaded();
  first.Add(kStamp, kHash, kLater);
  first.Keep();
  EXPECT_EQ(Loaded().Find(kStamp), kHash);
  EXPECT_EQ(Loaded("/other").Find(kStamp), "");
  FileStamp newer = kStamp;
  newer.changed = 6;
  EXPECT_EQ(Loaded().Find(newer), "");
}

TEST_F(KnownHashesTest, AFileThatChangedAMomentAgoIsNotKept) {
  KnownHashes first = Loaded();
  first.Add(kStamp, kHash, FromMillis(1'999));
  first.Keep();
  EXPECT_EQ(Loaded().Find(kStamp), "");
}

TEST_F(KnownHashesTest, FilesThatAreGoneAreForgotten) {
  FileStamp other = kStamp;
  other.inode = 7;
  KnownHashes first = Loaded();
  first.Add(kStamp, kHash, kLater);
  first.Add(other, kHash, kLater);
  first.Keep();
  KnownHashes second = Loaded();
  EXPECT_EQ(second.Find(other), kHash);
  second.Keep();
  EXPECT_EQ(Loaded().Find(kStamp), "");
  EXPECT_EQ(Loaded().Find(other), kHash);
  second.Forget();
  EXPECT_EQ(Loaded().Find(other), "");
}

TEST_F(KnownHashesTest, LinesThatAreNoneOfOursAreLeftOut) {
  KnownHashes first = Loaded();
  first.Add(kStamp, kHash, kLater);
  first.Keep();
  const fs::path file = fs::directory_iterator(home_)->path();
  for (const std::string& bad : {"1:2:3:4:5 " + kHash.substr(1), "1:2:3:4:5 " + kHash.substr(1) + "A",
                                 "1:2:3:4 " + kHash, "1:2:3:4:5:6 " + kHash, "x:2:3:4:5 " + kHash,
                                 "1:2:3:4:99999999999999999999 " + kHash, std::string("\n\n \0", 4), std::string()}) {
    std::ofstream(file) << bad;
    EXPECT_EQ(Loaded().Find(kStamp), "") << bad;
    std::ofstream(file) << bad << "\n1:2:3:4:5 " << kHash;
    EXPECT_EQ(Loaded().Find(kStamp), kHash) << bad;
  }
}

// Sources of 17 MB that nobody has written to for longer than a clock's tick.
class KnownSourceTest : public StagingTest {
 protected:
  KnownSourceTest() {
    Write(src_ / "a.bin", std::string(17 << 20, 'a'));
    Write(src_ / "b.txt", "b");
    BuildArchive(archive_, ArchiveForm::kTar, {{.name = "a.bin", .content = std::string(17 << 20, 'a')}});
    std::this_thread::sleep_for(std::chrono::milliseconds(2200));
  }
  std::vector<JobSpec> Jobs() const {
    JobSpec file = Job(), folder = JobOfFolder(), archive = Job();
    file.files = {{(src_ / "a.bin").string(), "a.bin", false}};
    archive.src_dir = archive_.string();
    return {file, folder, archive};
  }
  // Exchanges the hash of each file for that of others.
  void Mislead() const {
    for (const auto& entry : fs::directory_iterator(home_ / "staged")) {
      if (!entry.path().filename().string().starts_with(".hashes-")) continue;
      std::string text = Text(entry.path());
      std::ranges::replace(text, 'a', 'b');
      std::ofstream(entry.path()) << text;
    }
  }
  std::string ContentOf(const JobSpec& spec) {
    const auto staged = StageIt(spec);
    EXPECT_TRUE(staged.ok()) << staged.error().message;
    return staged.ok() ? staged->content : "";
  }
};

TEST_F(KnownSourceTest, ASourceThatIsKnownIsNotRead) {
  for (const JobSpec& spec : Jobs()) {
    const std::string content = ContentOf(spec);
    EXPECT_EQ(ContentOf(spec), content);
    Mislead();
    const auto misled = StageIt(spec);
    ASSERT_FALSE(misled.ok()) << "it was read";
    EXPECT_THAT(misled.error().message, HasSubstr("it changed meanwhile"));
    EXPECT_EQ(ContentOf(spec), content) << "and is read after that";
  }
  for (const auto& entry : fs::directory_iterator(home_ / "staged")) {
    const std::string name = entry.path().filename();
    if (entry.is_regular_file() && name.front() != '.') EXPECT_EQ(Sha256Hex(Text(entry.path())), name);
  }
}

TEST_F(KnownSourceTest, WhatWasWrittenUnderTheSameTimeAndSizeIsRead) {
  const JobSpec spec = JobOfFolder();
  const std::string content = ContentOf(spec);
  const struct stat before = Look(src_ / "a.bin");
  Write(src_ / "a.bin", std::string(17 << 20, 'z'));
  const timespec times[2] = {before.st_atim, before.st_mtim};
  ASSERT_EQ(utimensat(AT_FDCWD, (src_ / "a.bin").c_str(), times, 0), 0);
  EXPECT_NE(ContentOf(spec), content);
}

}  // namespace
}  // namespace tony
