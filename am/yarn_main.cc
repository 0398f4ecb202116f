// tony-yarn-am: the application master of one job on YARN. Started by a NodeManager, never by hand; what it has to know
// is in its container's credentials and environment (runtime/yarn/executor_context.h).
//
// Exits with 0 when the job has ended and the ResourceManager knows it; with 75 when this attempt is over without that:
// it was replaced, killed, or the job was settled without it. Any other end is a crash or a file that cannot be used.
#include <unistd.h>

#include <csignal>
#include <memory>
#include <string>

#include "am/application_master.h"
#include "am/replay.h"
#include "am/job_clock.h"
#include "am/record_calls.h"
#include "am/record_journal.h"
#include "am/yarn_page.h"
#include "runtime/base/log.h"
#include "runtime/base/shortage.h"
#include "runtime/base/side_thread.h"
#include "runtime/base/strings.h"
#include "runtime/hadoop/rm_client.h"
#include "runtime/net/host_resolver.h"
#include "runtime/net/tls.h"
#include "runtime/os/files.h"
#include "runtime/rpc/rpc_server.h"
#include "runtime/yarn/container_launch.h"
#include "runtime/yarn/executor_context.h"
#include "runtime/yarn/yarn_checkpoints.h"
#include "runtime/yarn/yarn_history.h"
#include "runtime/yarn/yarn_job_place.h"
#include "runtime/yarn/yarn_scheduler.h"

