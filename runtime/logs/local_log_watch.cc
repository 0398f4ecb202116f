#include "runtime/logs/local_log_watch.h"

#include <sys/inotify.h>

#include <cerrno>
#include <filesystem>

#include "runtime/logs/local_log_source.h"

namespace tony {
namespace {

constexpr uint32_t kEvents = IN_CREATE | IN_MODIFY | IN_MOVED_TO;
constexpr size_t kBuffer = 8 << 10;  // on the stack

}  // namespace

LocalLogWatch::LocalLogWatch(EventLoop& loop, const JobRecords& records, std::optional<TaskId> task, LogWatchSink sink)
    : records_(records),
      task_(std::move(task)),
      sink_(std::move(sink)),
      inotify_(inotify_init1(IN_NONBLOCK | IN_CLOEXEC)),
      blind_(!inotify_.valid()) {
  if (!blind_) watch_ = loop.WhenReadable(inotify_.get(), [this] { Drain(); });
}

// A folder is watched before it is listed, so that nothing comes between.
void LocalLogWatch::Look() {
  Add("", {Place::Kind::kJob, {}});
  Add("logs", {Place::Kind::kLogs, {}});
  if (task_) return LookAtTask(FolderName(*task_));
  for (const std::string& name : FolderNames(OpenBelow(records_, "logs"))) LookAtTask(name);
}

void LocalLogWatch::LookAtTask(const std::string& folder_name) {
  const auto task = TaskOfFolder(folder_name);
  if (!task || (task_ && *task_ != *task)) return;
  const std::filesystem::path below = std::filesystem::path("logs") / folder_name;
  const UniqueFd folder = OpenBelow(records_, below);
  if (!folder.valid()) return;
  Add(below, {Place::Kind::kTask, {*task, 0}});
  std::set<int> numbers;  // in order
  for (const std::string& name : FolderNames(folder)) {
    if (const auto number = AttemptOfFolder(name)) numbers.insert(*number);
  }
  for (const int number : numbers) {
    const AttemptId attempt{*task, number};
    if (told_.contains(attempt)) continue;
    Add(below / std::to_string(number), {Place::Kind::kAttempt, attempt});
    told_.insert(attempt);
    sink_.on_attempt(attempt);
  }
}

void LocalLogWatch::Add(const std::filesystem::path& below, Place place) {
  if (!inotify_.valid() || watched_.contains(below)) return;
  // Below the job's folder links are not followed; the watch of its parent tells when a folder takes a link's place.
  const uint32_t links = place.kind == Place::Kind::kJob ? 0 : IN_DONT_FOLLOW;
  const int watch = inotify_add_watch(inotify_.get(), (records_.place() / below).c_str(), kEvents | IN_ONLYDIR | links);
  if (watch < 0) {
    blind_ = blind_ || (errno != ENOENT && errno != ENOTDIR);
    return;
  }
  watched_.insert(below);
  places_[watch] = std::move(place);
}

void LocalLogWatch::Drain() {
  alignas(inotify_event) char events[kBuffer];
  const bool was_blind = blind_;
  const ssize_t got = read(inotify_.get(), events, sizeof events);
  for (ssize_t at = 0; at < got;) {
    const auto& event = reinterpret_cast<const inotify_event&>(events[at]);
    at += static_cast<ssize_t>(sizeof event + event.len);
    if ((event.mask & IN_Q_OVERFLOW) != 0) {
      Look();
      sink_.on_missed();
    } else {
      OnEvent(event.wd, event.len > 0 ? event.name : "");
    }
  }
  if (blind_ && !was_blind) sink_.on_missed();
}

void LocalLogWatch::OnEvent(int watch, const std::string& name) {
  const auto found = places_.find(watch);
  if (found == places_.end()) return;
  const Place place = found->second;  // a copy: what follows may add others
  switch (place.kind) {
    case Place::Kind::kJob:
      if (name == "logs") Look();
      if (name == "status.json") sink_.on_status();
      return;
    case Place::Kind::kLogs:
      return LookAtTask(name);
    case Place::Kind::kTask:
      return LookAtTask(FolderName(place.attempt.task));
    case Place::Kind::kAttempt:
      // The executor's own file is the last that it writes there.
      return name == "outcome.json" ? sink_.on_ended(place.attempt) : sink_.on_written(place.attempt, name);
  }
}

}  // namespace tony
