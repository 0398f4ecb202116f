#include "executor/states.h"

#include <array>

namespace tony::executor {
namespace {

constexpr std::array kTransitions = {
    Transition{State::kWaiting, Trigger::kStart, State::kStarting},
    Transition{State::kWaiting, Trigger::kStop, State::kEnded},
    Transition{State::kStarting, Trigger::kStarted, State::kRunning},
    Transition{State::kStarting, Trigger::kNotStarted, State::kEnded},
    Transition{State::kStarting, Trigger::kFailed, State::kStopping},
    Transition{State::kStarting, Trigger::kStop, State::kStopping},
    Transition{State::kRunning, Trigger::kExited, State::kSweeping},
    Transition{State::kRunning, Trigger::kFailed, State::kStopping},
    Transition{State::kRunning, Trigger::kStop, State::kStopping},
    Transition{State::kSweeping, Trigger::kTreeGone, State::kEnded},
    Transition{State::kSweeping, Trigger::kGiveUp, State::kLeft},
    Transition{State::kStopping, Trigger::kNotStarted, State::kEnded},
    Transition{State::kStopping, Trigger::kTreeGone, State::kEnded},
    Transition{State::kStopping, Trigger::kGraceOver, State::kKilling},
    Transition{State::kKilling, Trigger::kNotStarted, State::kEnded},
    Transition{State::kKilling, Trigger::kTreeGone, State::kEnded},
    Transition{State::kKilling, Trigger::kGiveUp, State::kLeft},
    Transition{State::kEnded, Trigger::kNext, State::kWaiting},
    Transition{State::kEnded, Trigger::kLeave, State::kLeft},
};

}  // namespace

std::span<const Transition> Transitions() { return kTransitions; }

std::optional<State> Next(State from, Trigger trigger) {
  for (const auto& row : kTransitions) {
    if (row.from == from && row.trigger == trigger) return row.to;
  }
  return std::nullopt;
}

std::string_view ToString(State state) {
  constexpr std::string_view kNames[] = {"Waiting",  "Starting", "Running", "Sweeping",
                                         "Stopping", "Killing",  "Ended",   "Left"};
  return kNames[static_cast<size_t>(state)];
}

std::string_view ToString(Trigger trigger) {
  constexpr std::string_view kNames[] = {"start",      "started",   "not started", "exited", "failed", "stop",
                                         "grace over", "tree gone", "give up",     "next",   "leave"};
  return kNames[static_cast<size_t>(trigger)];
}

std::string_view ToString(Link link) {
  constexpr std::string_view kNames[] = {"Searching", "Registering", "Linked", "Closed"};
  return kNames[static_cast<size_t>(link)];
}

}  // namespace tony::executor
