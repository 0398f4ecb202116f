// A small framed Thrift server on the event loop: plain generated argument and result structs, answers given at any
// later time. See tony.thrift for the services. Loop thread only.
//
// On a Unix socket nobody but the job's user and root is heard at all, through TLS nobody but the job's executors and
// clients. Whoever has connected is a stranger until a call has come with the job's token: of strangers there are few,
// with small frames, and not for long. At a port with TLS newcomers wait in the kernel's queue while many shake hands.
//
// Bounded: frame size, string and container sizes (never above the frame), open calls per connection, connections,
// unsent bytes of a peer that does not read, bytes of unfinished frames. Garbage closes that connection and nothing
// else. Where descriptors run short, strangers are dropped first, the oldest of them, then who has been silent longest
// of those who await no answer.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <variant>
#include <vector>

#include "runtime/base/endpoint.h"
#include "runtime/base/event_loop.h"
#include "runtime/base/result.h"
#include "runtime/job/executor_protocol.h"
#include "runtime/job/job_status.h"
#include "runtime/job/outcome.h"
#include "runtime/net/frame_connection.h"

namespace tony {

struct RpcServerOptions {
  std::filesystem::path folder;  // that the sockets' names are in
  std::vector<Address> at;       // where it listens; port 0: any free one
  MakeChannel tls;               // at its ports; none: they are plain, and only on this machine. See runtime/net/tls.h
  // Bytes; the largest call is an outcome with the outputs of a chief (1 MiB), its logs (512 KiB) and texts of 64 KiB.
  uint32_t max_frame = 2 << 20;
  int max_open_calls = 16;  // per connection
  int max_connections = 20000;
  size_t max_unsent = 16 << 20;   // bytes per connection
  size_t max_partial = 64 << 20;  // bytes of unfinished frames, of all connections together

  // The largest first call of ours is Register: four names of up to 255 bytes, a role, numbers. Clients whose first
  // call may be larger (a kill with a long reason) ask for the status before.
  uint32_t stranger_frame = 4 << 10;
  size_t stranger_unsent = 64 << 10;
  int max_strangers = 1024;       // one more: the oldest goes. Ours send at once; a loop's turn accepts 64 at most
  Duration stranger_limit{5000};  // from being accepted to the first call with the token
};

// The right to answer one call, once, now or later. Dropped without an answer: the connection is closed, so that the
// caller does not wait for ever. An answer to a caller that has gone is lost, silently. Cheap to copy.
template <class T>
class Reply {
 public:
  class Sink {
   public:
    virtual ~Sink() = default;
    virtual void Success(const T& value) = 0;
    virtual void Refuse(const Refusal& refusal) = 0;
    virtual void OnAbandoned(std::function<void()> fn) = 0;
  };
  explicit Reply(std::shared_ptr<Sink> sink) : sink_(std::move(sink)) {}
  void Success(const T& value) const { sink_->Success(value); }
  void Refuse(RefusalReason reason, const std::string& message) const { sink_->Refuse({reason, message}); }
  // `fn` runs if the caller goes away or the server stops before an answer was given; replaces an earlier fn.
  void OnAbandoned(std::function<void()> fn) const { sink_->OnAbandoned(std::move(fn)); }

 private:
  std::shared_ptr<Sink> sink_;
};

struct StatusAnswer {
  int64_t seq = 0;
  Epoch epoch;
  bool ended = false;
  std::string status_json;
};

struct KillReply {
  KillAnswer answer = KillAnswer::kTaken;
  StatusAnswer status;
};

struct AttachReply {
  bool attached = false;
  StatusAnswer status;
};

// What the AM does with the calls. Requests come in our own types; BAD_PROTOCOL and malformed fields have been refused
// already. Tokens have not been checked.
class AmService {
 public:
  virtual ~AmService() = default;
  virtual bool Knows(const std::string& token) const = 0;  // whether it is the job's
  virtual void Register(const Caller& caller, const Registration& what, Reply<Epoch> reply) = 0;
  virtual void Await(const Caller& caller, int64_t since, Reply<Command> reply) = 0;
  virtual void Heartbeat(const Caller& caller, const Progress& progress, Reply<std::monostate> reply) = 0;
  virtual void Publish(const Caller& caller, const PublishedValues& values, Reply<std::monostate> reply) = 0;
  virtual void ReportOutcome(const Caller& caller, const AttemptReport& report, Reply<std::monostate> reply) = 0;
  virtual void SendLog(const Caller& caller, int64_t id, std::vector<LogNews> news, Reply<std::monostate> reply) = 0;
  virtual void GetStatus(const std::string& token, Reply<StatusAnswer> reply) = 0;
  virtual void Watch(const std::string& token, int64_t since, Duration limit, const WatcherToken& watcher,
                     Reply<StatusAnswer> reply) = 0;
  virtual void Kill(const std::string& token, const KillRequest& request, Reply<KillReply> reply) = 0;
  virtual void Attach(const std::string& token, const Claim& claim, Reply<AttachReply> reply) = 0;
  virtual void ReadLogs(const std::string& token, const LogQuery& query, Reply<LogAnswer> reply) = 0;
};

class RpcServer {
 public:
  virtual ~RpcServer() = default;
  virtual const std::vector<Address>& addresses() const = 0;  // where it listens, as asked for, ports filled in
  virtual size_t connections() const = 0;
  // Closes the listeners and removes their names, sends the answers already given, abandons open calls, then closes the
  // connections; `done` is called when all are closed or after a second.
  virtual void Stop(std::function<void()> done) = 0;
};

// The service must outlive the server. kUnavailable if an address cannot be bound, kNotPermitted if one is beyond this
// machine and there is no TLS.
Result<std::unique_ptr<RpcServer>> StartRpcServer(EventLoop& loop, const RpcServerOptions& options, AmService& service);

}  // namespace tony
