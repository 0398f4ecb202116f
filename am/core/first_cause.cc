// The policy of first causes: which of several failures is judged, when, and what else may have brought it about.
//
// In a collective the end of one task makes the others fail, and they may be heard of first. So two kinds of failures
// wait: one that would end the job waits `settle` for one that is nobody's charge; one that says itself that a
// connection to another task broke waits ten times as long for any other, as whoever broke it may take its time to die.
#include <algorithm>

#include "am/core/job.h"
#include "am/core/silent_ranks.h"
#include "runtime/base/strings.h"

namespace tony::am {
namespace {

constexpr int kPeerPatience = 10;
// So often a signal may end a task within the window before it is taken for the task's own.
constexpr int kFreeSignals = 2;

// "127.0.0.1:80" does not name 127.0.0.1:8080.
bool Names(const std::string& text, const std::string& address) {
  for (size_t at = text.find(address); at != std::string::npos; at = text.find(address, at + 1)) {
    const char next = at + address.size() < text.size() ? text[at + address.size()] : ' ';
    if (next < '0' || next > '9') return true;
  }
  return false;
}

bool Names(const Outcome& outcome, const Endpoint& endpoint) {
  const std::string port = StrCat(":", endpoint.port);
  for (const std::string& address : {StrCat(endpoint.host, port), StrCat("[", endpoint.host, "]", port)})
    if (Names(outcome.message, address) || Names(outcome.stderr_tail, address)) return true;
  return false;
}

}  // namespace

std::optional<DecisionBody> Job::Judge(Instant now) const {
  if (verdict_) return std::nullopt;
  if (auto over = WhatIsOver()) return over;
  if (last_ended_ && !SettlesAt(*last_ended_)) {
    if (auto judged = JudgeEndOf(FirstCauseOf(*last_ended_), now)) return judged;
  }
  std::optional<AttemptId> due;
  ForEachUnsettled([&](const AttemptId& id, std::optional<Instant> at) {
    if (!due && (!at || now >= *at)) due = id;
  });
  return due ? JudgeEndOf(FirstCauseOf(*due), now) : std::nullopt;
}

std::optional<Instant> Job::NextJudgement() const {
  std::optional<Instant> next;
  if (verdict_) return next;
  ForEachUnsettled([&](const AttemptId&, std::optional<Instant> at) {
    if (at) next = next ? std::min(*next, *at) : at;
  });
  return next;
}

// Of the failures that wait for another task's, only the first: all wait equally long, and there may be thousands.
void Job::ForEachUnsettled(const std::function<void(const AttemptId&, std::optional<Instant>)>& visit) const {
  bool peer_seen = false;
  for (const auto& [ended, id] : failed_) {
    const bool of_peer = Find(id)->outcome->source == Source::kPeer;
    if (!of_peer || !peer_seen) visit(id, SettlesAt(id));
    peer_seen = peer_seen || of_peer;
  }
}

// Nothing: judge it now.
std::optional<Instant> Job::SettlesAt(const AttemptId& id) const {
  const Attempt& attempt = *Find(id);
  if (!HasFormed(attempt) || !failed_.contains({*attempt.ended, id})) return std::nullopt;
  const bool alone = Count(AttemptState::kRunning) + Count(AttemptState::kRegistered) == 0;
  if (spec_.restart.settle.count() == 0 || alone || IsFcfs()) return std::nullopt;
  if (attempt.outcome->source == Source::kPeer) return *attempt.ended + spec_.restart.settle * kPeerPatience;
  const RoleSpec& role = *spec_.FindRole(id.task.role);
  if (ChargeOf(*attempt.outcome) != Charge::kCharged) return std::nullopt;
  if (SmallestRestart(spec_, role, /*same_address=*/true) < RestartScope::kGang) return std::nullopt;
  const EndedTask ended{id, attempt.host, &*attempt.outcome};
  const auto judged = PlanRestart(spec_, {ended, true, CanRenew(attempt)}, past_restarts_, *attempt.ended);
  if (std::holds_alternative<RestartPlan>(judged)) return std::nullopt;
  return *attempt.ended + spec_.restart.settle;
}

// A failure that another task's end has caused gives way to the first that was not, and else to the first of its kind:
// a collective that timed out says more than the connections that broke when its process had ended.
AttemptId Job::FirstCauseOf(const AttemptId& id) const {
  const Attempt& attempt = *Find(id);
  if (attempt.outcome->source != Source::kPeer || !failed_.contains({*attempt.ended, id})) return id;
  const auto better = std::ranges::find_if(
      failed_, [this](const auto& failed) { return Find(failed.second)->outcome->source != Source::kPeer; });
  if (better != failed_.end()) return better->second;
  const auto hung = std::ranges::find_if(
      failed_, [this](const auto& failed) { return Find(failed.second)->outcome->cls == OutcomeClass::kHung; });
  return hung == failed_.end() ? failed_.begin()->second : hung->second;
}

// Nobody can see who sent a signal. A program that ends itself does so every time, so the third end of that kind is
// taken for its own. With a lost node, or a container that was taken away, the sender is known.
bool Job::EndsItself(const Attempt& attempt) const {
  const auto by_unknown = [](const Outcome& outcome) {
    return outcome.source == Source::kSignal && outcome.cls == OutcomeClass::kInfra;
  };
  if (!by_unknown(*attempt.outcome) || attempt.outcome->advice != Advice::kNone) return false;
  const Duration window = spec_.restart.lost.window;
  const auto before = std::ranges::count_if(tasks_.at(attempt.id.task).attempts, [&](const Attempt& earlier) {
    const bool ended = earlier.id.number < attempt.id.number && earlier.outcome;
    if (!ended || !by_unknown(*earlier.outcome)) return false;
    return window.count() == 0 || *attempt.ended - *earlier.ended < window;
  });
  return before >= kFreeSignals;
}

// Who sent a signal, the kernel tells nobody but the process that catches it. All tasks of one machine are of one user,
// and may end each other's processes, as `ray stop` does: "worker:0, worker:3 on the same machine,".
std::string Job::TasksBeside(const Attempt& failed) const {
  constexpr size_t kNamed = 5;
  std::vector<std::string> names;
  for (const auto& [id, task] : tasks_) {
    const Attempt* other = task.newest();
    if (!other || id == failed.id.task || other->host != failed.host || !other->started || IsSettled(id.role)) continue;
    if (names.size() == kNamed) {
      names.emplace_back("others");
      break;
    }
    names.push_back(ToString(id));
  }
  return names.empty() ? "" : StrCat(Join(names, ", "), " on the same machine,");
}

// The tasks for which a collective waited in vain: those that its report names, or else those that did not time out.
std::string Job::SilentTasks(const Attempt& failed) const {
  constexpr size_t kNamed = 5;
  std::vector<std::string> names;
  const auto add = [&](const TaskId& id) {
    const Attempt* task = tasks_.at(id).newest();
    if (id == failed.id.task || !task) return;
    const std::string name = StrCat(ToString(id), " (", ToString(task->state), ")");
    if (std::ranges::find(names, name) == names.end()) names.push_back(name);
  };
  for (const int rank : SilentRanks(StrCat(failed.outcome->message, "\n", failed.outcome->stderr_tail))) {
    if (const auto id = TaskOfRank(spec_, rank)) add(*id);
  }
  if (names.empty() && failed.outcome->cls == OutcomeClass::kHung) {
    for (const auto& [id, task] : tasks_) {
      const Attempt* newest = task.newest();
      const bool is_member = spec_.FindRole(id.role)->completion == Completion::kTracked && !IsSettled(id.role);
      if (is_member && newest && newest->state == AttemptState::kRunning) add(id);
    }
  }
  if (names.size() > kNamed) {
    names.resize(kNamed);
    names.emplace_back("others");
  }
  return Join(names, ", ");
}

// For the message of a failure that is known to be no first cause, or that has come again.
std::string Job::ProbableCause(const Attempt& failed) const {
  if (EndsItself(failed)) {
    const std::string others = TasksBeside(failed);
    return StrCat("; attempts before ended so, too: its own processes", others.empty() ? "" : ", or those of ", others,
                  " may have sent the signal");
  }
  if (failed.outcome->source != Source::kPeer) return "";
  if (const std::string silent = SilentTasks(failed); !silent.empty()) return StrCat("; did not take part: ", silent);
  const Attempt* silent = nullptr;
  const Attempt* left = nullptr;  // the last one that has ended well
  for (const auto& [id, task] : tasks_) {
    const Attempt* peer = task.newest();
    if (!peer || id == failed.id.task || IsSettled(id.role) ||
        spec_.FindRole(id.role)->completion == Completion::kSidecar)
      continue;
    if (peer->endpoint && Names(*failed.outcome, *peer->endpoint))
      return StrCat("; the address is that of ", ToString(id), " (", ToString(peer->state), ")");
    if (peer->suspect) silent = peer;
    // Its report may have come after that of the failure which its end caused.
    const bool well = peer->outcome && peer->outcome->Succeeded();
    if (well && (!left || *left->ended < *peer->ended)) left = peer;
  }
  if (silent) return StrCat("; ", ToString(silent->id.task), " sends no heartbeats");
  if (left) return StrCat("; ", ToString(left->id.task), " had ended with exit code 0");
  return "";
}

}  // namespace tony::am
