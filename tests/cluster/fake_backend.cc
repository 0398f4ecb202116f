// A simulated cluster, tony.scheduler=fake: jobs are in $TONY_HOME/cluster, and their masters and executors are
// processes of this machine without a supervisor. Its records are in a FlakyStore. A file `declared-dead` in a job's
// folder holds the epoch of a master that the cluster declares dead although it may live. While there is a file
// `queued`, the cluster waits with the next master, for the reason in the file. A job that the cluster has ended has a
// file `ended` with the reason.
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>

#include "runtime/base/strings.h"
#include "runtime/client/choose_backend.h"
#include "runtime/local/local_backend.h"
#include "runtime/logs/local_log_source.h"
#include "runtime/os/file_lock.h"
#include "runtime/os/files.h"
#include "runtime/os/process_tree.h"
#include "runtime/os/start_program.h"
#include "runtime/records/last_status.h"
#include "runtime/records/local_job_store.h"
#include "runtime/records/request_index.h"
#include "runtime/records/user_home.h"
#include "tests/cluster/flaky_store.h"

namespace tony {
namespace {

namespace fs = std::filesystem;

Result<fs::path> ClusterHome() {
  TRY_ASSIGN(const fs::path home, TonyHome());
  return home / "cluster";
}

// A job's id is LocalJobStore's with another prefix. Uploaded jobs are complete in another folder until they are
// created.
class FakeJobs : public JobStore {
 public:
  explicit FakeJobs(fs::path home) : jobs_(home / "jobs"), laid_(home / "laid"), local_(std::move(home)) {}

  Result<JobId> NewId(Instant now) const override {
    return JobId{StrCat("fake-", NewJobId(now).value.substr(std::string_view("local-").size()))};
  }
  Result<NewJob> UploadJob(NewJob job, Instant now, const StageWatch&) const override {
    if (job.id.value.empty()) {
      TRY_ASSIGN(job.id, NewId(now));
    }
    TRY(LocalJobStore(laid_).Create(job, now));
    job.uploaded_records = RecordsByName();
    return job;
  }
  void DiscardUploaded(const NewJob& job) const override { (void)RemoveTree(laid_ / "jobs" / job.id.value); }
  Result<JobRecords> Create(const NewJob& job, Instant now) const override {
    if (!job.uploaded_records) {
      TRY_ASSIGN(const NewJob uploaded_records, UploadJob(job, now, {}));
      return Create(uploaded_records, now);
    }
    TRY(MakeFolder(jobs_));
    if (rename((laid_ / "jobs" / job.id.value).c_str(), (jobs_ / job.id.value).c_str()) != 0)
      return Error{ErrorCode::kUnavailable, StrCat("job ", job.id.value, " was taken away")};
    return cluster::FlakyRecords(jobs_ / job.id.value);
  }
  Result<JobPresence> Look(const JobId& job) const {
    TRY_ASSIGN(bool is_made, TryIsThere(jobs_ / job.value));
    TRY_ASSIGN(const bool is_laid, TryIsThere(laid_ / "jobs" / job.value));
    if (!is_made) {
      TRY_ASSIGN(is_made, TryIsThere(jobs_ / job.value));
    }
    return is_made ? JobPresence::kMade : is_laid ? JobPresence::kComing : JobPresence::kNone;
  }
  Result<bool> GiveUp(const JobId& job) const {
    const fs::path path = laid_ / "jobs" / job.value, old = laid_ / StrCat(job.value, "-", getpid());
    if (rename(path.c_str(), old.c_str()) == 0) (void)RemoveTree(old);
    TRY_ASSIGN(const bool is_made, TryIsThere(jobs_ / job.value));
    return !is_made;
  }
  void Discard(const JobRecords& job) const override { local_.Discard(job); }
  Result<JobRecords> Find(const JobId& job) const override {
    TRY_ASSIGN(const JobRecords found, local_.Find(job));
    return cluster::FlakyRecords(found.place());
  }
  Result<std::vector<JobRecords>> List() const override {
    std::vector<JobRecords> all;
    std::error_code none;
    for (const auto& entry : fs::directory_iterator(jobs_, none)) all.push_back(cluster::FlakyRecords(entry.path()));
    return all;
  }
  Result<NewestJobs> ListNewest(size_t) const override {
    TRY_ASSIGN(auto all, List());
    return NewestJobs{std::move(all), 0};
  }

