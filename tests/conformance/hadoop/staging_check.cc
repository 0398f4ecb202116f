// Checks of staging in HDFS against a real cluster: `hadoop_staging_check NAMENODE_URL FOLDER`, where FOLDER is the
// cluster's folder. The output has the format of webhdfs_check.
#include <chrono>
#include <cstdio>
#include <fstream>
#include <functional>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>

#include "runtime/hadoop/hadoop_xml.h"
#include "runtime/hadoop/yarn_clients.h"
#include "runtime/net/host_resolver.h"
#include "runtime/net/tls.h"
#include "runtime/os/process_tree.h"
#include "runtime/os/start_program.h"
#include "runtime/yarn/executor_context.h"
#include "runtime/yarn/yarn_cluster.h"
#include "tests/conformance/hadoop/hdfs_cluster.h"

namespace tony {
namespace {

namespace fs = std::filesystem;
using hadoop::Cluster;
using hadoop::HdfsEntry;
using hadoop::kLimit;
using hadoop::LocalResource;
using hadoop::Why;

constexpr const char* kFolder = "/user/eve/.tony/staged";

class Bed {
 public:
  Bed(const std::string& url, const fs::path& cluster_folder)
      : cluster(url), folder(cluster_folder), sources_(folder / "sources") {
    fs::create_directories(sources_);
    store.hdfs = {.bases = {url}, .user = "eve"};
    store.folder = kFolder;
    store.scratch = sources_;
  }
  fs::path Write(const std::string& name, const std::string& text) const {
    fs::create_directories((sources_ / name).parent_path());
    std::ofstream(sources_ / name, std::ios::binary) << text;
    return sources_ / name;
  }
  Result<HdfsFiles> Send(const std::vector<HdfsSource>& sources, StageWatch watch = {}) {
    watch.on_progress = [this, then = watch.on_progress](const StageProgress& now) {
      progress = now;
      then(now);
    };
    progress = {};
    auto sent = SendToHdfs(store, sources, watch);
    cluster.said = sent.ok() ? "" : sent.error().message;
    return sent;
  }
  std::vector<HdfsSource> Sources() const {
    std::string large(20 << 20, '\0');
    uint32_t state = 1;
    for (char& c : large) c = static_cast<char>((state = state * 1664525 + 1013904223) >> 24);
    return {{"data", "aa", Write("aa", large)},
            {"tree", "bb-tree", Write("bb-tree/package/train.py", "print()\n").parent_path().parent_path()}};
  }

  Cluster cluster;
  HdfsStore store;
  StageProgress progress;
  const fs::path folder;

