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
  switch (state) {
    case State::kWaiting:
      return "Waiting";
    case State::kStarting:
      return "Starting";
    case State::kRunning:
      return "Running";
    case State::kSweeping:
      return "Sweeping";
    case State::kStopping:
      return "Stopping";
    case State::kKilling:
      return "Killing";
    case State::kEnded:
      return "Ended";
    case State::kLeft:
      return "Left";
  }
  return "";
}

std::string_view ToString(Trigger trigger) {
  switch (trigger) {
    case Trigger::kStart:
      return "start";
    case Trigger::kStarted:
      return "started";
    case Trigger::kNotStarted:
      return "not started";
    case Trigger::kExited:
      return "exited";
    case Trigger::kFailed:
      return "failed";
    case Trigger::kStop:
      return "stop";
    case Trigger::kGraceOver:
      return "grace over";
    case Trigger::kTreeGone:
      return "tree gone";
    case Trigger::kGiveUp:
      return "give up";
    case Trigger::kNext:
      return "next";
    case Trigger::kLeave:
      return "leave";
  }
  return "";
}

std::string_view ToString(Link link) {
  switch (link) {
    case Link::kSearching:
      return "Searching";
    case Link::kRegistering:
      return "Registering";
    case Link::kLinked:
      return "Linked";
    case Link::kClosed:
      return "Closed";
  }
  return "";
}

}  // namespace tony::executor
