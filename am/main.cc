// tony-am JOB_FOLDER EPOCH: the application master of one job. The job's arbiter starts this program, never a user.
//
// Exit codes: 0 when the job has ended. 65 (ErrorCode::kInvalid) when a necessary file, above all the journal, is
// damaged or has the format of a later release. Another AM would fail in the same way, so the arbiter does not retry;
// the tasks continue, and the file is unchanged. 66 (ErrorCode::kNotFound) when the job's folder was removed; the
// keeper (the supervisor of the job on this machine) and the executors notice that themselves and exit. 79
// (kFailedCheck) when a CHECK failed; the arbiter ends the job with the last line of the log. Any other exit is a
// crash.
#include <unistd.h>

#include <csignal>
#include <filesystem>
#include <thread>

#include "am/application_master.h"
#include "am/journal.h"
#include "am/replay.h"
#include "runtime/base/endpoint.h"
#include "runtime/base/event_loop.h"
#include "runtime/base/log.h"
#include "runtime/base/strings.h"
#include "runtime/local/local_backend.h"
#include "runtime/local/local_scheduler.h"
#include "runtime/net/sockets.h"
#include "runtime/os/files.h"
#include "runtime/page/live_page.h"
#include "runtime/page/page_address.h"
#include "runtime/records/attempt_folder.h"
#include "runtime/records/job_folder.h"
#include "runtime/records/job_records.h"
#include "runtime/records/staged_files.h"
#include "runtime/rpc/rpc_server.h"

