// An executor's calls to the AM. Seam: ThriftAmClient, and the executor tests' fake.
//
// Loop thread only. One connection, calls side by side, answers matched by sequence id, so a parked Await blocks
// nothing. Every callback is called exactly once unless the client is destroyed first, never from inside the call.
#pragma once

#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <variant>

#include "runtime/base/address.h"
#include "runtime/base/event_loop.h"
#include "runtime/job/executor_protocol.h"
#include "runtime/job/outcome.h"

namespace tony {

struct Disconnected {
  std::string reason;
  bool crowded = false;  // the AM's queue was full all the time: it is there, and others were before us
};
struct Acknowledged {};

template <class T>
using Answer = std::variant<T, Refusal, Disconnected>;
template <class T>
using OnAnswer = std::function<void(Answer<T>)>;

class AmClient {
 public:
  virtual ~AmClient() = default;
  // Drops the connection there is (its open calls end as Disconnected) and uses `am` from now on. The first call
  // connects. After a Disconnected answer the next call connects anew; nothing is retried here.
  virtual void Use(const Address& am) = 0;
  virtual void Register(const Caller& caller, const Registration& what, OnAnswer<Epoch> done) = 0;
  virtual void Await(const Caller& caller, int64_t since, OnAnswer<Command> done) = 0;
  virtual void Heartbeat(const Caller& caller, const Progress& progress, OnAnswer<Acknowledged> done) = 0;
  virtual void ReportOutcome(const Caller& caller, const Outcome& outcome, OnAnswer<Acknowledged> done) = 0;
};

// `call_limit`: a call other than Await without an answer for so long ends as Disconnected; Await gets 60 s more.
// The token is told to nobody but the AM of the job in `folder`; see reach.h.
std::unique_ptr<AmClient> MakeThriftAmClient(EventLoop& loop, std::filesystem::path folder, Duration call_limit);

}  // namespace tony
