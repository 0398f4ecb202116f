// A job whose tasks run on: its AM has died, and no other AM can read its journal.
#pragma once

#include <filesystem>
#include <fstream>
#include <string>

#include "tests/unit/keeper/keeper_fixture.h"

namespace tony {

// The AM runs while the file "good" exists. Without the file it exits like an AM that finds its journal damaged.
class UnreadableJobTest : public KeeperFixture {
 protected:
  UnreadableJobTest()
      : KeeperFixture(
            "echo $2 >>$1/ams; [ -e $1/good ] && exec sleep 1000;"
            "echo 'now tony-am[7] error: journal: damaged at byte 12' >&2; exit 65") {
    std::ofstream(records_.place() / "good") << "";
  }

  // Runs a container with `command`, then replaces the AM by one that cannot read the journal.
  void RunThenDamage(const std::string& command) {
    Run(command);
    Damage();
  }
  void Run(const std::string& command) {
    keeper_ = StartKeeper();
    BecomeAm({1});
    Launch("1-1", command);
    ASSERT_TRUE(WaitForFile("ready"));
  }
  void Damage() {
    scheduler_.reset();
    std::filesystem::remove(records_.place() / "good");
    KillAm();
    ASSERT_TRUE(WaitFor([this] { return Trouble() == "journal: damaged at byte 12"; }));
  }
  std::string Trouble() const {
    const auto status = records_.ReadStatus();
    return status.ok() && *status ? (*status)->trouble : "";
  }
  JobStatus FinalStatus() const {
    const auto status = records_.ReadStatus();
    EXPECT_TRUE(status.ok() && *status && (*status)->verdict);
    return **status;
  }

  // Has a process below it, like an executor with a task.
  static constexpr char kBusy[] = "until [ -e go ]; do sleep 0.01; done & >ready; wait";
  pid_t keeper_ = 0;
};

}  // namespace tony
