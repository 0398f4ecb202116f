#include "runtime/history/ended_query.h"

#include <fnmatch.h>

#include "runtime/history/ended_log.h"

namespace tony {
namespace {

// The texts of the filter as they would stand in a line.
class Matcher {
 public:
  explicit Matcher(const EndedFilter& filter) : filter_(filter) {
    if (filter.user) user_ = EscapeField(*filter.user);
    if (filter.request) request_ = EscapeField(*filter.request);
    if (filter.name && filter.name->find_first_of("*?[\\") == std::string::npos) name_ = EscapeField(*filter.name);
  }

  bool Matches(const EndedLine& line) const {
    if (filter_.state && line.state != *filter_.state) return false;
    if (filter_.cls && line.cls != *filter_.cls) return false;
    if (filter_.since && line.ended < *filter_.since) return false;
    if (filter_.until && line.ended > *filter_.until) return false;
    if (user_ && line.user != *user_) return false;
    if (request_ && line.request != *request_) return false;
    if (name_) return line.name == *name_;
    return !filter_.name || fnmatch(filter_.name->c_str(), UnescapeField(line.name).c_str(), 0) == 0;
  }

 private:
  const EndedFilter& filter_;
  std::optional<std::string> user_, request_;
  std::optional<std::string> name_;  // of a pattern that is only itself
};

}  // namespace

EndedFound FindEnded(std::string_view log, const EndedFilter& filter, size_t limit) {
  const Matcher matcher(filter);
  EndedFound found;
  const EndedScan scan = ForEachEnded(log, [&](const EndedLine& line) {
    if (!matcher.Matches(line)) return true;
    if (found.jobs.size() == limit) return false;
    found.jobs.push_back(ToEndedJob(line));
    return true;
  });
  found.skipped = scan.skipped;
  found.complete = scan.complete;
  return found;
}

EndedStats StatsOfEnded(std::string_view log, const EndedFilter& filter) {
  const Matcher matcher(filter);
  EndedStats stats;
  std::map<FinalState, int64_t> states;
  std::map<OutcomeClass, int64_t> classes;
  Duration total{0};
  const EndedScan scan = ForEachEnded(log, [&](const EndedLine& line) {
    if (!matcher.Matches(line)) return true;
    ++stats.jobs;
    stats.tasks += line.tasks;
    stats.restarts += line.restarts;
    ++states[line.state];
    ++classes[line.cls];
    const Duration length = line.ended - line.submitted;
    total += length;
    if (stats.longest_job.empty() || length > stats.longest) {
      stats.longest = length;
      stats.longest_job = UnescapeField(line.job);
    }
    return true;
  });
  for (const auto& [state, count] : states) stats.by_state.emplace(ToString(state), count);
  for (const auto& [cls, count] : classes) stats.by_class.emplace(ToString(cls), count);
  if (stats.jobs > 0) stats.mean = total / stats.jobs;
  stats.skipped = scan.skipped;
  return stats;
}

}  // namespace tony
