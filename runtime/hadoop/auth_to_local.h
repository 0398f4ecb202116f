// The rules that turn a Kerberos principal into the name of a user (hadoop.security.auth_to_local). Pure.
#pragma once

#include <string>

#include "runtime/base/result.h"

namespace tony::hadoop {

// Returns the user's name of `principal`, such as "eve" of "eve@EXAMPLE.ORG". `rules` are separated by blanks, and the
// first one that applies counts. The rule DEFAULT applies to principals of `default_realm`. Regular expressions have
// the syntax of ECMAScript, which equals Java's for usual rules. kInvalid: a rule is malformed, or none applies.
Result<std::string> UserOf(const std::string& principal, const std::string& rules, const std::string& default_realm);

}  // namespace tony::hadoop
