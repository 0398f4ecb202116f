// A replacement for tony-am in many_executors that serves TLS on a port, as a master on YARN does: no Unix socket, no
// page, no lock.
//
//   tls_master JOB_FOLDER EPOCH     uses JOB_FOLDER/tls.ca, tls.certificate and tls.key, which many_executors wrote
#include <csignal>
#include <filesystem>
#include <memory>
#include <string>

#include "am/application_master.h"
#include "am/journal.h"
#include "am/replay.h"
#include "runtime/base/log.h"
#include "runtime/base/strings.h"
#include "runtime/local/local_scheduler.h"
#include "runtime/net/tls.h"
#include "runtime/os/files.h"
#include "runtime/records/checkpoints.h"
#include "runtime/records/job_folder.h"
#include "runtime/rpc/rpc_server.h"

namespace tony::am {
namespace {

Result<TlsIdentity> ReadIdentity(const std::filesystem::path& folder) {
  TlsIdentity own;
  TRY_ASSIGN(own.ca, ReadFile(folder / "tls.ca"));
  TRY_ASSIGN(own.certificate, ReadFile(folder / "tls.certificate"));
  TRY_ASSIGN(own.key, ReadFile(folder / "tls.key"));
  return own;
}

Status Rule(const JobRecords& records, Epoch epoch) {
  EventLoop loop;
  TRY_ASSIGN(const OpenedJournal opened, LocalJournal::Open(loop, JobFolder(records).journal().string()));
  UseJobClock(records, std::nullopt);
  TRY_ASSIGN(Job job, Replay(records, opened.decisions));
  TRY_ASSIGN(Submission submission, records.ReadSubmission());
  TRY_ASSIGN(std::string token, records.ReadToken());
  TRY_ASSIGN(const TlsIdentity own, ReadIdentity(records.place()));
  TRY_ASSIGN(const MakeChannel tls, MakeTlsServer(own));
  const Duration am_lease = job.spec().timers.am_lease;
  RecordThread calls(loop, records);
  CheckpointPlace checkpoints = CheckpointsOnThisMachine(JobFolder(records).home(), job.spec().checkpoint);
  ApplicationMaster master({loop, std::move(checkpoints), std::move(submission), std::move(token), "", epoch,
                            std::move(job), *opened.journal, calls, opened.outdated});
  const auto scheduler =
      MakeLocalScheduler({.loop = loop,
                          .records = records,
                          .epoch = epoch,
                          .am_lease = am_lease,
                          .sink = [&](SchedulerEvent event) { master.OnScheduler(std::move(event)); },
                          .unended_in = [&](const ContainerId& container) { return master.UnendedIn(container); },
                          .page_socket = UniqueFd()});
  TRY_ASSIGN(const auto server, StartRpcServer(loop, {.at = {Endpoint{kLoopback, 0}}, .tls = tls}, master));
  master.Start(*scheduler, AmAddresses{server->addresses().front()}, [&] { server->Stop([&] { loop.Stop(); }); });
  loop.Run();
  return Ok();
}

}  // namespace
}  // namespace tony::am

int main(int argc, char** argv) {
  tony::OpenLog("tls_master");
  std::signal(SIGPIPE, SIG_IGN);
  const auto epoch = argc == 3 ? tony::ParseInt(argv[2]) : std::nullopt;
  if (!epoch) return 64;
  const tony::Status ruled = tony::am::Rule(tony::LocalJobRecords(argv[1]), tony::Epoch{*epoch});
  if (ruled.ok()) return 0;
  tony::LogError(ruled.error().message);
  return static_cast<int>(ruled.error().code);
}
