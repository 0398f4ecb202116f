#include "runtime/base/check.h"

#include <cstdio>
#include <cstdlib>
#include <utility>

namespace tony {
namespace {

std::function<void(const std::string& failure)>& Handler() {
  static auto& handler = *new std::function<void(const std::string& failure)>;
  return handler;
}

}  // namespace

void OnFailedCheck(std::function<void(const std::string& failure)> handler) { Handler() = std::move(handler); }

void CheckFailed(const char* condition, const char* file, int line) {
  // Removes the handler first, because the handler itself may fail a CHECK.
  if (const auto handler = std::exchange(Handler(), nullptr))
    handler(std::string("check failed: ") + condition + " (" + file + ":" + std::to_string(line) + ")");
  std::fprintf(stderr, "%s:%d: check failed: %s\n", file, line, condition);
  std::abort();
}

}  // namespace tony
