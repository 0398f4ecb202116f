// Programs that are limited to few open files or processes: one line, a documented exit code, and no hang. The tests
// need another user, because the limit of processes does not apply to root.
#include "tests/e2e/strangers/strangers_test.h"

namespace tony {
namespace {

using ::testing::AnyOf;

class LimitsStrangersTest : public StrangersTest {
 protected:
  void SetUp() override {
    StrangersTest::SetUp();
    if (!IsSkipped()) user_ = std::make_unique<OtherUser>();
  }
  static void ExpectOneLine(const Ran& ran, const std::string& limit, const std::string& what) {
    EXPECT_EQ(ran.exit, 69) << what << ran.err;
    EXPECT_EQ(CountLines(ran.err), 1u) << what << ran.err;
    EXPECT_THAT(ran.err, HasSubstr(limit)) << what;
  }

  std::unique_ptr<OtherUser> user_;
};

TEST_F(LimitsStrangersTest, ASubmitIsRefusedWithAOneLineErrorIfTheOpenFilesLimitIsTooLow_NeedsRoot) {
  for (const rlim_t files : {8, 12, 16, 20, 24, 32})
    ExpectOneLine(user_->Tony(One("true"), {.open_files = files}),
                  files < 24 ? "(ulimit -n), and tony needs 24" : "(ulimit -n), and a job of 1 task needs 33",
                  std::to_string(files) + " open files: ");
  EXPECT_EQ(user_->Tony(One("true"), {.open_files = 33}).exit, 0) << "as many as it needs";
}

TEST_F(LimitsStrangersTest, ASubmitIsRefusedWithAOneLineErrorIfTheStackLimitIsTooLow_NeedsRoot) {
  const auto submit = [&](const std::string& kib) {
    return user_->Run(Words{"sh", "-c", "ulimit -s " + kib + "; exec tony \"$@\"", "tony"} + One("true"));
  };
  ExpectOneLine(submit("64"), "KiB, and tony needs 96 KiB; raise the limit", "64 KiB: ");
  // Stack frames are larger with a sanitizer.
  if (SanitizedPrograms()) return;
  const Ran ran = submit("128");
  EXPECT_EQ(ran.exit, 0) << ran.err;
}

TEST_F(LimitsStrangersTest, ASubmitIsRefusedWithAOneLineErrorIfTheProcessLimitIsTooLow_NeedsRoot) {
  for (const rlim_t processes : {1, 2, 4, 7, 8})
    // The leak sanitizer would start another process at the end.
    ExpectOneLine(user_->Tony(One("true"), {.variables = {{"ASAN_OPTIONS", "detect_leaks=0"}}, .processes = processes}),
                  "(ulimit -u), and a job of 1 task needs 9", std::to_string(processes) + " processes: ");
}

TEST_F(LimitsStrangersTest, CommandsOtherThanSubmitFailWithAOneLineErrorIfTheOpenFilesLimitIsTooLow_NeedsRoot) {
  const Ran ran = user_->Tony(One("true"));
  ASSERT_EQ(ran.exit, 0) << ran.err;
  const std::string job = ran.out.substr(0, ran.out.find('\n'));
  for (const Words& words : {Words{"wait", job}, Words{"watch", job}, Words{"recover", job}, Words{"kill", job},
                             Words{"logs", job, "-f"}, Words{"list"}, Words{"status", job}, Words{"history"}}) {
    for (const rlim_t files : {8, 23})
      ExpectOneLine(user_->Tony(words, {.open_files = files}), "(ulimit -n), and tony needs 24", words.front() + ": ");
    const Ran enough = user_->Tony(words, {.open_files = 24});
    EXPECT_EQ(enough.exit, 0) << words.front() << ": " << enough.err;
  }
}

TEST_F(LimitsStrangersTest, TheErrorNamesTheProcessLimitThatMadeAJobFail_NeedsRoot) {
  std::vector<std::unique_ptr<Background>> others;
  for (int i = 0; i < 12; ++i) others.push_back(user_->Start({"sleep", "1000"}));
  const Words once = {"tony.restart.lost.budget=1", "tony.restart.backoff-ms=10"};
  for (const rlim_t processes : {13, 14, 16, 17, 18}) {
    const Ran ran = user_->Tony(One("true", once), {.processes = processes});
    EXPECT_FALSE(ran.timed_out) << processes;
    EXPECT_THAT(ran.exit, AnyOf(0, 1, 69)) << processes << ": " << ran.err;
    if (ran.exit != 0) {
      EXPECT_THAT(ran.out + ran.err, HasSubstr("ulimit -u")) << processes;
    }
    EXPECT_EQ(user_->Processes().size(), others.size()) << "nothing of the job is left";
  }
}

TEST_F(LimitsStrangersTest, AccessToAnotherUsersJobIsRefused_NeedsRoot) {
  const Ran ran = user_->Tony(One("true"));
  ASSERT_EQ(ran.exit, 0) << ran.err;
  const std::string job = ran.out.substr(0, ran.out.find('\n'));
  const OtherUser stranger;
  for (const Words& words : {Words{"status", job}, Words{"wait", job}, Words{"kill", job}, Words{"logs", job}}) {
    const Ran foreign = stranger.Tony(words, {.variables = {{"TONY_HOME", user_->tony_home().string()}}});
    EXPECT_EQ(foreign.exit, 77) << words.front() << ": " << foreign.err;
    EXPECT_EQ(CountLines(foreign.err), 1u) << foreign.err;
  }
}

}  // namespace
}  // namespace tony
