// Records which rows of the transition tables some run has taken.
#pragma once

#include <set>
#include <string>
#include <vector>

#include "executor/task_run.h"
#include "runtime/records/journal_format.h"

namespace tony::sim {

class Coverage {
 public:
  // Adds the rows that one event of an executor took. An event may take no row; it may take two when the run ends and
  // the executor leaves within one event.
  void AddExecutor(executor::State from, const executor::Event& event, executor::State to);
  // Replays all decisions of a journal of a job of `spec` and adds the rows that they take.
  void AddJournal(const JobSpec& spec, std::string_view journal);
  void Merge(const Coverage& other) { taken_.insert(other.taken_.begin(), other.taken_.end()); }

  // Returns the rows that no run took, e.g. "attempt running -> lost".
  std::vector<std::string> Missing() const;

 private:
  std::set<std::string> taken_;
};

}  // namespace tony::sim
