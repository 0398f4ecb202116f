#include "runtime/keeper/staying_process.h"

#include <unistd.h>

#include <cerrno>
#include <set>

#include "runtime/base/strings.h"
#include "runtime/job/environment.h"
#include "runtime/keeper/keeper_pulse.h"
#include "runtime/ledger/ledger_witness.h"
#include "runtime/os/held_process.h"
#include "runtime/os/process_tree.h"
#include "runtime/os/users.h"

namespace tony {
namespace {

// A main thread that has ended is a zombie while another thread of it is held.
bool IsHeldByKernel(const ProcessStat& stat) { return !stat.dead && (stat.state == 'D' || stat.state == 'Z'); }

bool IsStopped(const ProcessStat& stat) { return stat.state == 'T' || stat.state == 't'; }

std::string StateWords(const ProcessStat& stat) {
  if (IsHeldByKernel(stat)) return "held by the kernel (state D)";
  return StrCat(IsStopped(stat) ? "stopped (state " : "running (state ", std::string(1, stat.state), ")");
}

}  // namespace

std::string DescribeWithState(pid_t pid) {
  const auto process = LookAtProcess(pid);
  const auto stat = ReadStat(pid);
  return process && stat ? StrCat(Describe(*process), ", ", StateWords(*stat)) : "";
}

std::string WhyItStays(pid_t pid) {
  const HeldProcess held(pid);
  const auto process = LookAtProcess(pid);
  const auto stat = ReadStat(pid);
  if (!process || !stat || stat->dead) return "";
  if (held.valid() && !held.Signal(0) && errno == EPERM)
    return StrCat(Describe(*process), " cannot be ended by ", UserName(geteuid()), ": \"kill -9 ", pid,
                  "\" as root ends it");
  if (!IsHeldByKernel(*stat)) return "";
  return StrCat(Describe(*process), " does not end: the kernel holds it (state D) until its disk, network or device ",
                "answers, or its cgroup is thawed");
}

std::string WhoKeepsWaiting(const JobRecords& records) {
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
    if (std::string why = WhyItStays(pid); !why.empty()) return why;
    const auto seen = LookAtProcess(pid);
    const auto stat = ReadStat(pid);
    if (stat && IsStopped(*stat)) words = StrCat(DescribeWithState(pid), ": \"kill -CONT ", pid, "\" wakes it");
    if (words.empty() && seen && !seen->name.starts_with("tony-")) words = DescribeWithState(pid);
  }
  return words;
}

}  // namespace tony
