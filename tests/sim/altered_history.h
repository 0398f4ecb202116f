// For tests of the checker: a right history in which one thing is made wrong.
#pragma once

#include <algorithm>
#include <functional>
#include <string>
#include <vector>

#include "runtime/base/check.h"
#include "runtime/records/decisions.h"
#include "tests/sim/history.h"
#include "tests/sim/plan.h"

namespace tony::sim {

History RightHistory(const Plan& plan);

template <class T>
std::vector<Seen>::iterator First(History& history) {
  const auto is_it = [](const Seen& seen) { return std::holds_alternative<T>(seen.event); };
  const auto found = std::ranges::find_if(history.events(), is_it);
  CHECK(found != history.events().end());
  return found;
}

template <class T>
T& FirstOf(History& history) {
  return std::get<T>(First<T>(history)->event);
}

template <class T>
T& LastOf(History& history) {
  const auto is_it = [](const Seen& seen) { return std::holds_alternative<T>(seen.event); };
  const auto found = std::find_if(history.events().rbegin(), history.events().rend(), is_it);
  CHECK(found != history.events().rend());
  return std::get<T>(found->event);
}

void InsertBefore(History& history, std::vector<Seen>::iterator place, Event event);

// Changes the decisions of each write; the file is as if they had been written so.
void RewriteJournal(History& history, const std::function<void(std::vector<Decision>&)>& change);

template <class T>
bool Is(const Decision& decision) {
  return std::holds_alternative<T>(decision.body);
}

// Changes every decision of that kind.
template <class T>
void RewriteEach(History& history, const std::function<void(T&)>& change) {
  RewriteJournal(history, [&](std::vector<Decision>& decisions) {
    for (Decision& decision : decisions) {
      if (auto* body = std::get_if<T>(&decision.body)) change(*body);
    }
  });
}

void ExpectComplaint(const Plan& plan, const History& history, const std::string& text);

}  // namespace tony::sim
