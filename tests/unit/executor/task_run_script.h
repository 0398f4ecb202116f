// Scripts for a TaskRun. Each step is one row: {"events in their order", "actions and state after the step"}.
#pragma once

#include <gtest/gtest.h>

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "runtime/base/strings.h"
#include "tests/support/table_test.h"
#include "tests/unit/executor/task_run_driver.h"

namespace tony::executor {

// ---- actions as text

inline std::string SignalText(int signal) { return signal == 0 ? "0" : SignalName(signal).substr(3); }

inline std::string FromText(const Caller& caller) {
  return StrCat(" from ", ToString(caller.attempt), " generation ", caller.generation.value, " epoch ",
                caller.epoch.value, " ", caller.container.value, " ", caller.token);
}

// Returns e.g. "user_error 3, because: TEXT, stderr: TEXT, permanent, process 1, used 9."
inline std::string OutcomeText(const Outcome& outcome) {
  std::string text(ToString(outcome.cls));
  if (outcome.exit && outcome.exit->kind == ExitStatus::Kind::kExited) text += StrCat(" ", outcome.exit->value);
  if (outcome.exit && outcome.exit->kind == ExitStatus::Kind::kSignaled) text += " " + SignalText(outcome.exit->value);
  if (!outcome.message.empty()) text += ", because: " + outcome.message;
  if (!outcome.stderr_tail.empty()) text += ", stderr: " + outcome.stderr_tail;
  if (outcome.advice != Advice::kNone) text += StrCat(", ", ToString(outcome.advice));
  if (outcome.process) text += StrCat(", process ", *outcome.process);
  if (outcome.usage) text += StrCat(", used ", outcome.usage->memory_bytes);
  return text + ".";
}

inline std::string ActionText(const Action& action) {
  return std::visit(
      []<class T>(const T& it) -> std::string {
        if constexpr (std::is_same_v<T, UseAm>) return "use " + ToString(it.am);
        if constexpr (std::is_same_v<T, ReadLease>) return "read";
        if constexpr (std::is_same_v<T, WatchLease>) return "watch";
        if constexpr (std::is_same_v<T, UnwatchLease>) return "unwatch";
        if constexpr (std::is_same_v<T, BeginAttempt>) return "begin " + ToString(it.attempt);
        if constexpr (std::is_same_v<T, SignalTree>) return "signal " + SignalText(it.signal);
        if constexpr (std::is_same_v<T, WarnOfTree>) return "warn " + it.what;
        if constexpr (std::is_same_v<T, KeepOutcome>) return "keep " + OutcomeText(it.outcome);
        if constexpr (std::is_same_v<T, SendOutcome>)
          return StrCat("report ", OutcomeText(it.outcome), FromText(it.caller));
        if constexpr (std::is_same_v<T, SendAwait>) return StrCat("await ", it.since, FromText(it.caller));
        if constexpr (std::is_same_v<T, Leave>) return StrCat("leave ", it.exit_code);
        if constexpr (std::is_same_v<T, GiveNotice>)
          return StrCat("notice by ", (it.deadline - kDriverStart).count(), " ms: ", it.reason);
        if constexpr (std::is_same_v<T, StartProcesses>)
          return StrCat("start ", it.cluster_spec, " generation ", it.generation.value, " resume ", it.resume_from);
        if constexpr (std::is_same_v<T, SendRegister>)
          return StrCat("register ", ToString(it.what.phase), " pid ", it.what.pid, " at ", ToString(it.what.endpoint),
                        FromText(it.caller));
        if constexpr (std::is_same_v<T, SendHeartbeat>)
          return StrCat("heartbeat ", ToString(it.progress.phase), " pid ", it.progress.pid,
                        it.progress.usage ? StrCat(" used ", it.progress.usage->memory_bytes) : " unmeasured",
                        FromText(it.caller));
        if constexpr (std::is_same_v<T, SendValues>) {
          std::string text = "values";
          for (const auto& [name, value] : it.values) text += StrCat(" ", name, "=", value);
          return text + FromText(it.caller);
        }
      },
      action);
}

// ---- events

struct ScriptWords {
  std::vector<std::string> words;  // name and arguments of an event

