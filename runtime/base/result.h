// Errors as values. A function that can fail for a reason outside the program returns Status or Result<T>.
#pragma once

#include <optional>
#include <string>
#include <utility>

#include "runtime/base/strings.h"

namespace tony {

// The kind of an error. Its value is the exit code with which `tony` ends (docs/reference/exit-codes.md), after
// sysexits.h.
enum class ErrorCode {
  kUsage = 64,  // wrong command line
  // A spec, a property or a stored file that cannot be accepted.
  kInvalid = 65,
  kNotFound = 66,  // an unknown job, task or file
  // The runtime, store or scheduler cannot be reached. Another try may help.
  kUnavailable = 69,
  kInternal = 70,  // a bug in TonY
  // A file or folder that cannot be created or written.
  kCannotWrite = 73,
  kNotPermitted = 77,  // wrong owner or token
};

struct Error {
  ErrorCode code = ErrorCode::kInternal;
  // The text names the operation that failed and its object, in lower case and without a full stop.
  std::string message;
};

// The message is composed of pieces, as in StrCat().
template <class... Pieces>
Error InvalidError(const Pieces&... pieces) {
  return {ErrorCode::kInvalid, StrCat(pieces...)};
}
template <class... Pieces>
Error NotFoundError(const Pieces&... pieces) {
  return {ErrorCode::kNotFound, StrCat(pieces...)};
}
template <class... Pieces>
Error UnavailableError(const Pieces&... pieces) {
  return {ErrorCode::kUnavailable, StrCat(pieces...)};
}
template <class... Pieces>
Error NotPermittedError(const Pieces&... pieces) {
  return {ErrorCode::kNotPermitted, StrCat(pieces...)};
}

class [[nodiscard]] Status {
 public:
  Status() = default;
  Status(Error error) : error_(std::move(error)) {}  // NOLINT: an error is a status
  bool ok() const { return !error_; }
  const Error& error() const { return *error_; }

 private:
  std::optional<Error> error_;
};

template <class T>
class [[nodiscard]] Result {
 public:
  Result(T value) : value_(std::move(value)) {}      // NOLINT: a value is a result
  Result(Error error) : error_(std::move(error)) {}  // NOLINT: an error is a result
  bool ok() const { return value_.has_value(); }
  const Error& error() const { return error_; }
  Status status() const { return ok() ? Status() : Status(error_); }
  T& operator*() & { return *value_; }
  const T& operator*() const& { return *value_; }
  T&& operator*() && { return *std::move(value_); }
  T* operator->() { return &*value_; }
  const T* operator->() const { return &*value_; }

 private:
  std::optional<T> value_;
  Error error_;
};

inline Status Ok() { return {}; }

// Puts `context` in front of the message, e.g. "load job.xml: no such file".
inline Error Annotate(Error error, const std::string& context) {
  error.message = context + ": " + error.message;
  return error;
}
inline Status Annotate(Status status, const std::string& context) {
  return status.ok() ? std::move(status) : Annotate(status.error(), context);
}
template <class T>
Result<T> Annotate(Result<T> result, const std::string& context) {
  return result.ok() ? std::move(result) : Annotate(result.error(), context);
}

}  // namespace tony

#define TONY_CONCAT_(a, b) a##b
#define TONY_CONCAT(a, b) TONY_CONCAT_(a, b)

// Returns the error of `expression`, a Status or a Result, from the enclosing function.
#define TRY(expression)                                                                 \
  do {                                                                                  \
    if (auto tony_status = (expression); !tony_status.ok()) return tony_status.error(); \
  } while (false)

// `TRY_ASSIGN(auto x, F())` assigns the value of F(). If F() fails, returns its error from the enclosing function.
#define TRY_ASSIGN(declaration, expression) TRY_ASSIGN_(TONY_CONCAT(tony_result_, __LINE__), declaration, expression)
#define TRY_ASSIGN_(name, declaration, expression) \
  auto name = (expression);                        \
  if (!name.ok()) return name.error();             \
  declaration = *std::move(name)

// Combines lambdas for std::visit, one for each alternative.
namespace tony {

template <class... Handlers>
struct Overloaded : Handlers... {
  using Handlers::operator()...;
};
template <class... Handlers>
Overloaded(Handlers...) -> Overloaded<Handlers...>;

}  // namespace tony
