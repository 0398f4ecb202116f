// A fixture for tests of the connections to a master: a job of a user other than root.
#pragma once

#include <optional>

#include "tests/e2e/strangers/strangers_test.h"

namespace tony {

// The job has one worker, which waits for the file "go" and exits with the number in it.
class MasterTest : public StrangersTest {
 protected:
  void SetUp() override {
    StrangersTest::SetUp();
    if (IsSkipped()) return;
    user_ = std::make_unique<OtherUser>();
    home_ = user_->tony_home();
  }
  void TearDown() override {
    if (user_) user_->Write(Go(), "9");
  }

  OtherUser::Variables Home() const { return {{"TONY_HOME", home_.string()}}; }
  Ran Tony(const Words& words) const { return user_->Tony(words, {.variables = Home()}); }
  fs::path Go() const { return user_->home() / "go"; }

  void Submit(std::optional<rlim_t> open_files = {}) {
    const std::string command =
        "until [ -s " + Go().string() + " ]; do sleep 0.05; done; exit $(cat " + Go().string() + ")";
    client_ = user_->Start(Words{"tony"} + One(command), {.variables = Home(), .open_files = open_files});
    ASSERT_TRUE(WaitFor([&] { return State() == "RUNNING"; })) << client_->err();
    // Waits for the state in the file, too, because a client that cannot reach the master reads the file.
    const auto written = [&] { return ReadText(Folder() / "status.json").find(R"("state":"RUNNING")"); };
    ASSERT_TRUE(WaitFor([&] { return written() != std::string::npos; }));
  }
  fs::path Folder() const {
    std::error_code error;
    for (const auto& entry : fs::directory_iterator(home_ / "jobs", error)) {
      if (entry.path().filename().string()[0] != '.') return entry.path();
    }
    return {};
  }
  std::string Job() const { return Folder().filename().string(); }
  std::string State() const {
    if (Folder().empty()) return "";
    const Ran ran = Tony({"status", "--json", Job()});
    return ran.exit == 0 ? Text(ParseJson(ran.out), "/state") : "";
  }
  pid_t Master() const { return Pid("tony-am"); }
  pid_t Pid(const std::string& program) const {
    for (const Process& process : user_->Processes()) {
      if (process.program == program) return process.pid;
    }
    return 0;
  }
  std::string Socket() const { return Text(ParseJson(ReadText(Folder() / "am.lease")), "/socket"); }
  bool IsReached() const {
    const Ran ran = Tony({"status", "--json", Job()});
    return ran.exit == 0 && At(ParseJson(ran.out), "/am_reachable") == value(true);
  }
  Ran End(int code) {
    EXPECT_TRUE(user_->Write(Go(), std::to_string(code)));
    return client_->Wait();
  }

  std::unique_ptr<OtherUser> user_;
  fs::path home_;
  std::unique_ptr<Background> client_;
};

// Returns the ports at which these processes listen, found by the inodes of their sockets.
std::set<int> ListeningPorts(const std::vector<Process>& processes);

}  // namespace tony
