#include "runtime/logs/local_log_source.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <filesystem>
#include <fstream>
#include <set>

#include "runtime/logs/log_reader.h"
#include "tests/support/temp_folder.h"

namespace tony {
namespace {

namespace fs = std::filesystem;
using testing::ElementsAre;
using testing::IsEmpty;

class LocalLogSourceTest : public testing::Test {
 protected:
  fs::path Folder(const std::string& name = "worker-0/1") const {
    fs::create_directories(temp_.path() / "logs" / name);
    return temp_.path() / "logs" / name;
  }
  void Write(const fs::path& file, const std::string& text) const { std::ofstream(file) << text; }
  std::string Read() const {
    const auto log = logs_.Open({{"worker", 0}, 1}, "stdout");
    if (!log) return "no log";
    std::string text(100, '\0');
    text.resize(log->Read(0, text).size);
    return text;
  }
  std::vector<std::string> Attempts(const std::optional<TaskId>& task = std::nullopt) const {
    std::vector<std::string> names;
    for (const AttemptId& attempt : logs_.Attempts(task)) names.push_back(ToString(attempt));
    return names;
  }
  // Returns the attempts that a watch reports.
  static std::set<std::string> Watched(const LogSource& logs) {
    std::set<std::string> names;
    EventLoop loop;
    const auto watch = logs.Watch(loop, std::nullopt,
                                  {.on_attempt = [&](const AttemptId& attempt) { names.insert(ToString(attempt)); }});
    watch->Look();
    return names;
  }

  TempFolder temp_;
  const LocalLogSource logs_{LocalJobRecords(temp_.path())};
};

TEST_F(LocalLogSourceTest, AttemptsAreSortedByTaskAndNumberAndOtherFoldersAreIgnored) {
  EXPECT_THAT(Attempts(), IsEmpty());
  for (const char* name : {"worker-10/1", "worker-2/11", "worker-2/2", "my-role-0/1", "worker-2/x", "worker-2/0", "am"})
    Folder(name);
  EXPECT_THAT(Attempts(), ElementsAre("my-role:0#1", "worker:2#2", "worker:2#11", "worker:10#1"));
  EXPECT_THAT(Attempts(TaskId{"worker", 2}), ElementsAre("worker:2#2", "worker:2#11"));
}

TEST_F(LocalLogSourceTest, OnlyARegularFileIsOpenedAsALog) {
  EXPECT_EQ(Read(), "no log");
  const fs::path folder = Folder();
  EXPECT_EQ(Read(), "no log");
  Write(folder / "stdout", "words");
  EXPECT_EQ(Read(), "words");
  fs::remove(folder / "stdout");

  fs::create_directory(folder / "stdout");
  EXPECT_EQ(Read(), "no log") << "a folder";
  fs::remove(folder / "stdout");
  ASSERT_EQ(mkfifo((folder / "stdout").c_str(), 0600), 0);
  EXPECT_EQ(Read(), "no log") << "a pipe, and nobody waits for its writer";
}

// A task may put a link in the place of its log, and the reader may be root.
TEST_F(LocalLogSourceTest, ASymlinkInPlaceOfALogOrAnAttemptFolderIsNotFollowed) {
  const fs::path folder = Folder();
  Write(temp_.path() / "secret", "secret");
  fs::create_symlink(temp_.path() / "secret", folder / "stdout");
  EXPECT_EQ(Read(), "no log");
  LogCursor cursor;
  LogReader reader(logs_, {}, cursor);
  EXPECT_TRUE(reader.Read(1000, true, [](const LogText& text) { ADD_FAILURE() << text.text; }));

  fs::remove_all(folder);
  fs::create_directory(temp_.path() / "elsewhere");
  Write(temp_.path() / "elsewhere/stdout", "secret");
  fs::create_directory_symlink(temp_.path() / "elsewhere", folder);
  EXPECT_EQ(Read(), "no log");
  EXPECT_EQ(logs_.List({{"worker", 0}, 1}), std::nullopt);
}

TEST_F(LocalLogSourceTest, FilesPipesAndSymlinksAreNotListedAsAttempts) {
  const fs::path task = Folder().parent_path();
  Write(task / "2147483647", "");
  ASSERT_EQ(mkfifo((task / "2").c_str(), 0600), 0);
  fs::create_directory_symlink(task / "1", task / "3");
  Write(temp_.path() / "logs/worker-1", "");
  EXPECT_THAT(Attempts(), ElementsAre("worker:0#1"));
}

TEST_F(LocalLogSourceTest, ANameWithLeadingZerosIsNotAnAttempt) {
  for (const char* name : {"worker-0/1", "worker-0/01", "worker-00/2"}) Folder(name);
  EXPECT_THAT(Attempts(), ElementsAre("worker:0#1"));
}

TEST_F(LocalLogSourceTest, ASymlinkInPlaceOfATaskFolderIsNotFollowed) {
  const fs::path task = Folder().parent_path();
  Write(task / "1/stdout", "secret");
  ASSERT_EQ(Read(), "secret");
  fs::rename(task, temp_.path() / "elsewhere");
  fs::create_directory_symlink(temp_.path() / "elsewhere", task);
  EXPECT_EQ(Read(), "no log");
  EXPECT_EQ(logs_.List({{"worker", 0}, 1}), std::nullopt);
  EXPECT_THAT(Attempts(), IsEmpty());
  EXPECT_THAT(Watched(logs_), IsEmpty());
}

TEST_F(LocalLogSourceTest, ASymlinkInPlaceOfTheLogsFolderIsNotFollowed) {
  Write(Folder() / "stdout", "secret");
  fs::rename(temp_.path() / "logs", temp_.path() / "elsewhere");
  fs::create_directory_symlink(temp_.path() / "elsewhere", temp_.path() / "logs");
  EXPECT_EQ(Read(), "no log");
  EXPECT_EQ(logs_.List({{"worker", 0}, 1}), std::nullopt);
  EXPECT_THAT(Attempts(), IsEmpty());
  EXPECT_THAT(Watched(logs_), IsEmpty());
}

TEST_F(LocalLogSourceTest, LogsAreFoundThroughASymlinkToTheJobFolder) {
  Write(Folder() / "stdout", "words");
  const TempFolder other;
  fs::create_directory_symlink(temp_.path(), other.path() / "job");
  const LocalLogSource logs{LocalJobRecords(other.path() / "job")};
  EXPECT_NE(logs.Open({{"worker", 0}, 1}, "stdout"), nullptr);
  EXPECT_NE(logs.List({{"worker", 0}, 1}), std::nullopt);
  EXPECT_EQ(logs.Attempts(std::nullopt).size(), 1u);
  EXPECT_THAT(Watched(logs), ElementsAre("worker:0#1"));
}

}  // namespace
}  // namespace tony
