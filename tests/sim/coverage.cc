#include "tests/sim/coverage.h"

#include <algorithm>
#include <map>

#include "am/core/job.h"
#include "runtime/base/check.h"
#include "runtime/base/strings.h"

namespace tony::sim {
namespace {

// A pair of states has at most one row, except for the executor's two ways to Ended, which differ in the trigger.
template <class State>
std::string RowOf(std::string_view what, State from, State to) {
  return StrCat(what, " ", ToString(from), " -> ", ToString(to));
}

std::string ExecutorRow(executor::State from, executor::Trigger trigger, executor::State to) {
  std::string row = RowOf("executor", from, to);
  return trigger == executor::Trigger::kNotStarted ? row + " (not started)" : row;
}

using States = std::map<std::string, std::string>;

States StatesOf(const am::Job& job) {
  const JobStatus status = job.Snapshot("", {});
  States states{{"job", status.state}};
  for (const TaskStatus& task : status.tasks) {
    states["task " + ToString(task.id)] = task.state;
    if (task.attempt > 0) states["attempt " + ToString(AttemptId{task.id, task.attempt})] = task.attempt_state;
  }
  return states;
}

template <class State, class Step>
void AddRows(std::vector<std::string>& rows, std::string_view what,
             std::span<const am::Transition<State, Step>> table) {
  for (const auto& row : table) {
    // a row to itself is not visible
    if (row.from != row.to) rows.push_back(RowOf(what, row.from, row.to));
  }
}

}  // namespace

void Coverage::AddExecutor(executor::State from, const executor::Event& event, executor::State to) {
  if (from == to) return;
  if (to == executor::State::kLeft && from != executor::State::kEnded) {
    AddExecutor(from, event, executor::State::kEnded);
    from = executor::State::kEnded;
  }
  const bool not_started = std::holds_alternative<executor::ProcessNotStarted>(event);
  taken_.insert(ExecutorRow(from, not_started ? executor::Trigger::kNotStarted : executor::Trigger::kStop, to));
}

void Coverage::AddJournal(const JobSpec& spec, std::string_view journal) {
  const auto decoded = DecodeJournal(journal);
  if (!decoded.ok()) return;
  am::Job job({"simulated-job"}, spec);
  States before = StatesOf(job);
  for (const Decision& decision : decoded->decisions) {
    if (!job.Evolve(decision).ok()) return;
    const States after = StatesOf(job);
    for (const auto& [who, state] : after) {
      const std::string what = who.substr(0, who.find(' '));
      const auto known = before.find(who);
      const std::string from(known == before.end() ? ToString(am::AttemptState::kNew) : known->second);
      if (state != from) taken_.insert(StrCat(what, " ", from, " -> ", state));
    }
    before = after;
  }
}

std::vector<std::string> Coverage::Missing() const {
  std::vector<std::string> rows;
  AddRows(rows, "attempt", am::AttemptTransitions());
  AddRows(rows, "task", am::TaskTransitions());
  AddRows(rows, "job", am::JobTransitions());
  for (const auto& row : executor::Transitions()) {
    // Simulated processes die from SIGKILL. task_run_stop_test.cc tests processes that do not.
    if (row.trigger != executor::Trigger::kGiveUp) rows.push_back(ExecutorRow(row.from, row.trigger, row.to));
  }
  std::erase_if(rows, [&](const std::string& row) { return taken_.contains(row); });
  return rows;
}

}  // namespace tony::sim
