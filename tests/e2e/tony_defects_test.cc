// Defects of TonY that this implementation does not have and that no other test covers. tests/conformance/README.md
// lists all of them.
#include "tests/e2e/tony_test.h"

namespace tony {
namespace {

class TonyDefectsTest : public TonyTest {
 protected:
  // Returns the processor time, user and system, in ticks of the kernel's clock.
  static long CpuTicks(pid_t pid) {
    const std::string stat = ReadText("/proc/" + std::to_string(pid) + "/stat");
    std::istringstream fields(stat.substr(stat.rfind(')') + 2));
    std::string skipped;
    for (int i = 0; i < 11; ++i) fields >> skipped;
    long user = 0, system = 0;
    fields >> user >> system;
    return user + system;
  }
  static std::chrono::milliseconds Between(const json::value& from, const json::value& to) {
    const auto millis = [](const json::value& time) {
      struct tm parts {};
      const std::string text(time.as_string());
      const char* rest = strptime(text.c_str(), "%Y-%m-%dT%H:%M:%S", &parts);
      EXPECT_NE(rest, nullptr) << text;
      return std::chrono::milliseconds(int64_t{timegm(&parts)} * 1000 + std::stoi(rest + 1));
    };
    return millis(to) - millis(from);
  }
};

// TonY 0.5.3 put the name into a shell line, unquoted: "(" failed every executor, ";" ran a command in each container.
TEST_F(TonyDefectsTest, ShellCharactersInAJobsNameAreNotExecuted) {
  const std::string name = "nightly (ctr); touch " + box_.File("harm") + " & echo '`\"$HOME";
  const Ran ran = Succeeds(One("true", {"tony.application.name=" + name}) + Words{"--json"});
  EXPECT_EQ(Text(ParseJson(ran.out), "/name"), name);
  EXPECT_FALSE(fs::exists(box_.File("harm")));
}

// TonY 0.4.6 noticed the end of a task at the next of its ticks of 5 s, and notified its client within a second more.
TEST_F(TonyDefectsTest, AJobEndsWithin2500MillisecondsOfItsLastTask) {
  const Ran ran = Succeeds(Workers(2, "true") + Words{"--json"});
  const json::value status = ParseJson(ran.out);
  std::chrono::milliseconds least = std::chrono::hours(1);
  for (const char* task : {"/tasks/0/ended", "/tasks/1/ended"})
    least = std::min(least, Between(At(status, task), At(status, "/ended")));
  EXPECT_LT(least, std::chrono::milliseconds(2500)) << "as late as TonY on average";
}

// The published TonY 0.5.3 kept a core busy for each task that it waited for.
TEST_F(TonyDefectsTest, WaitingForATaskDoesNotKeepAProcessorBusy) {
  const auto client = Hold(Workers(1, HoldUntilGo()));
  std::map<pid_t, long> before;
  for (const Process& process : box_.Processes())
    if (process.program.starts_with("tony")) before[process.pid] = CpuTicks(process.pid);
  ASSERT_GE(before.size(), 4u) << "client, keeper, application master, executor";
  WaitFor([] { return false; }, Limit(1000));
  for (const auto& [pid, ticks] : before)
    EXPECT_LT(CpuTicks(pid) - ticks, sysconf(_SC_CLK_TCK) / 2) << ToString(box_.Processes());
  GoAndEnd(*client);
}

// TonY left ID-tony-final.xml and tony_src_ID.zip in the folder in which its client had been started.
TEST_F(TonyDefectsTest, ASubmitLeavesNothingInTheCurrentFolder) {
  fs::create_directory(box_.File("src"));
  box_.Write("src/train.sh", "true\n");
  const auto names = [&] {
    std::set<std::string> found;
    for (const auto& entry : fs::directory_iterator(box_.folder())) found.insert(entry.path().filename());
    return found;
  };
  std::set<std::string> expected = names();
  Succeeds(One("sh train.sh") + Words{"-src_dir", "src"});
  expected.insert("home");
  EXPECT_EQ(names(), expected);
}

}  // namespace
}  // namespace tony
