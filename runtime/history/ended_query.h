// Questions about jobs that have ended. Pure functions of the log's text.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/history/ended_line.h"

namespace tony {

// All that is given must hold.
struct EndedFilter {
  std::optional<FinalState> state;
  std::optional<OutcomeClass> cls;
  std::optional<std::string> name;  // a pattern as in a shell
  std::optional<std::string> user, request;
  std::optional<Instant> since, until;  // of the end
};

struct EndedFound {
  std::vector<EndedJob> jobs;  // those recorded last first
  size_t skipped = 0;          // lines that cannot be believed, of those that were looked at
  bool complete = false;       // false: there are more, beyond the limit
};
EndedFound FindEnded(std::string_view log, const EndedFilter& filter, size_t limit);

struct EndedStats {
  int64_t jobs = 0, tasks = 0, restarts = 0;
  std::map<std::string, int64_t, std::less<>> by_state, by_class;
  Duration mean{0}, longest{0};  // from submission to end
  std::string longest_job;
  size_t skipped = 0;
};
EndedStats StatsOfEnded(std::string_view log, const EndedFilter& filter);

}  // namespace tony
