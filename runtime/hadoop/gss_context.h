// Proves the user's Kerberos identity to one server. The GSSAPI library (libkrb5) is loaded by the program tony-gss,
// because a static program cannot load libraries. `GssContext` starts one tony-gss for each server, and exchanges these
// messages with it over a socket. A message is: the length of what follows (4 bytes, the most significant first), one
// letter, and bytes.
//
//   request                            answer
//   t  token of the server, or empty   c  our next token: the exchange goes on;  d  our last token, or empty
//   w  bytes to sign                   b  the wrapped bytes
//   e  bytes to encrypt                b  the wrapped bytes
//   u  wrapped bytes                   b  the bytes
//   i                                  b  the user's principal, a blank, seconds until the ticket ends
//   any                                x  an error message; r  an error message: a retry may help
//
// tony-gss exits when its input ends.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "runtime/base/result.h"
#include "runtime/base/time.h"
#include "runtime/base/unique_fd.h"

namespace tony::hadoop {

inline constexpr char kGssProgram[] = "tony-gss";
// The largest message, which is above the largest answer of a Hadoop server.
inline constexpr uint32_t kLongestGssMessage = 64 << 20;

// Returns a message with its length. Both programs use this function.
inline std::string GssMessage(char letter, std::string_view bytes) {
  const auto length = static_cast<uint32_t>(bytes.size() + 1);
  std::string message;
  for (int shift = 24; shift >= 0; shift -= 8) message.push_back(static_cast<char>(length >> shift));
  message.push_back(letter);
  return message.append(bytes);
}

// Returns kNotPermitted if other users have access to the keytab `file`, which is as good as a password. `from` names
// the setting with the file.
Status CheckKeytabFile(std::string_view from, std::string_view file);

// Blocks, because Kerberos' library does. Errors: kNotPermitted if Kerberos refuses, for example because the user has
// no ticket; kUnavailable if a retry may help, for example because the KDC does not answer, or if tony-gss does not
// start. The message says what to do.
class GssContext {
 public:
  struct Step {
    // The token for the server. After the last step it may be empty.
    std::string token;
    bool is_last = false;
  };
  struct User {
    std::string principal;  // e.g. "eve@EXAMPLE.ORG"
    Duration left{};        // time until the ticket ends
  };

  // `target` is a principal such as "rm/rm.example.org@EXAMPLE.ORG", or a service on a host: "HTTP@nn.example.org".
  // Each call may take `limit`.
  // A `keytab`, if it is not empty, replaces the user's ticket and keytab.
  static Result<std::unique_ptr<GssContext>> Start(const std::string& target, Duration limit,
                                                   const std::string& keytab = "");
  ~GssContext();
  GssContext(const GssContext&) = delete;

  // Returns the token that follows the server's token. The first call passes an empty one.
  Result<Step> Next(std::string_view token);
  // After the last step.
  Result<std::string> Wrap(std::string_view bytes, bool encrypts);
  Result<std::string> Unwrap(std::string_view bytes);
  Result<User> WhoAmI();

 private:
  GssContext(UniqueFd socket, pid_t pid, Duration limit) : socket_(std::move(socket)), pid_(pid), limit_(limit) {}
  struct Answer {
    char letter = 0;
    std::string bytes;
  };
  Result<Answer> Ask(char letter, std::string_view bytes);
  Result<std::string> AskForBytes(char letter, std::string_view bytes);
  Error NoAnswer(bool is_late);

  const UniqueFd socket_;
  pid_t pid_;  // -1: the process has been reaped
  const Duration limit_;
};

// Returns the principal on a host: "_HOST" in "rm/_HOST@EXAMPLE.ORG" is replaced by the host's name in lower case.
std::string PrincipalOn(const std::string& principal, const std::string& host);

// Returns the value of the header "Authorization" that proves the user's identity to the web server on `host`.
Result<std::string> NegotiateHeader(const std::string& host, Duration limit);

}  // namespace tony::hadoop
