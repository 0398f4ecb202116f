// tony-yarn-am: the application master of one job on YARN. A NodeManager starts this program, never a user. Its
// parameters are in its container's credentials and environment (runtime/yarn/executor_context.h).
//
// The program begins as the supervisor of the AM (yarn_supervisor.h). Its child processes lead the job, one after the
// other. The number of YARN's attempt and the number of the process in it make the AM's epoch.
//
// Exit codes: 0 when the job has ended and the ResourceManager knows the final status. 75 when the ResourceManager does
// not know it: the AM was replaced or killed, or the job was finalized without this AM. 79 (kFailedCheck) when a CHECK
// failed; the application's diagnostics name this CHECK. 65, 66 or 77 when the job's records are damaged, missing or
// sealed; the application then ends as failed. Any other exit is a crash.
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstdlib>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <thread>
#include <utility>

#include "am/application_master.h"
#include "am/journal.h"
#include "am/record_journal.h"
#include "am/replay.h"
#include "am/token_wait.h"
#include "am/yarn_supervisor.h"
#include "runtime/base/check.h"
#include "runtime/base/event_loop.h"
#include "runtime/base/log.h"
#include "runtime/base/strings.h"
#include "runtime/hadoop/aggregated_log.h"
#include "runtime/hadoop/key_store.h"
#include "runtime/hadoop/yarn_clients.h"
#include "runtime/net/host_resolver.h"
#include "runtime/net/sockets.h"
#include "runtime/net/tls.h"
#include "runtime/os/files.h"
#include "runtime/page/live_page.h"
#include "runtime/records/job_records.h"
#include "runtime/rpc/rpc_server.h"
#include "runtime/yarn/cluster_login.h"
#include "runtime/yarn/cluster_tokens.h"
#include "runtime/yarn/container_launch.h"
#include "runtime/yarn/executor_context.h"
#include "runtime/yarn/hdfs_sources.h"
#include "runtime/yarn/node_logs.h"
#include "runtime/yarn/yarn_arbiter.h"
#include "runtime/yarn/yarn_cluster.h"
#include "runtime/yarn/yarn_jobs.h"
#include "runtime/yarn/yarn_log_reader.h"
#include "runtime/yarn/yarn_scheduler.h"

