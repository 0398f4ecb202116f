// The driver of a job of framework horovod, which is the command of the task of role driver:
// `tony-executor --horovod-driver [--test | COMMAND]`.
//
// Without arguments it is Horovod's rendezvous server, a store of keys and values behind HTTP, in which the workers
// find each other's addresses (horovod/runner/http/http_server.py). With COMMAND, the user's own driver runs instead
// (tony.horovod.driver.mode.debug): it writes its port and its slot plan into $DRIVER_OUTPUT_PATH, in the file
// "<port>____HOROVOD_RENDEZVOUS_SERVER____". With --test (tony.horovod.mode.test) no server runs, as in the tests of
// LinkedIn's TonY. In each case the plan is published for the workers (runtime/framework/horovod.h).
#pragma once

#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/framework/horovod.h"
#include "runtime/net/http_server.h"

namespace tony::executor {

// The values of the rendezvous server, by scope and key: PUT and GET of /SCOPE/KEY. A worker sends DELETE of
// /SCOPE/RANK when it no longer needs the scope. The last worker's request empties the scope, because a program may
// call hvd.init() again. A scope that is not in the plan is the program's own, and DELETE removes one key.
class RendezvousStore {
 public:
  // `most_bytes` limits all values together.
  explicit RendezvousStore(const std::vector<HorovodSlot>& slots, size_t most_bytes = 256 << 20);
  HttpAnswer Handle(const HttpRequest& request);

 private:
  HttpAnswer Delete(const std::string& scope, const std::string& key);

  std::map<std::string, std::map<std::string, std::string>> scopes_;
  // The number of workers in each scope of the plan.
  std::map<std::string, int> sizes_;
  std::map<std::string, std::set<std::string>> left_;
  const size_t most_bytes_;
  size_t bytes_ = 0;
};

// Returns the exit code of the driver. Blocks until SIGTERM, or until the user's driver ends.
int RunHorovodDriver(const std::vector<std::string>& arguments);

}  // namespace tony::executor
