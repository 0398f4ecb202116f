// Finds the handler of a method and gives it the arguments. Knows nothing of sockets.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "runtime/rpc/call.h"

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

}  // namespace tony