namespace tony::am {
namespace {

static_assert(kMostProcesses < kEpochsPerAttempt);
constexpr const char* kEverywhere = "0.0.0.0";
// The file in the container's folder that holds the MasterState.
constexpr const char* kStateFile = ".tony-attempt";
// The interval at which the AM checks whether its journal is sealed. An AM that has nothing to write would not notice
// the seal without this check.
constexpr Duration kCheckInterval{10'000};
constexpr Duration kPagePause{2000};
constexpr const char* kUserCookie = "proxy-user";  // WebAppProxyServlet.PROXY_USER_COOKIE_NAME
// The time that the ResourceManager gets to accept the end of an AM that failed a CHECK.
constexpr Duration kFailedCheckLimit{10'000};
constexpr const char* kSealed =
    "another process, which has finalized or removed the job, has sealed the job's journal";

struct Container {
  YarnCluster cluster;
  std::optional<Endpoint> proxy;  // AmRmProxyOfNode()
  std::string host;  // numeric address of this node
  int attempt = 0;   // number of YARN's attempt
  hadoop::Token token;
  // The identity with which this process calls the ResourceManager as a client does.
  hadoop::RpcIdentity identity;
  // The other credentials, which are for the executors' tasks. They contain neither the ResourceManager's token nor the
  // AM's own secrets.
  hadoop::Credentials others;
  std::string token_file;
  ClusterTokens tokens;  // the cluster's tokens among `others`
  MasterLaunch launch;
};

// Reads the token file. An earlier AM process of this container may have put fresh tokens into it.
Status ReadTokens(Container& container) {
  TRY_ASSIGN(const std::string bytes, ReadFile(container.token_file));
  TRY_ASSIGN(const hadoop::Credentials credentials, hadoop::DecodeCredentials(bytes));
  TRY_ASSIGN(container.launch, MasterLaunchIn(credentials));
  container.cluster.trust = container.launch.https_trust;
  TRY_ASSIGN(container.identity, RmIdentityOf(container.cluster));
  container.others = {};
  for (const auto& [alias, token] : credentials.tokens) {
    if (token.kind == "YARN_AM_RM_TOKEN") {
      container.token = token;
    } else {
      container.others.tokens[alias] = token;
    }
  }
  if (container.token.kind.empty())
    return InvalidError(container.token_file, ": the file has no token for the ResourceManager");
  container.tokens = ClusterTokensIn(credentials);
  if (container.tokens.number > 0) TRY(AddTo(container.others, container.tokens));
  return Ok();
}

Result<Container> ReadContainer() {
  Container container;
  TRY_ASSIGN(const std::string cluster, VariableOfContainer(kClusterVariable));
  auto known = YarnClusterFromText(cluster);
  if (!known.ok()) return Annotate(known.error(), kClusterVariable);
  container.cluster = *std::move(known);
  container.proxy = AmRmProxyOfNode();
  TRY_ASSIGN(const std::string host, VariableOfContainer("NM_HOST"));
  // Executors get a numeric address, because a static program cannot resolve names. Blocking is harmless here, because
  // nothing else runs yet.
  TRY_ASSIGN(container.host, ResolveHost(host));
  TRY_ASSIGN(const std::string id, VariableOfContainer("CONTAINER_ID"));
  const auto own = hadoop::ParseContainerId(id);
  if (!own) return InvalidError("CONTAINER_ID: \"", id, "\" is not the id of a container");
  container.attempt = own->attempt.number;
  TRY_ASSIGN(container.token_file, VariableOfContainer("HADOOP_TOKEN_FILE_LOCATION"));
  return container;
}

// ---- The page of a job on YARN. Browsers reach the page only through YARN's proxy, which sends the name of the
// visitor. The AM queries the ResourceManager whether this visitor may see the application. Connections from other
// hosts are closed, as Hadoop's AmIpFilter does. The proxy does not change an answer, and waits for 4 KB or for the
// end of the answer before it passes bytes on. It uses a thread for each request. Therefore browsers poll, and no
// request waits for news.

struct YarnPageParts {
  const UniqueFd& listening;
  EventLoop& loop;
  JobRecords records;
  YarnCluster cluster;
  // The address of this node that the ResourceManager can reach.
  std::string host;
  std::string view_acl;  // JobSpec::yarn
  // The address and the credentials with which the page's thread calls this AM. The thread reads logs by calls to the
  // AM, as every client does.
  AmAccess way;
};

// Returns a filter that admits only YARN's proxy. Each refused address is logged once, because the name of the proxy
// may resolve to other addresses than the one from which the proxy calls.
std::function<bool(const std::string&)> ProxyAlone(EventLoop& loop, const YarnCluster& cluster) {
  const std::string host = hadoop::HostOfUrl(WebProxyOf(cluster));
  const auto proxy = std::make_shared<HostAddress>(loop, host);
  if (!proxy->known().ok()) LogWarn(StrCat("the job's page is not available yet: ", proxy->known().error().message));
  return [host, proxy, refused = std::make_shared<std::set<std::string>>()](const std::string& address) {
    constexpr size_t kMostSaid = 10;
    if (proxy->Is(address)) return true;
    if (proxy->known().ok() && refused->size() < kMostSaid && refused->insert(address).second)
      LogWarn(StrCat("refused a connection from ", address,
                     " to the job's page: only YARN's proxy, ", host, " (", *proxy->known(), "), may connect"));
    return false;
  };
}

HttpAnswer Refused(const Result<bool>& may_see, const std::string& user) {
  const std::string who = user.empty() ? "a client that sent no user name" : user;
  if (may_see.ok())
    return TextAnswer(
        403,
        StrCat(who, " may not see this job; only the job's owner and the users in tony.yarn.view-acl may see it\n"));
  return TextAnswer(503, StrCat("the ResourceManager did not answer whether ", who,
                                " may see this job: ", may_see.error().message, "\n"));
}

// Returns whether an ACL of YARN admits a user: "*", or user names separated by commas, and after a blank group names.
bool AdmitsUser(const std::string& acl, const std::string& user) {
  const std::vector<std::string> users = Split(acl.substr(0, acl.find(' ')), ',');
  return acl == "*" || std::ranges::find(users, user) != users.end();
}

// On a cluster with Kerberos, the ResourceManager answers the AM only what the job's user may view. There the AM judges
// by the job's own ACL. It does not know groups and administrators, so these see the page only by their names.
PageGate GateByAcl(EventLoop& loop, const YarnCluster& cluster, const std::string& acl) {
  return {.admits = ProxyAlone(loop, cluster),
          .ask = [owner = cluster.user, acl](const HttpRequest& request, PageGate::OnRefusal done) {
            const std::string user = CookieOf(request, kUserCookie);
            const bool may_see = !user.empty() && (user == owner || AdmitsUser(acl, user));
            done(may_see ? std::nullopt : std::optional(Refused(false, user)));
          }};
}

PageGate GateOf(EventLoop& loop, const YarnCluster& cluster, const JobId& job) {
  const auto viewers = std::make_shared<hadoop::ApplicationViewers>(loop, cluster.rm_web, job.value, cluster.trust);
  return {.admits = ProxyAlone(loop, cluster), .ask = [viewers](const HttpRequest& request, PageGate::OnRefusal done) {
            const std::string user = CookieOf(request, kUserCookie);
            viewers->Ask(user, [user, done = std::move(done)](const Result<bool>& may_see) {
              done(may_see.ok() && *may_see ? std::nullopt : std::optional(Refused(may_see, user)));
            });
          }};
}

// Returns the function for the page's connections; an empty one for plain HTTP. If the ResourceManager's policy for the
// pages of AMs is LENIENT or STRICT, the NodeManager passes an identity for HTTPS, which names the only client: the
// proxy in the ResourceManager. A separate proxy does not have that identity. It reads pages by HTTP, unless the policy
// is STRICT.
Result<MakeChannel> ChannelsOfPage(const YarnCluster& cluster) {
  constexpr const char* kStore = "KEYSTORE_FILE_LOCATION";
  const bool has_other_proxy = WebProxyOf(cluster) != cluster.rm_web;
  if (std::getenv(kStore) == nullptr || has_other_proxy) {
    if (!cluster.has_https_masters) return MakeChannel();
    return InvalidError("yarn.resourcemanager.application-https.policy is STRICT, and ",
                        has_other_proxy
                            ? StrCat("the proxy ", cluster.web_proxy,
                                     " (yarn.web-proxy.address) does not have YARN's certificates: remove that key, or "
                                     "set the policy to LENIENT")
                            : StrCat("YARN has passed no keystore (", kStore, ")"));
  }
  std::string files[2];
  for (const auto& [variable, bytes] :
       {std::pair(kStore, &files[0]), std::pair("TRUSTSTORE_FILE_LOCATION", &files[1])}) {
    TRY_ASSIGN(const std::string file, VariableOfContainer(variable));
    TRY_ASSIGN(*bytes, ReadFile(file));
  }
  TRY_ASSIGN(const std::string password, VariableOfContainer("KEYSTORE_PASSWORD"));
  TRY_ASSIGN(const ProxiedServer own, hadoop::ProxiedServerIn(files[0], files[1], password));
  return MakeProxiedServer(own);
}

// Returns null if the page cannot be served; the job then runs without a page. No page is served without the
// ResourceManager's web server, because the AM could not check which visitors may see the page.
std::unique_ptr<LivePage> OpenYarnPage(YarnPageParts parts) {
  if (parts.cluster.rm_web.empty()) return nullptr;
  auto listening = Duplicate(parts.listening.get());
  const auto at = listening.ok() ? BoundAddress(*listening) : Result<Endpoint>(listening.error());
  const auto tls = ChannelsOfPage(parts.cluster);
  if (!at.ok() || !tls.ok()) {
    LogWarn(StrCat("the job has no page: ", (at.ok() ? tls.error() : at.error()).message));
    return nullptr;
  }
  PageSite site{.listening = *std::move(listening),
                .url = StrCat(*tls ? "https://" : "http://", ToString(Endpoint{parts.host, at->port}), "/"),
                .below = 0,
                .make_gate =
                    [cluster = parts.cluster, job = parts.records.job(), acl = parts.view_acl](EventLoop& loop) {
                      return cluster.rm_principal.empty() ? GateOf(loop, cluster, job) : GateByAcl(loop, cluster, acl);
                    },
                .pause = kPagePause,
                .tls = *tls};
  std::shared_ptr<const LogSource> logs = MakeYarnLogs(
      parts.records, [way = parts.way] { return way; },
      [trust = parts.cluster.trust]() -> Result<std::shared_ptr<const HttpTrust>> { return trust; });
  return std::make_unique<LivePage>(parts.loop, parts.records, std::move(logs), std::move(site));
}

// The listening sockets of an attempt. All of its AM processes use them, so the addresses stay. If no process runs, a
// new connection waits in the kernel.
struct AttemptSockets {
  UniqueFd rpc, page;
};

class Master {
 public:
  Master(EventLoop& loop, const Container& container, const AttemptSockets& sockets, const SupervisedProcess& process,
         const LastWords& last_words)
      : loop_(loop),
        container_(container),
        sockets_(sockets),
        process_(process),
        last_words_(last_words),
        records_(RecordsOf(container.cluster, container.launch.job)),
        epoch_{container.attempt * kEpochsPerAttempt + process.number()},
        names_(loop),
        rm_(loop, names_, container.cluster.rms, container.identity) {}

  // Returns the exit code once the job has ended or this attempt is over.
  Result<int> Rule() {
    LeaveOnFailedCheck(records_.job());
    TRY_ASSIGN(const OpenedRecordJournal opened,
               RecordJournal::Open(loop_, JournalOf(container_.cluster, records_.job()), epoch_));
    const JobRecords own = RecordsOfMaster(container_.cluster, records_.job(), epoch_);
    UseJobClock(own, opened.decisions.empty() ? std::nullopt : std::optional(opened.decisions.back().time));
    TRY_ASSIGN(Job job, Replay(records_, opened.decisions));
    const JobSpec spec = job.spec();
    TRY_ASSIGN(Submission submission, records_.ReadSubmission());
    TRY_ASSIGN(CheckpointPlace checkpoints, CheckpointsOnYarn(container_.cluster, spec.checkpoint));
    RecordThread calls(loop_, own);
    ApplicationMaster master({.loop = loop_,
                              .checkpoints = std::move(checkpoints),
                              .submission = std::move(submission),
                              .token = container_.launch.secrets.token,
                              .tracking_url = PageOf(container_.cluster, records_.job()),
                              .epoch = epoch_,
                              .job = std::move(job),
                              .journal = *opened.journal,
                              .calls = calls,
                              .tokens = container_.tokens,
                              .store_tokens = [this](const ClusterTokens& tokens) { return StoreTokens(tokens); }});
    opened.journal->SetSealCallback([this] { LeaveBecause(kSealed); });
    LookForSeal(calls, JournalOf(container_.cluster, records_.job()));
    if (container_.tokens.number > 0) LookForTokens(calls, master);
    TokenRenewal renewal(loop_, FetchTokens(), [&](const ClusterTokens& fresh) { return master.TakeTokens(fresh); });
    if (HasKeytab()) renewal.Begin(container_.tokens.until);
    TRY_ASSIGN(const MakeChannel tls, MakeTlsServer(container_.launch.secrets.tls));
    TRY_ASSIGN(
        const auto server,
        StartRpcServer(loop_, {.at = {Endpoint{kEverywhere, 0}}, .inherited = sockets_.rpc.get(), .tls = tls}, master));
    const Endpoint at{container_.host, std::get<Endpoint>(server->addresses().front()).port};
    TRY_ASSIGN(shipment_, ShipmentFor(spec, at));
    TRY_ASSIGN(const std::unique_ptr<LivePage> page, OpenPage(at, spec.yarn.view_acl));
    YarnScheduler scheduler(
        {.loop = loop_,
         .names = names_,
         .resource_managers = container_.cluster.schedulers,
         .proxy = container_.proxy,
         .token = container_.token,
         .address = {at.host, at.port, page ? page->url() : ""},
         .page_after_end =
             spec.yarn.portal_url.empty() ? "" : StrCat(spec.yarn.portal_url, "/jobs/", records_.job().value),
         .user = container_.cluster.user,
         .has_https_pages = HasHttpsPages(container_.cluster),
         .am_lease = spec.timers.am_lease,
         .sink =
             [&](SchedulerEvent event) {
               const bool leads = std::holds_alternative<SchedulerReached>(event);
               master.OnScheduler(std::move(event));
               if (leads) process_.ReportLeader();
             },
         .context = [this](const ContainerId&, const ExecutorLaunch& launch,
                           const std::string&) { return ContextOf(*shipment_, launch); },
         .over = [this](const std::string& reason) { LeaveBecause(reason); },
         .list_nodes = [this](YarnSchedulerInputs::OnNodes done) { rm_.RunningNodes(std::move(done)); },
         .read_queue = [this](const std::string& queue,
                              YarnSchedulerInputs::OnQueue done) { rm_.Queue(queue, std::move(done)); },
         .gang_hold = spec.mode == DistributedMode::kGang ? spec.yarn.gang_hold : Duration(0),
         .lost_after = spec.timers.lost_after,
         .earlier = EarlierState(),
         .save = SaveState,
         .is_known = [&](const ContainerId& id) { return master.Knows(id); }});
    LogInfo(StrCat("job ", records_.job().value, ", epoch ", epoch_.value, ": replayed ", opened.decisions.size(),
                   " decisions; the application master listens at ", ToString(at)));
    ShowLife();
    // After a failed CHECK this handler tells the ResourceManager that the application ends, and runs the event loop
    // until the ResourceManager has accepted this. The code that failed never resumes.
    LeaveOnFailedCheck(records_.job(), [&, own = std::this_thread::get_id()](const std::string& line) {
      if (std::this_thread::get_id() != own) return;
      scheduler.Finish({.state = FinalState::kFailed, .cls = OutcomeClass::kInfra, .message = line},
                       [] { _exit(kFailedCheck); });
      const EventLoop::Timer limit = loop_.After(kFailedCheckLimit, [] { _exit(kFailedCheck); });
      loop_.Run();
    });
    master.Start(scheduler, AmAddresses{at}, [&] { server->Stop([this] { loop_.Stop(); }); });
    if (page) page->Serve([&] { return master.ShowStatus(); });
    RunWithHistory();
    if (page) page->End();
    LeaveOnFailedCheck(records_.job());
    return over_.empty() ? 0 : kAttemptIsOver;
  }

  // Waits for fresh tokens, because this AM cannot read the journal without valid ones. Meanwhile the AM stays
  // registered with the ResourceManager, which tells clients where to push the tokens. The next process of this
  // container leads the job with them, and with the state that this process saves. Returns the error or the exit code
  // with which this process then exits.
  Result<int> AwaitTokens(const Error& why) {
    LogWarn(StrCat("the application master waits for fresh tokens: ", why.message));
    StopLooking();
    const auto tls = MakeTlsServer(container_.launch.secrets.tls);
    if (!tls.ok()) return tls.error();
    TokenWait wait({.job_token = container_.launch.secrets.token,
                    .epoch = epoch_,
                    .reason = StrCat("the application master waits for fresh tokens of the cluster ",
                                     "(tony credentials push ", records_.job().value, "): ", why.message),
                    .tokens = container_.tokens,
                    .store =
                        [this](const ClusterTokens& tokens) {
                          return ReplaceTokens(container_.token_file, tokens);
                        },
                    .on_tokens = [this] { loop_.Stop(); }},
                   loop_);
    const auto server =
        StartRpcServer(loop_, {.at = {Endpoint{kEverywhere, 0}}, .inherited = sockets_.rpc.get(), .tls = *tls}, wait);
    if (!server.ok()) return server.error();
    const int port = std::get<Endpoint>((*server)->addresses().front()).port;
    YarnScheduler scheduler({.loop = loop_,
                             .names = names_,
                             .resource_managers = container_.cluster.schedulers,
                             .proxy = container_.proxy,
                             .token = container_.token,
                             .address = {container_.host, port, ""},
                             .user = container_.cluster.user,
                             .am_lease = Timers().am_lease,
                             .sink =
                                 [this](const SchedulerEvent& event) {
                                   if (std::holds_alternative<SchedulerReached>(event)) process_.ReportLeader();
                                 },
                             .context = {},
                             .over = [this](const std::string& reason) { LeaveBecause(reason); },
                             .earlier = EarlierState(),
                             .save = SaveState,
                             .is_known = [](const ContainerId&) { return true; }});
    TokenRenewal renewal(loop_, FetchTokens(), [this](const ClusterTokens& fresh) {
      loop_.Stop();
      return ReplaceTokens(container_.token_file, fresh);
    });
    if (HasKeytab()) renewal.Begin(container_.tokens.until);
    ShowLife();
    loop_.Run();
    if (!over_.empty()) return kAttemptIsOver;
    return UnavailableError("the job has fresh tokens; the next process leads the job with them");
  }

  // Ends the application as failed, because no AM can lead this job. A client writes the job's final status later.
  void EndJob(const std::string& reason) {
    LogError(StrCat("the job ends: ", reason));
    StopLooking();
    YarnScheduler scheduler({.loop = loop_,
                             .names = names_,
                             .resource_managers = container_.cluster.schedulers,
                             .proxy = container_.proxy,
                             .token = container_.token,
                             .address = {container_.host, -1, ""},
                             .user = container_.cluster.user,
                             .am_lease = Timers().am_lease,
                             .sink = [](const SchedulerEvent&) {},
                             .context = {},
                             .over = [this](const std::string& why) { LeaveBecause(why); },
                             .earlier = EarlierState()});
    scheduler.Finish({.state = FinalState::kFailed, .cls = OutcomeClass::kInfra, .message = reason},
                     [this] { loop_.Stop(); });
    ShowLife();
    loop_.Run();
  }

 private:
  bool HasKeytab() const { return !container_.launch.keytab.empty() && container_.tokens.number > 0; }
  TokenRenewal::Fetch FetchTokens() const {
    return [cluster = container_.cluster, records = records_] {
      // An AM whose tokens have ended cannot read the spec.
      const auto spec = records.ReadSpec();
      return FreshTokens(cluster, spec.ok() ? *spec : JobSpec());
    };
  }

  // Called by the AM with tokens that a client has pushed. Calls of HDFS read the token file each time.
  Status StoreTokens(const ClusterTokens& tokens) {
    TRY(AddTo(shipment_->credentials, tokens));
    TRY(ReplaceTokens(container_.token_file, tokens));
    TRY_ASSIGN(const hadoop::RpcIdentity identity, RmIdentityOf(container_.cluster));
    if (const auto* token = std::get_if<hadoop::Token>(&identity)) rm_.Use(*token);
    return Ok();
  }

  void ShowLife() {
    process_.ShowLife();
    life_timer_ = loop_.After(SupervisedProcess::kShowLifeEvery, [this] { ShowLife(); });
  }

  // Returns the state that the previous process of this attempt has left. Without that state, this process does not
  // know the containers of the previous process. Their tasks are then replaced when they have been silent for
  // lost_after.
  MasterState EarlierState() const {
    if (process_.number() == 1) return {};
    const auto bytes = ReadFile(kStateFile);
    auto state = bytes.ok() ? DecodeMasterState(*bytes) : Result<MasterState>(bytes.error());
    if (state.ok()) return *std::move(state);
    if (state.error().code != ErrorCode::kNotFound) LogWarn(StrCat(kStateFile, ": ", state.error().message));
    return {};
  }

  static void SaveState(const MasterState& state) {
    const Status saved = WriteFileByRename(kStateFile, EncodeMasterState(state), /*durable=*/false);
    if (!saved.ok()) LogWarn(saved.error().message);
  }

  // The history gets an entry for the start of the job from a separate thread, because nothing waits for this entry.
  // The entry for the end is written when everything else has ended.
  void RunWithHistory() {
    {
      SideThread beside(loop_);
      beside.Do([cluster = container_.cluster, records = records_] {
        BeginHistoryInHdfs(cluster, records);
        return [] {};
      });
      loop_.Run();
    }
    if (!over_.empty()) return;
    FinishHistoryInHdfs(container_.cluster, records_);
    RemoveUnneededRecords(records_);
  }

  static hadoop::LaunchContext ContextOf(const ExecutorInputs& shipment, const ExecutorLaunch& launch) {
    auto context = MakeExecutorContext(shipment, launch);
    if (context.ok()) return *std::move(context);
    LogError(context.error().message);
    return {.command = "exit 70"};
  }

  // The page's thread requests logs from this AM as a client does, with an executor's certificate, because the AM has
  // no client's certificate.
  Result<std::unique_ptr<LivePage>> OpenPage(const Endpoint& at, const std::string& view_acl) {
    TRY_ASSIGN(const MakeChannel tls, MakeTlsClient(container_.launch.executors_tls));
    return OpenYarnPage({.listening = sockets_.page,
                         .loop = loop_,
                         .records = RecordsOf(container_.cluster, records_.job()),
                         .cluster = container_.cluster,
                         .host = container_.host,
                         .view_acl = view_acl,
                         .way = {.am = at, .token = container_.launch.secrets.token, .tls = tls}});
  }

  Result<ExecutorInputs> ShipmentFor(const JobSpec& spec, const Endpoint& at) {
    ExecutorInputs shipment{.job = records_.job(), .spec = spec, .secrets = container_.launch.secrets};
    shipment.secrets.tls = container_.launch.executors_tls;
    shipment.lease = {.epoch = epoch_, .am = {at}};
    shipment.lease_place = LeasePlaceOf(container_.cluster, records_.job());
    TRY_ASSIGN(const auto staged, records_.ReadStaged());
    if (staged) shipment.staged = *staged;
    TRY_ASSIGN(shipment.files, ReadFiles(records_));
    shipment.environment = {{"HADOOP_USER_NAME", container_.cluster.user}};
    shipment.credentials = container_.others;
    return shipment;
  }

  // Checks regularly whether the journal is sealed. The check also runs while this AM is not the leader, because other
  // processes may be unable to reach and stop the AM on its node.
  void LookForSeal(RecordCalls& calls, const std::shared_ptr<const JournalStore>& journal) {
    look_timer_ = loop_.After(kCheckInterval, [this, &calls, journal] {
      calls.Ask([journal](const JobRecords&) { return journal->Epochs(); },
                [this, &calls, journal](const Result<std::vector<Epoch>>& epochs) {
                  const bool is_own = epochs.ok() && !epochs->empty() && epochs->back() == epoch_;
                  if (epochs.ok() && !is_own) return LeaveBecause(kSealed);
                  LookForSeal(calls, journal);
                });
    });
  }

  // Reads regularly the tokens of a client that could not reach this AM.
  void LookForTokens(RecordCalls& calls, ApplicationMaster& master) {
    token_timer_ = loop_.After(kCheckInterval, [this, &calls, &master] {
      calls.Ask([](const JobRecords& records) { return records.store().Get(kTokensRecord); },
                [this, &calls, &master](const Result<std::optional<StoredRecord>>& record) {
                  LookForTokens(calls, master);
                  if (!record.ok() || !*record) return;
                  const auto credentials = hadoop::DecodeCredentials((*record)->bytes);
                  const Status taken =
                      credentials.ok() ? master.TakeTokens(ClusterTokensIn(*credentials)) : credentials.status();
                  if (!taken.ok()) LogWarn(StrCat("the pushed tokens cannot be used: ", taken.error().message));
                });
    });
  }

  // Must be called before the loop runs after Rule(), whose local objects the timers use.
  void StopLooking() {
    look_timer_.reset();
    token_timer_.reset();
  }

  void LeaveBecause(const std::string& reason) {
    over_ = reason;
    LogWarn(StrCat("the application master exits: ", reason));
    last_words_.Write(reason);
    loop_.Stop();
  }

  EventLoop& loop_;
  const Container& container_;
  const AttemptSockets& sockets_;
  const SupervisedProcess& process_;
  const LastWords& last_words_;
  const JobRecords records_;
  const Epoch epoch_;
  HostResolver names_;
  hadoop::RmClient rm_;
  std::optional<ExecutorInputs> shipment_;
  // The reason why this attempt is over; empty while the attempt runs.
  std::string over_;
  EventLoop::Timer look_timer_, life_timer_, token_timer_;
};

Result<int> Run(const LastWords& last_words) {
  TRY_ASSIGN(Container container, ReadContainer());
  AttemptSockets sockets;
  TRY_ASSIGN(sockets.rpc, ListenOn({kEverywhere, 0}));
  if (!container.cluster.rm_web.empty()) {
    TRY_ASSIGN(sockets.page, ListenOn({kEverywhere, 0}));
  }
  TRY_ASSIGN(const SupervisedProcess process, Supervise());
  TRY(ReadTokens(container));
  if (!container.launch.keytab.empty()) TRY(UseKeytab(container.launch.keytab));
  EventLoop loop;
  // A client ends a job by a kill request. A NodeManager sends KILL after TERM anyway, so signals are ignored.
  const auto signals =
      loop.OnSignals({SIGTERM, SIGINT, SIGHUP}, [](int signal) { LogWarn(StrCat("signal ", signal, " ignored")); });
  Master master(loop, container, sockets, process, last_words);
  auto ended = process.end_job().empty() ? WithoutThrowing([&] { return master.Rule(); })
                                         : Result<int>(Error{ErrorCode::kInvalid, process.end_job()});
  if (!ended.ok() && container.tokens.number > 0 && IsTokenRefused(ended.error()))
    ended = master.AwaitTokens(ended.error());
  if (ended.ok()) return ended;
  process.ReportError(ended.error().message);
  if (EndsTheJob(ended.error().code)) master.EndJob(ended.error().message);
  return ended;
}

}  // namespace
}  // namespace tony::am

int main() {
  const tony::LastWords last_words;
  tony::OpenLog("tony-yarn-am");
  std::signal(SIGPIPE, SIG_IGN);
  // With SIGXFSZ ignored, a write beyond the file size limit fails with an error, as on a full disk.
  std::signal(SIGXFSZ, SIG_IGN);
  const auto code = tony::WithoutThrowing([&] { return tony::am::Run(last_words); });
  if (code.ok()) return *code;
  tony::LogError(code.error().message);
  last_words.Write(code.error().message);
  return static_cast<int>(code.error().code);
}
