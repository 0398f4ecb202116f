// The way to an AM, for its executors and clients.
//
// The job's token goes to the other end with the first call, so it matters who that is. Nobody but the job's user can
// listen in the job's folder (0700), and the kernel says who does. A TCP port is free for anybody the moment a master
// dies: nothing is told there but through TLS, when the master has shown its certificate.
#pragma once

#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <variant>
#include <vector>

#include "runtime/base/endpoint.h"
#include "runtime/base/event_loop.h"
#include "runtime/base/result.h"
#include "runtime/base/time.h"
#include "runtime/job/claim.h"
#include "runtime/job/executor_protocol.h"
#include "runtime/job/job_status.h"
#include "runtime/job/outcome.h"
#include "runtime/net/frame_connection.h"

namespace tony {

// The way to the AM of the job in `folder`; to a host and port by `tls`, and then connect() may still be under way.
// Null: its queue is full, which is no sign of its death; try again after a Pause. Never blocks. kUnavailable: nobody
// listens there. kNotPermitted: nobody that may be told the token does: a user other than this process's, the folder's
// owner and root, or at a port without TLS.
Result<std::unique_ptr<Channel>> ReachAm(const std::filesystem::path& folder, const Address& am,
                                         const MakeChannel& tls);

// Pauses before the next try at a full queue: longer each time, each process its own. Ten thousand executors join
// within a second, and the queue holds some thousands (net.core.somaxconn).
class QueuePause {
 public:
  QueuePause();
  Duration Next();

 private:
  Duration longest_;
  unsigned random_;
};

// The connection to an AM: what executors and clients ask of it. Seams: ExecutorCalls and ClientCalls, with fakes in
// tests.
//
// Loop thread only. Calls go side by side, answers are matched by sequence id, so a parked Await or Watch blocks
// nothing. Every callback is called exactly once unless the connection is destroyed first, which a callback may do;
// never from inside the call.

struct Disconnected {
  std::string reason;
  bool crowded = false;        // the AM's queue was full all the time: it is there, and others were before us
  bool mistrusted = false;     // who listens there may not be told the token, and was not: am_connection.h
  bool misunderstood = false;  // it has answered, in words that we do not know: another release
};
struct Acknowledged {};

template <class T>
using Answer = std::variant<T, Refusal, Disconnected>;
template <class T>
using OnAnswer = std::function<void(Answer<T>)>;

class ExecutorCalls {
 public:
  virtual ~ExecutorCalls() = default;
  // Drops the connection there is (its open calls end as Disconnected) and uses `am` from now on. The first call
  // connects. After a Disconnected answer the next call connects anew; nothing is retried here.
  virtual void Use(const Address& am) = 0;
  virtual void Register(const Caller& caller, const Registration& what, OnAnswer<Epoch> done) = 0;
  virtual void Await(const Caller& caller, int64_t since, OnAnswer<Command> done) = 0;
  virtual void Heartbeat(const Caller& caller, const Progress& progress, OnAnswer<Acknowledged> done) = 0;
  virtual void Publish(const Caller& caller, const PublishedValues& values, OnAnswer<Acknowledged> done) = 0;
  virtual void ReportOutcome(const Caller& caller, const AttemptReport& report, OnAnswer<Acknowledged> done) = 0;
  virtual void SendLog(const Caller& caller, int64_t id, const std::vector<LogNews>& news,
                       OnAnswer<Acknowledged> done) = 0;
};

struct KilledAnswer {
  KillAnswer answer = KillAnswer::kTaken;
  JobStatus status;
};
struct AttachedAnswer {
  bool attached = false;  // false: it is being ended, or has ended otherwise than well
  JobStatus status;
};

// With the job's token. Watch is answered at the first news after `since`, or after `limit`. ReadLogs of many logs may
// not be the first call of a connection (RpcServerOptions::stranger_frame).
class ClientCalls {
 public:
  virtual ~ClientCalls() = default;
  virtual void GetStatus(const std::string& token, OnAnswer<JobStatus> done) = 0;
  virtual void Watch(const std::string& token, int64_t since, Duration limit, const WatcherToken& watcher,
                     OnAnswer<JobStatus> done) = 0;
  virtual void Kill(const std::string& token, const KillRequest& request, OnAnswer<KilledAnswer> done) = 0;
  virtual void Attach(const std::string& token, const Claim& claim, OnAnswer<AttachedAnswer> done) = 0;
  virtual void ReadLogs(const std::string& token, const LogQuery& query, OnAnswer<LogAnswer> done) = 0;
};

class AmConnection : public ExecutorCalls, public ClientCalls {};

// `call_limit`: a call without an answer for so long ends as Disconnected, also one that waits for room in the AM's
// queue; Await gets 60 s more, Watch its limit, ReadLogs its wait. The token is told to nobody but the AM of the job in
// `folder`; see am_connection.h. `tls`: for an AM at a host (numeric) and port, runtime/net/tls.h; none: it is not called
// there.
std::unique_ptr<AmConnection> MakeAmConnection(EventLoop& loop, std::filesystem::path folder, Duration call_limit,
                                               MakeChannel tls = {});

// For people. kNotPermitted: a wrong token, or who listens there is not told it; kInvalid: what was asked makes no
// sense; kInternal: its answer was not understood; else kUnavailable.
Error ErrorOf(const Refusal& refusal);
Error ErrorOf(const Disconnected& disconnected);

}  // namespace tony
