#include "runtime/records/history.h"

#include <map>
#include <utility>

#include "runtime/base/result.h"

namespace tony {
namespace {

class HistoryReader {
 public:
  explicit HistoryReader(Instant from) : since_(from) {}

  void Read(const Decision& decision) {
    std::visit([&](const auto& body) { On(body, decision.time); }, decision.body);
  }

  JobHistory Finish(Instant until) && {
    Spend(until);
    for (auto& [id, attempt] : attempts_) history_.attempts.push_back(std::move(attempt));
    return std::move(history_);
  }

 private:
  void On(const EpochBegan& d, Instant) { history_.epoch = d.epoch; }
  void On(const ContainersRequested& d, Instant) {
    for (const AttemptId& id : d.attempts) Of(id);
  }
  void On(const ContainerAssigned& d, Instant) {
    Of(d.attempt).host = d.host;
    hosts_[d.container] = d.host;
  }
  void On(const GenerationFormed& d, Instant time) {
    history_.generation = d.generation;
    Enter(&TimeLedger::running, time);
  }
  void On(const AttemptRan& d, Instant time) { Of(d.attempt).started = time; }
  void On(const AttemptEnded& d, Instant time) {
    Of(d.attempt).ended = time;
    Of(d.attempt).outcome = d.outcome;
  }
  void On(const RestartDecided& d, Instant time) {
    history_.restarts.push_back({d, time, std::nullopt});
    if (d.scope == RestartScope::kGang || d.scope == RestartScope::kJob) Enter(&TimeLedger::restarting, time);
  }
  void On(const RestartBegan& d, Instant time) {
    for (RestartHistory& restart : history_.restarts) {
      if (restart.decided.number == d.number) restart.began = time;
    }
    for (const RenewedAttempt& renewed : d.renewed) {
      Of(renewed.attempt).host = hosts_[renewed.container];
    }
    for (const AttemptId& id : d.requested) Of(id);
  }
  void On(const JobStopping& d, Instant time) {
    history_.verdict = d.verdict;
    Enter(&TimeLedger::stopping, time);
  }
  void On(const JobEnded&, Instant time) {
    Spend(time);
    history_.ended = time;
  }
  template <class Other>
  void On(const Other&, Instant) {}  // tells nothing that is kept here

  AttemptHistory& Of(const AttemptId& id) {
    AttemptHistory& attempt = attempts_[id];
    attempt.id = id;
    return attempt;
  }
  void Enter(Duration TimeLedger::*next, Instant time) {
    Spend(time);
    phase_ = next;
  }
  void Spend(Instant time) {
    if (history_.ended) return;
    history_.time.*phase_ += time - since_;
    since_ = time;
  }

  JobHistory history_;
  std::map<AttemptId, AttemptHistory> attempts_;
  std::map<ContainerId, std::string> hosts_;
  Duration TimeLedger::*phase_ = &TimeLedger::waiting;
  Instant since_;
};

}  // namespace

JobHistory HistoryOf(const std::vector<Decision>& decisions, Instant from, Instant until) {
  HistoryReader reader(from);
  for (const Decision& decision : decisions) reader.Read(decision);
  return std::move(reader).Finish(until);
}

}  // namespace tony
