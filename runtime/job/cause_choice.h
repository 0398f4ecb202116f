// The choice of the one cause, of those that a program states, which is why it ended.
#pragma once

#include <string>

#include "runtime/job/failure_rules.h"

namespace tony {

struct FirstCause {
  // The words of the program; may be empty.
  std::string line;
  // A second cause, or how the first came about; may be empty.
  std::string remark;
  bool on_stdout = false;
  // Null: the program states no cause, and `rest` has to tell.
  const FailureRule* rule = nullptr;
  // The whole of it for a person, if it stands before the last lines of stderr.
  std::string before;
  // The evidence without what was ignored in the last lines.
  Evidence rest;

  // "ValueError: bad (caused by KeyError: 7)", one clause.
  std::string Quoted() const;
};

FirstCause FindFirstCause(const Evidence& evidence);

}  // namespace tony
