// tony-am JOB_FOLDER EPOCH: the application master of one job. Started by the job's arbiter, never by hand.
//
// It exits with 0 when the job has ended. With 65 (ErrorCode::kInvalid) when a file that the job cannot do without, the
// journal above all, is damaged or of a later release: another AM would find the same, so the arbiter need not try; the
// tasks run on, and nothing of the file has been changed. With 66 (ErrorCode::kNotFound) when the job's folder was
// removed under it: keeper and executors look for themselves, and leave as well. With 79 (kFailedCheck) when a CHECK
// failed: the arbiter ends the job with the last line of the log. Any other end is a crash.
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

// The lock of an AM that was killed is free at once; one that is being replaced gets this long to die.
constexpr Duration kLockLimit{10000};

// Room may be made on a full disk; a dead one stays dead, and the machine waits. A kill leaves the keeper half of its
// ten seconds.
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

// The AM's own folder, with the files that were asked for there. An AM does not need them to rule.
Status LinkAmFiles(const JobRecords& records) {
  TRY_ASSIGN(const auto staged, records.ReadStaged());
  if (!staged || staged->am.empty()) return Ok();
  const std::filesystem::path work = records.place() / "work" / "am";
  TRY(MakeFolder(work));
  return LinkStaged(staged->am, work);
}

// A job can do without its page.
std::unique_ptr<LivePage> OpenPage(EventLoop& loop, const JobRecords& records) {
  auto logs = LocalBackend().logs().LogsOf(records);
  if (!logs.ok()) return nullptr;
  auto page =
      LivePage::Open(loop, records, std::shared_ptr<LogSource>(*std::move(logs)), InheritedPageSocket(), kLoopback);
  if (page.ok()) return *std::move(page);
  if (page.error().code != ErrorCode::kNotFound) LogWarn(page.error().message);
  return nullptr;
}

// Those of masters before this one, which died without removing them. Never a later one's.
void RemoveStaleSockets(const JobRecords& records, Epoch epoch) {
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator(records.place(), error)) {
    const std::string name = entry.path().filename().string();
    const auto of = EpochOfSocket({name});
    if (of && *of < epoch) unlink(entry.path().c_str());
  }
}

// Executors that the release before this one started look for a host and port in the lease record, and there is one in
// the record of such a job alone. Nothing listens there for anybody else.
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

// Calls `on_gone` once when the job's folder was removed.
class FolderLook {
 public:
  FolderLook(EventLoop& loop, const JobRecords& records, EventLoop::Callback on_gone)
      : loop_(loop), presence_(records.place()), on_gone_(std::move(on_gone)) {
    LookLater();
  }
  Status end() const { return gone_ ? Status(presence_.GoneError()) : Ok(); }

 private:
  void LookLater() {
    timer_ = loop_.After(FolderPresence::kBetweenLooks, [this] {
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
  // Whoever wants the job ended says so by a kill request; a service manager's TERM to everybody is not one.
  const auto signals =
      loop.OnSignals({SIGTERM, SIGINT, SIGHUP}, [](int signal) { LogWarn(StrCat("signal ", signal, " ignored")); });
  TRY_ASSIGN(const OpenedJournal opened, LocalJournal::Open(loop, JobFolder(records).journal().string()));
  if (opened.torn_bytes > 0)
    LogWarn(StrCat("journal: ", opened.torn_bytes, " bytes of an unfinished append are cut off"));
  UseJobClock(records, opened.decisions.empty() ? std::nullopt : std::optional(opened.decisions.back().time));
  TRY_ASSIGN(Job job, Replay(records, opened.decisions));
  TRY_ASSIGN(Submission submission, records.ReadSubmission());
  TRY_ASSIGN(std::string token, records.ReadToken());
  const Duration am_lease = job.spec().timers.am_lease;
  LogInfo(
      StrCat("epoch ", epoch.value, ": ", opened.decisions.size(), " decisions replayed, job ", ToString(job.state())));

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
  signal(SIGXFSZ, SIG_IGN);  // a file size limit is as a full disk: the write fails
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
