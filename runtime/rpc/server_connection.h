// Finds the handler of a method and passes it the arguments. A Dispatcher does not depend on sockets.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/net/frame_connection.h"
#include "runtime/rpc/call.h"
#include "runtime/rpc/rpc_server.h"

namespace tony {

class Dispatcher {
 public:
  // Sets the handler of a method. `handle` answers now, or keeps the call and answers later. If `handle` throws an
  // exception, the call is answered with the exception's text. `Args` is the generated struct of the arguments; the
  // handler may move from it.
  template <class Args>
  void On(const std::string& method, std::function<void(Args&, const std::shared_ptr<Call>&)> handle) {
    handlers_[method] = [handle = std::move(handle)](MessageReader& message,
                                                     const std::shared_ptr<Call>& call) -> Status {
      Args args;
      TRY(message.ReadBody(args));
      RunGuarded(*call, [&] { handle(args, call); });
      return Ok();
    };
  }

  // Runs the handler of a call. The header of `message` has already been read. If the bytes are malformed, returns
  // kInvalid without running a handler.
  Status Dispatch(const MessageHeader& header, MessageReader& message, const std::shared_ptr<Call>& call) const;
  std::vector<std::string> methods() const;

 private:
  using Handler = std::function<Status(MessageReader&, const std::shared_ptr<Call>&)>;
  static void RunGuarded(Call& call, const std::function<void()>& handler);

  std::map<std::string, Handler> handlers_;
};

// A peer of the server and its open calls. Loop thread only.

// A shared_ptr must own a connection, because calls refer to it weakly. The destructor closes the connection and
// abandons its open calls.
class ServerConnection : public CallOrigin, public std::enable_shared_from_this<ServerConnection> {
 public:
  struct Context {  // must outlive the connection
    EventLoop& loop;
    const RpcServerOptions& options;
    const Dispatcher& dispatcher;
    FrameConnection::ReadBudget& budget;
  };
  struct Events {
    // Called once, when a call has contained the job's token.
    std::function<void()> on_known;
    // Called when the connection is closed; may drop the last reference to it.
    std::function<void()> on_closed;
  };
  // `other_user` is the result of OtherUser() for the peer.
  ServerConnection(const Context& context, std::unique_ptr<Channel> channel, std::string other_user, Events events);
  ~ServerConnection() override;

  // Sends the answers that were already given, abandons the open calls, and closes the connection.
  void Stop();
  bool AwaitsAnAnswer() const { return !open_calls_.empty(); }
  // The time of the last frame, or of the connection's start if no frame has arrived.
  Instant heard() const { return heard_; }

  void CallEnded(Call& call, std::string message) override;
  void CallerKnown() override;
  std::string PeerUserIfOther() const override { return other_user_; }

 private:
  void OnFrame(std::string_view frame);
  void OnClosed(const std::string& reason);
  void AbandonCalls();

  Context context_;
  const std::string other_user_;
  Events events_;
  Instant heard_;
  // Each call removes itself when it ends.
  std::vector<Call*> open_calls_;
  std::shared_ptr<FrameConnection> frames_;
};

}  // namespace tony
