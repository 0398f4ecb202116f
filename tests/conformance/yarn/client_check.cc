#include <sys/stat.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>

#include "runtime/hadoop/hadoop_xml.h"
#include "runtime/hadoop/yarn_clients.h"
#include "tests/conformance/yarn/check.h"

namespace tony::hadoop {
namespace {

class Client : public Bed {
 public:
  Client(ResourceManager addresses, std::string restart, std::string program)
      : addresses_(std::move(addresses)), restart_(std::move(restart)), program_(std::move(program)) {}

  Why TheClientReadsMetricsNodesAndQueues() {
    const auto metrics = *Await<Result<ClusterMetrics>>([&](auto done) { rm.Metrics(done); });
    MUST_BE_OK(metrics);
    MUST(metrics->active >= 1);
    const auto nodes = *Await<Result<std::vector<NodeReport>>>([&](auto done) { rm.RunningNodes(done); });
    MUST_BE_OK(nodes);
    MUST(static_cast<int>(nodes->size()) == metrics->active);
    MUST(nodes->front().capability.memory_mib > 0 && !nodes->front().rack.empty());
    const auto queue = *Await<Result<QueueReport>>([&](auto done) { rm.Queue("default", done); });
    MUST_BE_OK(queue);
    MUST(queue->running && queue->most > 0);
    const auto root = *Await<Result<QueueReport>>([&](auto done) { rm.Queue("root", done); });
    MUST_BE_OK(root);
    MUST(!root->children.empty());
    const auto none = *Await<Result<QueueReport>>([&](auto done) { rm.Queue("no-such-queue", done); });
    MUST(!none.ok() && none.error().code == ErrorCode::kNotFound);
    return "";
  }

  Why ARepeatedSubmitSucceedsAndItsApplicationCanBeKilled() {
    Submission submission;
    if (const Why why = Prepare(submission); !why.empty()) return why;
    submission.am.command = "sleep 300";
    for (int i = 0; i < 2; ++i) MUST_BE_OK((*Await<Result<bool>>([&](auto done) { rm.Submit(submission, done); })));
    MUST(Until([&] { return StateOf(submission.id) == ApplicationState::kAccepted; }));
    MUST(Report(submission.id).name == "tony-check");
    MUST(Until([&] {
      const auto killed = *Await<Result<bool>>([&](auto done) { rm.Kill(submission.id, "enough", done); });
      return killed.ok() && *killed;
    }));
    const ApplicationReport report = Report(submission.id);
    MUST(report.state == ApplicationState::kKilled && report.final_status == FinalStatus::kKilled);
    MUST(report.diagnostics.find("enough") != std::string::npos);
    return "";
  }

  Why ImpossibleRequestsAreRefusedWithAReason() {
    const auto unknown = *Await<Result<ApplicationReport>>([&](auto done) { rm.Report({1, 1}, done); });
    MUST(!unknown.ok() && unknown.error().code == ErrorCode::kNotFound);
    Submission large;
    if (const Why why = Prepare(large); !why.empty()) return why;
    large.am_resource.memory_mib = 1 << 30;
    const auto refused = *Await<Result<bool>>([&](auto done) { rm.Submit(large, done); });
    MUST(!refused.ok() && refused.error().code == ErrorCode::kInvalid);
    std::printf("   %s\n", refused.error().message.c_str());
    RmClient wrong_port(loop, names, {addresses_.scheduler}, SimpleUser{"root"});
    const auto stranger = *Await<Result<NewApplication>>([&](auto done) { wrong_port.ReserveApplicationId(done); });
    MUST(!stranger.ok() && stranger.error().code == ErrorCode::kNotPermitted);
    std::printf("   %s\n", stranger.error().message.c_str());
    return "";
  }

  Why AnUnknownQueueEndsTheApplicationWithAReason() {
    Submission submission;
    if (const Why why = Prepare(submission); !why.empty()) return why;
    submission.queue = "no-such-queue";
    const auto submitted = *Await<Result<bool>>([&](auto done) { rm.Submit(submission, done); });
    if (submitted.ok()) MUST(Until([&] { return StateOf(submission.id) == ApplicationState::kFailed; }));
    const std::string reason = submitted.ok() ? Report(submission.id).diagnostics : submitted.error().message;
    std::printf("   %s\n", reason.c_str());
    MUST(reason.find("no-such-queue") != std::string::npos);
    return "";
  }

  // This program is the master, too. The master reports its findings in its diagnostics.
  Why AMasterRunsItsContainers() {
    Submission submission;
    if (const Why why = PrepareMaster(submission); !why.empty()) return why;
    MUST_BE_OK((*Await<Result<bool>>([&](auto done) { rm.Submit(submission, done); })));
    return CheckEnd(submission.id);
  }

  Why TheSchedulerRunsItsContainers() {
    Submission submission;
    if (const Why why = PrepareMaster(submission, "--scheduler"); !why.empty()) return why;
    MUST_BE_OK((*Await<Result<bool>>([&](auto done) { rm.Submit(submission, done); })));
    return CheckEnd(submission.id);
  }

  Why AMasterSurvivesARestartOfTheResourceManager() { return Restart("--master"); }
  Why TheSchedulerSurvivesARestartOfTheResourceManager() { return Restart("--scheduler"); }

