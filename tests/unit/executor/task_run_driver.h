// Drives a TaskRun through time, for tests.
#pragma once

#include <algorithm>
#include <csignal>
#include <optional>
#include <string>
#include <vector>

#include "executor/task_run.h"

namespace tony::executor {

inline constexpr Instant kDriverStart{Duration(1'000'000)};

inline SeenLease LeaseOf(int64_t epoch, int port = 7001, int64_t renewal = 1) {
  return {{epoch}, Endpoint{"am.example", port}, renewal};
}
inline int PortOf(const UseAm& use) { return std::get<Endpoint>(use.am).port; }

inline ExitStatus ExitCode(int code) { return {ExitStatus::Kind::kExited, code}; }
inline ExitStatus KilledBy(int signal) { return {ExitStatus::Kind::kSignaled, signal}; }

class TaskRunDriver {
 public:
  explicit TaskRunDriver(Timers timers = {}, double jitter = 0, int its_processes = 1, LeasePace pace = {})
      : run({.job = {"job-1"}, .attempt = {{"worker", 3}, 2}, .container = {"c-1"}, .token = "secret"},
            {"task.example", 4711}, timers, jitter, its_processes, pace),
        processes(its_processes) {
    Give(Begun{});
  }

  // Applies an event. Its actions are appended to the actions that the test has not yet taken.
  void Give(const Event& event) {
    for (auto& action : run.Apply(event, now)) {
      if (const auto* use = std::get_if<UseAm>(&action)) link = use->link;
      actions.push_back(std::move(action));
    }
  }

  // Lets time pass, with a Tick at each deadline.
  void Pass(Duration time) {
    const Instant end = now + time;
    for (auto next = run.NextDeadline(); next && *next <= end; next = run.NextDeadline()) {
      now = std::max(now, *next);
      Give(Tick{});
    }
    now = end;
  }

  // Lets time pass with an AM that answers every heartbeat.
  void PassLinked(Duration time) {
    for (const Instant end = now + time; now < end;) {
      Pass(std::min<Duration>(end - now, Duration{100}));
      if (Count<SendHeartbeat>() > 0) Give(HeartbeatAnswered{link, now});
      Forget<SendHeartbeat>();
    }
  }

  // Lets time pass while the lease record `lease` is renewed every two seconds and no AM answers at its address.
  void PassCutOff(Duration time, SeenLease lease) {
    for (const Instant end = now + time; now < end;) {
      Pass(std::min<Duration>(end - now, Duration{250}));
      lease.renewal = ToMillis(now) / 2000;
      Give(LeaseRead{lease});
      if (run.link() == Link::kRegistering) Give(ConnectionLost{link});
    }
  }

  // Lets time pass while no AM answers, and each read of the lease record is answered at its time limit. The
  // record is renewed every 5 s ("fresh"), or not any more ("stale"), or cannot be read ("nothing").
  void PassReading(Duration time, const std::string& what) {
    constexpr Duration kStep{250};
    for (const Instant end = now + time; now < end;) {
      const auto before = static_cast<std::ptrdiff_t>(actions.size());
      Pass(std::min<Duration>(end - now, kStep));
      const bool asks = std::any_of(actions.begin() + before, actions.end(),
                                    [](const Action& action) { return std::holds_alternative<ReadLease>(action); });
      if (asks && !answer_at) answer_at = now + LeasePace::ReadLimit({});
      if (run.link() == Link::kRegistering) Give(ConnectionLost{link});
      if (what == "fresh") renewal = ToMillis(now) / 5'000;
      if (!answer_at || now < *answer_at) continue;
      answer_at.reset();
      Give(what == "nothing" ? Event(LeaseUnreadable{}) : Event(LeaseRead{LeaseOf(1, 7001, renewal)}));
    }
  }

  void Register(int64_t epoch = 1) {
    Give(LeaseRead{LeaseOf(epoch, static_cast<int>(7000 + epoch))});
    Give(Registered{link, {epoch}});
  }
  void Order(Command command) { Give(CommandReceived{link, std::move(command)}); }
  void Start(int64_t number = 10) {
    Order({.number = number, .kind = Command::Kind::kStart, .generation = {1}, .cluster_spec = "{spec}"});
  }
  void Stop(Duration grace, int64_t number = 11) {
    Order({.number = number, .kind = Command::Kind::kStop, .generation = {1}, .grace = grace});
  }
  void Release(int64_t number = 12) { Order({.number = number, .kind = Command::Kind::kRelease}); }
  void Next(int attempt, int64_t number = 13) {
    Order({.number = number, .kind = Command::Kind::kNext, .generation = {1}, .attempt = attempt});
  }
  void Exit(ExitStatus exit, const std::string& stderr_tail = "") { Give(ProcessExited{exit, stderr_tail}); }
  void ExitOf(int process, ExitStatus exit) { Give(ProcessExited{exit, "", std::nullopt, process}); }
  void ExitAll(ExitStatus exit) {
    for (int i = 0; i < processes; ++i) ExitOf(i, exit);
  }

  // Runs the task from the beginning to a running process, and clears `actions`.
  void RunTask() {
    Register();
    Start();
    for (int i = 0; i < processes; ++i) Give(ProcessStarted{4242 + i, i});
    Give(HeartbeatAnswered{link, now});
    actions.clear();
  }
  // Runs the task to an end that was reported, and clears `actions`.
  void EndTask(ExitStatus exit = ExitCode(3)) {
    RunTask();
    Exit(exit);
    Give(TreeGone{});
    Give(OutcomeAcknowledged{link});
    actions.clear();
  }
  void LoseAm() { Give(ConnectionLost{link}); }

  template <class T>
  std::vector<T> All() const {
    std::vector<T> found;
    for (const auto& action : actions) {
      if (const auto* one = std::get_if<T>(&action)) found.push_back(*one);
    }
    return found;
  }
  template <class T>
  int Count() const {
    return static_cast<int>(All<T>().size());
  }
  template <class T>
  // Returns the newest T in `actions`; T{} if `actions` holds no T.
  T Last() const {
    const auto found = All<T>();
    return found.empty() ? T{} : found.back();
  }
  template <class T>
  int IndexOf() const {
    const auto found =
        std::find_if(actions.begin(), actions.end(), [](const Action& a) { return std::holds_alternative<T>(a); });
    return found == actions.end() ? -1 : static_cast<int>(found - actions.begin());
  }
  template <class T>
  void Forget() {
    std::erase_if(actions, [](const Action& action) { return std::holds_alternative<T>(action); });
  }
  std::vector<int> Signals() const {
    std::vector<int> signals;
    for (const auto& action : All<SignalTree>()) signals.push_back(action.signal);
    return signals;
  }

  TaskRun run;
  const int processes;
  Instant now = kDriverStart;
  int64_t link = 0;  // link of the newest UseAm
  std::vector<Action> actions;
  // The time when the read that is under way is answered, and the record.
  std::optional<Instant> answer_at;
  int64_t renewal = 1;
};

}  // namespace tony::executor
