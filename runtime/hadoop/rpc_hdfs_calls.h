// Parts that the two sources of RpcHdfs share, and no other file includes: rpc_hdfs.cc has the calls about names, and
// rpc_hdfs_data.cc the calls that read and write the bytes of files.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <variant>

#include "runtime/base/event_loop.h"
#include "runtime/base/result.h"
#include "runtime/base/strings.h"
#include "runtime/hadoop/hdfs_answer.h"
#include "runtime/hadoop/rpc_frames.h"
#include "runtime/hadoop/rpc_hdfs.h"

namespace tony::hadoop {

// Returns an exception that the server answered for the call; nullopt for an answer or for another failure.
std::optional<HdfsRefusal> RefusalOf(const Result<RpcConnection::Reply>& reply);

// The handle of a call or of several calls that follow each other.
class RpcHdfs::Steps : public EventLoop::Handle {
 public:
  // A call to a DataNode, a timer, or null.
  Hdfs::Handle running;
  // The token of the call that is running, and the token that a NameNode has refused. Empty: none.
  std::string token, refused;
  // The first answer that refused a token. It counts if the other NameNodes are in standby.
  std::optional<RpcConnection::Reply> token_refusal;
  // Answers that come after this object was destroyed are ignored. Null: no answer counts any more.
  std::shared_ptr<int> alive = std::make_shared<int>();
};

// Returns a callback that calls `done` with the value that `convert` makes of the answer, or with an error.
template <class Response, class T, class Convert>
Hdfs::Done<Result<RpcConnection::Reply>> RpcHdfs::Parsing(const Call& call, Convert convert, Done<Result<T>> done) {
  return [=, done = std::move(done)](const Result<Reply>& reply) {
    const auto bytes = Checked(call, reply);
    if (!bytes.ok()) return done(bytes.error());
    const auto response = ReadReply<Response>(Reply(*bytes));
    const std::string subject = StrCat(call.method, " ", call.path);
    if (const auto* failure = std::get_if<RpcFailure>(&response))
      return done(InvalidError(subject, ": ", failure->message));
    done(Annotate<T>(convert(std::get<Response>(response)), subject));
  };
}

}  // namespace tony::hadoop
