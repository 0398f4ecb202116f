#include "runtime/records/kept_outputs.h"

#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>

#include <fstream>

#include "runtime/base/unique_fd.h"
#include "runtime/job/outputs.h"
#include "runtime/os/files.h"
#include "tests/support/temp_folder.h"

namespace tony {
namespace {

class KeptOutputsTest : public testing::Test {
 protected:
  KeptOutputsTest() { EXPECT_TRUE(MakeFolder(logs_).ok()); }

  // What a reader finds after the program left what it did.
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

TEST_F(KeptOutputsTest, AFileIsKeptByteForByteAndStaysWhereItWas) {
  const std::string text = std::string("{\"a\": 1}\n\xff") + '\0' + "not looked at";
  Write(text);
  EXPECT_EQ(Kept(), text);
  EXPECT_TRUE(std::filesystem::exists(file_));
}

TEST_F(KeptOutputsTest, WithoutAFileThereIsNothing) { EXPECT_EQ(Kept(), "nothing"); }

TEST_F(KeptOutputsTest, AnEmptyFileIsSomething) {
  Write("");
  EXPECT_EQ(Kept(), "");
}

TEST_F(KeptOutputsTest, OneOfTheGreatestLengthIsKeptAndALongerOneOnlyByItsSize) {
  Write(std::string(kLongestOutputs, 'x'));
  EXPECT_EQ(Kept().size(), size_t(kLongestOutputs));
  std::filesystem::remove_all(logs_);
  ASSERT_TRUE(MakeFolder(logs_).ok());
  std::filesystem::resize_file(file_, int64_t{5} << 30);  // a hole
  EXPECT_EQ(Kept(), "refused: it has 5368709120 bytes, and at most 1048576 are kept");
  EXPECT_FALSE(std::filesystem::exists(KeptOutputsFile(logs_)));
}

TEST_F(KeptOutputsTest, OfALongFileTheMembersThatFitAreKept) {
  const std::string large(kLongestOutputs, 'x');
  Write("{\"loss\": NaN, \"predictions\": \"" + large + "\", \"model.path\": \"/m\"}");
  EXPECT_EQ(Kept(), R"({"loss":"NaN","model.path":"/m"})");
  ASSERT_EQ(left_out_.size(), 2u);
  EXPECT_EQ(left_out_[0], "\"loss\" is passed on as text (line 1, offset 9: NaN is no JSON number)");
  EXPECT_EQ(left_out_[1],
            "\"predictions\" is left out (it takes 1048592 bytes, and all together may have at most 1048576)");
}

TEST_F(KeptOutputsTest, OfAHugeFileTheBeginningIsRead) {
  Write("{\"model.path\": \"/m\", \"predictions\": \"" + std::string(kMostOutputsRead, 'x') + "\", \"z\": 1}");
  EXPECT_EQ(Kept(), R"({"model.path":"/m"})");
  ASSERT_EQ(left_out_.size(), 2u);
  EXPECT_EQ(left_out_[0],
            "\"predictions\" is left out (line 1, offset 36: a string without its end; what follows is not read)");
  EXPECT_EQ(left_out_[1], "it has 4194351 bytes, and 4194304 of them were read");
}

TEST_F(KeptOutputsTest, WhatIsWrongIsSaidForTheLog) {
  Write("{\"a\":1e400}");
  const auto kept = KeepOutputs(file_, logs_);
  ASSERT_TRUE(kept.ok());
  ASSERT_EQ(kept->size(), 1u);
  EXPECT_EQ(kept->front().name, "a");
}

TEST_F(KeptOutputsTest, ALinkIsNotFollowed) {
  std::filesystem::create_symlink("/etc/passwd", file_);
  EXPECT_EQ(Kept(), "refused: it is a symbolic link, expected a regular file");
}

TEST_F(KeptOutputsTest, APipeIsNotWaitedFor) {
  ASSERT_EQ(mkfifo(file_.c_str(), 0600), 0);
  EXPECT_EQ(Kept(), "refused: it is no regular file");
}

TEST_F(KeptOutputsTest, AFolderOrASocketIsNoFile) {
  std::filesystem::create_directory(file_);
  EXPECT_EQ(Kept(), "refused: it is no regular file");
  std::filesystem::remove(file_);
  const UniqueFd socket(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_un address = {.sun_family = AF_UNIX};
  file_.string().copy(address.sun_path, sizeof address.sun_path - 1);
  ASSERT_EQ(bind(socket.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address), 0);
  EXPECT_EQ(Kept(), "refused: it is no regular file");
}

TEST_F(KeptOutputsTest, WhatReplacedTheCopyIsNotFollowedEither) {
  std::filesystem::create_symlink("/etc/passwd", KeptOutputsFile(logs_));
  EXPECT_FALSE(ReadKeptOutputs(logs_).ok());
}

TEST_F(KeptOutputsTest, TheJobsRecordSaysWhoseTheyAreAndHasTheirBytes) {
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

TEST_F(KeptOutputsTest, WhereNothingCanBeWrittenThatIsSaid) {
  Write("{}");
  const auto kept = KeepOutputs(file_, temp_.path() / "gone");
  ASSERT_FALSE(kept.ok());
  EXPECT_EQ(kept.error().code, ErrorCode::kCannotWrite);
}

}  // namespace
}  // namespace tony