 private:
  // A master reports by its progress that it is ready.
  Why Restart(const std::string& option) {
    Submission submission;
    if (const Why why = PrepareMaster(submission, option); !why.empty()) return why;
    submission.am.environment["TONY_CHECK_RESTART"] = "1";
    MUST_BE_OK((*Await<Result<bool>>([&](auto done) { rm.Submit(submission, done); })));
    MUST(Until([&] { return Report(submission.id).progress > 0.4F; }));
    MUST(std::system(restart_.c_str()) == 0);
    return CheckEnd(submission.id);
  }
  Why PrepareMaster(Submission& submission, const std::string& option = "--master") {
    if (const Why why = Prepare(submission); !why.empty()) return why;
    struct stat file = {};
    MUST(::stat(program_.c_str(), &file) == 0);
    const int64_t millis = file.st_mtim.tv_sec * int64_t{1000} + file.st_mtim.tv_nsec / 1'000'000;
    submission.max_attempts = 1;
    submission.am.files["master"] = {
        .scheme = "file", .path = program_, .size = file.st_size, .modified = FromMillis(millis)};
    submission.am.environment["TONY_CHECK_CLIENT"] = ToString(addresses_.client);
    submission.am.environment["TONY_CHECK_SCHEDULER"] = ToString(addresses_.scheduler);
    submission.am.credentials.secrets["tony.check"] = "known";
    submission.am.command = StrCat("./master ", option, " 1><LOG_DIR>/stdout 2><LOG_DIR>/stderr");
    return "";
  }
  Why CheckEnd(const ApplicationId& id) {
    const Instant began = loop.Now();
    const bool ended = Until([&] { return StateOf(id) >= ApplicationState::kFinished; });
    const ApplicationReport report = Report(id);
    if (!ended) {
      return StrCat(ToString(id), " is ", ToString(report.state), " with progress ", report.progress, " after ",
                    (loop.Now() - began).count(), " ms: ", report.diagnostics);
    }
    std::printf("   %s: %s, %s after %lld ms: %s\n", ToString(id).c_str(), ToString(report.state).c_str(),
                ToString(report.final_status).c_str(), static_cast<long long>((loop.Now() - began).count()),
                report.diagnostics.c_str());
    MUST(report.state == ApplicationState::kFinished && report.final_status == FinalStatus::kSucceeded);
    MUST(report.attempt == 1 && report.rpc_port == 4242);
    return "";
  }
  Why Prepare(Submission& submission) {
    const auto made = *Await<Result<NewApplication>>([&](auto done) { rm.ReserveApplicationId(done); });
    MUST_BE_OK(made);
    MUST(made->id.number > 0 && made->maximum.memory_mib > 0);
    submission = {.id = made->id, .name = "tony-check"};
    submission.am_resource = {256, 1, {}};
    submission.am.command = "true";
    return "";
  }
  ApplicationReport Report(const ApplicationId& id) {
    const auto report = *Await<Result<ApplicationReport>>([&](auto done) { rm.Report(id, done); });
    return report.ok() ? *report : ApplicationReport();
  }
  ApplicationState StateOf(const ApplicationId& id) { return Report(id).state; }

  ResourceManager addresses_;
  std::string restart_;
  std::string program_;
  RmClient rm{loop, names, {addresses_.client}, SimpleUser{CheckUser()}};
};

std::optional<std::string> Variable(const std::string& name) {
  const char* value = ::getenv(name.c_str());
  return value ? std::optional<std::string>(value) : std::nullopt;
}

Result<ResourceManager> FirstOf(const std::string& configuration) {
  TRY_ASSIGN(const SiteConfiguration site, SiteConfiguration::Read(configuration, Variable));
  TRY_ASSIGN(const auto managers, ResourceManagers(site));
  return managers.front();
}

}  // namespace

std::string CheckUser() { return ::geteuid() == 0 ? "root" : StrCat(::getenv("USER")); }

int RunClient(const std::string& configuration, const std::string& restart, const std::string& program) {
  const auto rm = FirstOf(configuration);
  if (!rm.ok()) {
    std::fprintf(stderr, "%s\n", rm.error().message.c_str());
    return 1;
  }
  std::vector<std::pair<const char*, Why (Client::*)()>> checks = {
      {"the client reads metrics, nodes and queues", &Client::TheClientReadsMetricsNodesAndQueues},
      {"a repeated submit succeeds and its application can be killed",
       &Client::ARepeatedSubmitSucceedsAndItsApplicationCanBeKilled},
      {"impossible requests are refused with a reason", &Client::ImpossibleRequestsAreRefusedWithAReason},
      {"an unknown queue ends the application with a reason", &Client::AnUnknownQueueEndsTheApplicationWithAReason},
      {"a master runs its containers", &Client::AMasterRunsItsContainers},
      {"the scheduler runs its containers", &Client::TheSchedulerRunsItsContainers},
  };
  if (!restart.empty()) {
    checks.emplace_back("a master survives a restart of the ResourceManager",
                        &Client::AMasterSurvivesARestartOfTheResourceManager);
    checks.emplace_back("the scheduler survives a restart of the ResourceManager",
                        &Client::TheSchedulerSurvivesARestartOfTheResourceManager);
  }
  int failed = 0;
  for (const auto& [name, check] : checks) {
    Client client(*rm, restart, program);
    const Why why = (client.*check)();
    failed += why.empty() ? 0 : 1;
    std::printf(why.empty() ? "ok yarn: %s\n" : "FAILED yarn: %s: %s\n", name, why.c_str());
    std::fflush(stdout);
  }
  return failed == 0 ? 0 : 1;
}

}  // namespace tony::hadoop
