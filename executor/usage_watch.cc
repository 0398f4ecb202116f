#include "executor/usage_watch.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <ctime>
#include <utility>

#include "runtime/base/log.h"
#include "runtime/base/strings.h"
#include "runtime/job/ids.h"
#include "runtime/job/job_fields.h"
#include "runtime/job/json_fields.h"
#include "runtime/os/files.h"

namespace tony::executor {
namespace {

// A program that is over sooner costs nothing: its time and most memory are what the kernel says at its end.
constexpr Duration kFirstSample{200};
// Then each second, and later so often that what is shown is at most a tenth of the attempt's life old.
constexpr Duration kShortestWait{1000};
constexpr Duration kLongestWait{5000};

constexpr int64_t kNoDiskHasSoMany = int64_t{1} << 40;  // MiB
constexpr Duration kNoteLogsEvery{1000};

// The file is for looking back; who wants to see how it is now asks the AM.
constexpr Duration kKeepEvery{60'000};

// With many processes seldom enough to take a thousandth of a core, 1 ms for each microsecond; but a storm of them may
// be over soon.
constexpr Duration kLongestAfterMany{60'000};
Duration WaitAfter(std::chrono::microseconds cost, Duration age) {
  const Duration usual = std::clamp(age / 10, kShortestWait, kLongestWait);
  return std::max(usual, std::min(Duration(cost.count()), kLongestAfterMany));
}

std::chrono::microseconds OwnCpu() {
  timespec time{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return std::chrono::microseconds(time.tv_sec * 1'000'000 + time.tv_nsec / 1000);
}

std::vector<std::filesystem::path> LogsOf(const WatchedAttempt& attempt) {
  std::vector<std::filesystem::path> logs;
  for (int i = 0; i < attempt.processes; ++i)
    for (const char* name : {"stdout", "stderr"}) logs.push_back(attempt.log_folder / OfProcess(name, i));
  return logs;
}

int64_t LimitBytes(const WatchedAttempt& attempt) { return std::min(attempt.log_limit_mb, kNoDiskHasSoMany) << 20; }

std::vector<LogCap> CapsFor(const WatchedAttempt& attempt) {
  std::vector<LogCap> caps;
  if (attempt.log_limit_mb <= 0) return caps;
  const int64_t limit = LimitBytes(attempt);
  for (const auto& log : LogsOf(attempt)) caps.emplace_back(log, limit);
  caps.emplace_back(UniqueFd(fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, 0)), limit);  // executor.log
  return caps;
}

std::vector<LogNotes> NotesFor(const WatchedAttempt& attempt) {
  std::vector<LogNotes> notes;
  for (const auto& log : LogsOf(attempt)) notes.emplace_back(log);
  return notes;
}

}  // namespace

UsageWatch::UsageWatch(EventLoop& loop, WatchedAttempt attempt, std::function<void(const Usage&)> tell)
    : loop_(loop),
      attempt_(std::move(attempt)),
      tell_(std::move(tell)),
      start_(loop.Now()),
      meter_(start_),
      logs_(CapsFor(attempt_)),
      notes_(NotesFor(attempt_)),
      output_(LogsOf(attempt_), start_),
      kept_(start_),
      capped_(start_) {
  if (!attempt_.gpus.empty()) gpus_ = std::make_unique<GpuWatch>(attempt_.gpus);
  sample_timer_ = loop_.After(kFirstSample, [this] { Sample(); });
  log_timer_ = loop_.After(UntilLogsAreChecked(), [this] { CheckLogs(); });
}

void UsageWatch::Sample() {
  const auto cpu_before = OwnCpu();
  const TreeSample sample = sampler_.Sample();
  const auto cost = OwnCpu() - cpu_before;
  const Instant now = loop_.Now();
  meter_.Add(sample, now);
  sample_timer_ = loop_.After(WaitAfter(cost, now - start_), [this] { Sample(); });
  if (now - kept_ >= kKeepEvery) Keep();
  tell_(Whole(meter_.usage()));
}

void UsageWatch::CheckLogs() {
  const Instant now = loop_.Now();
  if (now - noted_ >= kNoteLogsEvery) {  // caps may be checked more often
    for (LogNotes& log : notes_) log.Look(now);
    noted_ = now;
  }
  CapLogs();
  log_timer_ = loop_.After(UntilLogsAreChecked(), [this] { CheckLogs(); });
}

Duration UsageWatch::UntilLogsAreChecked() const {
  Duration soonest = kNoteLogsEvery;
  for (const LogCap& log : logs_)
    soonest = std::min(soonest, UntilNextCheck(LimitBytes(attempt_), log.growth(), between_caps_));
  return soonest;
}

void UsageWatch::CapLogs() {
  between_caps_ = loop_.Now() - std::exchange(capped_, loop_.Now());
  for (LogCap& log : logs_) {
    const auto freed = log.Check();
    if (freed.ok()) continue;
    LogWarn(StrCat("tony.task.log-limit has no effect: ", freed.error().message));
    logs_.clear();
    return;
  }
}

// With what is not of the processes.
Usage UsageWatch::Whole(Usage usage) {
  usage.quiet = output_.Quiet(loop_.Now());
  if (gpus_) usage.gpu = gpus_->Newest();
  return usage;
}

Usage UsageWatch::Total() {
  total_ = meter_.Ended(sampler_.Sample(), loop_.Now());
  return Whole(total_->usage());
}

void UsageWatch::Finish() {
  sample_timer_ = nullptr;
  log_timer_ = nullptr;
  CapLogs();
  if (gpus_) gpus_->Stop();
  if (meter_.usage().samples > 0) Keep();
}

void UsageWatch::Keep() {
  const UsageMeter& meter = total_ ? *total_ : meter_;
  kept_ = loop_.Now();
  const Status kept = WriteFileByRename(attempt_.log_folder / "usage.json",
                                        UsageDocument(Whole(meter.usage()), meter.series()), /*durable=*/false);
  if (!kept.ok()) LogDebug(kept.error().message);
}

void Fields(JsonWriter& io, const UsagePoint& point) {
  io.Field("at_ms", point.at);
  io.Field("length_ms", point.length);
  io.Field("mean_memory_bytes", point.mean_memory_bytes);
  io.Field("most_memory_bytes", point.most_memory_bytes);
  io.Field("mean_millicores", point.mean_millicores);
}

std::string UsageDocument(const Usage& usage, const UsageSeries& series) {
  return WriteJsonObject([&](JsonWriter& io) {
    Schema(io, 1);
    io.Field("usage", usage);
    io.Field("points", series.points());
  });
}

}  // namespace tony::executor
