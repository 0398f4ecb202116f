// Finds the handler of a method and gives it the arguments. Knows nothing of sockets.
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
  // `handle` answers now, or keeps the call and answers later. What it throws becomes the answer.
  template <class Args>  // the generated struct of the arguments; the handler may move from it
  void On(const std::string& method, std::function<void(Args&, const std::shared_ptr<Call>&)> handle) {
    handlers_[method] = [handle = std::move(handle)](MessageReader& message,
                                                     const std::shared_ptr<Call>& call) -> Status {
      Args args;
      TRY(message.ReadBody(args));
      RunGuarded(*call, [&] { handle(args, call); });
      return Ok();
    };
  }

  // `message` stands behind the header. kInvalid: the bytes are not what they should be, and no handler has run.
  Status Dispatch(const MessageHeader& header, MessageReader& message, const std::shared_ptr<Call>& call) const;
  std::vector<std::string> methods() const;

 private:
  using Handler = std::function<Status(MessageReader&, const std::shared_ptr<Call>&)>;
  static void RunGuarded(Call& call, const std::function<void()>& handler);

  std::map<std::string, Handler> handlers_;
};

// One peer of the server and its open calls. Loop thread only.

// Kept by shared_ptr, because calls know it weakly. Destroying it closes the connection and abandons its open calls.
class ServerConnection : public CallOrigin, public std::enable_shared_from_this<ServerConnection> {
 public:
  struct Context {  // outlives the connection
    EventLoop& loop;
    const RpcServerOptions& options;
    const Dispatcher& dispatcher;
    FrameConnection::ReadBudget& budget;
  };
  struct Events {
    std::function<void()> on_known;   // once: the caller had the token
    std::function<void()> on_closed;  // may drop the last reference to the connection
  };
  // `other_user`: see OtherUser().
  ServerConnection(const Context& context, std::unique_ptr<Channel> channel, std::string other_user, Events events);
  ~ServerConnection() override;

  void Stop();  // sends the answers already given, abandons the open calls, then closes
  bool AwaitsAnAnswer() const { return !open_calls_.empty(); }
  Instant heard() const { return heard_; }  // its last frame; its beginning if there was none

  void CallEnded(Call& call, std::string message) override;
  void CallerKnown() override;
  std::string OtherUserThere() const override { return other_user_; }

 private:
  void OnFrame(std::string_view frame);
  void OnClosed(const std::string& reason);
  void AbandonCalls();

  Context context_;
  const std::string other_user_;
  Events events_;
  Instant heard_;
  std::vector<Call*> open_calls_;  // each takes itself out when it ends
  std::shared_ptr<FrameConnection> frames_;
};

}  // namespace tony
