#include "runtime/records/kept_outputs.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>

#include <fstream>
#include <sstream>

#include "runtime/base/unique_fd.h"
#include "runtime/job/outputs.h"
#include "runtime/os/files.h"
#include "runtime/records/staged_files.h"
#include "tests/support/results.h"
#include "tests/support/temp_folder.h"

namespace tony {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;
using Form = StagedEntry::Form;
using testing::ElementsAre;
using testing::IsEmpty;

class KeptOutputsTest : public testing::Test {
 protected:
  KeptOutputsTest() { EXPECT_TRUE(MakeFolder(logs_).ok()); }

  // Keeps the outputs as they are after the program ended, and returns what a reader finds.
  std::string Kept() {
    EXPECT_TRUE(KeepOutputs(file_, logs_).ok());
    const auto read = ReadKeptOutputs(logs_);
    if (!read.ok()) return "refused: " + read.error().message;
    if (!*read) return "nothing";
    for (const OutputProblem& problem : (*read)->left_out) left_out_.push_back(Describe(problem));
    return (*read)->text;
  }
  void Write(std::string_view text) { ASSERT_TRUE(WriteNewFile(file_, text, false).ok()); }

  const TempFolder temp_;
  std::vector<std::string> left_out_;
  const std::filesystem::path file_ = temp_.path() / "tony-output.json", logs_ = temp_.path() / "logs";
};

TEST_F(KeptOutputsTest, AnOutputFileIsCopiedByteForByteAndTheOriginalStays) {
  const std::string text = std::string("{\"a\": 1}\n\xff") + '\0' + "not looked at";
  Write(text);
  EXPECT_EQ(Kept(), text);
  EXPECT_TRUE(std::filesystem::exists(file_));
}

TEST_F(KeptOutputsTest, NoOutputsAreSavedIfTheTaskWroteNoOutputFile) { EXPECT_EQ(Kept(), "nothing"); }

TEST_F(KeptOutputsTest, AnEmptyOutputFileIsSaved) {
  Write("");
  EXPECT_EQ(Kept(), "");
}

TEST_F(KeptOutputsTest, AnOutputFileOf1MiBIsSavedAndAnOutputFileOf5GiBIsRejected) {
  Write(std::string(kLongestOutputs, 'x'));
  EXPECT_EQ(Kept().size(), size_t(kLongestOutputs));
  std::filesystem::remove_all(logs_);
  ASSERT_TRUE(MakeFolder(logs_).ok());
  std::filesystem::resize_file(file_, int64_t{5} << 30);  // a sparse file
  EXPECT_EQ(Kept(), "refused: the outputs are not kept: they have 5368709120 bytes, more than 1048576");
  EXPECT_FALSE(std::filesystem::exists(KeptOutputsFile(logs_)));
}

TEST_F(KeptOutputsTest, AnOutputFileAbove1MiBIsReducedToTheJsonMembersThatFitIn1MiB) {
  const std::string large(kLongestOutputs, 'x');
  Write("{\"loss\": NaN, \"predictions\": \"" + large + "\", \"model.path\": \"/m\"}");
  EXPECT_EQ(Kept(), R"({"loss":"NaN","model.path":"/m"})");
  ASSERT_EQ(left_out_.size(), 2u);
  EXPECT_EQ(left_out_[0], "\"loss\" is passed on as text (line 1, offset 9: NaN is not a JSON number)");
  EXPECT_EQ(left_out_[1],
            "\"predictions\" is left out (the member takes 1048592 bytes, and all members together may take at most "
            "1048576)");
}

TEST_F(KeptOutputsTest, OnlyTheFirst4MiBOfAnOutputFileAreRead) {
  Write("{\"model.path\": \"/m\", \"predictions\": \"" + std::string(kMostOutputsRead, 'x') + "\", \"z\": 1}");
  EXPECT_EQ(Kept(), R"({"model.path":"/m"})");
  ASSERT_EQ(left_out_.size(), 2u);
  EXPECT_EQ(left_out_[0],
            "\"predictions\" is left out (line 1, offset 36: a string without its end; the text after this place is "
            "not read)");
  EXPECT_EQ(left_out_[1], "the file of the outputs has 4194351 bytes, and only the first 4194304 were read");
}

TEST_F(KeptOutputsTest, AnOutputWithANumberTooLargeForADoubleIsReportedByName) {
  Write("{\"a\":1e400}");
  const auto kept = Must(KeepOutputs(file_, logs_));
  ASSERT_EQ(kept.size(), 1u);
  EXPECT_EQ(kept.front().name, "a");
}

TEST_F(KeptOutputsTest, AnOutputFileThatIsASymbolicLinkIsRejected) {
  std::filesystem::create_symlink("/etc/passwd", file_);
  EXPECT_EQ(Kept(), "refused: the path is a symbolic link; expected a regular file");
}

TEST_F(KeptOutputsTest, AnOutputFileThatIsAPipeIsRejectedWithoutBlocking) {
  ASSERT_EQ(mkfifo(file_.c_str(), 0600), 0);
  EXPECT_EQ(Kept(), "refused: the path is not a regular file");
}

TEST_F(KeptOutputsTest, AnOutputFileThatIsAFolderOrASocketIsRejected) {
  std::filesystem::create_directory(file_);
  EXPECT_EQ(Kept(), "refused: the path is not a regular file");
  std::filesystem::remove(file_);
  const UniqueFd socket(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_un address = {.sun_family = AF_UNIX};
  file_.string().copy(address.sun_path, sizeof address.sun_path - 1);
  ASSERT_EQ(bind(socket.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address), 0);
  EXPECT_EQ(Kept(), "refused: the path is not a regular file");
}

TEST_F(KeptOutputsTest, ReadingSavedOutputsFailsIfTheSavedFileIsASymbolicLink) {
  std::filesystem::create_symlink("/etc/passwd", KeptOutputsFile(logs_));
  EXPECT_FALSE(ReadKeptOutputs(logs_).ok());
}

TEST_F(KeptOutputsTest, SavedOutputsOfAJobAreReadBackWithTheAttemptThatWroteTheOutputs) {
  const JobRecords records = LocalJobRecords(temp_.path());
  EXPECT_EQ(*ReadJobOutputs(records), std::nullopt) << "a job of 0.1";
  const AttemptId chief{{"chief", 0}, 2};
  const KeptOutputs kept{std::string("{\"a\":1}\n\xff\0b", 12), {{"b", "too long"}}, ""};
  for (const KeptOutputs& outputs : {kept, KeptOutputs{}, KeptOutputs{.problem = "it is a symbolic link"}}) {
    ASSERT_TRUE(WriteJobOutputs(records, {chief, outputs}).ok());
    const auto read = ReadJobOutputs(records);
    ASSERT_TRUE(read.ok() && *read) << read.error().message;
    EXPECT_EQ((*read)->attempt, chief);
    EXPECT_EQ((*read)->outputs, outputs);
  }
  std::ofstream(temp_.path() / "outputs") << "{\"task\":";
  EXPECT_EQ(ReadJobOutputs(records).error().code, ErrorCode::kInvalid);
}

TEST_F(KeptOutputsTest, SavingOutputsToAMissingFolderFails) {
  Write("{}");
  const auto kept = KeepOutputs(file_, temp_.path() / "gone");
  ASSERT_FALSE(kept.ok());
  EXPECT_EQ(kept.error().code, ErrorCode::kCannotWrite);
}

// ---- kept logs

class KeptLogsTest : public testing::Test {
 protected:
  const TempFolder temp_;
  const JobRecords records_ = LocalJobRecords(temp_.path());
  const AttemptId attempt_{{"worker", 3}, 2};
  const std::vector<LogExcerpt> logs_ = {{"stdout", 20, {{0, "first\n"}, {14, "last\n"}}}, {"stderr", 0, {}}};
};

TEST_F(KeptLogsTest, SavedLogsAreReadBackOnlyForTheAttemptThatWroteTheLogs) {
  ASSERT_TRUE(WriteKeptLogs(records_, attempt_, logs_).ok());
  const auto read = Must(ReadKeptLogs(records_, attempt_));
  ASSERT_TRUE(read);
  EXPECT_EQ(*read, logs_);
  EXPECT_FALSE(*ReadKeptLogs(records_, {attempt_.task, 1}));
}

TEST_F(KeptLogsTest, SavedLogsAreListedByAttemptAndFilesWithOtherNamesAreIgnored) {
  EXPECT_THAT(*ListKeptLogs(records_), IsEmpty());
  const AttemptId later{attempt_.task, 10};
  for (const AttemptId& attempt : {later, attempt_}) ASSERT_TRUE(WriteKeptLogs(records_, attempt, logs_).ok());
  for (const char* name : {"worker-3", "worker-3.02", "worker.2", ".worker-3.4.a0b1"})
    ASSERT_TRUE(WriteNewFile(temp_.path() / "logs" / name, "", false).ok());
  EXPECT_THAT(*ListKeptLogs(records_), ElementsAre(attempt_, later));
  ASSERT_TRUE(RemoveKeptLogs(records_, attempt_).ok());
  EXPECT_THAT(*ListKeptLogs(records_), ElementsAre(later));
}

TEST_F(KeptLogsTest, ATruncatedFileOfSavedLogsIsRejectedAsInvalid) {
  ASSERT_TRUE(WriteKeptLogs(records_, attempt_, logs_).ok());
  const std::string file = temp_.path() / "logs" / "worker-3.2";
  const auto bytes = ReadFile(file);
  ASSERT_TRUE(WriteFileByRename(file, bytes->substr(0, bytes->size() - 1), false).ok());
  const auto read = ReadKeptLogs(records_, attempt_);
  ASSERT_FALSE(read.ok());
  EXPECT_EQ(read.error().code, ErrorCode::kInvalid);
}

TEST_F(KeptLogsTest, LogsOfFailedAttemptsAndOfTheChiefAreSaved) {
  JobSpec spec;
  spec.roles = {{.name = "chief"}, {.name = "worker", .instances = 2}};
  const Outcome good{.exit = ExitStatus{}},
      bad{OutcomeClass::kUserError, ExitStatus{ExitStatus::Kind::kExited, 1}, "", ""};
  EXPECT_TRUE(ShouldKeepLogs(spec, {"chief", 0}, good));
  EXPECT_FALSE(ShouldKeepLogs(spec, {"worker", 1}, good));
  EXPECT_TRUE(ShouldKeepLogs(spec, {"worker", 1}, bad));
}

// ---- link staged

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

TEST_F(LinkStagedTest, TheManifestOfStagedFilesIsReadBackUnchanged) {
  const StagedFiles files = {.job = {{"venv", "/s/a", Form::kLink}, {"", "/s/b", Form::kContents}},
                             .roles = {{"ps", {{"x \"y\"", "/s/c", Form::kCopy}}}},
                             .am = {{"z", "/s/d", Form::kLink}}};
  const auto read = Must(StagedFilesFromJson(ToJson(files)));
  EXPECT_EQ(read, files);
}

TEST_F(LinkStagedTest, CopyingAStagedFileDoesNotFollowSymlinksInTheWorkFolder) {
  fs::create_directory_symlink(tree_ / "package", work_ / "taken");
  fs::create_symlink(tree_ / "train.py", temp_.path() / "link");  // like a link of a node
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

TEST_F(LinkStagedTest, ADamagedManifestOfStagedFilesIsRejectedWithTheFieldName) {
  EXPECT_THAT(StagedFilesFromJson(R"({"schema":1,"job":[{"name":"","path":"/","form":"move"}],"am":[],"roles":[]})")
                  .error()
                  .message,
              HasSubstr("job[0].form"));
  EXPECT_EQ(StagedFilesFromJson("{").error().code, ErrorCode::kInvalid);
}

TEST_F(LinkStagedTest, ANamedStagedFolderIsLinkedByASingleSymbolicLink) {
  ASSERT_TRUE(LinkStaged({{.name = "code", .path = tree_}}, work_).ok());
  EXPECT_EQ(fs::read_symlink(work_ / "code"), tree_);
}

TEST_F(LinkStagedTest, TheFilesOfAnUnnamedStagedFolderBecomeWritableCopiesInTheWorkFolder) {
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

TEST_F(LinkStagedTest, AStagedFileAbove16MiBIsLinkedInsteadOfCopied) {
  Write(tree_ / "data.bin", "");
  fs::resize_file(tree_ / "data.bin", (16 << 20) + 1);
  ASSERT_TRUE(LinkContents().ok());
  EXPECT_EQ(fs::read_symlink(work_ / "data.bin"), tree_ / "data.bin");
}

TEST_F(LinkStagedTest, StagingDoesNotReplaceExistingFilesOfTheWorkFolder) {
  Write(work_ / "train.py", "mine");
  fs::create_directory(temp_.path() / "other");
  ASSERT_TRUE(LinkStaged({{.name = "package", .path = temp_.path() / "other"}}, work_).ok());
  ASSERT_TRUE(LinkContents().ok());
  EXPECT_EQ(Text(work_ / "train.py"), "mine");
  EXPECT_EQ(fs::read_symlink(work_ / "package"), temp_.path() / "other") << "a resource goes before contents";
  EXPECT_TRUE(fs::is_empty(temp_.path() / "other"));
  EXPECT_TRUE(LinkContents().ok()) << "again";
}

TEST_F(LinkStagedTest, AMissingStagedFileIsNamedInTheError) {
  for (const Form form : {Form::kLink, Form::kContents}) {
    const Status linked = LinkStaged({{.name = "x", .path = temp_.path() / "gone", .form = form}}, work_);
    ASSERT_FALSE(linked.ok());
    EXPECT_EQ(linked.error().code, ErrorCode::kUnavailable);
    EXPECT_THAT(linked.error().message, HasSubstr((temp_.path() / "gone").string()));
  }
}

}  // namespace
}  // namespace tony
