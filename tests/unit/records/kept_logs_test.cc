#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "runtime/os/files.h"
#include "runtime/records/kept_outputs.h"
#include "tests/support/temp_folder.h"

namespace tony {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

class KeptLogsTest : public testing::Test {
 protected:
  const TempFolder temp_;
  const JobRecords records_ = LocalJobRecords(temp_.path());
  const AttemptId attempt_{{"worker", 3}, 2};
  const std::vector<LogExcerpt> logs_ = {{"stdout", 20, {{0, "first\n"}, {14, "last\n"}}}, {"stderr", 0, {}}};
};

TEST_F(KeptLogsTest, TheyAreReadAsTheyWereWritten) {
  ASSERT_TRUE(WriteKeptLogs(records_, attempt_, logs_).ok());
  const auto read = ReadKeptLogs(records_, attempt_);
  ASSERT_TRUE(read.ok()) << read.error().message;
  ASSERT_TRUE(*read);
  EXPECT_EQ(**read, logs_);
  EXPECT_FALSE(*ReadKeptLogs(records_, {attempt_.task, 1}));
}

TEST_F(KeptLogsTest, TheyAreListedByTaskAndNumberAndOtherNamesAreNone) {
  EXPECT_THAT(*ListKeptLogs(records_), IsEmpty());
  const AttemptId later{attempt_.task, 10};
  for (const AttemptId& attempt : {later, attempt_}) ASSERT_TRUE(WriteKeptLogs(records_, attempt, logs_).ok());
  for (const char* name : {"worker-3", "worker-3.02", "worker.2", ".worker-3.4.a0b1"})
    ASSERT_TRUE(WriteNewFile(temp_.path() / "logs" / name, "", false).ok());
  EXPECT_THAT(*ListKeptLogs(records_), ElementsAre(attempt_, later));
  ASSERT_TRUE(RemoveKeptLogs(records_, attempt_).ok());
  EXPECT_THAT(*ListKeptLogs(records_), ElementsAre(later));
}

TEST_F(KeptLogsTest, OneThatIsCutOffIsSaidToBe) {
  ASSERT_TRUE(WriteKeptLogs(records_, attempt_, logs_).ok());
  const std::string file = temp_.path() / "logs" / "worker-3.2";
  const auto bytes = ReadFile(file);
  ASSERT_TRUE(WriteFileByRename(file, bytes->substr(0, bytes->size() - 1), false).ok());
  const auto read = ReadKeptLogs(records_, attempt_);
  ASSERT_FALSE(read.ok());
  EXPECT_EQ(read.error().code, ErrorCode::kInvalid);
}

TEST_F(KeptLogsTest, ThoseOfAFailureAndOfTheChiefAreKept) {
  JobSpec spec;
  spec.roles = {{.name = "chief"}, {.name = "worker", .instances = 2}};
  const Outcome good{.exit = ExitStatus{}},
      bad{OutcomeClass::kUserError, ExitStatus{ExitStatus::Kind::kExited, 1}, "", ""};
  EXPECT_TRUE(KeepsLogs(spec, {"chief", 0}, good));
  EXPECT_FALSE(KeepsLogs(spec, {"worker", 1}, good));
  EXPECT_TRUE(KeepsLogs(spec, {"worker", 1}, bad));
}

}  // namespace
}  // namespace tony
