// The keeper's hold on the socket of the job's page. A master that dies leaves its port to whoever binds it first, and
// a browser that asks again would bring him the page's token. So the keeper has the socket, too, accepts nothing at it,
// and gives it to each master that it starts; who connects in between waits in the kernel's queue.
#pragma once

#include <optional>

#include "runtime/base/unique_fd.h"
#include "runtime/records/job_records.h"

namespace tony::keeper {

class PageHolder {
 public:
  explicit PageHolder(const JobRecords& records) : records_(records) {}

  // For a master that is about to start. Opened now, at a new address, if there is none. Nothing: the job has no page,
  // or none can be opened, which the log says; the job does without.
  std::optional<int> SocketForMaster();
  // From a master that outlived the keeper before. Of no use where there is one.
  void Take(UniqueFd socket);
  void LetGo() { socket_.Reset(); }  // when no master is started any more

 private:
  const JobRecords records_;
  UniqueFd socket_;
};

}  // namespace tony::keeper
