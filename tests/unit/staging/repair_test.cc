// An entry of the store that is damaged is found when it is wanted again, and made anew.
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <functional>

#include "tests/unit/staging/staging_bed.h"

namespace tony {
namespace {

namespace fs = std::filesystem;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

class RepairTest : public StagingTest {
 protected:
  RepairTest() {
    Write(src_ / "package/a", "first");
    Write(src_ / "b", "second");
    fs::create_symlink("b", src_ / "link");
  }

  // Stages again; what was said of damage.
  std::string Again(const JobSpec& spec) {
    std::string said;
    const auto store = StagedStore::Open(home_, {});
    const StageWatch watch = {
        .on_progress = [this](const StageProgress& progress) { progress_ = progress; },
        .on_damage = [&](const std::string& what, const std::string& damage) { said += what + ": " + damage + "\n"; }};
    const auto staged = Stage(spec, *store, watch);
    EXPECT_TRUE(staged.ok()) << staged.error().message;
    return said;
  }
  void ExpectWhole(const fs::path& entry) const {
    EXPECT_EQ(Text(entry / "package/a"), "first");
    EXPECT_EQ(Text(entry / "b"), "second");
    EXPECT_EQ(fs::read_symlink(entry / "link"), "b");
    EXPECT_EQ(Mode(entry / "b"), 0444u);
    EXPECT_EQ(Mode(entry / "package"), 0555u);
    EXPECT_FALSE(fs::exists(entry / "new"));
  }
  // As root does, or a person who has made the folders writable.
  static void Change(const fs::path& folder, const std::function<void()>& change) {
    const mode_t mode = Mode(folder);
    fs::permissions(folder, fs::perms(0755));
    change();
    fs::permissions(folder, fs::perms(mode));
  }
  static void Overwrite(const fs::path& file, const std::string& text) {
    const struct stat before = Look(file);
    fs::permissions(file, fs::perms(0644));
    std::ofstream(file) << text;
    fs::permissions(file, fs::perms(before.st_mode & 07777));
    const timespec times[2] = {before.st_mtim, before.st_mtim};
    EXPECT_EQ(utimensat(AT_FDCWD, file.c_str(), times, 0), 0);
  }
};

TEST_F(RepairTest, WhateverIsDamagedIsSaidAndMadeAnew) {
  const fs::path entry = Staged(JobOfFolder());
  const std::vector<std::pair<std::function<void()>, std::string>> damages = {
      {[&] { Change(entry, [&] { fs::remove(entry / "b"); }); }, "b is missing"},
      {[&] { Change(entry / "package", [&] { fs::remove(entry / "package/a"); }); }, "package/a is missing"},
      {[&] { Change(entry, [&] { Write(entry / "new", "x"); }); }, "new was added"},
      {[&] { Overwrite(entry / "b", "sec"); }, "b is \"file 0444 3\" instead of \"file 0444 6\""},
      {[&] { Overwrite(entry / "b", "SECOND"); }, "its content is not what it was"},
      {[&] { fs::permissions(entry / "b", fs::perms(0666)); }, "b is \"file 0666 6\" instead of \"file 0444 6\""},
      {[&] { Change(entry, [&] { fs::remove(entry / "link"), fs::create_symlink("a", entry / "link"); }); },
       "link is "},
      {[&] { Change(entry, [&] { fs::remove(entry / "b"), fs::create_directory(entry / "b"); }); }, "b is \"folder "}};
  for (const auto& [damage, words] : damages) {
    damage();
    const std::string said = Again(JobOfFolder());
    EXPECT_THAT(said, testing::StartsWith("src_dir " + src_.string() + ": " + words)) << words;
    ExpectWhole(entry);
    EXPECT_THAT(Again(JobOfFolder()), IsEmpty()) << words;
  }
}

TEST_F(RepairTest, AFileIsMadeAnewToo) {
  JobSpec spec = Job();
  spec.files = {{(src_ / "b").string(), "b", false}};
  const fs::path entry = Staged(spec);
  Overwrite(entry, "SECOND");
  EXPECT_THAT(Again(spec), HasSubstr("resource " + (src_ / "b").string() + ": its content is not what it was"));
  EXPECT_EQ(Text(entry), "second");
}

TEST_F(RepairTest, WhatWasUnpackedIsMadeAnewWhereItMayHaveChanged) {
  const JobSpec spec = JobOfArchive({{.name = "train.py", .content = "print()"}});
  const fs::path entry = Staged(spec);
  EXPECT_THAT(Again(spec), IsEmpty());
  Overwrite(entry / "train.py", "prunt()");
  EXPECT_THAT(Again(spec), HasSubstr("the times of train.py differ"));
  EXPECT_EQ(Text(entry / "train.py"), "print()");
}

TEST_F(RepairTest, EntriesThatCameBackFromABackupAreReadOnceAndKept) {
  const fs::path entry = Staged(JobOfFolder());
  const timespec times[2] = {{1'600'000'000, 0}, {1'600'000'000, 0}};
  ASSERT_EQ(utimensat(AT_FDCWD, (entry / "b").c_str(), times, 0), 0);
  const struct stat before = Look(entry);
  EXPECT_THAT(Again(JobOfFolder()), IsEmpty());
  EXPECT_EQ(progress_.done, 22) << "the source and, since its times differ, the entry";
  EXPECT_EQ(Look(entry).st_ino, before.st_ino);
  EXPECT_THAT(Again(JobOfFolder()), IsEmpty());
  EXPECT_EQ(progress_.done, 11) << "the source alone";
}

TEST_F(RepairTest, EntriesOfEarlierReleasesAreReadOnceAndKept) {
  const fs::path entry = Staged(JobOfFolder());
  const fs::path manifest = home_ / "staged" / (".manifest-" + entry.filename().string());
  const std::string whole = Text(manifest);
  for (const std::string& text : {std::string(), whole.substr(0, whole.size() / 2)}) {
    Write(manifest, text);
    if (text.empty()) fs::remove(manifest);
    const struct stat before = Look(entry);
    EXPECT_THAT(Again(JobOfFolder()), IsEmpty());
    EXPECT_EQ(Look(entry).st_ino, before.st_ino);
    EXPECT_EQ(Text(manifest), whole);
  }
}

TEST_F(RepairTest, WhoeverIsInADamagedFolderStaysThereUntilNoJobRefersToIt) {
  const fs::path entry = Staged(JobOfFolder());
  const std::string name = entry.filename();
  const UniqueFd inside(open((entry / "package").c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  Change(entry, [&] { fs::remove(entry / "b"); });
  EXPECT_THAT(Again(JobOfFolder()), HasSubstr("b is missing"));
  const auto sweep = [&](const std::set<std::string>& kept) {
    return EntryStore::Sweep(
        home_ / "staged", [&]() -> Result<std::set<std::string>> { return kept; }, Instant(), Duration(0), false);
  };
  EXPECT_TRUE(sweep({name}).ok());
  EXPECT_EQ(faccessat(inside.get(), "a", R_OK, 0), 0) << "a job that refers to the entry may be using this one";
  EXPECT_TRUE(sweep({}).ok());
  EXPECT_NE(faccessat(inside.get(), "a", R_OK, 0), 0);
  EXPECT_THAT(InStore(), ElementsAre(name));
}

TEST_F(RepairTest, ARepairThatFailsLeavesWhatWasThere) {
  const fs::path entry = Staged(JobOfFolder());
  Change(entry, [&] { fs::remove(entry / "b"); });
  const auto store = StagedStore::Open(home_, stop_.get_token());
  const StageWatch watch = {.stop = stop_.get_token(),
                            .on_damage = [&](const auto&, const auto&) { stop_.request_stop(); }};
  EXPECT_FALSE(Stage(JobOfFolder(), *store, watch).ok());
  EXPECT_EQ(Text(entry / "package/a"), "first");
  EXPECT_THAT(InStore(), ElementsAre(entry.filename().string()));
  EXPECT_THAT(Again(JobOfFolder()), HasSubstr("b is missing"));
  ExpectWhole(entry);
}

}  // namespace
}  // namespace tony
