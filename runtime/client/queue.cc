#include "runtime/client/queue.h"

#include <algorithm>
#include <boost/json/array.hpp>
#include <boost/json/object.hpp>

#include "runtime/base/strings.h"
#include "runtime/client/output.h"
#include "runtime/client/terminal.h"
#include "runtime/job/json_fields.h"
#include "runtime/scheduler/local/ledger_folder.h"
#include "runtime/scheduler/local/ledger_report.h"
#include "runtime/scheduler/local/ledger_witness.h"
#include "runtime/scheduler/local/users.h"

namespace tony {
namespace {

namespace json = boost::json;

std::string Numbers(const std::vector<int>& numbers) {
  std::vector<std::string> texts;
  for (const int number : numbers) texts.push_back(StrCat(number));
  return Join(texts, ",");
}

std::string Why(const Ledger& ledger, const LedgerEntry& entry) {
  if (entry.admitted()) return "";
  const std::string why = ledger.WhyItWaits(entry);
  if (entry.place != Place::kAside || ledger.IsOverLimit(entry)) return why;
  return StrCat("stands aside, behind its user's other jobs; ", why);
}

std::string_view State(const LedgerEntry& entry) { return entry.admitted() ? "running" : "waiting"; }

// The ledger's order, those who stand aside last.
std::vector<LedgerEntry> InOrder(const Ledger& ledger) {
  std::vector<LedgerEntry> entries = ledger.entries();
  std::ranges::stable_partition(entries, [](const LedgerEntry& entry) { return entry.place != Place::kAside; });
  return entries;
}

std::string ProcessCell(const LedgerEntry& entry) {
  return entry.keeper.pid > 0 ? StrCat(entry.keeper.pid) : std::string("-");
}

// Which GPUs a job has, or how many it asks for.
std::string GpuCell(const LedgerEntry& entry) {
  return entry.admitted() && !entry.gpus.empty() ? StrCat(entry.ask.gpus, " (", Numbers(entry.gpus), ")")
                                                 : StrCat(entry.ask.gpus);
}

std::string Table(const Ledger& ledger, Instant now) {
  const Machine& machine = ledger.machine();
  std::string text = StrCat(ledger.FreeMemory(), " of ", machine.memory_mb, " MB of memory and ",
                            ledger.FreeGpus().size(), " of ", machine.gpus.size(), " GPUs are free\n");
  if (ledger.entries().empty()) return text + "no jobs\n";
  text += StrCat(TableCell("POS", 3), TableCell("JOB", 28), TableCell("USER", 10), TableCell("PROCESS", 7),
                 TableCell("STATE", 7), TableCell("SINCE", 12), TableCell("MEMORY", 10), TableCell("CORES", 5),
                 TableCell("GPUS", 8), "WHY\n");
  int64_t position = 0;
  for (const LedgerEntry& entry : InOrder(ledger)) {
    text += StrCat(TableCell(StrCat(++position), 3), TableCell(entry.job.value, 28),
                   TableCell(UserName(entry.user), 10), TableCell(ProcessCell(entry), 7),
                   TableCell(std::string(State(entry)), 7), TableCell(HumanDuration(now - entry.since), 12),
                   TableCell(StrCat(entry.ask.memory_mb, " MB"), 10), TableCell(StrCat(entry.ask.vcores), 5),
                   TableCell(GpuCell(entry), 8), entry.admitted() ? "-" : Why(ledger, entry), "\n");
  }
  return text;
}

json::array ToJson(const std::vector<int>& numbers) { return json::array(numbers.begin(), numbers.end()); }

json::array JobsJson(const Ledger& ledger) {
  json::array jobs;
  for (const LedgerEntry& entry : InOrder(ledger)) {
    const std::string_view state = State(entry);
    jobs.push_back(json::object{{"position", jobs.size() + 1},
                                {"job", entry.job.value},
                                {"user", UserName(entry.user)},
                                {"process", entry.keeper.pid},
                                {"state", json::string_view(state.data(), state.size())},
                                {"priority", entry.priority},
                                {"memory_mb", entry.ask.memory_mb},
                                {"vcores", entry.ask.vcores},
                                {"gpus", entry.ask.gpus},
                                {"held_gpus", ToJson(entry.admitted() ? entry.gpus : std::vector<int>{})},
                                {"since", ToIso8601(entry.since)},
                                {"why", Why(ledger, entry)}});
  }
  return jobs;
}

json::array DoubtsJson(const std::vector<Doubt>& doubts) {
  json::array array;
  for (const Doubt& doubt : doubts)
    array.push_back(json::object{{"file", doubt.name}, {"user", UserName(doubt.user)}, {"why", doubt.why}});
  return array;
}

json::array HoldersJson(const std::vector<int64_t>& holders) {
  json::array array;
  for (const int64_t pid : holders) {
    const auto process = LookAtProcess(pid);
    array.push_back(json::object{
        {"process", pid}, {"user", process ? UserName(process->user) : ""}, {"name", process ? process->name : ""}});
  }
  return array;
}

std::string ToJson(const LedgerFolder& folder, const LedgerView& view) {
  const Machine& machine = view.ledger.machine();
  const json::object machine_json = {
      {"memory_mb", machine.memory_mb}, {"cores", machine.cores}, {"gpus", ToJson(machine.gpus)}};
  const json::object free = {{"memory_mb", view.ledger.FreeMemory()}, {"gpus", ToJson(view.ledger.FreeGpus())}};
  json::array warnings;
  for (const std::string& warning : view.warnings) warnings.emplace_back(warning);
  if (const std::string lock = LockWarning(view); !lock.empty()) warnings.emplace_back(lock);
  return SerializeJson(json::object{{"schema", 1},
                                    {"ledger", folder.path().string()},
                                    {"private", folder.is_private()},
                                    {"machine", machine_json},
                                    {"free", free},
                                    {"jobs", JobsJson(view.ledger)},
                                    {"dead", view.dead},
                                    {"not_believed", DoubtsJson(view.doubts)},
                                    {"lock_holders", HoldersJson(view.lock_holders)},
                                    {"warnings", warnings}});
}

}  // namespace

Result<int> RunQueue(const CommandLine& line) {
  TRY_ASSIGN(const LedgerFolder folder, LedgerFolder::FindHere());
  TRY_ASSIGN(const LedgerView view, folder.Read());
  if (line.Has("json")) {
    PrintLine(ToJson(folder, view));
    return 0;
  }
  for (const std::string& warning : view.warnings) Say(StrCat("tony: warning: ", warning));
  if (const std::string lock = LockWarning(view); !lock.empty()) Say(StrCat("tony: warning: ", lock));
  Print(Table(view.ledger, RealClock().Now()));
  return 0;
}

}  // namespace tony
