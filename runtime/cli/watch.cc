// `tony watch`: one process that follows many jobs and prints a line for each change of any of them, for a triggerer.
// Which jobs: those of the command line; and of standard input, where "JOB" begins and "-JOB" ends the watching.
#include <map>
#include <memory>
#include <utility>

#include "runtime/base/strings.h"
#include "runtime/cli/commands.h"
#include "runtime/cli/line_exchange.h"
#include "runtime/cli/options.h"
#include "runtime/cli/output.h"
#include "runtime/cli/progress.h"
#include "runtime/cli/terminal_notes.h"
#include "runtime/client/choose_backend.h"
#include "runtime/client/follow.h"
#include "runtime/client/job_access.h"
#include "runtime/client/outputs.h"
#include "runtime/client/watch_job.h"

namespace tony {
namespace {

class JobsWatch {
 public:
  struct Options {
    bool json = false;
    bool reads = false;  // standard input
    WatcherToken watcher;
  };

  JobsWatch(EventLoop& loop, Options options)
      : loop_(loop),
        options_(std::move(options)),
        input_open_(options_.reads),
        lines_(loop, options_.reads,
               {.on_line = [this](const std::string& line) { OnLine(line); },
                .on_input_end = [this] { OnInputEnd(); },
                .on_idle = [this] { StopIfDone(); },
                .on_reader_gone = [this] { loop_.Stop(); }}) {}

  void Add(const std::string& id) {
    if (const auto watched = jobs_.find(id); watched != jobs_.end()) {  // somebody new begins to look
      watched->second.follower->LookAs(options_.watcher);
      if (!watched->second.told.empty()) lines_.Put(id, watched->second.told);
      return;
    }
    auto records = FindJob(id);
    if (!records.ok()) return TellError(id, records.error());
    Job& job = jobs_[id];
    job.records = std::make_unique<JobRecords>(*std::move(records));
    job.follower = std::make_unique<Follower>(
        loop_, *job.records, LauncherOf(job.records->job()),
        FollowSink{.on_status = [this, id](const JobStatus& status) { OnStatus(id, status); },
                   .on_note = [](const std::string& note) { Say(note); },
                   .on_end = [this, id](const Result<JobStatus>& end) { OnEnd(id, end); }});
    job.follower->LookAs(options_.watcher);
    // Whoever asks need not wait for an AM that is not there yet.
    if (const auto stored = StoredStatus(*job.records); stored.ok()) OnStatus(id, *stored);
    job.follower->Start(Duration(0));
  }

  void StopIfDone() {
    if (!input_open_ && jobs_.empty() && lines_.IsIdle()) loop_.Stop();
  }

 private:
  struct Job {
    std::unique_ptr<JobRecords> records;
    std::unique_ptr<Follower> follower;
    std::optional<JobStatus> before;
    std::string told;  // the newest line
  };

  AmLauncher& LauncherOf(const JobId& job) {
    const Backend& backend = BackendOf(job);
    auto& launcher = launchers_[&backend];
    if (!launcher) launcher = backend.MakeLauncher(loop_);
    return *launcher;
  }

  void OnLine(const std::string& line) {
    const std::string word(Trim(line));
    if (word.starts_with('-')) {
      Remove(word.substr(1));
    } else if (!word.empty()) {
      Add(word);
    }
  }

  void OnInputEnd() {
    input_open_ = false;
    StopIfDone();
  }

  // Its end is told once nothing of it lives any more, as `wait` returns.
  void OnStatus(const std::string& id, const JobStatus& status) {
    if (!HasEnded(status)) TellStatus(id, status);
  }

  void OnEnd(const std::string& id, const Result<JobStatus>& end) {
    if (end.ok()) {
      TellStatus(id, *end);
    } else {
      TellError(id, end.error());
    }
    // Not from within its own callback; meanwhile somebody may have removed it and added it anew.
    loop_.Post([this, id, follower = jobs_.at(id).follower.get()] {
      const auto job = jobs_.find(id);
      if (job != jobs_.end() && job->second.follower.get() == follower) Remove(id);
    });
  }

  void Remove(const std::string& id) {
    jobs_.erase(id);
    StopIfDone();
  }

  void TellStatus(const std::string& id, const JobStatus& status) {
    Job& job = jobs_.at(id);
    std::string line = options_.json ? StatusDocument(*job.records, status) : TextOf(job, status);
    job.before = status;
    if (line.empty() || line == job.told) return;
    job.told = line;
    // A reader too slow for all documents has the newest; a line for people is not the sum of those before.
    lines_.Put(options_.json ? id : StrCat(id, " ", status.seq), std::move(line));
  }

  static std::string TextOf(const Job& job, const JobStatus& status) {
    if (status.verdict) return StrCat(status.job.value, " ", VerdictLine(status));
    std::vector<std::string> changes = ChangeLines(job.before, status);
    for (std::string& change : changes) change = StrCat(status.job.value, " ", change);
    return Join(changes, "\n");
  }

  void TellError(const std::string& id, const Error& error) {
    if (!options_.json) return Say(StrCat("tony: ", error.message));
    lines_.Put(id, StrCat(R"({"schema":1,"job":)", JsonString(id), R"(,"error":)", ErrorJson(error), "}"));
  }

  EventLoop& loop_;
  std::map<const Backend*, std::unique_ptr<AmLauncher>> launchers_;
  const Options options_;
  bool input_open_;
  std::map<std::string, Job> jobs_;
  LineExchange lines_;
};

}  // namespace

Result<int> RunWatch(const CommandLine& line) {
  JobsWatch::Options options = {.json = line.Has("json"), .reads = line.words().empty()};
  TRY_ASSIGN(options.watcher, WatcherOption(line, "watcher"));
  std::vector<std::string> ids;
  for (const std::string& word : line.words()) {
    if (word == "-") {
      options.reads = true;
    } else {
      const auto named = FindNamedJob(word, TerminalNotes());
      ids.push_back(named.ok() ? named->job().value : word);  // what is wrong is told in its turn
    }
  }
  EventLoop loop;
  int signal = 0;
  Interrupts interrupts(loop);
  interrupts.Listen([&](int caught) {
    signal = caught;
    loop.Stop();
  });
  JobsWatch watch(loop, options);
  loop.Post([&] {
    for (const std::string& id : ids) watch.Add(id);
    watch.StopIfDone();
  });
  loop.Run();
  return signal == 0 ? 0 : 128 + signal;
}

}  // namespace tony
