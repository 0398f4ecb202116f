// The connection to an AM, for its executors and clients.
//
// The first call already contains the job's token, so a connection first checks which process listens. In the job's
// folder (0700) only the job's user can listen, and the kernel reports the listener's user. A TCP port, however,
// becomes free for any user when an AM dies. Therefore nothing is sent to a port except through TLS, after the AM has
// shown its certificate.
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

// Connects to the AM of the job in `folder`. Never blocks: `tls` makes the connection to a host and port, and its
// connect() may still be under way on return. Returns null if the AM's queue of connections is full; the AM may be
// alive, so the caller tries again after a QueuePause. Returns kUnavailable if no process listens at the address.
// Returns kNotPermitted if the listener may not receive the token. This is so if the address is a port and `tls` is
// empty, or if the listener's user is neither root, nor the folder's owner, nor the user of this process.
Result<std::unique_ptr<Channel>> ReachAm(const std::filesystem::path& folder, const Address& am,
                                         const MakeChannel& tls);

// The pauses between attempts to connect while the AM's queue of connections is full. Each pause is longer than the one
// before, up to a limit, and differs between processes. Ten thousand executors may connect within a second, and the
// queue holds a few thousand (net.core.somaxconn).
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
  // True if the AM's queue of connections was full all the time. The AM runs, and other connections came first.
  bool crowded = false;
  // True if the listener may not receive the token, as ReachAm() describes. The token was not sent.
  bool untrusted_listener = false;
  // True if the AM's answer was not understood, because the AM has another release.
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
  // connects. After a Disconnected answer the next call connects again. This class never repeats a failed call.
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

// Each call carries the job's token. Watch is answered when the number of the status exceeds `since`, or after `limit`.
// PushTokens, and a ReadLogs call for many logs, must not be the first call of a connection
// (RpcServerOptions::stranger_frame).
class ClientCalls {
 public:
  virtual ~ClientCalls() = default;
  virtual void GetStatus(const std::string& token, OnAnswer<JobStatus> done) = 0;
  virtual void Watch(const std::string& token, int64_t since, Duration limit, const WatcherToken& watcher,
                     OnAnswer<JobStatus> done) = 0;
  virtual void Kill(const std::string& token, const KillRequest& request, OnAnswer<KilledAnswer> done) = 0;
  virtual void Attach(const std::string& token, const Claim& claim, OnAnswer<AttachedAnswer> done) = 0;
  virtual void ReadLogs(const std::string& token, const LogQuery& query, OnAnswer<LogAnswer> done) = 0;
  virtual void PushTokens(const std::string& token, const ClusterTokens& tokens, OnAnswer<TokensReply> done) = 0;
};

class AmConnection : public ExecutorCalls, public ClientCalls {};

// A call that is not answered within `call_limit` ends as Disconnected, even if it still waits for room in the AM's
// queue. The limit is longer for three calls: by 60 s for Await, by the call's limit for Watch, and by the call's wait
// for ReadLogs. Only the AM of the job in `folder` receives the token, as ReachAm() describes. `tls`
// (runtime/net/tls.h) is for an AM at a numeric host and port; without `tls` such an AM is not called.
std::unique_ptr<AmConnection> MakeAmConnection(EventLoop& loop, std::filesystem::path folder, Duration call_limit,
                                               MakeChannel tls = {});

// Returns an error with a message for people. The code is kNotPermitted for a wrong token, or for a listener that may
// not receive the token. The code is kInvalid for a bad request, and kInternal for an answer that was not understood.
// Any other reason gets kUnavailable.
Error ErrorOf(const Refusal& refusal);
Error ErrorOf(const Disconnected& disconnected);

}  // namespace tony
