#include "runtime/keeper/am_deaths.h"

#include <algorithm>

#include "runtime/base/strings.h"
#include "runtime/os/files.h"

namespace tony::keeper {
namespace {

constexpr Duration kFirstDelay{100};
constexpr Duration kLongestDelay{5000};

std::filesystem::path DeathsFile(const JobRecords& records) { return records.place() / "am.deaths"; }

// Times after `now` come from a clock that was set back since; they would never become old.
void Forget(std::deque<Instant>& times, Instant now) {
  std::erase_if(times, [now](Instant time) { return time > now || now - time > DeathBudget::kWindow; });
}

}  // namespace

std::optional<Duration> DeathBudget::Died(const AmDeath& death) {
  const bool crashed = death.kind == AmDeath::Kind::kCrashed;
  auto& times = crashed ? crashes_ : kills_;
  Forget(times, death.time);
  times.push_back(death.time);
  if (times.size() >= (crashed ? kMostCrashes : kMostKills)) return std::nullopt;
  if (!crashed || times.size() == 1) return Duration(0);
  return std::min(kLongestDelay, kFirstDelay * (1 << (times.size() - 2)));
}

void DeathBudget::Restore(const std::vector<AmDeath>& earlier) {
  for (const auto& death : earlier) (void)Died(death);
}

Status RecordDeath(const JobRecords& records, const AmDeath& death) {
  const char* kind = death.kind == AmDeath::Kind::kCrashed ? "crashed" : "killed";
  return AppendLine(DeathsFile(records), StrCat(ToMillis(death.time), " ", kind));
}

std::vector<AmDeath> ReadDeaths(const JobRecords& records) {
  std::vector<AmDeath> deaths;
  const auto content = ReadFile(DeathsFile(records));
  if (!content.ok()) return deaths;
  for (const auto& line : Split(*content, '\n')) {
    const auto words = Split(line, ' ');
    const auto time = words.size() == 2 ? ParseInt(words[0]) : std::nullopt;
    if (!time || (words[1] != "crashed" && words[1] != "killed")) continue;
    deaths.push_back({FromMillis(*time), words[1] == "crashed" ? AmDeath::Kind::kCrashed : AmDeath::Kind::kKilled});
  }
  return deaths;
}

}  // namespace tony::keeper
