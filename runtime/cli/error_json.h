// What a failing verb prints with --json on standard output, beside the line on standard error that people read:
//
//   {"schema":1,"error":{"code":65,"class":"spec_invalid","message":"...","retryable":false}}
//
// A verb that has something to tell although it failed puts "error" into its own document instead: FailWith().
#pragma once

#include <string>
#include <string_view>

#include "runtime/base/result.h"

namespace tony {

std::string_view ClassName(ErrorCode code);  // "spec_invalid"
std::string ErrorJson(const Error& error);   // {"code":...,"class":...,"message":...,"retryable":...}

// These print the answer, say the error and return its exit code: the end of a command.
int Fail(const Error& error, bool json);
int FailWith(const Error& error, std::string document);  // the JSON object `document`, with "error" added

}  // namespace tony