namespace tony::am {
namespace {

constexpr int kAttemptIsOver = 75;
constexpr const char* kEverywhere = "0.0.0.0";
constexpr Epoch kFirstEpoch{1};  // there is one attempt
// A master that has nothing to write would not see that its journal is sealed.
constexpr Duration kBetweenLooks{10'000};
constexpr const char* kSealed = "its journal was sealed: the job was settled without it, or removed";

struct Container {
  YarnCluster cluster;
  std::string host;  // of this node, as a number
  hadoop::Token token;
  hadoop::Credentials others;  // beside that token and what is for the master: for the executors' tasks
  MasterLaunch launch;
};

Result<Container> ReadContainer() {
  Container container;
  TRY_ASSIGN(const std::string cluster, VariableOfContainer(kClusterVariable));
  auto known = YarnClusterFromText(cluster);
  if (!known.ok()) return Annotate(known.error(), kClusterVariable);
  container.cluster = *std::move(known);
  TRY_ASSIGN(const std::string host, VariableOfContainer("NM_HOST"));
  // Executors get a number: a static program resolves no names. There is nothing else to do yet while this blocks.
  TRY_ASSIGN(container.host, ResolveHost(host));
  TRY_ASSIGN(const std::string file, VariableOfContainer("HADOOP_TOKEN_FILE_LOCATION"));
  TRY_ASSIGN(const std::string bytes, ReadFile(file));
  TRY_ASSIGN(hadoop::Credentials credentials, hadoop::DecodeCredentials(bytes));
  TRY_ASSIGN(container.launch, MasterLaunchIn(credentials));
  for (const auto& [alias, token] : credentials.tokens) {
    if (token.kind == "YARN_AM_RM_TOKEN") {
      container.token = token;
    } else {
      container.others.tokens[alias] = token;
    }
  }
  if (container.token.kind.empty())
    return Error{ErrorCode::kInvalid, StrCat(file, ": no token for the ResourceManager")};
  return container;
}

class Master {
 public:
  Master(EventLoop& loop, const Container& container, JobRecords records)
      : loop_(loop),
        container_(container),
        records_(std::move(records)),
        names_(loop),
        rm_(loop, names_, container.cluster.rm, hadoop::SimpleUser{container.cluster.user}) {}

  // Until the job has ended, or this attempt is over.
  Result<int> Rule() {
    TRY_ASSIGN(const OpenedRecordJournal opened,
               RecordJournal::Open(loop_, JournalOf(container_.cluster, records_.job()), kFirstEpoch));
    const JobRecords own = RecordsOfMaster(container_.cluster, records_.job(), kFirstEpoch);
    UseJobClock(own, opened.decisions.empty() ? std::nullopt : std::optional(opened.decisions.back().time));
    TRY_ASSIGN(Job job, Replay(records_, opened.decisions));
    const JobSpec spec = job.spec();
    TRY_ASSIGN(Submission submission, records_.ReadSubmission());
    RecordThread calls(loop_, own);
    ApplicationMaster master({.loop = loop_,
                              .checkpoints = CheckpointsOnYarn(container_.cluster, spec.checkpoint),
                              .submission = std::move(submission),
                              .token = container_.launch.secrets.token,
                              .tracking_url = PageOf(container_.cluster, records_.job()),
                              .epoch = kFirstEpoch,
                              .job = std::move(job),
                              .journal = *opened.journal,
                              .calls = calls});
    opened.journal->TellOfSeal([this] { LeaveBecause(kSealed); });
    LookForSeal(calls, JournalOf(container_.cluster, records_.job()));
    TRY_ASSIGN(const MakeChannel tls, MakeTlsServer(container_.launch.secrets.tls));
    TRY_ASSIGN(const auto server, StartRpcServer(loop_, {.at = {Endpoint{kEverywhere, 0}}, .tls = tls}, master));
    const Endpoint at{container_.host, std::get<Endpoint>(server->addresses().front()).port};
    TRY_ASSIGN(JobShipment shipment, ShipmentFor(spec, at));
    TRY_ASSIGN(const std::unique_ptr<LivePage> page, OpenPage(at));
    YarnScheduler scheduler(
        {.loop = loop_,
         .names = names_,
         .resource_manager = container_.cluster.scheduler,
         .token = container_.token,
         .address = {at.host, at.port, page ? page->url() : ""},
         .kept_at = spec.yarn.portal_url.empty() ? "" : StrCat(spec.yarn.portal_url, "/jobs/", records_.job().value),
         .user = container_.cluster.user,
         .am_lease = spec.timers.am_lease,
         .sink = [&](SchedulerEvent event) { master.OnScheduler(std::move(event)); },
         .context = [shipment = std::move(shipment)](const ContainerId&, const ExecutorLaunch& launch,
                                                     const std::string&) { return ContextOf(shipment, launch); },
         .over = [this](const std::string& reason) { LeaveBecause(reason); },
         .list_nodes = [this](YarnSide::OnNodes done) { rm_.RunningNodes(std::move(done)); },
         .gang_hold = spec.mode == DistributedMode::kGang ? spec.yarn.gang_hold : Duration(0),
         .lost_after = spec.timers.lost_after});
    LogInfo(
        StrCat("job ", records_.job().value, ": ", opened.decisions.size(), " decisions replayed, at ", ToString(at)));
    master.Start(scheduler, AmAddresses{at}, [&] { server->Stop([this] { loop_.Stop(); }); });
    if (page) page->Serve([&] { return master.ShowStatus(); });
    RunWithHistory();
    if (page) page->End();
    return over_.empty() ? 0 : kAttemptIsOver;
  }

 private:
  // Its beginning beside the loop, for which nobody waits; its end when all others have gone.
  void RunWithHistory() {
    {
      SideThread beside(loop_);
      beside.Do([cluster = container_.cluster, records = records_] {
        BeginHistoryInHdfs(cluster, records);
        return [] {};
      });
      loop_.Run();
    }
    if (over_.empty()) FinishHistoryInHdfs(container_.cluster, records_);
  }

  static hadoop::LaunchContext ContextOf(const JobShipment& shipment, const ExecutorLaunch& launch) {
    auto context = MakeExecutorContext(shipment, launch);
    if (context.ok()) return *std::move(context);
    LogError(context.error().message);
    return {.command = "exit 70"};
  }

  // Its own thread asks this master for logs, with an executor's certificate: one for clients is not here.
  Result<std::unique_ptr<LivePage>> OpenPage(const Endpoint& at) {
    TRY_ASSIGN(const MakeChannel tls, MakeTlsClient(container_.launch.executors_tls));
    return OpenYarnPage({.loop = loop_,
                         .records = RecordsOf(container_.cluster, records_.job()),
                         .cluster = container_.cluster,
                         .host = container_.host,
                         .way = {.am = at, .token = container_.launch.secrets.token, .tls = tls}});
  }

  Result<JobShipment> ShipmentFor(const JobSpec& spec, const Endpoint& at) {
    JobShipment shipment{.job = records_.job(), .spec = spec, .secrets = container_.launch.secrets};
    shipment.secrets.tls = container_.launch.executors_tls;
    shipment.lease = {.epoch = kFirstEpoch, .am = {at}};
    TRY_ASSIGN(const auto staged, records_.ReadStaged());
    if (staged) shipment.staged = *staged;
    TRY_ASSIGN(shipment.files, ReadFiles(records_));
    shipment.environment = {{"HADOOP_USER_NAME", container_.cluster.user}};
    shipment.credentials = container_.others;
    return shipment;
  }

  // Also of a master that does not rule: nobody else may reach its node.
  void LookForSeal(RecordCalls& calls, const std::shared_ptr<const JournalStore>& journal) {
    look_timer_ = loop_.After(kBetweenLooks, [this, &calls, journal] {
      calls.Ask([journal](const JobRecords&) { return journal->Epochs(); },
                [this, &calls, journal](const Result<std::vector<Epoch>>& epochs) {
                  const bool is_own = epochs.ok() && !epochs->empty() && epochs->back() == kFirstEpoch;
                  if (epochs.ok() && !is_own) return LeaveBecause(kSealed);
                  LookForSeal(calls, journal);
                });
    });
  }

  void LeaveBecause(const std::string& reason) {
    over_ = reason;
    LogWarn(StrCat("this attempt is over: ", reason));
    loop_.Stop();
  }

  EventLoop& loop_;
  const Container& container_;
  const JobRecords records_;
  HostResolver names_;
  hadoop::RmClient rm_;
  std::string over_;  // why this attempt is; empty: it is not
  EventLoop::Timer look_timer_;
};

Result<int> Run() {
  TRY_ASSIGN(const Container container, ReadContainer());
  EventLoop loop;
  // Whoever wants the job ended says so by a kill request. A NodeManager's TERM is followed by a KILL.
  const auto signals =
      loop.OnSignals({SIGTERM, SIGINT, SIGHUP}, [](int signal) { LogWarn(StrCat("signal ", signal, " ignored")); });
  return Master(loop, container, RecordsOf(container.cluster, container.launch.job)).Rule();
}

}  // namespace
}  // namespace tony::am

int main() {
  tony::OpenLog("tony-yarn-am");
  std::signal(SIGPIPE, SIG_IGN);
  std::signal(SIGXFSZ, SIG_IGN);  // a file size limit is as a full disk: the write fails
  const auto code = tony::WithoutThrowing([] { return tony::am::Run(); });
  if (code.ok()) return *code;
  tony::LogError(code.error().message);
  return static_cast<int>(code.error().code);
}
