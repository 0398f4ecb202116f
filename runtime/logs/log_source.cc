#include "runtime/logs/log_source.h"

namespace tony {

std::vector<std::string> LogNames(int processes) {
  std::vector<std::string> names = {"stdout", "stderr", "executor.log"};
  for (int i = 1; i < processes; ++i) {
    names.push_back(OfProcess("stdout", i));
    names.push_back(OfProcess("stderr", i));
  }
  return names;
}

}  // namespace tony
