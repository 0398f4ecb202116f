// What the system refuses a process: descriptors, processes, threads, memory. Libraries throw it; programs end with one
// line and an exit code.
#pragma once

#include <exception>
#include <string>

#include "runtime/base/result.h"

namespace tony {

// Whether a system call failed for want of descriptors or memory: of what it was asked about this says nothing.
bool IsShortage(int error);

// The limit that this error of a system call comes from, " (at most 8: ulimit -n)"; empty: of none.
std::string LimitNote(int error);

// What was thrown, as an error: kUnavailable where the system refused something, which it may grant later.
Error ThrownError(const std::exception& thrown);

// For a program's main function and for the start of a thread: nothing is thrown out of it.
template <class Function>
auto WithoutThrowing(Function function) -> decltype(function()) {
  try {
    return function();
  } catch (const std::exception& thrown) {
    return ThrownError(thrown);
  }
}

}  // namespace tony
