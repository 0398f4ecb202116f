// One peer of the server and its open calls. Loop thread only.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/net/frame_connection.h"
#include "runtime/rpc/call.h"
#include "runtime/rpc/dispatcher.h"
#include "runtime/rpc/rpc_server.h"

namespace tony {

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
