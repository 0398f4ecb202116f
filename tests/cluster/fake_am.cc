// The real application master on the fake cluster. Usage: fake-am JOB_FOLDER EPOCH
#include <csignal>
#include <filesystem>

#include "am/application_master.h"
#include "am/journal.h"
#include "am/replay.h"
#include "runtime/base/check.h"
#include "runtime/base/log.h"
#include "runtime/base/strings.h"
#include "runtime/records/checkpoints.h"
#include "runtime/records/job_folder.h"
#include "runtime/rpc/rpc_server.h"
#include "tests/cluster/fake_scheduler.h"
#include "tests/cluster/flaky_store.h"

namespace tony::cluster {
namespace {

namespace fs = std::filesystem;

class LookAgain {
 public:
  LookAgain(EventLoop& loop, EventLoop::Callback look) : loop_(loop), look_(std::move(look)) { Later(); }

 private:
  void Later() {
    timer_ = loop_.After(Duration(200), [this] {
      look_();
      Later();
    });
  }

  EventLoop& loop_;
  const EventLoop::Callback look_;
  EventLoop::Timer timer_;
};

Status Rule(const fs::path& folder, Epoch epoch) {
  const JobRecords records = FlakyRecords(folder, epoch.value);
  EventLoop loop;
  TRY_ASSIGN(const am::OpenedJournal opened, am::LocalJournal::Open(loop, (folder / "journal").string()));
  am::UseJobClock(records, opened.decisions.empty() ? std::nullopt : std::optional(opened.decisions.back().time));
  TRY_ASSIGN(JobSpec spec, records.ReadSpec());
  am::Job job(records.job(), std::move(spec));
  for (const Decision& decision : opened.decisions) CHECK(job.Evolve(decision).ok());
  TRY_ASSIGN(Submission submission, records.ReadSubmission());
  TRY_ASSIGN(std::string token, records.ReadToken());
  am::RecordThread calls(loop, records);
  CheckpointPlace checkpoints = CheckpointsOnThisMachine(JobFolder(folder).home(), job.spec().checkpoint);
  am::ApplicationMaster master({.loop = loop,
                                .checkpoints = std::move(checkpoints),
                                .submission = std::move(submission),
                                .token = std::move(token),
                                .tracking_url = "",
                                .epoch = epoch,
                                .job = std::move(job),
                                .journal = *opened.journal,
                                .calls = calls});
  const auto scheduler =
      MakeFakeScheduler({.loop = loop, .records = records, .epoch = epoch, .sink = [&](SchedulerEvent event) {
                           master.OnScheduler(std::move(event));
                         }});
  TRY_ASSIGN(const auto server, StartRpcServer(loop, {.folder = folder, .at = {SocketOf(epoch)}}, master));
  master.Start(*scheduler, {server->addresses().front()}, [&] { server->Stop([&] { loop.Stop(); }); });
  const LookAgain fence(loop, [&] {
    if (!scheduler->Holds()) loop.Stop();
  });
  loop.Run();
  return Ok();
}

}  // namespace
}  // namespace tony::cluster

int main(int argc, char** argv) {
  if (argc != 3) return 64;
  signal(SIGPIPE, SIG_IGN);
  const std::string log = std::string(argv[1]) + "/am.log";
  if (!freopen(log.c_str(), "a", stdout) || !freopen(log.c_str(), "a", stderr)) return 73;
  tony::OpenLog("fake-am");
  const tony::Status ruled = tony::cluster::Rule(argv[1], {tony::ParseInt(argv[2]).value_or(0)});
  if (!ruled.ok()) tony::LogError(ruled.error().message);
  return ruled.ok() ? 0 : 1;
}
