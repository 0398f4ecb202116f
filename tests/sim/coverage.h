// Which rows of the transition tables were taken.
#pragma once

#include <set>
#include <string>
#include <vector>

#include "executor/task_run.h"
#include "runtime/records/journal_format.h"

namespace tony::sim {

class Coverage {
 public:
  // One event of an executor, or none of its rows. Leaving may follow upon ending within one event.
  void AddExecutor(executor::State from, const executor::Event& event, executor::State to);
  // Evolves a job of `spec` by the decisions of a whole journal.
  void AddJournal(const JobSpec& spec, std::string_view journal);
  void Merge(const Coverage& other) { taken_.insert(other.taken_.begin(), other.taken_.end()); }

  std::vector<std::string> Missing() const;  // "attempt running -> lost", ...

 private:
  std::set<std::string> taken_;
};

}  // namespace tony::sim
