// The connection to an AM, for its executors and clients.
//
// The job's token is sent with the first call, so the identity of the listener matters. Only the job's user can listen
// in the job's folder (0700), and the kernel reports the listener's user. A TCP port becomes free for any user when an
// AM dies. Therefore nothing is sent to a port except through TLS, after the AM has shown its certificate.
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

// Connects to the AM of the job in `folder`. A host and port is reached through `tls`, and its connect() may still be
// under way on return. Never blocks. Returns null if the AM's queue is full, which does not mean that the AM is dead;
// the caller tries again after a QueuePause. Returns kUnavailable if no process listens at the address. Returns
// kNotPermitted if the listener may not receive the token: its user is not this process's user, the folder's owner or
// root, or it listens at a port without TLS.
Result<std::unique_ptr<Channel>> ReachAm(const std::filesystem::path& folder, const Address& am,
                                         const MakeChannel& tls);

// The pauses before the next attempt at a full queue. Each pause is longer than the one before, up to a limit, and
// differs between processes. Ten thousand executors join within a second, and the queue holds some thousands
// (net.core.somaxconn).
class QueuePause {
 public:
  QueuePause();
  Duration Next();

 private:
  Duration longest_;
  unsigned random_;
};

// The calls of executors and clients to an AM. ExecutorCalls and ClientCalls are interfaces, with fakes in tests.
//
// Loop thread only. Calls run side by side, and answers are matched by sequence id, so a parked Await or Watch blocks
// no other call. Every callback is called exactly once, unless the connection is destroyed first, which a callback may
// do. Callbacks never run inside the call that set them.

struct Disconnected {
  std::string reason;
  // True if the AM's queue was full all the time: the AM runs, and other connections came first.
  bool crowded = false;
  // True if the listener may not receive the token, and did not receive it; see ReachAm().
  bool untrusted_listener = false;
  // True if the AM's answer was not understood, because the AM is of another release.
  bool misunderstood = false;
};
struct Acknowledged {};

template <class T>
using Answer = std::variant<T, Refusal, Disconnected>;
template <class T>
using OnAnswer = std::function<void(Answer<T>)>;

class ExecutorCalls {
 public:
  virtual ~ExecutorCalls() = default;
  // Drops an existing connection (its open calls end as Disconnected) and uses `am` from now on. The first call
  // connects. After a Disconnected answer the next call connects again. A failed call is never repeated here.
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
  // False if the job has ended, or is being stopped without success.
  bool attached = false;
  JobStatus status;
};

// Each call carries the job's token. Watch is answered at the first news after `since`, or after `limit`. A ReadLogs
// call for many logs must not be the first call of a connection (RpcServerOptions::stranger_frame).
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

// `call_limit`: a call that is not answered within this time ends as Disconnected, even if it still waits for room in
// the AM's queue. Await gets 60 s more, Watch its limit, ReadLogs its wait. Only the AM of the job in `folder` receives
// the token, see ReachAm(). `tls` is for an AM at a (numeric) host and port, see runtime/net/tls.h; without it such an
// AM is not called.
std::unique_ptr<AmConnection> MakeAmConnection(EventLoop& loop, std::filesystem::path folder, Duration call_limit,
                                               MakeChannel tls = {});

// Returns an error with a message for people. kNotPermitted: a wrong token, or a listener that may not receive the
// token. kInvalid: a request that makes no sense. kInternal: an answer that was not understood. kUnavailable: any other
// reason.
Error ErrorOf(const Refusal& refusal);
Error ErrorOf(const Disconnected& disconnected);

}  // namespace tony
