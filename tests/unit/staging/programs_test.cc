#include "runtime/staging/programs.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#include <fstream>
#include <optional>
#include <string_view>
#include <thread>

#include "runtime/os/files.h"
#include "tests/support/results.h"
#include "tests/support/temp_folder.h"

namespace tony {
namespace {

namespace fs = std::filesystem;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::StartsWith;

class ProgramsTest : public testing::Test {
 protected:
  ProgramsTest() {
    fs::create_directory(bin_);
    Install("tony-am", "the master");
    Install("tony-keeper", "the keeper");
  }

  void Install(std::string_view name, std::string_view content) const {
    const fs::path beside = bin_ / ".new";
    std::ofstream(beside) << content;
    fs::permissions(beside, fs::perms(0755));
    fs::rename(beside, bin_ / name);
  }

  Result<StoredPrograms> Keep() const { return StorePrograms(home_, {bin_ / "tony-am", bin_ / "tony-keeper"}, now_); }
  fs::path Entry() const {  // the entry of the installed programs
    const auto kept = Keep();
    EXPECT_TRUE(kept.ok()) << kept.error().message;
    return home_ / "programs" / (kept.ok() ? kept->hash : "none");
  }

  static std::string Text(const fs::path& file) {
    const auto text = ReadFile(file);
    return text.ok() ? *text : text.error().message;
  }
  static mode_t Mode(const fs::path& path) {
    struct stat info {};
    EXPECT_EQ(lstat(path.c_str(), &info), 0) << path;
    return info.st_mode & 07777;
  }
  static ino_t Inode(const fs::path& path) {
    struct stat info {};
    EXPECT_EQ(lstat(path.c_str(), &info), 0) << path;
    return info.st_ino;
  }
  static void ExpectWhole(const fs::path& entry) {
    EXPECT_EQ(Text(entry / "tony-am"), "the master");
    EXPECT_EQ(Text(entry / "tony-keeper"), "the keeper");
    EXPECT_EQ(Mode(entry / "tony-am"), 0500u);
    EXPECT_EQ(Mode(entry / "tony-keeper"), 0500u);
  }

  Result<EntryStore::Swept> Sweep(const std::set<std::string>& kept, bool dry_run = false) const {
    return RemoveUnusedPrograms(
        home_, [&] { return kept; }, now_ + std::chrono::hours(2), Duration(50), dry_run);
  }

