// A call with messages instead of bytes. Private to this folder, since it shows protobuf.
#pragma once

#include <google/protobuf/message_lite.h>

#include <functional>
#include <string>
#include <utility>
#include <variant>

#include "runtime/base/strings.h"
#include "runtime/hadoop/rpc_connection.h"

namespace tony::hadoop {

template <class Response>
using TypedReply = std::variant<Response, RpcFailure>;

template <class Response>
TypedReply<Response> ReadReply(const RpcConnection::Reply& reply) {
  if (const auto* failure = std::get_if<RpcFailure>(&reply)) return *failure;
  const std::string& bytes = std::get<std::string>(reply);
  Response response;
  if (response.ParsePartialFromString(bytes) && response.IsInitialized()) return response;
  return RpcFailure{RpcFailure::Kind::kMisunderstood, "", StrCat("not a message of the type ", response.GetTypeName())};
}

template <class Response>
void CallTyped(RpcConnection& connection, const std::string& method, const google::protobuf::MessageLite& request,
               std::function<void(const TypedReply<Response>&)> done) {
  connection.Call(method, request.SerializeAsString(),
                  [done = std::move(done)](const RpcConnection::Reply& reply) { done(ReadReply<Response>(reply)); });
}

// "getNewApplication at rm:8032".
inline std::string ContextOf(const std::string& method, const RpcConnection& connection) {
  return StrCat(method, " at ", ToString(connection.server().address));
}

// The answer as `convert` makes it, or an error for people.
template <class Response, class Convert, class Done>
void CallFor(RpcConnection& connection, const std::string& method, const google::protobuf::MessageLite& request,
             Convert convert, Done done) {
  CallTyped<Response>(connection, method, request,
                      [context = ContextOf(method, connection), convert, done](const TypedReply<Response>& reply) {
                        if (const auto* failure = std::get_if<RpcFailure>(&reply))
                          return done(ErrorOf(*failure, context));
                        done(convert(std::get<Response>(reply)));
                      });
}

}  // namespace tony::hadoop
