// A fixture for jobs of the framework "staged", which exists only for tests of TonY itself. No property can select
// it, so the test changes the stored spec while the job waits for memory, and kills the master: the next master follows
// the new spec.
#pragma once

#include <string_view>

#include "tests/e2e/tony_test.h"

namespace tony {

class StagedJobTest : public TonyTest {
 protected:
  // Submits a job with one driver and two workers, which run `task` in the sandbox's folder. Returns once the job may
  // start.
  void Submit(std::string_view task, int processes_of_worker = 1, const Words& more = {}) {
    box_.SetMachine(R"({"memory_mb":1000})");
    holder_ = box_.StartTony(One(HoldUntilGo(), {"tony.worker.memory=600m"}));
    ASSERT_TRUE(WaitForRunning(1)) << holder_->err();
    const std::string script = box_.Write("task.sh", "cd " + box_.folder().string() + "\n" + std::string(task));
    client_ = box_.StartTony(Words{"submit", "-executes", "bash " + script} +
                             Confs({"tony.application.framework=pytorch", "tony.driver.instances=1",
                                    "tony.driver.memory=200m", "tony.worker.instances=2", "tony.worker.memory=200m"}) +
                             more);
    ASSERT_TRUE(WaitFor([&] { return client_->out().find('\n') != std::string::npos; })) << client_->err();
    job_ = client_->out().substr(0, client_->out().find('\n'));
    ASSERT_TRUE(WaitFor([&] { return Status().find("waits for ") != std::string::npos; })) << Status();
    ChangeSpec(processes_of_worker);
    Go();
    EXPECT_EQ(holder_->Wait().exit, 0) << holder_->err();
  }

  void ChangeSpec(int processes_of_worker) {
    const auto file = box_.JobFolder(job_) / "spec.json";
    std::string spec = ReadText(file);
    Replace(spec, R"("framework":"pytorch")", R"("framework":"staged")");
    const std::string worker = R"("name":"worker",)";
    if (processes_of_worker > 1)
      Replace(spec, worker, worker + R"("processes":)" + std::to_string(processes_of_worker) + ",");
    box_.Write("spec.json", spec);
    fs::rename(box_.File("spec.json"), file);
    Kill("tony-am");
    ASSERT_TRUE(WaitFor([&] { return Epoch() == 2; })) << Status();
  }
  static void Replace(std::string& text, const std::string& what, const std::string& with) {
    const size_t at = text.find(what);
    ASSERT_NE(at, std::string::npos) << text;
    text.replace(at, what.size(), with);
  }

  std::vector<pid_t> PidsOf(const std::string& program) const {
    std::vector<pid_t> pids;
    for (const Process& process : ProcessesWithMark(job_))
      if (process.program == program) pids.push_back(process.pid);
    return pids;
  }
  void Kill(const std::string& program) const {
    const std::vector<pid_t> pids = PidsOf(program);
    ASSERT_EQ(pids.size(), 1u) << program;
    kill(pids.front(), SIGKILL);
    ASSERT_TRUE(WaitFor([&] { return PidsOf(program) != pids; }));
  }
  std::string Status() const { return box_.Tony({"status", job_, "--json"}).out; }
  int64_t Epoch() const {
    const auto status = ParseJson(Status());
    return At(status, "/am_reachable") == value(true) ? Number(status, "/epoch") : 0;
  }

  std::unique_ptr<Background> holder_, client_;
  std::string job_;
};

}  // namespace tony