 private:
  const fs::path sources_;
};

long long MillisOf(const std::function<void()>& what) {
  const auto began = std::chrono::steady_clock::now();
  what();
  return std::chrono::duration_cast<std::chrono::milliseconds>(std::chrono::steady_clock::now() - began).count();
}

Why StagedFilesMatchTheAnswerOfTheUpload(Bed& bed) {
  Cluster& cluster = bed.cluster;
  MUST(cluster.MakeFolders(cluster.root, "/user/eve").ok());
  MUST(cluster.Run<Status>([&](auto done) { return cluster.root.SetPermission("/user/eve", 0777, done); }).ok());
  const auto sources = bed.Sources();
  std::optional<HdfsFiles> sent;
  const auto took = MillisOf([&] {
    auto files = bed.Send(sources);
    if (files.ok()) sent = *std::move(files);
  });
  MUST(sent);
  std::printf("   a file of 20 MiB and a folder were sent in %lld ms\n", took);
  for (const auto& [key, file] : *sent) {
    const auto entry = cluster.GetEntry(file.path);
    MUST(entry.ok() && (*entry).length == file.size && (*entry).modified == file.modified);
    MUST((*entry).permission == 0600 && (*entry).owner == "eve");
  }
  MUST(sent->at("data").size == 20 << 20 && sent->at("data").kind == LocalResource::Kind::kFile);
  MUST(sent->at("tree").kind == LocalResource::Kind::kArchive);
  const auto folder = cluster.GetEntry(kFolder);
  MUST(folder.ok() && (*folder).permission == 0700);
  MUST(cluster.NamesIn(kFolder) == (std::vector<std::string>{"aa", "bb-tree.tar.gz"}));
  return "";
}

Why ASecondUploadOfTheSameFilesSendsNothing(Bed& bed) {
  Cluster& cluster = bed.cluster;
  const auto sources = bed.Sources();
  const auto before = cluster.List(kFolder);
  const auto took = MillisOf([&] { (void)bed.Send(sources); });
  std::printf("   a second time it took %lld ms\n", took);
  MUST(cluster.said.empty() && bed.progress.copied == 0);
  const auto after = cluster.List(kFolder);
  MUST(before.ok() && after.ok() && (*before).size() == (*after).size());
  for (size_t i = 0; i < (*before).size(); ++i) MUST((*before)[i].modified == (*after)[i].modified);
  return "";
}

Why AnInterruptedUploadLeavesNoStagedFile(Bed& bed) {
  Cluster& cluster = bed.cluster;
  std::stop_source stop;
  StageWatch watch{.on_progress =
                       [&](const StageProgress& now) {
                         if (now.copied > 0) stop.request_stop();
                       },
                   .stop = stop.get_token()};
  MUST(!bed.Send({{"half", "cc", bed.Write("cc", std::string(256 << 20, 'x'))}}, watch).ok());
  MUST(cluster.said == "staging was stopped");
  std::printf("   cut off after %lld of %lld bytes\n", static_cast<long long>(bed.progress.copied),
              static_cast<long long>(bed.progress.total));
  MUST(bed.progress.copied < bed.progress.total);
  MUST(cluster.GetEntry(StrCat(kFolder, "/cc")).error().code == ErrorCode::kNotFound);
  return "";
}

Why AnotherUsersFolderIsRefused(Bed& bed) {
  Cluster& cluster = bed.cluster;
  MUST(cluster.MakeFolders(cluster.root, "/somebodys", 0777).ok());
  MUST(cluster.Run<Status>([&](auto done) { return cluster.root.SetPermission("/somebodys", 0777, done); }).ok());
  bed.store.folder = "/somebodys";
  const auto sent = bed.Send({});
  bed.store.folder = kFolder;
  MUST(!sent.ok() && sent.error().code == ErrorCode::kNotPermitted);
  std::printf("   %s\n", sent.error().message.c_str());
  return "";
}

// An application whose master was started by a node from a launch context, and what the node made of that context.
class Application {
 public:
  explicit Application(Bed& bed) : bed_(bed) {
    const auto site = hadoop::SiteConfiguration::Read(bed.folder / "conf", [](const auto&) { return std::nullopt; });
    const auto address = hadoop::ResourceManagers(*site)->front().client;
    rm_ = std::make_unique<hadoop::RmClient>(bed.cluster.loop, names_, std::vector{address}, hadoop::SimpleUser{"eve"});
    bed.store.name_node = YarnClusterOf(*site, "eve")->name_node;
  }
  template <class T, class Start>
  T Ask(Start start) {
    std::optional<T> answer;
    start([&](T value) { answer = std::move(value); });
    RunUntil(
        bed_.cluster.loop, [&] { return answer.has_value(); }, kLimit);
    return answer ? *answer : T(Error{ErrorCode::kInternal, "never answered"});
  }
  Status Submit(const hadoop::LaunchContext& context) {
    const auto made = Ask<Result<hadoop::NewApplication>>([&](auto done) { rm_->ReserveApplicationId(done); });
    TRY(made.ok() ? Ok() : Status(made.error()));
    id = made->id;
    hadoop::Submission submission{.id = id, .name = "tony-staging", .max_attempts = 1};
    submission.am_resource = {256, 1, {}};
    submission.am = context;
    return Ask<Result<bool>>([&](auto done) { rm_->Submit(submission, done); }).status();
  }
  std::string Diagnostics() {
    const auto report = Ask<Result<hadoop::ApplicationReport>>([&](auto done) { rm_->Report(id, done); });
    return report.ok() ? report->diagnostics : report.error().message;
  }
  bool HasEnded() {
    const auto report = Ask<Result<hadoop::ApplicationReport>>([&](auto done) { rm_->Report(id, done); });
    return report.ok() && report->state >= hadoop::ApplicationState::kFinished;
  }
  bool IsKilled() {
    const auto killed = Ask<Result<bool>>([&](auto done) { rm_->Kill(id, "seen", done); });
    return killed.ok() && *killed;
  }
  bool Until(const std::function<bool()>& fits) {
    for (const Instant end = bed_.cluster.loop.Now() + kLimit; bed_.cluster.loop.Now() < end;) {
      if (fits()) return true;
      const Instant next = bed_.cluster.loop.Now() + Duration(100);
      RunUntil(bed_.cluster.loop, [&] { return bed_.cluster.loop.Now() >= next; });
    }
    return false;
  }
  // Returns a file or folder with this name in one of the application's containers; an empty path if it was not found.
  fs::path Find(const std::string& name) const {
    std::error_code error;
    fs::recursive_directory_iterator entry(bed_.folder, error);
    for (; !error && entry != fs::recursive_directory_iterator(); entry.increment(error)) {
      const std::string path = entry->path().string();
      if (entry->path().filename() == name && path.find(ToString(id)) != std::string::npos) return path;
    }
    return {};
  }

  hadoop::ApplicationId id;

