// Folders and files are staged into the store.
#include "runtime/staging/stage.h"

#include <fcntl.h>
#include <sys/mount.h>
#include <unistd.h>

#include <thread>

#include "runtime/os/files.h"
#include "runtime/os/sha256.h"
#include "tests/support/results.h"
#include "tests/unit/staging/staging_bed.h"

namespace tony {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

TEST(Sha256Test, HashesMatchKnownAnswers) {
  EXPECT_EQ(Sha256Hex(""), "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
  EXPECT_EQ(Sha256Hex("abc"), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
}

TEST_F(StagingTest, SrcDirIsStagedWithExecutableBitsSymlinksAndEmptyFolders) {
  Write(src_ / "train.py", "print()");
  Write(src_ / "package/run.sh", "#!/bin/sh");
  fs::permissions(src_ / "package/run.sh", fs::perms(0755));
  Write(src_ / ".hidden", "h");
  fs::create_directory(src_ / "empty");
  fs::create_symlink("train.py", src_ / "main.py");
  fs::create_symlink("/usr/bin/python3", src_ / "python");
  fs::create_symlink("nowhere", src_ / "dangling");
  const fs::path entry = Staged(JobOfFolder());
  EXPECT_EQ(entry.parent_path(), home_ / "staged");
  EXPECT_EQ(Text(entry / "train.py"), "print()");
  EXPECT_EQ(Text(entry / ".hidden"), "h");
  EXPECT_EQ(fs::read_symlink(entry / "main.py"), "train.py");
  EXPECT_EQ(fs::read_symlink(entry / "python"), "/usr/bin/python3");
  EXPECT_EQ(fs::read_symlink(entry / "dangling"), "nowhere");
  EXPECT_EQ(Mode(entry / "train.py"), 0444u);
  EXPECT_EQ(Mode(entry / "package/run.sh"), 0555u);
  for (const char* folder : {"", "package", "empty"}) EXPECT_EQ(Mode(entry / folder), 0555u) << folder;
  EXPECT_EQ(fs::last_write_time(entry / "train.py"), fs::last_write_time(src_ / "train.py"));
  EXPECT_EQ(fs::last_write_time(entry / "package"), fs::last_write_time(src_ / "package"));
  EXPECT_EQ(Mode(home_ / "staged"), 0700u);
}

// Returns a cluster that has these files, by source.
ListRemoteFiles ClusterWith(std::map<std::string, std::vector<RemoteFile>> there) {
  return [there](const FileSpec& file) -> Result<std::vector<RemoteFile>> {
    if (const auto found = there.find(file.source); found != there.end()) return found->second;
    return Error{ErrorCode::kInvalid, "no such file"};
  };
}

TEST_F(StagingTest, RemoteFilesAreStagedByReferenceWithoutCopyingThem) {
  Write(temp_.path() / "data.csv", "x");
  const RemoteFile a{"a.txt", "/in/a.txt", 5, FromMillis(7), false}, b{"b.txt", "/in/b.txt", 6, FromMillis(8), false},
      venv{"venv", "/venv.zip", 9, FromMillis(9), true};
  look_ = ClusterWith({{"hdfs:///in", {a, b}}, {"hdfs:///venv.zip", {venv}}});
  JobSpec spec = Job();
  spec.python_venv = "hdfs:///venv.zip";
  spec.roles[0].command = "venv/bin/python train.py";
  spec.files = {{(temp_.path() / "data.csv").string(), "data.csv", false}};
  spec.roles[0].files = {{"hdfs:///in", "in", false}};
  const auto staged = Must(StageIt(spec));
  ASSERT_THAT(staged.job, SizeIs(2));
  EXPECT_EQ(staged.job[0], (StagedEntry{.name = "venv", .path = KeyOf(venv)}));
  EXPECT_EQ(staged.roles.at("worker"),
            (std::vector<StagedEntry>{{.name = "a.txt", .path = KeyOf(a)}, {.name = "b.txt", .path = KeyOf(b)}}));
  EXPECT_EQ(staged.remote, (std::map<std::string, RemoteFile>{{KeyOf(a), a}, {KeyOf(b), b}, {KeyOf(venv), venv}}));
  EXPECT_THAT(InStore(), SizeIs(1));
  RemoteFile newer = b;
  newer.modified = FromMillis(10);
  look_ = ClusterWith({{"hdfs:///in", {a, newer}}, {"hdfs:///venv.zip", {venv}}});
  EXPECT_NE(StageIt(spec)->content, staged.content);
}

TEST_F(StagingTest, TasksReceiveCopiesOfTheFilesOfARemoteSrcDir) {
  const RemoteFile script{"train.py", "/app/train.py", 5, FromMillis(7), false},
      module{"lib/a.py", "/app/lib/a.py", 6, FromMillis(8), false}, packed{"", "/app.zip", 9, FromMillis(9), true};
  look_ = ClusterWith({{"hdfs:///app", {script, module}}, {"hdfs:///app.zip", {packed}}});
  JobSpec spec = Job();
  spec.src_dir = "hdfs:///app";
  EXPECT_EQ(StageIt(spec)->job, (std::vector<StagedEntry>{{"train.py", KeyOf(script), StagedEntry::Form::kCopy},
                                                          {"lib/a.py", KeyOf(module), StagedEntry::Form::kCopy}}));
  spec.roles[0].files = {{"hdfs:///one.txt", "train.py", false}};
  look_ = ClusterWith({{"hdfs:///app", {script, module}},
                       {"hdfs:///app.zip", {packed}},
                       {"hdfs:///one.txt", {{"train.py", "/one.txt", 1, FromMillis(7), false}}}});
  EXPECT_TRUE(StageIt(spec).ok()) << "what is asked for by name goes before it";
  spec.roles[0].files.clear();
  spec.src_dir = "hdfs:///app.zip";
  EXPECT_EQ(StageIt(spec)->job, (std::vector<StagedEntry>{{"", KeyOf(packed), StagedEntry::Form::kContents}}));
  spec.src_dir = "hdfs:///none";
  EXPECT_EQ(StageIt(spec).error().message, "src_dir hdfs:///none: no such file");
}

TEST_F(StagingTest, AMissingRemoteFileIsReportedBeforeStaging) {
  Write(temp_.path() / "data.csv", "x");
  JobSpec spec = Job();
  spec.files = {{(temp_.path() / "data.csv").string(), "data.csv", false}};
  spec.roles[0].files = {{"hdfs:///in", "in", false}};
  look_ = ClusterWith({});
  EXPECT_EQ(Refused(spec).message, "resource hdfs:///in: no such file");
  look_ = NoRemoteFiles;
  EXPECT_EQ(Refused(spec).code, ErrorCode::kInvalid);
}

TEST_F(StagingTest, ARemoteFileWithTheNameOfAnotherResourceIsRefused) {
  const RemoteFile a{"a.txt", "/in/a.txt", 5, FromMillis(7), false};
  look_ = ClusterWith({{"hdfs:///in", {a}}, {"hdfs:///in/a.txt", {a}}});
  Write(temp_.path() / "a.txt", "x");
  JobSpec spec = Job();
  spec.files = {{(temp_.path() / "a.txt").string(), "a.txt", false}};
  spec.roles[0].files = {{"hdfs:///in", "in", false}};
  ExpectError(StageIt(spec), "resource hdfs:///in: another resource has the name a.txt in the task's folder");
  spec.files = {{"hdfs:///in/a.txt", "a.txt", false}};
  EXPECT_TRUE(StageIt(spec).ok()) << "it is the same file";
}

TEST_F(StagingTest, ASecondSubmitOfTheSameSourcesCopiesNothing) {
  Write(src_ / "train.py", "print()");
  Write(temp_.path() / "data.csv", std::string(100'000, 'x'));
  BuildArchive(archive_, ArchiveForm::kZip, {{.name = "model/weights", .content = "w"}});
  JobSpec spec = JobOfFolder();
  spec.files = {{(temp_.path() / "data.csv").string(), "input.csv", false}, {archive_.string(), "model", true}};
  const auto first = Must(StageIt(spec));
  EXPECT_EQ(progress_.copied, 100'008);
  EXPECT_EQ(progress_.done, progress_.total);
  std::vector<struct stat> before;
  for (const auto& entry : fs::recursive_directory_iterator(home_ / "staged")) before.push_back(Look(entry.path()));
  const auto second = Must(StageIt(spec));
  EXPECT_EQ(first, second);
  EXPECT_EQ(progress_.copied, 0);
  EXPECT_EQ(progress_.done, progress_.total);
  size_t i = 0;
  for (const auto& entry : fs::recursive_directory_iterator(home_ / "staged")) {
    const struct stat now = Look(entry.path());
    ASSERT_LT(i, before.size());
    EXPECT_EQ(now.st_ino, before[i].st_ino) << entry.path();
    EXPECT_EQ(now.st_ctim.tv_nsec, before[i].st_ctim.tv_nsec) << entry.path();
    ++i;
  }
}

TEST_F(StagingTest, AnySourceChangeOtherThanATimestampMakesANewStagedEntry) {
  Write(src_ / "a", "1");
  std::set<fs::path> entries = {Staged(JobOfFolder())};
  const auto expect_new = [&](const char* what) { EXPECT_TRUE(entries.insert(Staged(JobOfFolder())).second) << what; };
  Write(src_ / "a", "2");
  expect_new("content");
  fs::permissions(src_ / "a", fs::perms(0700));
  expect_new("executable bit");
  fs::rename(src_ / "a", src_ / "b");
  expect_new("name");
  fs::create_directory(src_ / "empty");
  expect_new("empty folder");
  fs::create_symlink("x", src_ / "l");
  expect_new("link");
  fs::remove(src_ / "l");
  fs::create_symlink("y", src_ / "l");
  expect_new("target");
  fs::last_write_time(src_ / "b", fs::file_time_type::clock::now() - std::chrono::hours(1));
  EXPECT_FALSE(entries.insert(Staged(JobOfFolder())).second) << "times do not matter";
}

TEST_F(StagingTest, JobFilesAndRoleFilesAndAmFilesAreStagedInSeparateLists) {
  Write(temp_.path() / "data", "d");
  Write(temp_.path() / "tool", "#!/bin/sh");
  fs::permissions(temp_.path() / "tool", fs::perms(0755));
  Write(temp_.path() / "folder/x", "x");
  JobSpec spec = JobOfFolder();
  spec.files = {{(temp_.path() / "data").string(), "input", false}};
  spec.roles[0].files = {{(temp_.path() / "tool").string(), "tool", false}};
  spec.am_files = {{(temp_.path() / "folder").string(), "folder", false}};
  const auto staged = Must(StageIt(spec));
  ASSERT_THAT(staged.job, SizeIs(2));
  EXPECT_EQ(staged.job[0].name, "input");
  EXPECT_EQ(staged.job[0].path.filename(), Sha256Hex("d"));
  EXPECT_EQ(Mode(staged.job[0].path), 0444u);
  EXPECT_EQ(staged.job[1].form, StagedEntry::Form::kContents);
  ASSERT_THAT(staged.roles.at("worker"), SizeIs(1));
  EXPECT_EQ(staged.roles.at("worker")[0].path.filename(), Sha256Hex("#!/bin/sh") + "-x");
  EXPECT_EQ(Mode(staged.roles.at("worker")[0].path), 0555u);
  ASSERT_THAT(staged.am, SizeIs(1));
  EXPECT_EQ(Text(staged.am[0].path / "x"), "x");
}

// The content's hash decides whether two jobs are the same, so it covers what runs and not where it lay.
TEST_F(StagingTest, TheContentHashCoversFileNamesAndBytesButNotPycacheFolders) {
  Write(src_ / "a.py", "a");
  const std::string content = StageIt(JobOfFolder())->content;
  EXPECT_EQ(content.size(), 64u);
  Write(src_ / "__pycache__/a.pyc", "compiled");
  Write(src_ / "package/__pycache__/b.pyc", "compiled");
  fs::last_write_time(src_ / "a.py", fs::file_time_type::clock::now() - std::chrono::hours(1));
  const std::string with_package = StageIt(JobOfFolder())->content;
  fs::remove_all(src_ / "package");
  EXPECT_EQ(StageIt(JobOfFolder())->content, content);
  EXPECT_NE(with_package, content) << "the folder `package` itself is the user's";

  JobSpec spec = JobOfFolder();
  spec.src_dir = (temp_.path() / "moved").string();
  fs::rename(src_, spec.src_dir);
  EXPECT_EQ(StageIt(spec)->content, content);
  Write(fs::path(spec.src_dir) / "a.py", "b");
  EXPECT_NE(StageIt(spec)->content, content);

  Write(temp_.path() / "data", "d");
  spec.files = {{(temp_.path() / "data").string(), "input", false}};
  const std::string for_all = StageIt(spec)->content;
  spec.files[0].name = "other";
  EXPECT_NE(StageIt(spec)->content, for_all);
  spec.roles[0].files = std::exchange(spec.files, {});
  EXPECT_NE(StageIt(spec)->content, for_all) << "whose it is counts";
}

TEST_F(StagingTest, AJobWithoutFilesNeedsNoStaging) {
  EXPECT_FALSE(NeedsStaging(Job()));
  EXPECT_TRUE(NeedsStaging(JobOfFolder()));
}

TEST_F(StagingTest, AMissingSourceIsReportedInOneLine) {
  JobSpec spec = Job();
  spec.files = {{(temp_.path() / "gone.csv").string(), "gone.csv", false}};
  const Error error = Refused(spec);
  EXPECT_EQ(error.code, ErrorCode::kInvalid);
  EXPECT_EQ(error.message, "resource " + (temp_.path() / "gone.csv").string() + ": read " +
                               (temp_.path() / "gone.csv").string() + ": no such file or directory");
}

TEST_F(StagingTest, ASourceFileThatChangesDuringStagingIsRefused) {
  Write(src_ / "a", std::string(1 << 20, 'a'));
  Write(src_ / "b", "b");
  const StageWatch watch = {[&](const StageProgress& progress) {
                              if (progress.done == (1 << 20) + 1) Write(src_ / "a", "changed");  // all files are hashed
                            },
                            stop_.get_token()};
  const auto store = StagedStore::Open(home_, stop_.get_token());
  ExpectError(Stage(JobOfFolder(), *store, watch), ErrorCode::kUnavailable,
              StrCat("~", (src_ / "a").string() + ": the source changed while it was read"));
  EXPECT_THAT(InStore(), IsEmpty());
}

TEST_F(StagingTest, TheErrorNamesASourceFileThatVanishesDuringStaging) {
  Write(src_ / "a", std::string(1 << 20, 'a'));
  Write(src_ / "b", "b");
  const StageWatch watch = {[&](const StageProgress& progress) {
                              if (progress.copied > 0) fs::remove(src_ / "b");
                            },
                            stop_.get_token()};
  const auto store = StagedStore::Open(home_, stop_.get_token());
  ExpectError(Stage(JobOfFolder(), *store, watch), ErrorCode::kInvalid,
              StrCat("~", (src_ / "b").string() + ": no such file"));
  EXPECT_THAT(InStore(), IsEmpty());
}

TEST_F(StagingTest, AStagingStoreInsideSrcDirIsNotStaged) {
  Write(temp_.path() / "train.py", "x");
  JobSpec spec = Job();
  spec.src_dir = temp_.path().string();
  const fs::path first = Staged(spec);
  EXPECT_TRUE(fs::exists(first / "train.py"));
  EXPECT_FALSE(fs::exists(first / "home"));
  EXPECT_EQ(Staged(spec), first);
}

TEST_F(StagingTest, AStopRequestDuringStagingLeavesNothingInTheStore) {
  Write(src_ / "a", std::string(4 << 20, 'a'));
  const StageWatch watch = {[&](const StageProgress& progress) {
                              if (progress.copied > 0) stop_.request_stop();
                            },
                            stop_.get_token()};
  const auto store = StagedStore::Open(home_, stop_.get_token());
  const auto staged = Stage(JobOfFolder(), *store, watch);
  ASSERT_FALSE(staged.ok());
  EXPECT_EQ(staged.error().code, ErrorCode::kUnavailable);
  EXPECT_THAT(InStore(), IsEmpty());
}

TEST_F(StagingTest, EightConcurrentSubmitsOfTheSameSourcesMakeOneStagedEntry) {
  for (int i = 0; i < 50; ++i) Write(src_ / std::to_string(i), std::string(10'000, 'x'));
  std::atomic<int64_t> copied = 0;
  {
    std::vector<std::jthread> threads;
    for (int i = 0; i < 8; ++i) {
      threads.emplace_back([&] {
        int64_t mine = 0;
        const StageWatch watch = {[&](const StageProgress& progress) { mine = progress.copied; }, {}};
        const auto store = StagedStore::Open(home_, {});
        EXPECT_TRUE(Stage(JobOfFolder(), *store, watch).ok());
        copied += mine;
      });
    }
  }
  EXPECT_EQ(copied, 500'000);
  EXPECT_THAT(InStore(), SizeIs(1));
}

TEST_F(StagingTest, AHalfCopiedEntryOfAKilledSubmitIsReplacedByTheNextSubmit) {
  Write(src_ / "train.py", "x");
  const fs::path entry = Staged(JobOfFolder());
  const std::string name = entry.filename().string();
  ASSERT_TRUE(RemoveTree(entry).ok());
  for (const std::string& half : {".new-" + name, ".new-" + name + ".0123abcd"})
    Write(home_ / "staged" / half / "half", "h");
  Write(home_ / "staged" / (".busy-" + name), "");
  EXPECT_EQ(Staged(JobOfFolder()), entry);
  EXPECT_THAT(InStore(), testing::ElementsAre(name));
  EXPECT_FALSE(fs::exists(entry / "half"));
}

TEST_F(StagingTest, AReadOnlyStoreIsReportedInOneLine_NeedsRoot) {
  if (geteuid() != 0) GTEST_SKIP() << "mounting needs root";
  fs::create_directory(home_);
  if (mount("none", home_.c_str(), "tmpfs", MS_RDONLY, nullptr) != 0) GTEST_SKIP() << "no mounting here";
  const auto staged = StageIt(JobOfFolder());
  EXPECT_EQ(umount(home_.c_str()), 0);
  ASSERT_FALSE(staged.ok());
  EXPECT_EQ(staged.error().code, ErrorCode::kCannotWrite);
  EXPECT_EQ(staged.error().message, "make " + (home_ / "staged").string() + ": read-only file system");
}

TEST_F(StagingTest, TheErrorNamesAStagingStoreOnAFullDisk_NeedsRoot) {
  if (geteuid() != 0) GTEST_SKIP() << "mounting needs root";
  fs::create_directory(home_);
  if (mount("none", home_.c_str(), "tmpfs", 0, "size=1m") != 0) GTEST_SKIP() << "no mounting here";
  Write(src_ / "large", std::string(2 << 20, 'x'));
  BuildArchive(archive_, ArchiveForm::kZip, {{.name = "zeros", .content = std::string(2 << 20, '0')}});
  JobSpec of_archive = Job();
  of_archive.src_dir = archive_.string();
  for (const JobSpec& spec : {JobOfFolder(), of_archive}) {
    const Error error = Refused(spec);
    EXPECT_EQ(error.code, ErrorCode::kCannotWrite) << error.message;
    EXPECT_THAT(error.message, HasSubstr((home_ / "staged").string()));
  }
  EXPECT_EQ(umount(home_.c_str()), 0);
}

}  // namespace
}  // namespace tony
