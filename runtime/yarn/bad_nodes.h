// Nodes that fail containers for reasons of their own. Pure.
#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include "runtime/base/time.h"

namespace tony {

class BadNodes {
 public:
  void Failed(const std::string& host, Instant now);
  // Those that failed twice within ten minutes, for ten minutes. None, if that were more than half of all: the trouble
  // is not theirs then, and who is left could not do the work.
  std::set<std::string> ToAvoid(int all_nodes, Instant now);
  static std::string WhyAvoided(const std::string& host);  // for people

 private:
  std::map<std::string, std::vector<Instant>> failures_;  // by host, oldest first
};

}  // namespace tony
