// `tony watch`: one process that follows many jobs and prints a line for each change, e.g. for Airflow's triggerer.
// Jobs are named on the command line and on standard input. On standard input, the line "JOB" adds a job, and the line
// "-JOB" removes it.
#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <climits>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <thread>
#include <utility>

#include "runtime/base/strings.h"
#include "runtime/base/unique_fd.h"
#include "runtime/cli/commands.h"
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

constexpr size_t kLongestLine = 4096;
// The maximum number of lines that wait to be written. When this number is reached, standard input is not read any
// more. A program that sends lines and reads none must then wait.
constexpr size_t kMostWaiting = 1000;

// Exchanges lines over standard input and output, on a thread of its own, because a silent writer or a slow reader must
// not delay the loop and its signals. The descriptors stay blocking, because a shell may share them. The methods are
// called on the loop thread, and the callbacks run there. Posted callbacks have only a weak pointer to this object.
class LineExchange : public std::enable_shared_from_this<LineExchange> {
 public:
  struct Sink {
    // Called with each line, without its line end. A line of more than 4 KiB is cut.
    std::function<void(const std::string&)> on_line;
    std::function<void()> on_input_end;
    std::function<void()> on_idle;  // all lines have been written
    std::function<void()> on_reader_gone;
  };
  // `reads` is true if standard input is to be read.
  LineExchange(EventLoop& loop, bool reads, Sink sink) : loop_(loop), sink_(std::move(sink)), reads_(reads) {}

  void Start() {
    thread_ = std::thread([this] {
      while (Turn()) {
      }
    });
  }

  // Stops the thread. Unwritten lines are lost. Once the last owner has released this object, no callback runs any
  // more.
  void Stop() {
    {
      const std::lock_guard lock(mutex_);
      stopped_ = true;
    }
    Wake();
    thread_.join();
  }

  // Adds a line, given without its line end. The new line replaces an unwritten line with the same key, because the
  // reader is too slow to get both.
  void Put(const std::string& key, std::string line) {
    {
      const std::lock_guard lock(mutex_);
      const auto same = std::ranges::find(waiting_, key, &Waiting::key);
      if (same == waiting_.end()) {
        waiting_.push_back({key, std::move(line)});
      } else {
        same->line = std::move(line);
      }
    }
    Wake();
  }

  bool IsIdle() {
    const std::lock_guard lock(mutex_);
    return waiting_.empty() && now_.empty();
  }

 private:
  struct Waiting {
    std::string key, line;
  };

  void Wake() {
    const uint64_t one = 1;
    while (write(wake_.get(), &one, sizeof one) < 0 && errno == EINTR) {
    }
  }

  template <class Callback>
  void Tell(Callback callback) {
    loop_.Post([weak = weak_from_this(), callback] {
      if (const auto talk = weak.lock()) callback(talk->sink_);
    });
  }

  // Waits once for input or output and serves it. Returns false if the thread must end.
  bool Turn() {
    bool writes = false, reads = false;
    {
      const std::lock_guard lock(mutex_);
      if (stopped_) return false;
      writes = !waiting_.empty() || !now_.empty();
      reads = reads_ && waiting_.size() < kMostWaiting;
    }
    // Standard output is polled even if there are no lines to write, because the poll shows at once that the reader has
    // closed the pipe.
    pollfd fds[] = {{wake_.get(), POLLIN, 0},
                    {STDOUT_FILENO, static_cast<short>(writes ? POLLOUT : 0), 0},
                    {reads ? STDIN_FILENO : -1, POLLIN, 0}};
    if (poll(fds, 3, -1) < 0) return errno == EINTR;
    if (uint64_t count = 0; fds[0].revents != 0) writes = read(wake_.get(), &count, sizeof count) < 0 || writes;
    if ((fds[1].revents & (POLLERR | POLLHUP | POLLNVAL)) != 0 || ((fds[1].revents & POLLOUT) != 0 && !Write())) {
      Tell([](const Sink& sink) { sink.on_reader_gone(); });
      return false;
    }
    if (fds[2].revents != 0) Read();
    return true;
  }

  // Writes at most PIPE_BUF bytes, which a writable pipe accepts without blocking. Returns false if the reader has
  // closed its end.
  bool Write() {
    std::string piece;
    {
      const std::lock_guard lock(mutex_);
      if (now_.empty() && !waiting_.empty()) {
        now_ = std::move(waiting_.front().line) + "\n";
        waiting_.pop_front();
      }
      piece = now_.substr(0, PIPE_BUF);
    }
    const ssize_t written = write(STDOUT_FILENO, piece.data(), piece.size());
    if (written < 0) return errno == EINTR || errno == EAGAIN;
    bool idle = false;
    {
      const std::lock_guard lock(mutex_);
      now_.erase(0, static_cast<size_t>(written));
      idle = now_.empty() && waiting_.empty();
    }
    if (idle) Tell([](const Sink& sink) { sink.on_idle(); });
    return true;
  }

