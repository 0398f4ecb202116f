#include "runtime/client/queue.h"

#include <pwd.h>

#include <algorithm>
#include <array>
#include <boost/json/array.hpp>
#include <boost/json/object.hpp>

#include "runtime/base/strings.h"
#include "runtime/client/output.h"
#include "runtime/job/json_fields.h"
#include "runtime/scheduler/local/ledger_folder.h"

namespace tony {
namespace {

namespace json = boost::json;

std::string UserName(int64_t user) {
  passwd entry = {};
  passwd* found = nullptr;
  std::array<char, 4096> buffer;
  if (getpwuid_r(static_cast<uid_t>(user), &entry, buffer.data(), buffer.size(), &found) == 0 && found)
    return found->pw_name;
  return StrCat(user);
}

std::string Numbers(const std::vector<int>& numbers) {
  std::vector<std::string> texts;
  for (const int number : numbers) texts.push_back(StrCat(number));
  return Join(texts, ",");
}

std::string Why(const Ledger& ledger, const LedgerEntry& entry) {
  return entry.admitted ? "" : ledger.WhyItWaits(entry);
}

std::string Cell(std::string text, size_t width) {
  text.resize(std::max(width, text.size()), ' ');
  return text + "  ";
}

// Which GPUs a job has, or how many it asks for.
std::string GpuCell(const LedgerEntry& entry) {
  return entry.admitted && !entry.gpus.empty() ? StrCat(entry.ask.gpus, " (", Numbers(entry.gpus), ")")
                                               : StrCat(entry.ask.gpus);
}

std::string Table(const Ledger& ledger, Instant now) {
  const Machine& machine = ledger.machine();
  std::string text = StrCat(ledger.FreeMemory(), " of ", machine.memory_mb, " MB of memory and ",
                            ledger.FreeGpus().size(), " of ", machine.gpus.size(), " GPUs are free\n");
  if (ledger.entries().empty()) return text + "no jobs\n";
  text += StrCat(Cell("POS", 3), Cell("JOB", 28), Cell("USER", 10), Cell("STATE", 7), Cell("SINCE", 12),
                 Cell("MEMORY", 10), Cell("CORES", 5), Cell("GPUS", 8), "WHY\n");
  int64_t position = 0;
  for (const LedgerEntry& entry : ledger.entries()) {
    text += StrCat(Cell(StrCat(++position), 3), Cell(entry.job.value, 28), Cell(UserName(entry.user), 10),
                   Cell(entry.admitted ? "running" : "waiting", 7), Cell(HumanDuration(now - entry.since), 12),
                   Cell(StrCat(entry.ask.memory_mb, " MB"), 10), Cell(StrCat(entry.ask.vcores), 5),
                   Cell(GpuCell(entry), 8), entry.admitted ? "-" : Why(ledger, entry), "\n");
  }
  return text;
}

json::array ToJson(const std::vector<int>& numbers) { return json::array(numbers.begin(), numbers.end()); }

json::array JobsJson(const Ledger& ledger) {
  json::array jobs;
  for (const LedgerEntry& entry : ledger.entries()) {
    jobs.push_back(json::object{{"position", jobs.size() + 1},
                                {"job", entry.job.value},
                                {"user", UserName(entry.user)},
                                {"state", entry.admitted ? "running" : "waiting"},
                                {"memory_mb", entry.ask.memory_mb},
                                {"vcores", entry.ask.vcores},
                                {"gpus", entry.ask.gpus},
                                {"held_gpus", ToJson(entry.admitted ? entry.gpus : std::vector<int>{})},
                                {"since", ToIso8601(entry.since)},
                                {"why", Why(ledger, entry)}});
  }
  return jobs;
}

std::string ToJson(const LedgerFolder& folder, const LedgerView& view) {
  const Machine& machine = view.ledger.machine();
  const json::object machine_json = {
      {"memory_mb", machine.memory_mb}, {"cores", machine.cores}, {"gpus", ToJson(machine.gpus)}};
  const json::object free = {{"memory_mb", view.ledger.FreeMemory()}, {"gpus", ToJson(view.ledger.FreeGpus())}};
  json::array warnings;
  for (const std::string& warning : view.warnings) warnings.emplace_back(warning);
  return SerializeJson(json::object{{"schema", 1},
                                    {"ledger", folder.path().string()},
                                    {"private", folder.is_private()},
                                    {"machine", machine_json},
                                    {"free", free},
                                    {"jobs", JobsJson(view.ledger)},
                                    {"dead", view.dead},
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
  Print(Table(view.ledger, RealClock().Now()));
  return 0;
}

}  // namespace tony
