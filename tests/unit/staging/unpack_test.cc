// Archives that are well-formed, and archives that are hostile.
#include "runtime/staging/unpack.h"

#include <fcntl.h>

#include <chrono>
#include <random>

#include "runtime/base/strings.h"
#include "tests/support/results.h"
#include "tests/support/rounds.h"
#include "tests/unit/staging/staging_bed.h"

namespace tony {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

class UnpackTest : public StagingTest {
 protected:
  // Expects that both formats are refused, with this name and reason.
  void ExpectRefused(const Entries& entries, const std::string& name, const std::string& why,
                     std::initializer_list<ArchiveForm> forms = {ArchiveForm::kTar, ArchiveForm::kZip}) {
    for (const ArchiveForm form : forms) {
      const Error error = Refused(JobOfArchive(entries, form));
      EXPECT_EQ(error.code, ErrorCode::kInvalid);
      EXPECT_THAT(error.message, HasSubstr("src_dir " + archive_.string() + ": \"" + name + "\": "));
      EXPECT_THAT(error.message, HasSubstr(why));
    }
  }
  void ExpectRefusedBytes(const std::string& bytes, const std::string& why) {
    Write(archive_, bytes);
    JobSpec spec = Job();
    spec.src_dir = archive_.string();
    const Error error = Refused(spec);
    EXPECT_EQ(error.code, ErrorCode::kInvalid);
    EXPECT_THAT(error.message, HasSubstr(why));
  }
  static Entries Honest() {
    return {{.name = "app/", .kind = Kind::kFolder, .mode = 0755},
            {.name = "app/run.sh", .content = "#!/bin/sh\necho hi\n", .mode = 0755},
            {.name = "app/empty/", .kind = Kind::kFolder, .mode = 0700},
            {.name = "app/caf\xc3\xa9.txt", .content = std::string(5000, 'x')},
            {.name = "app/zero", .content = ""},
            {.name = "app/link", .kind = Kind::kSymlink, .content = "run.sh"},
            {.name = "app/python3", .kind = Kind::kSymlink, .content = "/usr/bin/python3"}};
  }
};

TEST_F(UnpackTest, EveryArchiveFormatIsUnpackedWithExecutableBitsSymlinksAndEmptyFolders) {
  for (const ArchiveForm form : kAllArchiveForms) {
    const fs::path entry = Staged(JobOfArchive(Honest(), form));
    EXPECT_EQ(Text(entry / "app/run.sh"), "#!/bin/sh\necho hi\n");
    EXPECT_EQ(Mode(entry / "app/run.sh"), 0555u);
    EXPECT_EQ(Mode(entry / "app/caf\xc3\xa9.txt"), 0444u);
    EXPECT_EQ(fs::file_size(entry / "app/caf\xc3\xa9.txt"), 5000u);
    EXPECT_EQ(Mode(entry / "app/empty"), 0555u);
    EXPECT_EQ(Mode(entry), 0555u);
    EXPECT_EQ(fs::file_size(entry / "app/zero"), 0u);
    EXPECT_EQ(fs::read_symlink(entry / "app/link"), "run.sh");
    EXPECT_EQ(fs::read_symlink(entry / "app/python3"), "/usr/bin/python3");
    EXPECT_EQ(Look(entry / "app/run.sh").st_mtim.tv_sec, 1'600'000'000);
  }
  EXPECT_THAT(InStore(), SizeIs(std::size(kAllArchiveForms)));
}

TEST_F(UnpackTest, ParentFoldersWithoutAnArchiveEntryAreCreated) {
  const fs::path entry = Staged(JobOfArchive({{.name = "./a//b/./c", .content = "c"}}));
  EXPECT_EQ(Text(entry / "a/b/c"), "c");
}

TEST_F(UnpackTest, AHardLinkToAnEarlierFileOfTheArchiveIsUnpacked) {
  const fs::path entry = Staged(
      JobOfArchive({{.name = "a/x", .content = "x"}, {.name = "b/y", .kind = Kind::kHardLink, .content = "a/x"}}));
  EXPECT_EQ(Text(entry / "b/y"), "x");
}

TEST_F(UnpackTest, SetuidBitsInAnArchiveAreDropped) {
  EXPECT_EQ(Mode(Staged(JobOfArchive({{.name = "su", .content = "x", .mode = 06755}})) / "su"), 0555u);
}

TEST_F(UnpackTest, EntryNamesThatLeadOutsideTheTargetFolderAreRefused) {
  ExpectRefused({{.name = "../escaped", .content = "x"}}, "../escaped", "..");
  ExpectRefused({{.name = "a/../../escaped", .content = "x"}}, "a/../../escaped", "..");
  ExpectRefused({{.name = (temp_.path() / "escaped").string(), .content = "x"}}, (temp_.path() / "escaped").string(),
                "absolute", {ArchiveForm::kTar});
  ExpectRefused({{.name = "..", .kind = Kind::kFolder}}, "../", "..", {ArchiveForm::kTar});
}

TEST_F(UnpackTest, EntryNamesThatPassThroughASymlinkAreRefused) {
  const std::string outside = temp_.path().string();
  const BuiltEntry link = {.name = "out", .kind = Kind::kSymlink, .content = outside};
  ExpectRefused({link, {.name = "out/escaped", .content = "x"}}, "out/escaped", "not a folder");
  ExpectRefused({link, {.name = "out/escaped/deep", .content = "x"}}, "out/escaped/deep", "not a folder");
  ExpectRefused({{.name = "d/", .kind = Kind::kFolder},
                 {.name = "d/up", .kind = Kind::kSymlink, .content = ".."},
                 {.name = "d/up/up", .kind = Kind::kSymlink, .content = ".."}},
                "d/up/up", "not a folder");
}

TEST_F(UnpackTest, ALaterArchiveEntryReplacesAnEarlierEntryOfTheSameName) {
  const fs::path victim = temp_.path() / "victim";
  Write(victim, "untouched");
  const Entries entries = {{.name = "again", .content = "1", .mode = 0755},
                           {.name = "was link", .kind = Kind::kSymlink, .content = victim.string()},
                           {.name = "was file", .content = "1"},
                           {.name = "now folder", .kind = Kind::kSymlink, .content = victim.string()},
                           {.name = "again", .content = "2"},
                           {.name = "was link", .content = "2"},
                           {.name = "was file", .kind = Kind::kSymlink, .content = "again"},
                           {.name = "now folder/", .kind = Kind::kFolder, .mode = 0755},
                           {.name = "now folder/x", .content = "2"}};
  for (const ArchiveForm form : {ArchiveForm::kTar, ArchiveForm::kZip}) {
    const fs::path entry = Staged(JobOfArchive(entries, form));
    EXPECT_EQ(Text(entry / "again"), "2");
    EXPECT_EQ(Mode(entry / "again"), 0444u);
    EXPECT_EQ(Text(entry / "was link"), "2");
    EXPECT_EQ(fs::read_symlink(entry / "was file"), "again");
    EXPECT_EQ(Text(entry / "now folder/x"), "2");
    EXPECT_EQ(Text(victim), "untouched");
  }
}

TEST_F(UnpackTest, AHardLinkKeepsTheOldContentWhenALaterEntryReplacesTheLinkedFile) {
  const fs::path entry = Staged(JobOfArchive({{.name = "a", .content = "1"},
                                              {.name = "b", .kind = Kind::kHardLink, .content = "a"},
                                              {.name = "a", .kind = Kind::kHardLink, .content = "a"},
                                              {.name = "a", .content = "2"}}));
  EXPECT_EQ(Text(entry / "a"), "2");
  EXPECT_EQ(Text(entry / "b"), "1");
}

TEST_F(UnpackTest, AnEntryWithTheNameOfAnEarlierFolderIsRefused) {
  ExpectRefused({{.name = "d/", .kind = Kind::kFolder}, {.name = "d", .content = "x"}}, "d",
                "an earlier folder of the archive has this name", {ArchiveForm::kTar});
}

TEST_F(UnpackTest, ASparseFileInATarIsUnpackedAsASparseFileOfTheSameSize) {
  const fs::path folder = temp_.path() / "holes";
  const std::string make = StrCat("mkdir ", folder.string(), " && cd ", folder.string(),
                                  " && truncate -s 1M all && { echo begin; } > begin && truncate -s 1M begin && "
                                  "truncate -s 1M end && echo end >> end");
  ASSERT_EQ(std::system(make.c_str()), 0);
  for (const std::string format : {"gnu", "oldgnu", "pax --sparse-version=0.0", "pax --sparse-version=0.1", "pax"}) {
    const std::string pack =
        StrCat("tar -cS --format=", format, " -f ", archive_.string(), " -C ", folder.string(), " .");
    ASSERT_EQ(std::system(pack.c_str()), 0) << format;
    JobSpec spec = Job();
    spec.src_dir = archive_.string();
    const fs::path entry = Staged(spec);
    EXPECT_EQ(fs::file_size(entry / "all"), 1u << 20) << format;
    EXPECT_EQ(fs::file_size(entry / "begin"), 1u << 20) << format;
    EXPECT_EQ(fs::file_size(entry / "end"), (1u << 20) + 4) << format;
    EXPECT_EQ(Text(entry / "begin").substr(0, 7), std::string("begin\n\0", 7)) << format;
    EXPECT_EQ(Text(entry / "end").substr(1u << 20), "end\n") << format;
    EXPECT_LT(Look(entry / "all").st_blocks + Look(entry / "begin").st_blocks, 100) << format;
  }
}

TEST_F(UnpackTest, HardLinksToFilesOutsideTheArchiveAreRefused) {
  Write(temp_.path() / "secret", "s");
  const std::string secret = (temp_.path() / "secret").string();
  const auto hard_link = [](const std::string& target) {
    return BuiltEntry{.name = "h", .kind = Kind::kHardLink, .content = target};
  };
  ExpectRefused({hard_link(secret)}, secret, "absolute", {ArchiveForm::kTar});
  ExpectRefused({hard_link("../../../secret")}, "../../../secret", "..", {ArchiveForm::kTar});
  ExpectRefused({hard_link("missing")}, "h", "not an earlier file of the archive", {ArchiveForm::kTar});
  ExpectRefused({{.name = "l", .kind = Kind::kSymlink, .content = secret}, hard_link("l")}, "h",
                "not an earlier file of the archive", {ArchiveForm::kTar});
  ExpectRefused({{.name = "d", .kind = Kind::kSymlink, .content = temp_.path().string()}, hard_link("d/secret")},
                "d/secret", "not a folder", {ArchiveForm::kTar});
}

TEST_F(UnpackTest, DevicesAndPipesAreRefused) {
  ExpectRefused({{.name = "pipe", .kind = Kind::kPipe}}, "pipe", "neither", {ArchiveForm::kTar});
  ExpectRefused({{.name = "null", .kind = Kind::kDevice}}, "null", "neither", {ArchiveForm::kTar});
}

TEST_F(UnpackTest, EntryNamesThatAreTooLongOrNotUtf8AreRefused) {
  ExpectRefused({{.name = "caf\xe9", .content = "x"}}, "caf\xef\xbf\xbd", "not UTF-8");
  ExpectRefused({{.name = std::string(300, 'n'), .content = "x"}}, std::string(300, 'n'), "too long");
  std::string deep;
  for (int i = 0; i < 600; ++i) deep += "abc/";
  ExpectRefused({{.name = deep + "x", .content = "x"}}, deep.substr(0, 300), "too long");
}

TEST_F(UnpackTest, EntryNamesUpTo255BytesAndPathsUpTo2048BytesAreAccepted) {
  const std::string longest(255, 'n');
  ExpectRefused({{.name = longest + "n", .content = "x"}}, longest + "n", "the name of the entry is too long");
  ExpectRefused({{.name = longest + "n/x", .content = "x"}}, longest + "n/x", "the name of the entry is too long");
  std::string path;
  while (path.size() < 2048) path += "abcdefg/";
  path.back() = 'x';
  ASSERT_EQ(path.size(), 2048u);
  ExpectRefused({{.name = path + "y", .content = "y"}}, path.substr(0, 300), "the path of the entry is too long");
  const fs::path entry =
      Staged(JobOfArchive({{.name = longest + "/" + longest, .content = "n"}, {.name = path, .content = "x"}}));
  EXPECT_EQ(Text(entry / longest / longest), "n");
  EXPECT_EQ(Text(entry / path), "x");
}

TEST_F(UnpackTest, AnEncryptedArchiveIsRefused) {
  BuildArchive(archive_, ArchiveForm::kZip, {{.name = "secret", .content = "content"}}, "password");
  JobSpec spec = Job();
  spec.src_dir = archive_.string();
  EXPECT_THAT(Refused(spec).message, HasSubstr("\"secret\": the entry is encrypted"));
}

TEST_F(UnpackTest, AFileThatIsNotAnArchiveIsRefused) {
  for (const char* text : {"", "hello", "PK\x03\x04 but no more", "\x1f\x8b"})
    ExpectRefusedBytes(text, archive_.string());
  ExpectRefusedBytes(std::string(100'000, '\0'), "the archive is empty");
}

TEST_F(UnpackTest, ATruncatedArchiveIsRefused) {
  for (const ArchiveForm form : kAllArchiveForms) {
    BuildArchive(archive_, form, Honest());
    const std::string whole = Text(archive_);
    for (const size_t part : {1, 3, 5, 7}) ExpectRefusedBytes(whole.substr(0, whole.size() * part / 10), "");
  }
}

TEST_F(UnpackTest, AnArchiveOf101EntriesIsRefusedIfTheEntryLimitIs100) {
  limits_.entries = 100;
  Entries entries;
  for (int i = 0; i < 100; ++i) entries.push_back({.name = "f" + std::to_string(i)});
  const fs::path entry = Staged(JobOfArchive(entries));
  EXPECT_TRUE(fs::exists(entry / "f99"));
  ASSERT_TRUE(RemoveTree(entry).ok());
  entries.push_back({.name = "one too many"});
  EXPECT_THAT(Refused(JobOfArchive(entries)).message, HasSubstr("more than 100 entries"));
}

TEST_F(UnpackTest, DecompressionBombsAreRefusedByRatioAndByTotalSize) {
  limits_.bytes = 10 << 20;
  limits_.free_of_ratio = 1 << 20;
  const std::string zeros(8 << 20, '\0');
  for (const ArchiveForm form : {ArchiveForm::kZip, ArchiveForm::kTarGz, ArchiveForm::kTarXz, ArchiveForm::kTarZst}) {
    ExpectRefused({{.name = "bomb", .content = zeros}}, "bomb", "times its size", {form});
    EXPECT_LE(progress_.copied, 2 << 20) << "noticed early";
  }
  limits_.ratio = 1'000'000;
  ExpectRefused({{.name = "one", .content = zeros}, {.name = "two", .content = zeros}}, "two", "more than 10 MB");
}

TEST_F(UnpackTest, AStopRequestDuringUnpackingLeavesNothingInTheStore) {
  const JobSpec spec = JobOfArchive({{.name = "a", .content = std::string(4 << 20, 'x')}});
  const StageWatch watch = {[&](const StageProgress& progress) {
                              if (progress.copied > 0) stop_.request_stop();
                            },
                            stop_.get_token()};
  const auto store = StagedStore::Open(home_, stop_.get_token());
  EXPECT_FALSE(Stage(spec, *store, watch).ok());
  EXPECT_THAT(InStore(), IsEmpty());
}

TEST_F(UnpackTest, AnArchiveThatChangesDuringUnpackingIsRefused) {
  const JobSpec spec = JobOfArchive({{.name = "a", .content = std::string(1 << 20, 'x')}});
  const StageWatch watch = {[&](const StageProgress& progress) {
                              if (progress.copied > 0) std::ofstream(archive_, std::ios::app) << "more";
                            },
                            {}};
  const auto store = StagedStore::Open(home_, {});
  const auto staged = Stage(spec, *store, watch);
  ASSERT_FALSE(staged.ok());
  EXPECT_EQ(staged.error().code, ErrorCode::kUnavailable);
  EXPECT_THAT(InStore(), IsEmpty());
}

// Returns the bytes with a few of them changed, cut out, doubled or swapped.
std::string Mutate(std::string bytes, std::mt19937& random) {
  const auto below = [&](size_t limit) { return std::uniform_int_distribution<size_t>(0, limit - 1)(random); };
  for (size_t changes = 1 + below(4); changes > 0 && !bytes.empty(); --changes) {
    const size_t at = below(bytes.size()), length = std::min(bytes.size() - at, 1 + below(16));
    switch (below(5)) {
      case 0:
        bytes[at] = static_cast<char>(below(256));
        break;
      case 1:
        bytes[at] ^= static_cast<char>(1 << below(8));
        break;
      case 2:
        bytes.erase(at, length);
        break;
      case 3:
        bytes.insert(at, bytes.substr(below(bytes.size()), length));
        break;
      default:
        for (size_t i = 0; i < length; ++i) bytes[at + i] = static_cast<char>(below(3) * 127 + below(2));
        break;
    }
  }
  return bytes;
}

// Corrects the checksums of damaged tar headers, so that a reader gets past them.
void MendTarChecksums(std::string& tar) {
  for (size_t at = 0; at + 512 <= tar.size(); at += 512) {
    if (tar.compare(at + 257, 5, "ustar") != 0) continue;
    std::fill_n(tar.begin() + static_cast<std::ptrdiff_t>(at + 148), 8, ' ');
    unsigned sum = 0;
    for (size_t i = 0; i < 512; ++i) sum += static_cast<unsigned char>(tar[at + i]);
    char text[8];
    std::snprintf(text, sizeof text, "%06o", sum & 0777777);
    tar.replace(at + 148, 7, text, 7);
  }
}

TEST_F(UnpackTest, UnpackingAMutatedArchiveNeitherCrashesNorWritesOutsideTheTargetFolder) {
  // The time is limited, too, because this test runs under sanitizers.
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(20);
  limits_ = {.entries = 1000, .bytes = 1 << 20, .ratio = 250, .free_of_ratio = 1 << 20};
  Entries entries = Honest();
  entries.push_back({.name = "out", .kind = Kind::kSymlink, .content = temp_.path().string()});
  entries.push_back({.name = "hard", .kind = Kind::kHardLink, .content = "app/zero"});
  BuildArchive(archive_, ArchiveForm::kTar, entries);
  std::string tar = Text(archive_);
  // Most of the archive is padding, which is cut off here.
  tar.resize(tar.find_last_not_of('\0') + 1025);
  entries.pop_back();
  BuildArchive(archive_, ArchiveForm::kZip, entries);
  const std::string zip = Text(archive_);
  std::mt19937 random(20261121);
  const fs::path tree_path = temp_.path() / "tree";
  const StageWatch watch;
  int taken = 0;
  for (int i = 0; i < Rounds(3000) && std::chrono::steady_clock::now() < end; ++i) {
    std::string bytes = Mutate(i % 2 == 0 ? tar : zip, random);
    if (i % 4 == 0) MendTarChecksums(bytes);
    std::ofstream(archive_, std::ios::binary | std::ios::trunc) << bytes;
    auto tree = Must(TreeWriter::Make(tree_path));
    const UniqueFd fd(open(archive_.c_str(), O_RDONLY | O_CLOEXEC));
    SpaceGuard space(temp_.path());
    StageMeter meter(watch);
    if (Unpack(fd.get(), tree, limits_, space, meter).ok()) ++taken;
    EXPECT_TRUE(tree.Seal().ok());
    ASSERT_TRUE(RemoveTree(tree_path).ok());
  }
  EXPECT_GT(taken, 0) << "mutations that do not matter are there too";
  std::set<std::string> names;
  for (const auto& entry : fs::directory_iterator(temp_.path())) names.insert(entry.path().filename().string());
  EXPECT_THAT(names, testing::UnorderedElementsAre("archive", "src"));
}

}  // namespace
}  // namespace tony