 private:
  const fs::path jobs_, laid_;
  const LocalJobStore local_;
};

struct Master {
  int64_t epoch = 0;
  bool lives = false;
};

Master MasterOf(const JobRecords& records) {
  const auto text = ReadFile(records.place() / "master");
  const auto words = Split(text.ok() ? *text : "", ' ');
  if (words.size() != 3) return {};
  const auto dead = ReadFile(records.place() / "declared-dead");
  Master master = {.epoch = ParseInt(words[0]).value_or(0)};
  const bool declared = dead.ok() && ParseInt(Trim(*dead)).value_or(0) >= master.epoch;
  const auto stat = ReadStat(static_cast<pid_t>(ParseInt(words[1]).value_or(0)));
  master.lives = !declared && stat && !stat->dead && stat->start_time == words[2];
  return master;
}

class FakeCluster : public AmLauncher {
 public:
  ArbiterView Look(const JobRecords& records) const override {
    std::error_code error;
    if (fs::exists(records.place() / "ended", error)) return {.kind = ArbiterView::Kind::kLost, .swept = true};
    const Master master = MasterOf(records);
    const auto queued = ReadFile(records.place() / "queued");
    const bool waits = !master.lives && queued.ok();
    return {.kind = master.lives || waits ? ArbiterView::Kind::kKept : ArbiterView::Kind::kNobody,
            .swept = fs::exists(records.place() / "finished", error),
            .waits = waits ? std::string(Trim(*queued)) : "",
            .oldest_epoch = {waits ? master.epoch + 1 : 0}};
  }
  Result<std::optional<JobStatus>> UnwrittenEnd(const JobRecords& records) const override {
    const auto reason = ReadFile(records.place() / "ended");
    if (!reason.ok()) return std::optional<JobStatus>();
    TRY_ASSIGN(JobStatus last, LastStatus(records));
    if (last.verdict) return std::optional<JobStatus>();
    EndStatus(last, {.state = FinalState::kKilled, .cls = OutcomeClass::kKilled, .message = *reason},
              RealClock().Now());
    return std::optional(std::move(last));
  }
  Status Settle(const JobRecords& records) const override {
    TRY_ASSIGN(const auto end, UnwrittenEnd(records));
    return end ? records.WriteStatus(*end, Durability::kLostWithPower) : Ok();
  }
  // Kills all processes of the job.
  Result<bool> EndInScheduler(const JobId& job, const std::string& reason) const override {
    TRY_ASSIGN(const fs::path home, ClusterHome());
    const fs::path folder = home / "jobs" / job.value;
    TRY(WriteFileByRename(folder / "ended", reason, false));
    std::vector<fs::path> files = {folder / "master"};
    std::error_code none;
    for (const auto& entry : fs::directory_iterator(folder / "granted", none)) files.push_back(entry.path());
    for (const fs::path& file : files) {
      const auto text = ReadFile(file);
      const auto words = Split(text.ok() ? *text : "", ' ');
      const auto pid = static_cast<pid_t>(ParseInt(words[words.size() > 1 ? 1 : 0]).value_or(0));
      if (pid <= 0) continue;
      SignalAll(Descendants(pid), SIGKILL);
      kill(pid, SIGKILL);
    }
    return true;
  }
  Result<std::optional<JobStatus>> EndWithoutRecords(const JobId& job, const std::string& reason,
                                                     Duration) const override {
    TRY(EndInScheduler(job, reason));
    JobStatus status;
    status.job = job;
    EndStatus(status, {.state = FinalState::kKilled, .cls = OutcomeClass::kKilled, .message = reason},
              RealClock().Now());
    return std::optional(std::move(status));
  }
  std::string KeeperFailureHint(const JobRecords& records) const override {
    return StrCat("see ", (records.place() / "am.log").string());
  }
  // From here on the previous master cannot write.
  Result<bool> Start(const JobRecords& records) override {
    TRY_ASSIGN(const UniqueFd lock,
               LockFile(records.place() / "start.lock", LockKind::kExclusive, [] { return false; }));
    const Master before = MasterOf(records);
    if (before.lives || Look(records).swept) return false;
    TRY(cluster::Seal(records.place(), before.epoch));
    const std::string program = SiblingProgram("fake-am"), epoch = StrCat(before.epoch + 1);
    const pid_t pid = fork();
    if (pid == 0) {
      setsid();
      execl(program.c_str(), program.c_str(), records.place().c_str(), epoch.c_str(), nullptr);
      _exit(127);
    }
    if (pid < 0) return Error{ErrorCode::kUnavailable, "fork"};
    TRY(WriteFileByRename(records.place() / "master", StrCat(epoch, " ", pid, " ", StartTime(pid)), false));
    return true;
  }
};

class FakeBackend : public Backend, private JobLogs, private Operations {
 public:
  FakeBackend() : Backend(/*keeps_programs=*/false) {}

  Result<std::unique_ptr<JobStore>> Jobs(const ClusterOf&) const override {
    TRY_ASSIGN(auto home, ClusterHome());
    return std::unique_ptr<JobStore>(std::make_unique<FakeJobs>(std::move(home)));
  }
  Result<std::unique_ptr<RequestIndex>> Requests(const ClusterOf&) const override {
    TRY_ASSIGN(const fs::path home, ClusterHome());
    const auto jobs = std::make_shared<FakeJobs>(home);
    return std::unique_ptr<RequestIndex>(std::make_unique<RecordRequestIndex>(
        RequestPlace{.store = std::make_shared<cluster::FlakyStore>(home / "requests"),
                     .make = [home](const std::string& folder) { return MakeFolder(home / "requests" / folder); },
                     .look = [jobs](const JobId& job) { return jobs->Look(job); },
                     .give_up = [jobs](const JobId& job) { return jobs->GiveUp(job); },
                     .older = nullptr}));
  }
  const Arbiter& arbiter() const override { return cluster_; }
  Result<CheckedJob> Check(const ParsedJobSpec&, CheckFor) const override { return CheckedJob(); }
  const JobLogs& logs() const override { return *this; }
  const Operations& operations() const override { return *this; }
  std::unique_ptr<AmLauncher> MakeLauncher(EventLoop&) const override { return std::make_unique<FakeCluster>(); }

 private:
  Result<std::unique_ptr<LogSource>> LogsOf(const JobRecords& records) const override {
    return std::unique_ptr<LogSource>(std::make_unique<LocalLogSource>(records));
  }
  std::string PlaceOfLogs(const JobRecords& records) const override { return (records.place() / "logs").string(); }
  Result<QueueView> Queue() const override { return QueueView(); }
  Checks Doctor() const override { return {}; }

  const FakeCluster cluster_{};
};

const Backend& TheFakeBackend() {
  static const FakeBackend backend;
  return backend;
}

}  // namespace

std::span<const BackendEntry> Backends() {
  static constexpr BackendEntry kBackends[] = {{"local", "local-", LocalBackend}, {"fake", "fake-", TheFakeBackend}};
  return kBackends;
}

}  // namespace tony
