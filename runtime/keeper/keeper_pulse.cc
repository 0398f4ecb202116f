#include "runtime/keeper/keeper_pulse.h"

#include <poll.h>
#include <sys/socket.h>

#include <csignal>
#include <filesystem>
#include <functional>

#include "runtime/base/strings.h"
#include "runtime/keeper/keeper_socket.h"
#include "runtime/os/files.h"
#include "runtime/os/held_process.h"

namespace tony {
namespace {

namespace fs = std::filesystem;

constexpr Duration kOverslept{3000};

// Compares the name that the kernel has for the open file, because a look at the file itself might wait for its disk.
bool HasOpen(int64_t pid, const fs::path& file) {
  std::error_code error;
  fs::directory_iterator fd(StrCat("/proc/", pid, "/fd"), error);
  for (; !error && fd != fs::directory_iterator(); fd.increment(error)) {
    std::error_code gone;
    if (fs::read_symlink(fd->path(), gone) == file) return true;
  }
  return false;
}

// Each is held before it is looked at.
void ForEachHolder(const JobRecords& records, const std::function<void(pid_t, const HeldProcess&)>& fn) {
  std::error_code error;
  const fs::path lock = fs::canonical(records.place(), error) / "keeper.lock";
  fs::directory_iterator entry("/proc", error);
  for (; !error && entry != fs::directory_iterator(); entry.increment(error)) {
    const auto pid = ParseInt(entry->path().filename().string());
    if (!pid) continue;
    const HeldProcess process(static_cast<pid_t>(*pid));
    const auto name = ReadFile(entry->path() / "comm");
    if (process.valid() && name.ok() && Trim(*name) == "tony-keeper" && HasOpen(*pid, lock))
      fn(static_cast<pid_t>(*pid), process);
  }
}

}  // namespace

Duration KeeperPulse::Silence(Instant now) {
  if (now - looked_ > kOverslept) asked_.reset();
  looked_ = now;
  if (asked_ && !HasAnswered()) return now - *asked_;
  auto question = ReachKeeper(records_);
  asked_ = question.ok() ? std::optional(now) : std::nullopt;
  question_ = question.ok() && *question ? **std::move(question) : UniqueFd();
  if (question_.valid()) shutdown(question_.get(), SHUT_WR);
  return Duration(0);
}

// Where the queue was full there is no question yet: the keeper has answered when there is room again.
bool KeeperPulse::HasAnswered() {
  if (!question_.valid()) {
    const auto again = ReachKeeper(records_);
    return !again.ok() || *again;
  }
  pollfd answer{question_.get(), POLLIN, 0};
  return poll(&answer, 1, 0) > 0;
}

std::vector<pid_t> KeepersOf(const JobRecords& records) {
  std::vector<pid_t> found;
  ForEachHolder(records, [&](pid_t pid, const HeldProcess&) { found.push_back(pid); });
  return found;
}

void EndKeeper(const JobRecords& records) {
  ForEachHolder(records, [](pid_t, const HeldProcess& process) { (void)process.Signal(SIGKILL); });
}

}  // namespace tony
