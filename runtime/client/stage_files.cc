#include "runtime/client/stage_files.h"

#include <unistd.h>

#include <cstdio>
#include <functional>
#include <memory>
#include <mutex>
#include <thread>
#include <utility>

#include "runtime/base/strings.h"
#include "runtime/cli/output.h"
#include "runtime/cli/terminal.h"
#include "runtime/client/source_report.h"
#include "runtime/records/user_home.h"

namespace tony {
namespace {

constexpr int kErrors = 2;
// What is over within the blink of an eye is not worth a word.
constexpr Duration kQuiet{700};
constexpr Duration kRedraw{200};
constexpr Duration kNextLine{5000};

// What the staging thread says and the loop shows: one live line on a terminal, a line now and then elsewhere.
class StagingDisplay {
 public:
  StagingDisplay(EventLoop& loop, std::string_view doing) : loop_(loop), doing_(doing), live_(IsTerminal(kErrors)) {
    Plan(kQuiet);
  }
  ~StagingDisplay() {
    if (drawn_ && live_) Write("\r\x1b[K");
  }
  StagingDisplay(const StagingDisplay&) = delete;

  void Tell(const StageProgress& progress) {  // from any thread
    const std::lock_guard lock(mutex_);
    newest_ = progress;
  }

 private:
  void Plan(Duration delay) {
    timer_ = loop_.After(delay, [this] { Show(); });
  }

  void Show() {
    if (Newest().what.empty()) return Plan(kRedraw);  // nothing is moved yet
    drawn_ = true;
    const std::string line = ProgressLine(doing_, Newest());
    if (live_) {
      Write(StrCat("\r", CutToWidth(line, static_cast<size_t>(SizeOf(kErrors).columns - 1)), "\x1b[K"));
    } else {
      Say(line);
    }
    Plan(live_ ? kRedraw : kNextLine);
  }

  StageProgress Newest() const {
    const std::lock_guard lock(mutex_);
    return newest_;
  }

  static void Write(const std::string& text) {
    if (write(kErrors, text.data(), text.size()) < 0) return;  // a terminal that has gone
  }

  EventLoop& loop_;
  const std::string_view doing_;
  const bool live_;
  bool drawn_ = false;
  mutable std::mutex mutex_;
  StageProgress newest_;
  EventLoop::Timer timer_;
};

void SayDamage(const std::string& what, const std::string& damage) {
  Say(StrCat("tony: what was staged of ", what, " is damaged (", damage, "); it is made anew"));
}

Result<StagedForJob> StageHere(const Backend& backend, const ParsedJobSpec& job, const StageWatch& watch) {
  TRY_ASSIGN(const std::filesystem::path home, TonyHome());
  TRY_ASSIGN(StagedStore store, StagedStore::Open(home, watch.stop));
  const auto look = [&](const FileSpec& file) { return backend.LookAt(job, file); };
  TRY_ASSIGN(StagedFiles files, Stage(job.spec, store, watch, look, UnpackLimits(), job.is_of_tonys));
  return StagedForJob{.store = std::move(store), .files = std::move(files)};
}

// Runs `work` beside the loop until it is done; the signal that has come meanwhile, which asks it to stop, or 0.
int RunShown(EventLoop& loop, Interrupts& interrupts, std::string_view doing,
             const std::function<void(const StageWatch&)>& work) {
  StagingDisplay display(loop, doing);
  int signal = 0;
  {
    std::jthread thread([&](const std::stop_token& stop) {
      work({.on_progress = [&](const StageProgress& progress) { display.Tell(progress); },
            .stop = stop,
            .on_damage = SayDamage});
      loop.Post([&] { loop.Stop(); });
    });
    interrupts.Listen([&](int caught) {
      signal = caught;
      thread.request_stop();
    });
    loop.Run();
    interrupts.Listen(nullptr);
  }
  return signal;
}

}  // namespace

std::string ProgressLine(std::string_view doing, const StageProgress& progress) {
  if (progress.total == 0) return StrCat(doing, " ", SafeLine(progress.what));  // as while uv makes an environment
  constexpr double kGiga = 1e9, kMega = 1e6;
  const bool large = static_cast<double>(progress.total) >= kGiga;
  char amount[64];
  std::snprintf(amount, sizeof amount, large ? "%.1f of %.1f GB" : "%.0f of %.0f MB",
                static_cast<double>(progress.done) / (large ? kGiga : kMega),
                static_cast<double>(progress.total) / (large ? kGiga : kMega));
  return StrCat(doing, " ", SafeLine(progress.what), ": ", amount);
}

Result<StagedForJob> StageFiles(EventLoop& loop, Interrupts& interrupts, const Backend& backend,
                                const ParsedJobSpec& job) {
  if (!NeedsStaging(job.spec)) return StagedForJob{};
  std::optional<Result<StagedForJob>> staged;
  const int signal = RunShown(loop, interrupts, "staging",
                              [&](const StageWatch& watch) { staged.emplace(StageHere(backend, job, watch)); });
  if (signal != 0) return StagedForJob{.signal = signal};
  return *std::move(staged);
}

void SayStaged(const StagedFiles& files) {
  const SourceSummary& sources = files.sources;
  if (!sources.folder.empty()) Say(StrCat("tony: src_dir ", SafeLine(sources.folder), ": ", AmountOf(sources)));
  for (const std::string& line : LeftOutLines(sources)) Say(StrCat("tony: ", line));
  for (const std::string& warning : files.warnings) Say(StrCat("tony: warning: ", warning));
}

Result<LaidJob> LayJob(EventLoop& loop, Interrupts& interrupts, const JobStore& jobs, NewJob job) {
  std::optional<Result<NewJob>> laid;
  const int signal = RunShown(loop, interrupts, "sending", [&](const StageWatch& watch) {
    laid.emplace(jobs.Lay(std::move(job), RealClock().Now(), watch));
  });
  if (signal != 0 && laid->ok()) jobs.DiscardLaid(**laid);
  if (signal != 0) return LaidJob{.signal = signal};
  TRY(*laid);
  return LaidJob{.job = **std::move(laid)};
}

}  // namespace tony
