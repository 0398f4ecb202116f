#include "runtime/keeper/keeper_pulse.h"

#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <filesystem>
#include <functional>
#include <set>

#include "runtime/base/strings.h"
#include "runtime/job/environment.h"
#include "runtime/keeper/message_channel.h"
#include "runtime/ledger/process_check.h"
#include "runtime/os/files.h"
#include "runtime/os/process_tree.h"
#include "runtime/os/users.h"

namespace tony {
namespace {

// Returns true if the process is in state D, or in state Z without being dead. In the second case its main thread has
// ended, and the kernel still holds another of its threads.
bool IsHeldByKernel(const ProcessStat& stat) { return !stat.dead && (stat.state == 'D' || stat.state == 'Z'); }

bool IsStopped(const ProcessStat& stat) { return stat.state == 'T' || stat.state == 't'; }

std::string StateWords(const ProcessStat& stat) {
  if (IsHeldByKernel(stat)) return "held by the kernel (state D)";
  return StrCat(IsStopped(stat) ? "stopped (state " : "running (state ", std::string(1, stat.state), ")");
}

}  // namespace

std::string DescribeWithState(pid_t pid) {
  const auto process = ReadVisibleProcess(pid);
  const auto stat = ReadStat(pid);
  return process && stat ? StrCat(Describe(*process), ", ", StateWords(*stat)) : "";
}

std::string WhyKillFails(pid_t pid) {
  const HeldProcess held(pid);
  const auto process = ReadVisibleProcess(pid);
  const auto stat = ReadStat(pid);
  if (!process || !stat || stat->dead) return "";
  if (held.valid() && !held.Signal(0) && errno == EPERM)
    return StrCat(Describe(*process), " cannot be ended by ", UserName(geteuid()),
                  "; to end it, run as root: kill -9 ", pid);
  if (!IsHeldByKernel(*stat)) return "";
  return StrCat(Describe(*process), " does not end: the kernel holds it (state D) until its disk, network or device ",
                "responds, or its cgroup is thawed");
}

std::string DescribeBlocker(const JobRecords& records) {
  const auto processes = TryListProcesses();
  if (!processes.ok()) return "";
  std::set<pid_t> tops;
  for (const auto& process : *processes)
    if (VariableIn(process.environment, kJobMark) == records.job().value) tops.insert(process.pid);
  for (const pid_t keeper : KeepersOf(records)) tops.insert(keeper);
  std::set<pid_t> found = tops;
  for (const pid_t top : tops)
    for (const pid_t below : DescendantsIn(*processes, top)) found.insert(below);
  std::string words;
  for (const pid_t pid : found) {
    if (std::string why = WhyKillFails(pid); !why.empty()) return why;
    const auto seen = ReadVisibleProcess(pid);
    const auto stat = ReadStat(pid);
    if (stat && IsStopped(*stat)) words = StrCat(DescribeWithState(pid), ": \"kill -CONT ", pid, "\" resumes it");
    if (words.empty() && seen && !seen->name.starts_with("tony-")) words = DescribeWithState(pid);
  }
  return words;
}

namespace {

namespace fs = std::filesystem;

constexpr Duration kOverslept{3000};

// Returns true if the process has the file open. Compares file names in /proc, because access to the file itself might
// wait for its disk.
bool HasOpen(int64_t pid, const fs::path& file) {
  std::error_code error;
  fs::directory_iterator fd(StrCat("/proc/", pid, "/fd"), error);
  for (; !error && fd != fs::directory_iterator(); fd.increment(error)) {
    std::error_code gone;
    if (fs::read_symlink(fd->path(), gone) == file) return true;
  }
  return false;
}

// Calls `fn` for each tony-keeper that has the job's keeper.lock open. Each process is held before it is checked, so
// that `fn` never gets a reused pid.
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

// Returns true if the keeper has responded to the last query. If the keeper's queue of connections was full at the
// time of the query, no connection was made. In that case a free place in the queue shows that the keeper has
// responded.
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
