// A small framed Thrift server on the event loop. Handlers get the plain generated argument structs, and may answer at
// any later time. The services are in tony.thrift. Loop thread only.
//
// A Unix socket accepts only the job's user and root. A port with TLS accepts only the job's executors and clients.
// Each connection is a stranger until a call with the job's token has arrived. Only a limited number of strangers is
// allowed, with small frames and for a short time. At a port with TLS new connections wait in the kernel's queue while
// many handshakes are under way.
//
// The server limits the size of frames, and the size of strings and containers (never above the frame). It also limits
// open calls per connection, connections, bytes that a peer does not read, and bytes of unfinished frames. Invalid data
// closes its connection and has no other effect. If descriptors run short, the oldest strangers are dropped first. Next
// come the connections that have been silent longest and do not wait for an answer.
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
  std::filesystem::path folder;  // folder of the sockets
  // The addresses to listen at. Port 0 stands for any free port.
  std::vector<Address> at;
  // A listening socket that serves as the port in `at`; -1: the server opens a socket. The caller keeps it open, and
  // the server uses a duplicate.
  int inherited = -1;
  // Makes the TLS channels of the ports (runtime/net/tls.h). If `tls` is empty, ports are plain, and only loopback
  // addresses are allowed.
  MakeChannel tls;
  // The largest frame in bytes. The largest call is an outcome with the outputs of a chief (1 MiB), its logs (512 KiB)
  // and texts of 64 KiB.
  uint32_t max_frame = 2 << 20;
  int max_open_calls = 16;  // per connection
  int max_connections = 20000;
  size_t max_unsent = 16 << 20;  // bytes per connection
  // The most bytes of unfinished frames, over all connections.
  size_t max_partial = 64 << 20;

  // The largest frame in bytes from a stranger. The largest first call of TonY's programs is Register: four names of up
  // to 255 bytes, a role, and numbers. A client whose first call may be larger, e.g. a kill with a long reason,
  // requests the status first.
  uint32_t stranger_frame = 4 << 10;
  size_t stranger_unsent = 64 << 10;
  // The most strangers at the same time. A further stranger replaces the oldest one. TonY's programs send their first
  // call at once, and an iteration of the loop accepts at most 64 connections.
  int max_strangers = 1024;
  // The longest time from the accept of a connection to its first call with the token.
  Duration stranger_limit{5000};
};

// The right to answer a call, once, now or later. If all copies are dropped without an answer, the connection is
// closed, so that the caller does not wait for ever. An answer to a caller that has disconnected is lost silently.
// Cheap to copy.
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
  // Sets `fn`, which runs if the caller disconnects or the server stops before an answer was given. An earlier `fn` is
  // replaced.
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

// The AM's handlers for the calls. The server has already refused calls with a wrong protocol version or malformed
// fields, so handlers get TonY's own types. The server has not checked tokens.
class AmService {
 public:
  virtual ~AmService() = default;
  virtual bool Knows(const std::string& token) const = 0;  // true for the job's token
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
  virtual void PushTokens(const std::string& token, const ClusterTokens& tokens, Reply<TokensReply> reply) = 0;
};

class RpcServer {
 public:
  virtual ~RpcServer() = default;
  // The addresses to which the server listens, with the actual port in place of port 0.
  virtual const std::vector<Address>& addresses() const = 0;
  virtual size_t connections() const = 0;
  // Closes the listeners and removes their sockets, sends the answers that were already given, abandons open calls, and
  // closes the connections. `done` is called when all connections are closed, or after a second.
  virtual void Stop(std::function<void()> done) = 0;
};

// Starts a server. The service must outlive the server. Returns kUnavailable if an address cannot be bound, and
// kNotPermitted if an address without TLS can be reached from other machines.
Result<std::unique_ptr<RpcServer>> StartRpcServer(EventLoop& loop, const RpcServerOptions& options, AmService& service);

}  // namespace tony
