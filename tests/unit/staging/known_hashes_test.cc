// Hashes of large sources are remembered, so that no source is read twice; this never makes a wrong entry.
#include <fcntl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <fstream>
#include <functional>
#include <thread>

#include "runtime/base/strings.h"
#include "runtime/os/sha256.h"
#include "runtime/staging/source_rules.h"
#include "runtime/staging/source_tree.h"
#include "tests/support/results.h"
#include "tests/unit/staging/staging_bed.h"

namespace tony {
namespace {

namespace fs = std::filesystem;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::SizeIs;

const std::string kHash(64, 'a');
constexpr FileStamp kStamp{.device = 1, .inode = 2, .size = 3, .modified = 4, .changed = 5};
const Instant kLater = FromMillis(10'000);

class KnownHashesTest : public StagingTest {
 protected:
  KnownHashesTest() { fs::create_directories(home_); }
  HashCache Loaded(const fs::path& source = "/data") const {
    return HashCache::Load(home_, source, HashCache::kNotWorthIt);
  }
};

TEST_F(KnownHashesTest, ACachedHashIsFoundOnlyForTheSameSourceAndChangeTime) {
  HashCache first = Loaded();
  first.Add(kStamp, kHash, kLater);
  first.Keep();
  EXPECT_EQ(Loaded().Find(kStamp), kHash);
  EXPECT_EQ(Loaded("/other").Find(kStamp), "");
  FileStamp newer = kStamp;
  newer.changed = 6;
  EXPECT_EQ(Loaded().Find(newer), "");
}

TEST_F(KnownHashesTest, TheHashOfAFileChangedLessThan2SecondsAgoIsNotCached) {
  HashCache first = Loaded();
  first.Add(kStamp, kHash, FromMillis(1'999));
  first.Keep();
  EXPECT_EQ(Loaded().Find(kStamp), "");
}

TEST_F(KnownHashesTest, SavingTheHashCacheDropsHashesThatWereNotLookedUp) {
  FileStamp other = kStamp;
  other.inode = 7;
  HashCache first = Loaded();
  first.Add(kStamp, kHash, kLater);
  first.Add(other, kHash, kLater);
  first.Keep();
  HashCache second = Loaded();
  EXPECT_EQ(second.Find(other), kHash);
  second.Keep();
  EXPECT_EQ(Loaded().Find(kStamp), "");
  EXPECT_EQ(Loaded().Find(other), kHash);
  second.Forget();
  EXPECT_EQ(Loaded().Find(other), "");
}

TEST_F(KnownHashesTest, MalformedLinesOfTheHashCacheFileAreSkipped) {
  HashCache first = Loaded();
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

// Sources of 17 MB whose last write is older than a clock's tick.
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
  // Replaces the remembered hash of each file by a wrong one.
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

TEST_F(KnownSourceTest, AnUnchangedSourceWithACachedHashIsNotHashedAgain) {
  for (const JobSpec& spec : Jobs()) {
    const std::string content = ContentOf(spec);
    EXPECT_EQ(ContentOf(spec), content);
    Mislead();
    ExpectError(StageIt(spec), "~the source changed while it was read");
    EXPECT_EQ(ContentOf(spec), content) << "and is read after that";
  }
  for (const auto& entry : fs::directory_iterator(home_ / "staged")) {
    const std::string name = entry.path().filename();
    if (entry.is_regular_file() && name.front() != '.') EXPECT_EQ(Sha256Hex(Text(entry.path())), name);
  }
}

TEST_F(KnownSourceTest, AChangedFileWithTheSameSizeAndModificationTimeIsHashedAgain) {
  const JobSpec spec = JobOfFolder();
  const std::string content = ContentOf(spec);
  const struct stat before = Look(src_ / "a.bin");
  Write(src_ / "a.bin", std::string(17 << 20, 'z'));
  const timespec times[2] = {before.st_atim, before.st_mtim};
  ASSERT_EQ(utimensat(AT_FDCWD, (src_ / "a.bin").c_str(), times, 0), 0);
  EXPECT_NE(ContentOf(spec), content);
}

// ---- The files of src_dir that are shipped: the rules of ignore files, and files that the job names.

class SourceRulesTest : public StagingTest {
 protected:
  SourceListing List(const JobSpec& spec, bool as_tony = false) const {
    const auto listing = ListSource(src_, home_, SelectSources(spec, as_tony).rules);
    EXPECT_TRUE(listing.ok()) << listing.error().message;
    return listing.ok() ? *listing : SourceListing();
  }
  // Returns the names of the files that are shipped.
  static std::set<std::string> Files(const SourceListing& listing) {
    std::set<std::string> names;
    for (const SourceItem& item : listing.items)
      if (item.kind != SourceItem::Kind::kFolder) names.insert(item.name);
    return names;
  }
  std::set<std::string> FilesOf(const std::string& command, bool as_tony = false) const {
    return Files(List(JobOf(command), as_tony));
  }
  JobSpec JobOf(const std::string& command) const {
    JobSpec spec = JobOfFolder();
    spec.roles[0].command = command;
    return spec;
  }
  void WriteAll(const std::vector<std::string>& names) const {
    for (const std::string& name : names) Write(src_ / name, "text");
  }
  void MakeEnvironment(const std::string& name) const {
    Write(src_ / name / "pyvenv.cfg", "home = /usr/bin\n");
    Write(src_ / name / ".gitignore", "*\n");  // written by uv and virtualenv
    Write(src_ / name / "bin/activate", "");
    Write(src_ / name / "bin/python", "");
  }
};

// Git itself is called for the same rules, and the answers are compared.
TEST_F(SourceRulesTest, GitignoreRulesSelectTheSameFilesAsGit) {
  if (std::system("git --version >/dev/null 2>&1") != 0) GTEST_SKIP() << "no git here";
  WriteAll(
      {"a",         "a.py",        "b.o",          "foo/bar",    "foo/bar.py",   "foo/baz/bar",   "foo/baz/x/y/bar",
       "x/foo/bar", "x/y/z.log",   "#c",           "!d",         "sp ",          "build/out/a.o", "build/keep/b",
       "d/build",   "data/.keep",  "data/big.bin", "data/sub/k", "deep/a/b/c/d", "caf\xc3\xa9/x", "one[1]",
       "one1",      "back\\slash", ".hidden",      "x/.hidden"});
  const std::string git =
      StrCat("cd '", src_.string(), "' && git -c core.quotepath=off -c core.excludesFile=/dev/null ");
  ASSERT_EQ(std::system(StrCat(git, "init -q").c_str()), 0);
  for (const std::string rules : {"a\n",
                                  "/a\n",
                                  "*.o\n",
                                  "foo/bar\n",
                                  "/foo\n",
                                  "foo/\n",
                                  "build\n",
                                  "build/\n",
                                  "**/bar\n",
                                  "foo/**\n",
                                  "foo/**/bar\n",
                                  "a/**/d\n",
                                  "deep/**/d\n",
                                  "*\n!*.py\n",
                                  "*\n!*/\n!*.py\n",
                                  "data/*\n!data/.keep\n",
                                  "data\n!data/.keep\n",
                                  "# comment\n\\#c\n",
                                  "\\!d\n",
                                  "sp \n",
                                  "sp\\ \n",
                                  "\n \n",
                                  "x/*/z.log\n",
                                  "x/*\n",
                                  "?\n",
                                  "one[[]1]\n",
                                  "one[0-9]\n",
                                  "one[!0-9]*\n",
                                  "back\\\\slash\n",
                                  ".*\n!.gitignore\n",
                                  "foo/*/bar\n",
                                  "**\n!foo\n",
                                  "/**/bar\n",
                                  "*.py\n!a.py\n/a.py\n",
                                  "caf\xc3\xa9\n",
                                  "a.py\r\n",
                                  "\xEF\xBB\xBF"
                                  "a\n",
                                  "foo//bar\n",
                                  "**/\n",
                                  "build/**/b\n",
                                  "*/bar\n",
                                  "d/build/\n"}) {
    Write(src_ / ".gitignore", rules);
    Write(src_ / "foo/.gitignore", "!bar\nbaz/x\n");
    ASSERT_EQ(std::system(StrCat(git, "ls-files -z -o --exclude-standard > ../listed").c_str()), 0);
    std::set<std::string> expected;
    for (const std::string& name : Split(Text(temp_.path() / "listed"), '\0'))
      if (!name.empty()) expected.insert(name);
    EXPECT_EQ(FilesOf("true"), expected) << rules;
  }
}

TEST_F(SourceRulesTest, ATonyignoreFileReplacesGitignoreInItsFolderAndSubfolders) {
  WriteAll({"a.log", "b.txt", "sub/a.log", "sub/b.txt", "other/b.txt"});
  Write(src_ / ".gitignore", "*.log\n");
  Write(src_ / "sub/.tonyignore", "b.txt\n");
  Write(src_ / "sub/.gitignore", "a.log\n");
  EXPECT_THAT(FilesOf("true"), ElementsAre(".gitignore", "b.txt", "other/b.txt", "sub/.gitignore", "sub/.tonyignore"));
  Write(src_ / ".tonyignore", "other/\n");
  EXPECT_THAT(FilesOf("true"), ElementsAre(".gitignore", ".tonyignore", "a.log", "b.txt", "sub/.gitignore",
                                           "sub/.tonyignore", "sub/a.log"));
}

TEST_F(SourceRulesTest, JobsFromTonyXmlObeyTonyignoreButNotGitignore) {
  WriteAll({"a.log", "b.txt", ".git/config"});
  MakeEnvironment(".venv");
  Write(src_ / ".gitignore", "*.log\n");
  EXPECT_THAT(FilesOf("true", /*as_tony=*/true), SizeIs(8));
  Write(src_ / ".tonyignore", "a.log\n");
  EXPECT_THAT(FilesOf("true", /*as_tony=*/true), Not(Contains("a.log")));
}

TEST_F(SourceRulesTest, FilesNamedInACommandOrItsEnvironmentAreShippedDespiteGitignore) {
  WriteAll({"data/x.csv", "data/y.csv", "w.bin", "v.bin", "big/1", "conf/a.yaml", "runs/1/m", "out/old"});
  fs::create_symlink("runs/1", src_ / "latest");
  Write(src_ / ".gitignore", "data/*\n*.bin\nbig/\nconf\nruns\nout\nlatest\n");
  EXPECT_THAT(FilesOf("true"), ElementsAre(".gitignore"));
  EXPECT_THAT(FilesOf("python3 t.py --data=data/x.csv w.bin"), ElementsAre(".gitignore", "data/x.csv", "w.bin"));
  EXPECT_THAT(FilesOf("python3 t.py --data ./data/"), ElementsAre(".gitignore", "data/x.csv", "data/y.csv"));
  EXPECT_THAT(FilesOf("cat data/*.csv"), ElementsAre(".gitignore", "data/x.csv", "data/y.csv"));
  EXPECT_THAT(FilesOf("cat \"$PWD/conf/a.yaml\""), ElementsAre(".gitignore", "conf/a.yaml"));
  EXPECT_THAT(FilesOf("cat " + (src_ / "big/1").string()), ElementsAre(".gitignore", "big/1"));
  EXPECT_THAT(FilesOf("cat latest/m"), ElementsAre(".gitignore", "latest", "runs/1/m")) << "through a link";
  EXPECT_THAT(FilesOf("python3 t.py --output-dir out"), ElementsAre(".gitignore")) << "to be written into";
  JobSpec spec = JobOf("true");
  spec.execution_env = {{"CONF", "conf"}};
  EXPECT_THAT(Files(List(spec)), ElementsAre(".gitignore", "conf/a.yaml"));
  Write(src_ / "run.sh", "exec python3 t.py --data data/y.csv\n");
  EXPECT_THAT(FilesOf("bash run.sh"), ElementsAre(".gitignore", "data/y.csv", "run.sh")) << "a script of it";
}

TEST_F(SourceRulesTest, APythonEnvironmentInSrcDirIsShippedOnlyIfTheCommandUsesIt) {
  WriteAll({"t.py"});
  MakeEnvironment(".venv");
  Write(src_ / ".gitignore", ".venv\n");
  EXPECT_THAT(FilesOf("python3 t.py"), ElementsAre(".gitignore", "t.py"));
  fs::remove(src_ / ".gitignore");
  EXPECT_THAT(FilesOf("python3 t.py"), ElementsAre("t.py"));
  Write(src_ / "run.sh", ". .venv/bin/activate\n");
  Write(src_ / "x.py", "#!" + (src_ / ".venv/bin/python").string() + "\n");
  Write(src_ / "y.py", "subprocess.run(['.venv/bin/python', 't.py'])\n");
  for (const std::string command : {"source .venv/bin/activate && python t.py", ".venv/bin/python t.py", "bash run.sh",
                                    "./x.py", "python3 y.py", "uv run t.py"})
    EXPECT_THAT(FilesOf(command), Contains(".venv/pyvenv.cfg")) << command;
  JobSpec spec = JobOf("python3 t.py");
  spec.python_venv = (src_ / ".venv").string();
  EXPECT_THAT(Files(List(spec)), Not(Contains(".venv/pyvenv.cfg"))) << "it is venv in the task's folder";
}

TEST_F(SourceRulesTest, GitFoldersAndCheckpointsWrittenByTheJobAreNotShipped) {
  WriteAll({"t.py", ".git/config", "sub/.git", "ckpt/old.pt", "ckpt/last.pt"});
  JobSpec spec = JobOf("python3 t.py --resume ckpt/last.pt --to ckpt");
  spec.checkpoint.directory = (src_ / "ckpt").string();
  const SourceListing listing = List(spec);
  EXPECT_THAT(Files(listing), ElementsAre("ckpt/last.pt", "t.py"));
  ASSERT_THAT(listing.left_out, SizeIs(2));
  EXPECT_EQ(listing.left_out[0], (LeftOut{".git", {".git", "sub/.git"}, 2, 8}));
  EXPECT_EQ(listing.left_out[1], (LeftOut{"written by the job", {"ckpt/old.pt"}, 1, 4}));
  Write(src_ / ".tonyignore", "!.git\n");
  EXPECT_THAT(Files(List(spec)), Contains(".git/config")) << "who wants it says so";
}

TEST_F(SourceRulesTest, PipesAndSocketsInSrcDirAreLeftOutAndReported) {
  WriteAll({"t.py"});
  ASSERT_EQ(mkfifo((src_ / "pipe").c_str(), 0600), 0);
  const int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_un address{.sun_family = AF_UNIX};
  (src_ / "agent").string().copy(address.sun_path, sizeof address.sun_path - 1);
  ASSERT_EQ(bind(fd, reinterpret_cast<const sockaddr*>(&address), sizeof address), 0);
  close(fd);
  const auto staged = Must(StageIt(JobOfFolder()));
  const SourceSummary& sources = staged.sources;
  EXPECT_EQ(sources.files, 1);
  ASSERT_THAT(sources.left_out, SizeIs(1));
  EXPECT_EQ(sources.left_out[0], (LeftOut{"neither a file nor a folder nor a symbolic link", {"agent", "pipe"}, 2, 0}));
}

TEST_F(SourceRulesTest, AWarningNamesAShellScriptThatHasWindowsLineEnds) {
  Write(src_ / "outer.sh", "#!/bin/sh\n./inner\n");
  Write(src_ / "inner", "#!/bin/bash\r\necho\r\n");
  Write(src_ / "t.py", "print()\r\n");
  Write(src_ / "data.csv", "1,2\r\n");
  EXPECT_THAT(SelectSources(JobOf("python3 t.py data.csv"), false).warnings, IsEmpty());
  EXPECT_THAT(SelectSources(JobOf("sh outer.sh"), false).warnings,
              ElementsAre(HasSubstr("inner has Windows line ends")));
}

// ---- A damaged entry of the store is found when it is needed again, and is made again.

class RepairTest : public StagingTest {
 protected:
  RepairTest() {
    Write(src_ / "package/a", "first");
    Write(src_ / "b", "second");
    fs::create_symlink("b", src_ / "link");
  }

  // Stages again, and returns the damage that was reported.
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
  // Changes a sealed folder, as root can, or a user who has made it writable.
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

TEST_F(RepairTest, AStagedFolderWithMissingAddedOrChangedFilesIsReportedAndRepaired) {
  const fs::path entry = Staged(JobOfFolder());
  const std::vector<std::pair<std::function<void()>, std::string>> damages = {
      {[&] { Change(entry, [&] { fs::remove(entry / "b"); }); }, "b is missing"},
      {[&] { Change(entry / "package", [&] { fs::remove(entry / "package/a"); }); }, "package/a is missing"},
      {[&] { Change(entry, [&] { Write(entry / "new", "x"); }); }, "new was added"},
      {[&] { Overwrite(entry / "b", "sec"); }, "b is \"file 0444 3\" instead of \"file 0444 6\""},
      {[&] { Overwrite(entry / "b", "SECOND"); }, "the content of the entry has changed"},
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

TEST_F(RepairTest, AStagedFileWithChangedContentIsReportedAndRepaired) {
  JobSpec spec = Job();
  spec.files = {{(src_ / "b").string(), "b", false}};
  const fs::path entry = Staged(spec);
  Overwrite(entry, "SECOND");
  EXPECT_THAT(Again(spec), HasSubstr("resource " + (src_ / "b").string() + ": the content of the entry has changed"));
  EXPECT_EQ(Text(entry), "second");
}

TEST_F(RepairTest, AnArchiveIsUnpackedAgainWhenAFileOfItsStagedEntryWasOverwritten) {
  const JobSpec spec = JobOfArchive({{.name = "train.py", .content = "print()"}});
  const fs::path entry = Staged(spec);
  EXPECT_THAT(Again(spec), IsEmpty());
  Overwrite(entry / "train.py", "prunt()");
  EXPECT_THAT(Again(spec), HasSubstr("the times of train.py differ"));
  EXPECT_EQ(Text(entry / "train.py"), "print()");
}

TEST_F(RepairTest, StagedEntriesRestoredFromABackupAreVerifiedOnceAndReused) {
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

TEST_F(RepairTest, AMissingOrTruncatedManifestIsRewrittenAndTheStagedFilesStay) {
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

TEST_F(RepairTest, ASweepRemovesTheOldCopyOfARepairedEntryOnlyWhenNoJobRefersToTheEntry) {
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

TEST_F(RepairTest, TheNextSubmitRepairsADamagedEntryAfterAnInterruptedRepair) {
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
