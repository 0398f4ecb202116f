#include "runtime/client/stage_files.h"

#include <unistd.h>

#include <cstdio>
#include <memory>
#include <mutex>
#include <thread>
#include <utility>

#include "runtime/base/strings.h"
#include "runtime/client/output.h"
#include "runtime/client/terminal.h"
#include "runtime/store/user_home.h"

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
  explicit StagingDisplay(EventLoop& loop) : loop_(loop), live_(IsTerminal(kErrors)) { Plan(kQuiet); }
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
    drawn_ = true;
    const std::string line = StagingLine(Newest());
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
  TRY_ASSIGN(StagedFiles files, Stage(job.spec, store, watch, look));
  return StagedForJob{.store = std::move(store), .files = std::move(files)};
}

}  // namespace

std::string StagingLine(const StageProgress& progress) {
  constexpr double kGiga = 1e9, kMega = 1e6;
  const bool large = static_cast<double>(progress.total) >= kGiga;
  char amount[64];
  std::snprintf(amount, sizeof amount, large ? "%.1f of %.1f GB" : "%.0f of %.0f MB",
                static_cast<double>(progress.done) / (large ? kGiga : kMega),
                static_cast<double>(progress.total) / (large ? kGiga : kMega));
  return StrCat("staging ", SafeLine(progress.what), ": ", amount);
}

Result<StagedForJob> StageFiles(EventLoop& loop, Interrupts& interrupts, const Backend& backend,
                                const ParsedJobSpec& job) {
  if (!NeedsStaging(job.spec)) return StagedForJob{};
  std::optional<Result<StagedForJob>> result;
  int signal = 0;
  {
    StagingDisplay display(loop);
    std::jthread thread([&](const std::stop_token& stop) {
      Result<StagedForJob> staged =
          StageHere(backend, job,
                    {.on_progress = [&](const StageProgress& progress) { display.Tell(progress); },
                     .stop = stop,
                     .on_damage = SayDamage});
      loop.Post([&, made = std::make_shared<Result<StagedForJob>>(std::move(staged))] {
        result.emplace(std::move(*made));
        loop.Stop();
      });
    });
    interrupts.Listen([&](int caught) {
      signal = caught;
      thread.request_stop();
    });
    loop.Run();
    interrupts.Listen(nullptr);
  }
  if (signal != 0) return StagedForJob{.signal = signal};
  return *std::move(result);
}

}  // namespace tony
