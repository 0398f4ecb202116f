// What a keeper writes down before it does or tells something, so that the next keeper knows: here the disk refuses or
// keeps it waiting.
#include <fcntl.h>
#include <gmock/gmock.h>
#include <sys/stat.h>

#include <csignal>
#include <filesystem>

#include "runtime/base/unique_fd.h"
#include "runtime/os/files.h"
#include "runtime/os/process_tree.h"
#include "runtime/records/job_folder.h"
#include "tests/unit/keeper/keeper_fixture.h"

namespace tony {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;

class KeeperOrderTest : public KeeperFixture {
 protected:
  // Longer than what would come too early takes.
  bool ComesToPass(const std::function<bool()>& condition) { return RunUntil(loop_, condition, Duration(300)); }
  bool LogHas(const std::string& text) const { return Content("keeper.log").find(text) != std::string::npos; }
};

TEST_F(KeeperOrderTest, AnExecutorThatCannotBeRecordedIsNotStarted) {
  StartKeeper();
  BecomeAm({1});
  fs::create_directories(records_.place() / "containers/1-1");  // in the place of the file
  Launch("1-1", ">ran");
  ASSERT_TRUE(WaitFor([&] { return Exit("1-1"); }));
  EXPECT_THAT(Exit("1-1")->error, HasSubstr("containers/1-1"));
  EXPECT_FALSE(fs::exists(records_.place() / "ran"));
}

TEST_F(KeeperOrderTest, AnEndIsRecordedBeforeItIsTold) {
  StartKeeper();
  BecomeAm({1});
  // Whoever opens the pipe to write waits for a reader.
  Launch("1-1",
         "until grep -q started containers/1-1; do sleep 0.01; done; rm containers/1-1; mkfifo containers/1-1; exit 3");
  const fs::path record = records_.place() / "containers/1-1";
  ASSERT_TRUE(WaitFor([&] { return fs::is_fifo(record) && Marked("1-1").empty(); }));
  EXPECT_FALSE(ComesToPass([&] { return Exit("1-1"); }));

  const UniqueFd reader(open(record.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC));
  EXPECT_TRUE(WaitFor([&] { return Exit("1-1"); }));
  char text[64] = {};
  EXPECT_GT(read(reader.get(), text, sizeof text - 1), 0);
  EXPECT_STREQ(text, "exited 3 \n");
  fs::remove(record);
}

TEST_F(KeeperOrderTest, TheEndOfTheJobIsRecordedBeforeItsAmHearsOfIt) {
  SetLimits({"QUICK_KEEPER_FAREWELL=300"});
  const pid_t keeper = StartKeeper();
  BecomeAm({1});
  const fs::path record = records_.place() / "finished";
  fs::create_directory(record);
  bool finished = false;
  scheduler_->Finish({}, [&] { finished = true; });
  ASSERT_TRUE(WaitFor([&] { return LogHas(record); }));
  EXPECT_FALSE(ComesToPass([&] { return finished; }));

  fs::remove(record);
  EXPECT_TRUE(WaitFor([&] { return finished; }));
  EXPECT_TRUE(KeeperEnded(keeper));
}

TEST_F(KeeperOrderTest, AJobIsNotFinishedBeforeItsVerdictIsWritten) {
  SetLimits({"QUICK_KEEPER_STOP_MARGIN=50"});
  fs::create_directory(records_.place() / "status.json");
  const pid_t keeper = StartKeeper();
  BecomeAm({1});
  scheduler_.reset();
  KillAm();
  kill(keeper, SIGTERM);
  ASSERT_TRUE(WaitFor([&] { return LogHas(records_.place() / "status.json"); }));
  EXPECT_FALSE(ComesToPass([&] { return fs::exists(JobFolder(records_).finished()); }));

  fs::remove(records_.place() / "status.json");
  ASSERT_TRUE(KeeperEnded(keeper));
  const auto status = records_.ReadStatus();
  ASSERT_TRUE(status.ok() && *status && (*status)->verdict);
  EXPECT_EQ((*status)->verdict->state, FinalState::kKilled);
}

}  // namespace
}  // namespace tony
