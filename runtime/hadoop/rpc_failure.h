// Why a call has no answer, and what that means for its caller. Values; pure functions.
#pragma once

#include <string>
#include <string_view>

#include "runtime/base/result.h"

namespace tony::hadoop {

struct RpcFailure {
  enum class Kind {
    kAnswered,       // the server's exception for this call: the connection goes on
    kRefused,        // the server's exception for the whole connection, which is over
    kLost,           // no answer: not connected, broken, or too late; the server may have done what was asked
    kMisunderstood,  // what came is not Hadoop's protocol
    kNotPermitted,   // the proof of the token failed on our side
  };
  Kind kind = Kind::kLost;
  std::string exception_class;  // of Java: "org.apache.hadoop.yarn.exceptions.ApplicationNotFoundException"; else empty
  std::string message;          // its first line
};

// Whether the exception has this name, which is without its package.
bool IsException(const RpcFailure& failure, std::string_view name);

// For people: "CONTEXT: ApplicationNotFoundException: application ... does not exist". Code: kUnavailable if it may
// help to try again, else by the exception.
Error ErrorOf(const RpcFailure& failure, std::string_view context);

// The name without its package and outer class.
std::string_view ShortName(std::string_view exception_class);
// Of a message with a stack trace behind it; without control characters, at most 1000 bytes.
std::string FirstLine(std::string_view text);
std::string OneLine(std::string text);  // all of its lines as one, to the same length

}  // namespace tony::hadoop