 private:
  Bed& bed_;
  HostResolver names_{bed_.cluster.loop};
  std::unique_ptr<hadoop::RmClient> rm_;
};

JobSecrets SomeSecrets() {
  const auto certificates = MakeJobCertificates("a-job", RealClock().Now(), std::chrono::hours(1));
  return {std::string(64, 'a'), {}, certificates->executor};
}

Why TheBundledMasterStartsInAContainer(Bed& bed) {
  Cluster& cluster = bed.cluster;
  Application application(bed);
  const auto bundle = FileSource(kMasterFolder, SiblingProgram("../bin/tony-yarn-am.tar.gz"));
  MUST(bundle.ok());
  const auto sent = bed.Send({*bundle});
  MUST(sent.ok());
  AmInputs master{.job = {"a-job"}, .program = "tony-yarn-am", .secrets = SomeSecrets(), .files = *sent};
  master.arguments = {"it's $HOME", "{{HOME}}", "<LOG_DIR>"};
  const auto context = MakeMasterContext(master);
  MUST(context.ok() && application.Submit(*context).ok());
  MUST(application.Until([&] { return application.HasEnded(); }));
  const std::string why = application.Diagnostics();
  if (why.find("exitCode: 64") == std::string::npos) return "the attempt ended otherwise: " + why;
  std::ifstream log(application.Find("am.log"));
  std::string line;
  std::getline(log, line);
  std::printf("   %s\n", line.c_str());
  MUST(line.find("TONY_YARN_CLUSTER is not set") != std::string::npos);
  return "";
}

Why AnExecutorFindsItsFilesInAContainer(Bed& bed) {
  Cluster& cluster = bed.cluster;
  Application application(bed);
  ExecutorInputs job{.job = {StrCat("job-", getpid())}, .secrets = SomeSecrets()};
  job.spec.roles = {{.name = "worker", .command = "true"}};
  job.lease = {{1}, {SocketName{"am.1.sock"}}, 1};
  job.staged.job = {{.name = "data", .path = "/staged/aa"},
                    {.path = "/staged/bb-tree", .form = StagedEntry::Form::kContents}};
  auto sources = bed.Sources();
  sources[0].key = "aa";
  sources[1].key = "bb-tree";
  const auto program = FileSource(kExecutorFile, SiblingProgram("../bin/tony-executor"));
  MUST(program.ok());
  sources.push_back(*program);
  const auto sent = bed.Send(sources);
  MUST(sent.ok());
  job.files = *sent;
  const auto context = MakeExecutorContext(job, {.attempt = {{"worker", 0}, 1}});
  MUST(context.ok() && application.Submit(*context).ok());
  const std::string mark = StrCat("TONY_JOB_ID=", job.job.value);
  MUST(application.Until([&] { return !application.Find("attempts").empty(); }));
  const fs::path uploaded_records = application.Find(".tony-job");
  MUST(LocalJobRecords(uploaded_records).ReadSpec().ok());
  MUST(fs::file_size(uploaded_records.parent_path() / "aa") == 20 << 20);
  MUST(fs::exists(uploaded_records.parent_path() / "bb-tree/package/train.py"));
  MUST(fs::exists(uploaded_records / "logs/worker-0/1/executor.log") &&
       fs::exists(uploaded_records / "logs/worker-0/1/stdout"));
  MUST(!ProcessesWithEnvironment(mark).empty());
  std::ifstream script(application.Find("launch_container.sh"));
  const std::string shown{std::istreambuf_iterator<char>(script), {}};
  MUST(shown.find("--container") != std::string::npos && shown.find("aaaa") == std::string::npos);
  MUST(application.Until([&] { return application.IsKilled(); }));
  MUST(application.Until([&] { return ProcessesWithEnvironment(mark).empty(); }));
  return "";
}

struct Check {
  const char* name;
  Why (*run)(Bed&);
};
constexpr Check kChecks[] = {
    {"staged files match the answer of the upload", StagedFilesMatchTheAnswerOfTheUpload},
    {"a second upload of the same files sends nothing", ASecondUploadOfTheSameFilesSendsNothing},
    {"an interrupted upload leaves no staged file", AnInterruptedUploadLeavesNoStagedFile},
    {"a folder of another user is refused", AnotherUsersFolderIsRefused},
    {"the bundled master starts in a container", TheBundledMasterStartsInAContainer},
    {"an executor finds its files in a container", AnExecutorFindsItsFilesInAContainer},
};

int RunChecks(const std::string& url, const std::string& folder) {
  Bed bed(url, folder);
  int failed = 0;
  for (const Check& check : kChecks) {
    Why why;
    const auto took = MillisOf([&] { why = check.run(bed); });
    if (why.empty()) {
      std::printf("ok staging: %s (%lld ms)\n", check.name, took);
    } else {
      std::printf("FAILED staging: %s: %s\n", check.name, why.c_str());
      ++failed;
    }
    std::fflush(stdout);
  }
  return failed == 0 ? 0 : 1;
}

}  // namespace
}  // namespace tony

int main(int argc, char** argv) {
  if (argc != 3) {
    std::fprintf(stderr, "usage: %s NAMENODE_URL FOLDER\n", argv[0]);
    return 64;
  }
  return tony::RunChecks(argv[1], argv[2]);
}