  void Read() {
    char buffer[8 << 10];
    const ssize_t got = read(STDIN_FILENO, buffer, sizeof buffer);
    if (got < 0 && (errno == EINTR || errno == EAGAIN)) return;
    for (ssize_t i = 0; i < got; ++i) {
      if (buffer[i] == '\n') {
        TellLine();
      } else if (line_.size() < kLongestLine) {
        line_.push_back(buffer[i]);
      }
    }
    if (got > 0) return;
    if (!line_.empty()) TellLine();
    reads_ = false;
    Tell([](const Sink& sink) { sink.on_input_end(); });
  }

  void TellLine() {
    Tell([line = std::exchange(line_, "")](const Sink& sink) { sink.on_line(line); });
  }

  EventLoop& loop_;
  const Sink sink_;
  const UniqueFd wake_{eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)};
  // True until standard input has ended, if it is read at all. Used only by `thread_`.
  bool reads_;
  // The unfinished line of standard input. Used only by `thread_`.
  std::string line_;
  std::mutex mutex_;
  bool stopped_ = false;
  std::deque<Waiting> waiting_;
  std::string now_;  // the line being written
  std::thread thread_;
};

class JobsWatch {
 public:
  struct Options {
    bool json = false;
    bool reads = false;  // whether to read standard input
    WatcherToken watcher;
  };

  JobsWatch(EventLoop& loop, Options options)
      : loop_(loop),
        options_(std::move(options)),
        input_open_(options_.reads),
        lines_(std::make_shared<LineExchange>(
            loop, options_.reads,
            LineExchange::Sink{.on_line = [this](const std::string& line) { OnLine(line); },
                               .on_input_end = [this] { OnInputEnd(); },
                               .on_idle = [this] { StopIfDone(); },
                               .on_reader_gone = [this] { loop_.Stop(); }})) {
    lines_->Start();
  }
  ~JobsWatch() { lines_->Stop(); }
  JobsWatch(const JobsWatch&) = delete;

  void Add(const std::string& id) {
    // If the job is already followed, its AM gets the new watcher, and the newest line about the job is printed again.
    if (const auto watched = jobs_.find(id); watched != jobs_.end()) {
      watched->second.follower->AnnounceWatcher(options_.watcher);
      if (!watched->second.told.empty()) lines_->Put(id, watched->second.told);
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
    job.follower->AnnounceWatcher(options_.watcher);
    // The stored status is reported first, because the AM may not run yet.
    if (const auto stored = StoredStatus(*job.records); stored.ok()) OnStatus(id, *stored);
    job.follower->Start(Duration(0));
  }

  void StopIfDone() {
    if (!input_open_ && jobs_.empty() && lines_->IsIdle()) loop_.Stop();
  }

 private:
  struct Job {
    std::unique_ptr<JobRecords> records;
    std::unique_ptr<Follower> follower;
    std::optional<JobStatus> before;
    std::string told;  // the newest reported line
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

  // Reports a status, unless the job has ended. OnEnd() reports the end when all processes of the job have exited, as
  // `tony wait` does.
  void OnStatus(const std::string& id, const JobStatus& status) {
    if (!HasEnded(status)) TellStatus(id, status);
  }

  void OnEnd(const std::string& id, const Result<JobStatus>& end) {
    if (end.ok()) {
      TellStatus(id, *end);
    } else {
      TellError(id, end.error());
    }
    // A follower must not be destroyed within its own callback, so the removal is posted. Before it runs, the job may
    // have been removed and added again, with another follower.
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
    // With --json, a newer document replaces an unwritten one, because it contains everything. In text, each line is
    // kept, because a line reports only one change.
    lines_->Put(options_.json ? id : StrCat(id, " ", ++lines_written_), std::move(line));
  }

  static std::string TextOf(const Job& job, const JobStatus& status) {
    if (status.verdict) return StrCat(status.job.value, " ", VerdictLine(status));
    std::vector<std::string> changes = ChangeLines(job.before, status);
    for (std::string& change : changes) change = StrCat(status.job.value, " ", change);
    return Join(changes, "\n");
  }

  void TellError(const std::string& id, const Error& error) {
    if (!options_.json) return Say(StrCat("tony: ", error.message));
    lines_->Put(id, StrCat(R"({"schema":1,"job":)", JsonString(id), R"(,"error":)", ErrorJson(error), "}"));
  }

  EventLoop& loop_;
  std::map<const Backend*, std::unique_ptr<AmLauncher>> launchers_;
  const Options options_;
  bool input_open_;
  std::map<std::string, Job> jobs_;
  const std::shared_ptr<LineExchange> lines_;
  int64_t lines_written_ = 0;  // used only without --json
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
      // If the word names no job, Add() reports the error.
      ids.push_back(named.ok() ? named->job().value : word);
    }
  }
  EventLoop loop;
  int signal = 0;
  Interrupts interrupts(loop);
  interrupts.Listen([&](int caught) {
    signal = caught;
    loop.Stop();
  });
  interrupts.EndAfter(1, [](int) { return "the jobs continue"; });
  JobsWatch watch(loop, options);
  loop.Post([&] {
    for (const std::string& id : ids) watch.Add(id);
    watch.StopIfDone();
  });
  loop.Run();
  return signal == 0 ? 0 : 128 + signal;
}

}  // namespace tony