namespace tony::am {
namespace {

// A new AM waits this long until the AM that it replaces releases the job's lock. A killed AM releases the lock at
// once.
constexpr Duration kLockLimit{10000};

// The end of the job waits at most this long for a disk that cannot be written. The AM waits because a full disk may
// get room. The wait is limited because a broken disk stays broken, and the machine's resources are reserved for the
// job until its end. After a kill the limit is half of the keeper's margin of ten seconds (AmOptions::stop_margin), so
// that the keeper has time left.
constexpr ApplicationMasterParts::Patience kPatience{.killed = Duration(5000), .otherwise = Duration(30'000)};

Result<UniqueFd> LockJob(const JobRecords& records) {
  const RealClock clock;
  const Instant limit = clock.Now() + kLockLimit;
  for (;;) {
    auto lock = JobFolder(records).Lock("am.lock");
    if (lock.ok() || clock.Now() >= limit) return lock;
    std::this_thread::sleep_for(Duration(10));
  }
}

// Makes the AM's own folder, with links to the files that the job requested for the AM. The AM runs even if this fails.
Status LinkAmFiles(const JobRecords& records) {
  TRY_ASSIGN(const auto staged, records.ReadStaged());
  if (!staged || staged->am.empty()) return Ok();
  const std::filesystem::path work = records.place() / "work" / "am";
  TRY(MakeFolder(work));
  return LinkStaged(staged->am, work);
}

// Returns null on an error, because a job can run without its page.
std::unique_ptr<LivePage> OpenPage(EventLoop& loop, const JobRecords& records) {
  auto logs = LocalBackend().logs().LogsOf(records);
  if (!logs.ok()) return nullptr;
  auto page =
      LivePage::Open(loop, records, std::shared_ptr<LogSource>(*std::move(logs)), InheritedPageSocket(), kLoopback);
  if (page.ok()) return *std::move(page);
  if (page.error().code != ErrorCode::kNotFound) LogWarn(page.error().message);
  return nullptr;
}

// Removes the sockets of earlier AMs that died without removing them, never the socket of a later AM.
void RemoveStaleSockets(const JobRecords& records, Epoch epoch) {
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator(records.place(), error)) {
    const std::string name = entry.path().filename().string();
    const auto of = EpochOfSocket({name});
    if (of && *of < epoch) unlink(entry.path().c_str());
  }
}

// Executors of the previous release expect a host and port in the lease record. The AM listens on a port only if the
// previous lease record has a port, because only jobs with such executors have one.
RpcServerOptions WhereToListen(const JobRecords& records, Epoch epoch) {
  RpcServerOptions options{.folder = records.place(), .at = {SocketOf(epoch)}};
  const auto before = records.ReadLease();
  if (!before.ok()) LogWarn(before.error().message);
  if (!before.ok() || !*before) return options;
  const AmAddresses& am = (*before)->am;
  const auto* own = std::get_if<Endpoint>(&am.own);
  if (am.for_old_executors || own)
    options.at.emplace_back(Endpoint{am.for_old_executors ? am.for_old_executors->host : own->host, 0});
  return options;
}

AmAddresses AddressesOf(const RpcServer& server) {
  AmAddresses addresses{server.addresses().front()};
  if (server.addresses().size() > 1) addresses.for_old_executors = std::get<Endpoint>(server.addresses().back());
  return addresses;
}

// Calls `on_gone` once, when the job's folder has been removed.
class FolderLook {
 public:
  FolderLook(EventLoop& loop, const JobRecords& records, EventLoop::Callback on_gone)
      : loop_(loop), presence_(records.place()), on_gone_(std::move(on_gone)) {
    LookLater();
  }
  Status end() const { return gone_ ? Status(presence_.RemovedError()) : Ok(); }

 private:
  void LookLater() {
    timer_ = loop_.After(FolderPresence::kCheckInterval, [this] {
      gone_ = presence_.IsGone(loop_.Now());
      if (gone_) return on_gone_();
      LookLater();
    });
  }

  EventLoop& loop_;
  FolderPresence presence_;
  const EventLoop::Callback on_gone_;
  bool gone_ = false;
  EventLoop::Timer timer_;
};

Status Rule(const JobRecords& records, Epoch epoch) {
  TRY(CheckOwnUser());
  TRY_ASSIGN(const UniqueFd lock, LockJob(records));
  if (const Status linked = LinkAmFiles(records); !linked.ok()) LogError(linked.error().message);
  EventLoop loop;
  // A client ends a job by a kill request. A service manager's TERM to all processes is not a kill request, so signals
  // are ignored.
  const auto signals =
      loop.OnSignals({SIGTERM, SIGINT, SIGHUP}, [](int signal) { LogWarn(StrCat("signal ", signal, " ignored")); });
  TRY_ASSIGN(const OpenedJournal opened, LocalJournal::Open(loop, JobFolder(records).journal().string()));
  if (opened.torn_bytes > 0)
    LogWarn(StrCat("journal: the last ", opened.torn_bytes, " bytes were an incomplete record and were removed"));
  UseJobClock(records, opened.decisions.empty() ? std::nullopt : std::optional(opened.decisions.back().time));
  TRY_ASSIGN(Job job, Replay(records, opened.decisions));
  TRY_ASSIGN(Submission submission, records.ReadSubmission());
  TRY_ASSIGN(std::string token, records.ReadToken());
  const Duration am_lease = job.spec().timers.am_lease;
  LogInfo(StrCat("epoch ", epoch.value, ": replayed ", opened.decisions.size(), " decisions; the job is ",
                 ToString(job.state())));

  const std::unique_ptr<LivePage> page = OpenPage(loop, records);
  RecordThread calls(loop, records);
  CheckpointPlace checkpoints = CheckpointsOnThisMachine(JobFolder(records).home(), job.spec().checkpoint);
  ApplicationMaster master({loop, std::move(checkpoints), std::move(submission), std::move(token),
                            page ? page->url() : "", epoch, std::move(job), *opened.journal, calls, opened.outdated,
                            kPatience});
  const auto scheduler =
      MakeLocalScheduler({.loop = loop,
                          .records = records,
                          .epoch = epoch,
                          .am_lease = am_lease,
                          .sink = [&](SchedulerEvent event) { master.OnScheduler(std::move(event)); },
                          .unended_in = [&](const ContainerId& container) { return master.UnendedIn(container); },
                          .page_socket = page ? page->ShareSocket() : UniqueFd()});
  RemoveStaleSockets(records, epoch);
  TRY_ASSIGN(const std::unique_ptr<RpcServer> server, StartRpcServer(loop, WhereToListen(records, epoch), master));
  const auto leave = [&] { server->Stop([&] { loop.Stop(); }); };
  FolderLook look(loop, records, leave);
  master.Start(*scheduler, AddressesOf(*server), leave);
  if (page) page->Serve([&] { return master.ShowStatus(); });
  loop.Run();
  if (page) page->End();
  return look.end();
}

int Main(int argc, char** argv) {
  OpenLog("tony-am");
  signal(SIGPIPE, SIG_IGN);
  // With SIGXFSZ ignored, a write beyond the file size limit fails with an error, as on a full disk.
  signal(SIGXFSZ, SIG_IGN);
  const auto epoch = argc == 3 ? ParseInt(argv[2]) : std::nullopt;
  if (!epoch || *epoch < 1) {
    LogError("usage: tony-am JOB_FOLDER EPOCH");
    return static_cast<int>(ErrorCode::kUsage);
  }
  const JobRecords records = LocalJobRecords(argv[1]);
  LeaveOnFailedCheck(records.job());
  const Status ruled = WithoutThrowing([&] { return Rule(records, Epoch{*epoch}); });
  if (ruled.ok()) return 0;
  LogError(ruled.error().message);
  return static_cast<int>(ruled.error().code);
}

}  // namespace
}  // namespace tony::am

int main(int argc, char** argv) { return tony::am::Main(argc, argv); }