  TempFolder temp_;
  const fs::path bin_ = temp_.path() / "bin", home_ = temp_.path() / "home";
  // A time at which the installed programs have been unchanged for a while.
  const Instant now_ = RealClock().Now() + std::chrono::hours(1);
};

TEST_F(ProgramsTest, ProgramsAreStoredUnchangedInAFolderPrivateToTheUser) {
  const fs::path entry = Entry();
  ExpectWhole(entry);
  EXPECT_EQ(Mode(entry), 0700u);
  EXPECT_EQ(Mode(home_ / "programs"), 0700u);
}

TEST_F(ProgramsTest, UnchangedProgramsAreCopiedToTheStoreOnlyOnce) {
  const fs::path entry = Entry();
  const ino_t inode = Inode(entry / "tony-am");
  EXPECT_EQ(Entry(), entry);
  EXPECT_EQ(Inode(entry / "tony-am"), inode);
}

TEST_F(ProgramsTest, TheIndexOfStoredProgramsListsEachInstalledVersionOnce) {
  const fs::path entry = Entry();
  EXPECT_THAT(Text(home_ / "programs/known"), StartsWith(entry.filename().string() + " tony-am="));
  // Lines of other installations stay, and each installation has only one line.
  Install("tony-am", "the next master");
  const fs::path next = Entry();
  EXPECT_NE(next, entry);
  Entry();
  const std::string known = Text(home_ / "programs/known");
  EXPECT_THAT(known, StartsWith(next.filename().string()));
  EXPECT_THAT(known, HasSubstr("\n" + entry.filename().string()));
  EXPECT_EQ(std::count(known.begin(), known.end(), '\n'), 2);
}

TEST_F(ProgramsTest, JustInstalledProgramsAreStoredButNotYetListedInTheIndex) {
  const auto kept = Must(StorePrograms(home_, {bin_ / "tony-am", bin_ / "tony-keeper"}, RealClock().Now()));
  ExpectWhole(home_ / "programs" / kept.hash);
  EXPECT_FALSE(fs::exists(home_ / "programs/known")) << "another change in the same tick would not be seen";
}

TEST_F(ProgramsTest, StoredProgramsStayUnchangedWhenANewVersionIsInstalled) {
  const fs::path entry = Entry();
  Install("tony-am", "the next master");
  EXPECT_NE(Entry(), entry);
  std::ofstream(bin_ / "tony-keeper") << "written in place";
  EXPECT_NE(Entry(), entry);
  ExpectWhole(entry);
  Install("tony-am", "the master");
  Install("tony-keeper", "the keeper");
  EXPECT_EQ(Entry(), entry) << "the former programs again";
}

TEST_F(ProgramsTest, ProgramsWithSwappedContentsAreStoredAsAnotherEntry) {
  const fs::path entry = Entry();
  Install("tony-am", "the keeper");
  Install("tony-keeper", "the master");
  EXPECT_NE(Entry(), entry);
}

struct Damage {
  const char* name;
  void (*done)(const fs::path& entry);
};

class DamagedProgramsTest : public ProgramsTest, public testing::WithParamInterface<Damage> {};

TEST_P(DamagedProgramsTest, StoredProgramsAreCopiedAgainWhenDamaged) {
  const fs::path entry = Entry();
  GetParam().done(entry);
  EXPECT_EQ(Entry(), entry);
  ExpectWhole(entry);
  EXPECT_FALSE(fs::exists(entry.parent_path() / ".new"));
}

void Overwrite(const fs::path& file, std::string_view content) {
  fs::permissions(file, fs::perms(0700));
  std::ofstream(file) << content;
}

INSTANTIATE_TEST_SUITE_P(
    All, DamagedProgramsTest,
    testing::Values(
        Damage{"Truncated", [](const fs::path& entry) { Overwrite(entry / "tony-am", "the"); }},
        Damage{"Emptied", [](const fs::path& entry) { Overwrite(entry / "tony-am", ""); }},
        Damage{"OtherContentOfTheSameSize", [](const fs::path& entry) { Overwrite(entry / "tony-am", "THE MASTER"); }},
        Damage{"Removed", [](const fs::path& entry) { fs::remove(entry / "tony-am"); }},
        Damage{"NotExecutable", [](const fs::path& entry) { fs::permissions(entry / "tony-am", fs::perms(0400)); }},
        Damage{"ReplacedByASymlink",
               [](const fs::path& entry) {
                 fs::rename(entry / "tony-am", entry / "other");
                 fs::create_symlink("other", entry / "tony-am");
               }},
        Damage{"FolderWritableByOthers", [](const fs::path& entry) { fs::permissions(entry, fs::perms(0777)); }},
        Damage{"StoreWritableByItsGroup",
               [](const fs::path& entry) { fs::permissions(entry.parent_path(), fs::perms(0775)); }},
        Damage{"ManifestMissing", [](const fs::path& entry) { fs::remove(entry / "manifest"); }},
        Damage{"ManifestMalformed", [](const fs::path& entry) { std::ofstream(entry / "manifest") << "x y z\n"; }},
        Damage{"HalfCopiedByAKilledSubmit",
               [](const fs::path& entry) {
                 fs::remove(entry / "manifest");
                 fs::create_directory(entry.parent_path() / ".new");
                 fs::rename(entry / "tony-am", entry.parent_path() / ".new/tony-am");
                 Overwrite(entry.parent_path() / ".new/tony-am", "the m");
               }}),
    [](const auto& test) { return test.param.name; });

TEST_F(ProgramsTest, StoredProgramsOwnedByAnotherUserAreCopiedAgain_RootOnly) {
  if (geteuid() != 0) GTEST_SKIP() << "giving files to others needs root";
  constexpr uid_t kMallory = 70003;
  const fs::path entry = Entry(), store = entry.parent_path();
  for (const fs::path& path : {entry / "tony-am", entry, store}) {
    ASSERT_EQ(chown(path.c_str(), kMallory, kMallory), 0);
    EXPECT_EQ(Entry(), entry) << path;
    for (const fs::path& made : {store, entry, entry / "tony-am"}) EXPECT_TRUE(IsPrivateToUser(made)) << made;
    ExpectWhole(entry);
  }
}

TEST_F(ProgramsTest, EightConcurrentSubmitsStoreTheProgramsInOneEntry) {
  std::vector<std::string> hashes(8);
  {
    std::vector<std::jthread> threads;
    for (std::string& hash : hashes) threads.emplace_back([&] { hash = Entry().filename(); });
  }
  for (const std::string& hash : hashes) EXPECT_EQ(hash, hashes.front());
  ExpectWhole(home_ / "programs" / hashes.front());
}

TEST_F(ProgramsTest, TheErrorNamesThePathOfAMissingProgram) {
  fs::remove(bin_ / "tony-keeper");
  ExpectError(Keep(), ErrorCode::kNotFound, StrCat("~", (bin_ / "tony-keeper").string()));
}

TEST_F(ProgramsTest, TheSweepRemovesStoredProgramsThatNoJobRefersTo) {
  const fs::path old = Entry();
  Install("tony-am", "the next master");
  const fs::path used = Entry();
  const auto would = Must(Sweep({used.filename()}, /*dry_run=*/true));
  EXPECT_THAT(would.names, ElementsAre(old.filename().string()));
  EXPECT_TRUE(fs::exists(old));
  const auto swept = Must(Sweep({used.filename()}));
  EXPECT_THAT(swept.names, ElementsAre(old.filename().string()));
  EXPECT_GT(swept.bytes, 0);
  EXPECT_FALSE(fs::exists(old));
  EXPECT_TRUE(fs::exists(used / "tony-am"));
  EXPECT_EQ(Entry(), used);
}

TEST_F(ProgramsTest, TheSweepKeepsProgramsThatWereStoredRecently) {
  Entry();
  const auto swept = RemoveUnusedPrograms(
      home_, [] { return std::set<std::string>(); }, now_ - std::chrono::hours(1), Duration(50), false);
  ASSERT_TRUE(swept.ok()) << swept.error().message;
  EXPECT_THAT(swept->names, IsEmpty());
}

TEST_F(ProgramsTest, TheSweepReturnsUnavailableWhileASubmitUsesStoredPrograms) {
  std::optional<Result<StoredPrograms>> kept = Keep();
  ASSERT_TRUE((*kept).ok());
  EXPECT_EQ(Sweep({}).error().code, ErrorCode::kUnavailable);
  EXPECT_TRUE(Keep().ok()) << "others submit meanwhile";
  kept.reset();
  EXPECT_TRUE(Sweep({}).ok());
  EXPECT_EQ(Text(Entry() / "tony-am"), "the master");
}

TEST_F(ProgramsTest, TheSweepRemovesTemporaryFoldersOfKilledSubmits) {
  const fs::path entry = Entry();
  fs::create_directories(home_ / "programs/.old-abc.1234/x");
  const auto swept = Must(Sweep({entry.filename()}));
  EXPECT_THAT(swept.names, ElementsAre(".old-abc.1234"));
  EXPECT_FALSE(fs::exists(home_ / "programs/.old-abc.1234"));
}

TEST_F(ProgramsTest, TheSweepSucceedsWhenNoProgramStoreExists) { EXPECT_TRUE(Sweep({}).ok()); }

// A file system for `home_` that only this process sees.
class MountedProgramsTest : public ProgramsTest {
 protected:
  bool Mount(unsigned long flags, const char* options) const {
    fs::create_directory(home_);
    return unshare(CLONE_NEWNS) == 0 && mount("none", "/", nullptr, MS_REC | MS_PRIVATE, nullptr) == 0 &&
           mount("tmpfs", home_.c_str(), "tmpfs", flags, options) == 0;
  }
  void TearDown() override { umount2(home_.c_str(), MNT_DETACH); }
};

TEST_F(MountedProgramsTest, StoringProgramsOnANoexecMountFails_RootOnly) {
  if (!Mount(MS_NOEXEC, "size=1m")) GTEST_SKIP() << "needs to be root, to mount a file system";
  ExpectError(Keep(), ErrorCode::kNotPermitted, "~noexec");
  EXPECT_FALSE(AllowsExecution(home_));
  EXPECT_FALSE(AllowsExecution(home_ / "programs")) << "by the nearest folder that is there";
}

TEST_F(MountedProgramsTest, StoringProgramsOnAFullDiskFails_RootOnly) {
  if (!Mount(0, "size=64k")) GTEST_SKIP() << "needs to be root, to mount a file system";
  Install("tony-am", std::string(100'000, 'x'));
  const auto kept = Keep();
  ASSERT_FALSE(kept.ok());
  EXPECT_EQ(kept.error().code, ErrorCode::kCannotWrite);
  EXPECT_TRUE(AllowsExecution(home_));
}

}  // namespace
}  // namespace tony
