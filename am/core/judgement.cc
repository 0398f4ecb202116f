// The policy of first causes: which of several failures is judged, when it is judged, and which other task may have
// caused it.
//
// In a collective, a task that ends makes the other tasks fail, and the AM may receive their failures first. Therefore
// two kinds of failures wait before they are judged. A failure that would end the job waits for the time `settle`,
// because another failure, which uses no restart budget, may follow. A failure that names a broken connection to
// another task waits ten times as long, because the task that broke the connection may take long to die.
#include "am/core/judgement.h"

#include <algorithm>
#include <map>
#include <string>
#include <vector>

#include "am/core/job.h"
#include "runtime/base/check.h"
#include "runtime/base/strings.h"
#include "runtime/base/time.h"
#include "runtime/framework/framework.h"

namespace tony::am {
namespace {

constexpr int kPeerPatience = 10;
// A task may end by a signal this many times within the window before the task itself is blamed.
constexpr int kFreeSignals = 2;

// Returns true if `text` contains `address` without a digit after it: "127.0.0.1:80" does not match "127.0.0.1:8080".
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

constexpr Duration kWorthTelling{1000};
constexpr size_t kNamed = 5;

// Returns the setting that limits how many tasks of the role may fail, e.g. "tony.worker.min-failed=3".
std::string LimitOf(const RoleSpec& role) {
  if (role.min_failed) return StrCat(role.Key("min-failed"), "=", *role.min_failed);
  return StrCat(role.Key("min-succeeded"), "=", role.min_succeeded);
}

RoleEnds TrackedEnds(const JobSpec& spec, const Ends& ends) {
  RoleEnds sum;
  for (const RoleSpec& role : spec.roles) {
    if (role.completion != Completion::kTracked) continue;
    const RoleEnds of_role = EndsOf(ends, role);
    sum.succeeded += of_role.succeeded;
    sum.failed += of_role.failed;
  }
  return sum;
}

bool IsDigit(char c) { return c >= '0' && c <= '9'; }

// Returns the numbers at the start of a list such as " 1, 3 and" or "[0, 2] joined".
std::vector<int> NumbersAt(std::string_view text) {
  std::vector<int> numbers;
  for (size_t at = 0; at < text.size();) {
    if (!IsDigit(text[at])) {
      if (std::string_view(" \t\n,:-[]").find(text[at]) == std::string_view::npos) break;
      if (text[at++] == ']' && !numbers.empty()) break;
      continue;
    }
    size_t end = at;
    while (end < text.size() && IsDigit(text[end])) ++end;
    constexpr size_t kMostDigits = 6;
    if (end - at <= kMostDigits) numbers.push_back(static_cast<int>(*ParseInt(text.substr(at, end - at))));
    at = end;
  }
  return numbers;
}

}  // namespace

void Results::UncountEnd(Attempt& attempt, TaskState state) {
  const std::string& role = attempt.id.task.role;
  if (state == TaskState::kDone && attempt.outcome->Succeeded()) --ends_[role].succeeded;
  if (std::exchange(attempt.tolerated, false)) {
    --ends_[role].failed;
    std::erase(tolerated_, attempt.id);
  }
  finished_.erase(role);
  if (attempt.ended) unjudged_.erase({*attempt.ended, attempt.id});
}

bool Results::Tolerate(Attempt& attempt) {
  if (unjudged_.erase({*attempt.ended, attempt.id}) == 0) return false;
  attempt.tolerated = true;
  tolerated_.push_back(attempt.id);
  ++ends_[attempt.id.task.role].failed;
  return true;
}

std::optional<DecisionBody> Job::Judge(Instant now) const {
  if (verdict_) return std::nullopt;
  if (auto over = CompletionDecision()) return over;
  if (results_.newest_end() && !SettlesAt(*results_.newest_end())) {
    if (auto judged = JudgeEndOf(FirstCauseOf(*results_.newest_end()), now)) return judged;
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

// Visits the failures that are not judged yet. If several failures blame other tasks, only the first of these is
// visited, because they all wait equally long and there may be thousands.
void Job::ForEachUnsettled(const std::function<void(const AttemptId&, std::optional<Instant>)>& visit) const {
  bool peer_seen = false;
  for (const auto& [ended, id] : results_.unjudged()) {
    const bool of_peer = tasks_.Find(id)->outcome->source == Source::kPeer;
    if (!of_peer || !peer_seen) visit(id, SettlesAt(id));
    peer_seen = peer_seen || of_peer;
  }
}

// Returns the time at which the end of the attempt may be judged; nullopt: now.
std::optional<Instant> Job::SettlesAt(const AttemptId& id) const {
  const Attempt& attempt = *tasks_.Find(id);
  if (!HasFormed(attempt) || !results_.IsUnjudged(attempt)) return std::nullopt;
  const bool alone = tasks_.Count(AttemptState::kRunning) + tasks_.Count(AttemptState::kRegistered) == 0;
  if (spec_.restart.settle.count() == 0 || alone || IsFcfs()) return std::nullopt;
  if (attempt.outcome->source == Source::kPeer) return *attempt.ended + spec_.restart.settle * kPeerPatience;
  const RoleSpec& role = *spec_.FindRole(id.task.role);
  if (ChargeOf(*attempt.outcome) != Charge::kCharged) return std::nullopt;
  if (SmallestRestart(spec_, role, /*same_address=*/true) < RestartScope::kGang) return std::nullopt;
  const EndedTask ended{id, attempt.host, &*attempt.outcome};
  const auto judged = PlanRestart(spec_, {ended, true, CanRenew(attempt)}, restarts_.past(), *attempt.ended);
  if (std::holds_alternative<RestartPlan>(judged)) return std::nullopt;
  return *attempt.ended + spec_.restart.settle;
}

// Returns the failure to judge in place of `id`. If `id` does not blame another task, this is `id` itself. Otherwise
// the first failure that does not blame another task is judged. If all failures blame other tasks, the first timed-out
// collective is judged, because a timeout explains more than the broken connections that follow it. Without such a
// timeout the first failure is judged.
AttemptId Job::FirstCauseOf(const AttemptId& id) const {
  const Attempt& attempt = *tasks_.Find(id);
  if (attempt.outcome->source != Source::kPeer || !results_.IsUnjudged(attempt)) return id;
  const auto better = std::ranges::find_if(results_.unjudged(), [this](const auto& failed) {
    return tasks_.Find(failed.second)->outcome->source != Source::kPeer;
  });
  if (better != results_.unjudged().end()) return better->second;
  const auto hung = std::ranges::find_if(results_.unjudged(), [this](const auto& failed) {
    return tasks_.Find(failed.second)->outcome->cls == OutcomeClass::kHung;
  });
  return hung == results_.unjudged().end() ? results_.unjudged().begin()->second : hung->second;
}

// Returns true if the task itself is blamed for its end by a signal of an unknown sender. A program that kills itself
// does so every time, so the third such end is blamed on the task. Lost nodes and containers that were taken away do
// not count, because their cause is known.
bool Job::IsBlamedOnTask(const Attempt& attempt) const {
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

// Returns the other tasks on the machine, which may have sent the signal, e.g. "worker:0, worker:3 on the same
// machine,". The kernel names the sender of a signal only to the process that catches the signal. All tasks of one
// machine belong to one user, so they may end each other's processes, as `ray stop` does.
std::string Job::TasksOnSameMachine(const Attempt& failed) const {
  std::vector<std::string> names;
  for (const auto& [id, task] : tasks_.all()) {
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

// Returns the tasks that a timed-out collective waited for. If the report of the timeout names no task, the running
// tracked tasks are returned, because they did not time out.
std::string Job::SilentTasks(const Attempt& failed) const {
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
    for (const auto& [id, task] : tasks_.all()) {
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

// Returns a suffix for the message of a failure that another task caused, or that has happened repeatedly.
std::string Job::ProbableCause(const Attempt& failed) const {
  if (IsBlamedOnTask(failed)) {
    const std::string others = TasksOnSameMachine(failed);
    return StrCat("; earlier attempts ended in the same way: the task's own processes",
                  others.empty() ? "" : ", or the processes of ", others, " may have sent the signal");
  }
  if (failed.outcome->source != Source::kPeer) return "";
  if (const std::string silent = SilentTasks(failed); !silent.empty())
    return StrCat("; these tasks did not take part: ", silent);
  const Attempt* silent = nullptr;
  // Among the other tasks that have succeeded, `left` becomes the one that ended last. The failed task may have lost
  // its connection to this task.
  const Attempt* left = nullptr;
  for (const auto& [id, task] : tasks_.all()) {
    const Attempt* peer = task.newest();
    if (!peer || id == failed.id.task || IsSettled(id.role) ||
        spec_.FindRole(id.role)->completion == Completion::kSidecar)
      continue;
    if (peer->endpoint && Names(*failed.outcome, *peer->endpoint))
      return StrCat("; this address belongs to ", ToString(id), " (", ToString(peer->state), ")");
    if (peer->suspect) silent = peer;
    // Times are not compared, because a peer's end may be reported later than the failure that it caused.
    const bool well = peer->outcome && peer->outcome->Succeeded();
    if (well && (!left || *left->ended < *peer->ended)) left = peer;
  }
  if (silent) return StrCat("; ", ToString(silent->id.task), " sends no heartbeats");
  if (left) return StrCat("; ", ToString(left->id.task), " had ended with exit code 0");
  return "";
}

// The functions below are the policy of completion: which failures are tolerated, and which roles are complete. They
// are members of Job, because they need the job's state.

EndedTask Job::EndedAs(const AttemptId& id) const {
  const Attempt& attempt = *tasks_.Find(id);
  return {attempt.id, attempt.host, &*attempt.outcome};
}

EarlierFailures Job::EarlierThan(const AttemptId& id) const {
  EarlierFailures earlier;
  if (results_.tolerated().empty()) return earlier;
  earlier.first = EndedAs(results_.tolerated().front());
  const auto of_role = std::ranges::find_if(results_.tolerated(),
                                            [&](const AttemptId& other) { return other.task.role == id.task.role; });
  if (of_role != results_.tolerated().end()) earlier.first_of_role = EndedAs(*of_role);
  return earlier;
}

// Returns the verdict if the task does not restart. A failure always fails the job if others wait for the task's
// values, because these tasks would wait for ever.
std::optional<Verdict> Job::VerdictOn(const EndedTask& failed) const {
  if (!AwaitedValues(spec_, failed.attempt.task).empty()) return FailedBy(failed);
  return JudgeFailure(spec_, results_.ends(), EarlierThan(failed.attempt), failed);
}

// The decision depends only on the counts of ends, because both a success and a tolerated failure may complete the job.
std::optional<DecisionBody> Job::CompletionDecision() const {
  if (state_ != JobState::kRunning) return std::nullopt;
  for (const RoleSpec& role : spec_.roles) {
    if (!HasEnough(role, EndsOf(results_.ends(), role))) continue;
    // The role has enough successes, so its failures that are not judged yet are tolerated.
    const auto unjudged = std::ranges::find_if(
        results_.unjudged(), [&](const auto& failed) { return failed.second.task.role == role.name; });
    if (unjudged != results_.unjudged().end())
      return FailureTolerated{unjudged->second, DescribeFailure(EndedAs(unjudged->second))};
  }
  if (IsComplete(spec_, results_.ends(), results_.left()))
    return JobStopping{SuccessOf(spec_, results_.ends(), EarlierThan({}).first, results_.left()), spec_.timers.grace};
  for (const RoleSpec& role : spec_.roles) {
    const RoleEnds ends = EndsOf(results_.ends(), role);
    const bool all_over = ends.succeeded + ends.failed == role.instances;
    if (!HasEnough(role, ends) || all_over || results_.IsFinished(role.name)) continue;
    if (!AwaitedValues(spec_, {role.name, 0}).empty()) continue;
    return RoleFinished{role.name, DescribeEnough(role, ends), spec_.timers.grace};
  }
  return std::nullopt;
}

double Job::Progress() const {
  int over = 0;
  for (const RoleSpec& role : spec_.roles) {
    if (role.completion != Completion::kTracked) continue;
    const RoleEnds ends = EndsOf(results_.ends(), role);
    over += HasEnough(role, ends) ? role.instances : ends.succeeded + ends.failed;
  }
  return static_cast<double>(over) / spec_.TrackedTasks();
}

// The policy of roles that run on after other roles have ended. Such roles can have a time limit, because TensorFlow's
// workers and evaluator may hang for ever once the chief has ended.

// The limit counts from the end of the other roles or, if that is later, from the newest start in this role. Therefore
// a restarted task gets its whole time again.
std::optional<Job::Outlived> Job::NextOutlived() const {
  std::optional<Outlived> next;
  if (state_ != JobState::kRunning) return next;
  for (const RoleSpec& role : spec_.roles) {
    const bool is_over = tasks_.IsOver(role) || results_.IsFinished(role.name) || results_.left().contains(role.name);
    if (role.outlives.empty() || late_roles_.IsUnopened(role.name) || is_over) continue;
    for (const OutliveLimit& rule : role.outlives) {
      if (!std::ranges::all_of(rule.roles,
                               [&](const std::string& other) { return tasks_.IsOver(*spec_.FindRole(other)); }))
        continue;
      Instant since = tasks_.LastBegin(role.name);
      for (const std::string& other : rule.roles) since = std::max(since, tasks_.LastEnd(other));
      if (!next || since + rule.limit < next->due) next = Outlived{since + rule.limit, &role, &rule};
    }
  }
  return next;
}

DecisionBody Job::EndOf(const Outlived& outlived, Instant now) const {
  const auto& [due, role, rule] = outlived;
  if (rule->ignored) return RoleDetached{role->name, rule->group};
  const std::string message =
      StrCat("role ", role->name, " continued for more than ", Seconds(rule->limit), " after ", Join(rule->roles, ", "),
             " had ended (", rule->Key(role->name), ")", HangReport(now));
  return JobStopping{{.state = FinalState::kFailed, .cls = OutcomeClass::kTimeout, .message = message},
                     spec_.timers.grace};
}

Result<Actions> Job::Apply(const RoleDetached& d, Instant) {
  if (!spec_.FindRole(d.role) || !results_.Leave(d.role)) return Misfit(StrCat("role ", d.role));
  return Actions{};
}

// The policy of hangs: when a time limit ends a job, its message names the tasks that stopped writing first.

// Returns the tasks that have been silent longest, e.g. "; no output from worker:3 for 58.1 s". In a collective that
// hangs, all tasks stop writing one after the other, and the task that causes the hang stops first. Therefore the
// report names only the tasks that have been silent for at least half as long as the first one.
std::string Job::HangReport(Instant now) const {
  std::vector<std::pair<Duration, TaskId>> silent;
  for (const auto& [id, task] : tasks_.all()) {
    const Attempt* attempt = task.newest();
    if (!attempt || attempt->state != AttemptState::kRunning || !attempt->usage || !attempt->started) continue;
    const Instant wrote = *attempt->started + attempt->usage->elapsed - attempt->usage->quiet;
    silent.emplace_back(now - wrote, id);
  }
  std::ranges::sort(silent, [](const auto& a, const auto& b) { return a.first > b.first; });
  if (silent.empty() || silent.front().first < kWorthTelling) return "";
  const Duration least = silent.front().first / 2;
  std::erase_if(silent, [&](const auto& entry) { return entry.first < least; });
  std::vector<std::string> named;
  for (size_t i = 0; i < std::min(kNamed, silent.size()); ++i)
    named.push_back(StrCat(ToString(silent[i].second), " for ", Seconds(silent[i].first)));
  const std::string more = silent.size() > kNamed ? StrCat(" and ", silent.size() - kNamed, " more") : "";
  return StrCat("; no output from ", Join(named, ", "), more);
}

Verdict FailedBy(const EndedTask& task) {
  return {.state = FinalState::kFailed,
          .cls = task.outcome->cls,
          .message = DescribeFailure(task),
          .attempt = task.attempt,
          .host = task.host,
          .exit = task.outcome->exit,
          .stderr_tail = task.outcome->stderr_tail,
          .stdout_tail = task.outcome->stdout_tail,
          .advice = task.outcome->advice};
}

Verdict JudgeEarlyEnd(const EndedTask& last) {
  if (!last.outcome->Succeeded()) return FailedBy(last);
  const Outcome too_early{
      .cls = OutcomeClass::kInfra, .exit = last.outcome->exit, .message = "the task ended before the gang had formed"};
  return FailedBy({last.attempt, last.host, &too_early});
}

std::string DescribeFailure(const EndedTask& task) {
  const Outcome& outcome = *task.outcome;
  std::string text = StrCat(ToString(task.attempt.task), " failed");
  if (!task.host.empty()) text += StrCat(" on ", task.host);
  if (const std::string exit = DescribeExit(outcome); !exit.empty()) text += StrCat(": ", exit);
  if (!outcome.message.empty()) text += StrCat(": ", outcome.message);
  return StrCat(text, " (", ToString(outcome.cls), ")");
}

RoleEnds EndsOf(const Ends& ends, const RoleSpec& role) {
  const auto found = ends.find(role.name);
  return found == ends.end() ? RoleEnds() : found->second;
}

bool HasEnough(const RoleSpec& role, const RoleEnds& ends) {
  return role.min_succeeded > 0 && ends.succeeded >= role.min_succeeded;
}

bool IsComplete(const JobSpec& spec, const Ends& ends, const LeftRoles& left) {
  return std::ranges::all_of(spec.roles, [&](const RoleSpec& role) {
    if (role.completion != Completion::kTracked || left.contains(role.name)) return true;
    const RoleEnds of_role = EndsOf(ends, role);
    return HasEnough(role, of_role) || of_role.succeeded + of_role.failed == role.instances;
  });
}

std::optional<Verdict> JudgeFailure(const JobSpec& spec, const Ends& before, const EarlierFailures& earlier,
                                    const EndedTask& last) {
  const TaskId& task = last.attempt.task;
  const RoleSpec* role = spec.FindRole(task.role);
  CHECK(role != nullptr);
  const bool tonys = spec.completion_rule == CompletionRule::kTony;
  const int of_role = EndsOf(before, *role).failed + 1;
  const bool too_many = role->FailureLimit() > 0 && of_role >= role->FailureLimit();
  if (too_many && of_role > 1) {
    Verdict verdict = FailedBy(earlier.first_of_role.value_or(last));
    verdict.message += StrCat("; ", of_role, " of ", role->instances, " tasks of role ", role->name, " have failed (",
                              LimitOf(*role), "), the last was ", ToString(task));
    return verdict;
  }
  if (too_many || (tonys && spec.IsChief(task))) {
    Verdict verdict = FailedBy(last);
    if (earlier.first) verdict.message += StrCat("; an earlier failure: ", DescribeFailure(*earlier.first));
    return verdict;
  }
  const int failed = TrackedEnds(spec, before).failed + (role->completion == Completion::kTracked ? 1 : 0);
  if (!tonys || failed < spec.TrackedTasks()) return std::nullopt;
  Verdict verdict = FailedBy(earlier.first.value_or(last));
  if (failed > 1) verdict.message += StrCat("; all ", failed, " tracked tasks have failed");
  return verdict;
}

Verdict SuccessOf(const JobSpec& spec, const Ends& ends, const std::optional<EndedTask>& first, const LeftRoles& left) {
  Verdict verdict{
      .state = FinalState::kSucceeded, .cls = OutcomeClass::kSuccess, .message = "all tracked tasks succeeded"};
  const RoleEnds tracked = TrackedEnds(spec, ends);
  const int all = spec.TrackedTasks();
  if (tracked.succeeded < all) verdict.message = StrCat(tracked.succeeded, " of ", all, " tracked tasks succeeded");
  int failed = 0;
  for (const auto& [role, of_role] : ends) failed += of_role.failed;
  if (failed > 0) verdict.message += StrCat("; ", failed, failed == 1 ? " task" : " tasks", " failed");
  if (failed > 0 && first) verdict.message += StrCat(failed == 1 ? ": " : ", the first: ", DescribeFailure(*first));
  int unneeded = all - tracked.succeeded - tracked.failed;
  std::vector<std::string> ignored;
  for (const RoleSpec& role : spec.roles) {
    const RoleEnds of_role = EndsOf(ends, role);
    const int more = role.instances - of_role.succeeded - of_role.failed;
    if (role.completion != Completion::kTracked || !left.contains(role.name) || more == 0) continue;
    unneeded -= more;
    ignored.push_back(role.name);
  }
  if (unneeded > 0) verdict.message += StrCat("; ", unneeded, unneeded == 1 ? " was" : " were", " not needed");
  if (!ignored.empty())
    verdict.message += StrCat("; the tasks of ", Join(ignored, ", "), " continued for too long and were ignored");
  return verdict;
}

std::string DescribeEnough(const RoleSpec& role, const RoleEnds& ends) {
  return StrCat(ends.succeeded, " of ", role.instances, " tasks of role ", role.name, " have succeeded (",
                role.Key("min-succeeded"), "=", role.min_succeeded, ")");
}

std::vector<int> SilentRanks(std::string_view text) {
  constexpr size_t kNear = 400;
  if (const size_t end = text.find(" failed to pass monitoredBarrier"); end != std::string_view::npos) {
    const std::string_view before = text.substr(end - std::min(end, kNear), std::min(end, kNear));
    const size_t begin = before.rfind("Rank");
    if (begin != std::string_view::npos)
      return NumbersAt(before.substr(begin + (before.substr(begin).starts_with("Ranks") ? 5 : 4)));
  }
  for (const std::string_view phrase :
       {"ranks that caused the desync are:", "waiting for ranks", "waiting on ranks", "missing ranks"}) {
    const size_t at = text.find(phrase);
    if (at != std::string_view::npos) return NumbersAt(text.substr(at + phrase.size(), kNear));
  }
  return {};
}

std::optional<TaskId> TaskOfRank(const JobSpec& spec, int rank) {
  std::map<int, std::pair<TaskId, int>> in_order;
  for (const RoleSpec& role : spec.roles) {
    for (int i = 0; role.completion == Completion::kTracked && i < role.instances; ++i)
      in_order[GlobalRank(spec, {role.name, i})] = {TaskId{role.name, i}, role.processes};
  }
  for (const auto& [place, task] : in_order) {
    if (rank < task.second) return task.first;
    rank -= task.second;
  }
  return std::nullopt;
}

}  // namespace tony::am