  std::string Text(size_t i, const std::string& usual = "") const { return i < words.size() ? words[i] : usual; }
  int64_t Number(size_t i, int64_t usual = 0) const { return i < words.size() ? std::stoll(words[i]) : usual; }
  int Int(size_t i, int usual = 0) const { return static_cast<int>(Number(i, usual)); }
  Duration Time(size_t i) const {  // "5s", "250ms", "30min"
    const std::string unit = Text(i).substr(Text(i).find_first_not_of("0123456789"));
    return Duration(Number(i) * (unit == "ms" ? 1 : unit == "s" ? 1000 : 60'000));
  }
  ExitStatus Exit(size_t i, const std::string& usual = "") const {  // "3", "TERM"
    const std::string text = Text(i, usual);
    return isdigit(text.at(0)) ? ExitCode(std::stoi(text)) : KilledBy(*SignalFromString(text));
  }
  std::string Rest(size_t from) const {
    std::string text;
    for (size_t i = from; i < words.size(); ++i) text += (i == from ? "" : " ") + words[i];
    return text;
  }
};

// Applies an event. Events in capitals are the AM's commands, and SIGTERM, the signal to the executor itself.
inline void Happen(TaskRunDriver& driver, const ScriptWords& words) {
  using Kind = Command::Kind;
  static const Outcome kNoStart = {OutcomeClass::kInfra, std::nullopt, "no such program", ""};
  static const std::map<std::string, std::function<void(TaskRunDriver&, const ScriptWords&)>> events = {
      {"running", [](auto& task, auto&) { task.RunTask(); }},
      {"ended", [](auto& task, auto& its) { task.EndTask(its.Exit(1, "3")); }},
      {"register", [](auto& task, auto& its) { task.Register(its.Number(1, 1)); }},
      {"START", [](auto& task, auto& its) { task.Start(its.Number(1, 10)); }},
      {"STOP", [](auto& task, auto& its) { task.Stop(its.Time(1), its.Number(2, 11)); }},
      {"PREEMPT",
       [](auto& task, auto& its) {
         task.Order({.number = its.Number(2, 11), .kind = Kind::kStop, .grace = its.Time(1), .reason = "preempted"});
       }},
      {"RESUME",
       [](auto& task, auto& its) {
         task.Order({.number = its.Number(1), .kind = Kind::kStart, .generation = {2}, .resume_from = "/ckpt/step-5"});
       }},
      {"RELEASE", [](auto& task, auto& its) { task.Release(its.Number(1, 12)); }},
      {"NEXT", [](auto& task, auto& its) { task.Next(its.Int(1), its.Number(2, 13)); }},
      {"NONE", [](auto& task, auto&) { task.Order({.number = 0, .kind = Kind::kNone}); }},
      {"SIGTERM", [](auto& task, auto&) { task.Give(TermSignal{}); }},
      {"started",
       [](auto& task, auto& its) {
         task.Give(ProcessStarted{its.Number(1, 4242), its.Int(2)});
       }},
      {"unstarted",
       [](auto& task, auto& its) {
         task.Give(ProcessNotStarted{kNoStart, its.Int(1)});
       }},
      {"exit", [](auto& task, auto& its) { task.Exit(its.Exit(1), its.Rest(2)); }},
      {"judged",
       [](auto& task, auto& its) {
         task.Give(ProcessExited{ExitCode(3), "tail",
                                 Outcome{.cls = OutcomeClass::kOom,
                                         .exit = ExitCode(3),
                                         .message = "judged",
                                         .stderr_tail = "tail",
                                         .advice = Advice::kPermanent},
                                 its.Int(1)});
       }},
      {"exit-of", [](auto& task, auto& its) { task.ExitOf(its.Int(1), its.Exit(2)); }},
      {"exit-all", [](auto& task, auto& its) { task.ExitAll(its.Exit(1)); }},
      {"gone", [](auto& task, auto&) { task.Give(TreeGone{}); }},
      {"lives",
       [](auto& task, auto& its) {
         task.Give(TreeSurvived{"2 processes, process 4711 for one", its.Text(1) == "in-kernel"});
       }},
      {"answer",
       [](auto& task, auto& its) {
         task.Give(HeartbeatAnswered{task.link, its.Text(1) == "now" ? task.now : Instant{}});
       }},
      {"acked", [](auto& task, auto&) { task.Give(OutcomeAcknowledged{task.link}); }},
      {"lose", [](auto& task, auto&) { task.LoseAm(); }},
      {"registered",
       [](auto& task, auto& its) {
         task.Give(Registered{task.link, {its.Number(1, 1)}});
       }},
      {"refuse",
       [](auto& task, auto& its) {
         for (int reason = 0; reason <= static_cast<int>(RefusalReason::kNotLeader); ++reason)
           if (ToString(static_cast<RefusalReason>(reason)) == its.Rest(1))
             task.Give(Refused{task.link, static_cast<RefusalReason>(reason)});
       }},
      {"lease", [](auto& task, auto& its) { task.Give(LeaseRead{LeaseOf(its.Number(1), its.Int(2, 7001))}); }},
      {"no-lease", [](auto& task, auto&) { task.Give(LeaseRead{}); }},
      {"unreadable", [](auto& task, auto&) { task.Give(LeaseUnreadable{}); }},
      {"folder-gone", [](auto& task, auto&) { task.Give(FolderGone{}); }},
      {"unbegun", [](auto& task, auto&) { task.Give(AttemptNotBegun{}); }},
      {"used", [](auto& task, auto& its) { task.Give(UsageMeasured{{.samples = 1, .memory_bytes = its.Number(1)}}); }},
      {"published",
       [](auto& task, auto& its) {
         PublishedValues values;
         for (size_t i = 1; i < its.words.size(); ++i)
           values[Split(its.words[i], '=')[0]] = Split(its.words[i], '=')[1];
         task.Give(ValuesSeen{values});
       }},
      {"values-acked", [](auto& task, auto&) { task.Give(ValuesAcknowledged{task.link}); }},
      {"values-acked-before", [](auto& task, auto&) { task.Give(ValuesAcknowledged{task.link - 1}); }},
      {"answers-from-before",
       [](auto& task, auto&) {
         const int64_t old = task.link - 1;
         for (const Event& event :
              {Event(CommandReceived{old, {.number = 99, .kind = Kind::kStop}}),
               Event(CommandReceived{old, {.number = 99, .kind = Kind::kRelease}}), Event(OutcomeAcknowledged{old}),
               Event(Registered{old, {1}}), Event(HeartbeatAnswered{old}),
               Event(Refused{old, RefusalReason::kStaleAttempt}), Event(ConnectionLost{old})})
           task.Give(event);
       }},
      {"tick", [](auto& task, auto&) { task.Give(Tick{}); }},
      {"pass", [](auto& task, auto& its) { task.Pass(its.Time(1)); }},
      {"linked", [](auto& task, auto& its) { task.PassLinked(its.Time(1)); }},
      // The store is far away. Its record is renewed, or is not, or the store does not answer; the link is cut.
      {"reads", [](auto& task, auto& its) { task.PassReading(its.Time(2), its.Text(1)); }},
      {"cut-off", [](auto& task, auto& its) { task.PassCutOff(its.Time(1), LeaseOf(its.Number(2, 1))); }},
      {"standstill", [](auto& task, auto& its) { task.now += its.Time(1); }},
  };
  const auto event = events.find(words.Text(0));
  ASSERT_NE(event, events.end()) << words.Text(0) << " never happens";
  event->second(driver, words);
}

// ---- expectations of a step

// "state Running", "link Linked", "phase waiting", "outcome killed" and "no outcome" name the state. "never" means no
// deadline. "signals TERM 0" means exactly these signals in this order; "only KILL" means at least three signals,
// all of them KILL. "no report", "2 signal" and "nothing" count actions. Any other text is an action after the actions
// that were named before it: the action begins with the text and contains each part after an " & ". Only the actions of
// this step count.
inline void Expect(const TaskRunDriver& task, const std::vector<std::string>& actions, size_t& from,
                   const std::string& expected) {
  SCOPED_TRACE(StrCat(expected, " in: ", actions.empty() ? "nothing" : Join(actions, "; ")));
  const ScriptWords words{Split(expected, ' ')};
  const auto count = [&](const std::string& kind) {
    return std::ranges::count_if(actions, [&](const std::string& action) { return Split(action, ' ')[0] == kind; });
  };
  if (expected == "nothing") {
    EXPECT_TRUE(actions.empty());
  } else if (expected == "never") {
    EXPECT_FALSE(task.run.NextDeadline());
  } else if (expected == "no outcome") {
    EXPECT_FALSE(task.run.outcome());
  } else if (words.Text(0) == "outcome") {
    ASSERT_TRUE(task.run.outcome());
    EXPECT_TRUE(OutcomeText(*task.run.outcome()).starts_with(words.Rest(1))) << OutcomeText(*task.run.outcome());
  } else if (words.Text(0) == "state") {
    EXPECT_EQ(ToString(task.run.state()), words.Rest(1));
  } else if (words.Text(0) == "link") {
    EXPECT_EQ(ToString(task.run.link()), words.Rest(1));
  } else if (words.Text(0) == "phase") {
    EXPECT_EQ(ToString(task.run.phase()), words.Rest(1));
  } else if (words.Text(0) == "signals" || words.Text(0) == "only") {
    std::string signals;
    for (const std::string& action : actions)
      if (action.starts_with("signal ")) signals += action.substr(6);
    if (words.Text(0) == "only") {
      EXPECT_GT(count("signal"), 2);
      EXPECT_EQ(Replaced(signals, " " + words.Text(1), ""), "");
    } else {
      EXPECT_EQ(signals, " " + words.Rest(1));
    }
  } else if (words.Text(0) == "no") {
    EXPECT_EQ(count(words.Text(1)), 0);
  } else if (isdigit(expected.at(0))) {
    EXPECT_EQ(count(words.Text(1)), words.Number(0));
  } else {
    const std::string begin = expected.substr(0, expected.find(" & "));
    for (; from < actions.size(); ++from) {
      bool fits = actions[from].starts_with(begin);
      for (size_t at = expected.find(" & "); fits && at != std::string::npos; at = expected.find(" & ", at + 3))
        fits = actions[from].find(expected.substr(at + 3, expected.find(" & ", at + 3) - at - 3)) != std::string::npos;
      if (fits) return;
    }
    ADD_FAILURE() << "not there, or before what was named before it";
  }
}

inline std::vector<std::string> ScriptParts(const std::string& text, const std::string& separator) {
  return PartsOf(Replaced(text, separator, " | "));
}

// Runs all alternatives of a row for a task with these timers, this number of processes, and this pace of reads.
inline auto Script(Timers timers = {}, int processes = 1, LeasePace pace = {}) {
  return [=](const TestRow& row) {
    size_t alternatives = 1;
    for (const RowCase& step : row.cases) alternatives = std::max(alternatives, Alternatives(step.given).size());
    for (size_t i = 0; i < alternatives; ++i) {
      TaskRunDriver task(timers, 0, processes, pace);
      for (const RowCase& step : row.cases) {
        const auto given = Alternatives(step.given), then = Alternatives(step.expected);
        const std::string& line = given[std::min(i, given.size() - 1)];
        const std::string& expectations = then[std::min(i, then.size() - 1)];
        SCOPED_TRACE(StrCat(row.name, ": ", line, " -> ", expectations));
        if (&step != &row.cases.front()) task.actions.clear();
        for (const std::string& event : ScriptParts(line, ", ")) Happen(task, {Split(event, ' ')});
        std::vector<std::string> actions;
        for (const Action& action : task.actions) actions.push_back(ActionText(action));
        size_t from = 0;
        for (const std::string& expected : ScriptParts(expectations, "; ")) Expect(task, actions, from, expected);
      }
    }
  };
}

}  // namespace tony::executor
