// Checks against a real YARN, as plain functions that wait for one answer after the other.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "runtime/base/endpoint.h"
#include "runtime/base/event_loop.h"
#include "runtime/base/result.h"
#include "runtime/base/strings.h"
#include "runtime/hadoop/credentials.h"
#include "runtime/net/host_resolver.h"
#include "tests/support/run_until.h"

namespace tony::hadoop {

inline constexpr Duration kLimit{120'000};  // far above any measured time

using Why = std::string;  // why a check failed; empty: passed

#define MUST(condition)                                                           \
  do {                                                                            \
    if (!(condition)) return ::tony::StrCat("line ", __LINE__, ": ", #condition); \
  } while (false)
#define MUST_BE_OK(result)                                                                        \
  do {                                                                                            \
    if (!(result).ok()) return ::tony::StrCat("line ", __LINE__, ": ", (result).error().message); \
  } while (false)

class Bed {
 public:
  // Returns the answer to the request that `start` makes; nullopt if none arrives in time.
  template <class T, class Start>
  std::optional<T> Await(Start start) {
    auto answer = std::make_shared<std::optional<T>>();
    start([answer](T value) { *answer = std::move(value); });
    RunUntil(
        loop, [answer] { return answer->has_value(); }, kLimit);
    return *answer;
  }
  // Checks `fits` every 200 ms. Returns true as soon as it is true, and false after the limit.
  bool Until(const std::function<bool()>& fits) {
    for (const Instant end = loop.Now() + kLimit; loop.Now() < end;) {
      if (fits()) return true;
      Pause(Duration(200));
    }
    return false;
  }
  void Pause(Duration length) {
    const Instant end = loop.Now() + length;
    RunUntil(loop, [&] { return loop.Now() >= end; });
  }

  EventLoop loop;
  HostResolver names{loop};
};

// Run in a container: the checks of a master on the session alone, and on the scheduler. They return the exit code.
int RunMaster();
int RunSchedulerMaster();
// The settings that the client has left in the master's environment.
struct MasterPlace {
  Endpoint client, scheduler;  // addresses of the ResourceManager
};
std::optional<MasterPlace> MasterPlaceHere();
Result<Credentials> CredentialsHere();
std::optional<Token> MasterTokenIn(const Credentials& credentials);
std::string CheckUser();  // the user that the cluster sees
// Prints "ok NAME" or "FAILED NAME: why" for each check. `restart` is a shell line that kills the ResourceManager and
// starts it again; if it is empty, the ResourceManager is not restarted.
int RunClient(const std::string& configuration, const std::string& restart, const std::string& program);

}  // namespace tony::hadoop
