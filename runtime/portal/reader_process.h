// The portal's side of the process that reads the files of one user (job_reader.h). The user owns this process, and can
// change everything about it. Therefore each answer is limited in time and size, the memory of the process is
// limited, and an answer can neither set a header nor be a script or a style. Loop thread only.
//
// The process is started when the first request arrives, again when it has died, and is ended when it was not used for
// a minute. Requests are sent one after the other. A request that fails ends the process; the next request starts
// another one.
#pragma once

#include <sys/types.h>

#include <deque>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/base/event_loop.h"
#include "runtime/base/result.h"
#include "runtime/base/unique_fd.h"
#include "runtime/net/http_server.h"

namespace tony {

struct ReaderLimits {
  // The time from the sending of a request to the end of its answer.
  Duration answer{10'000};
  Duration idle{60'000};
  size_t answer_bytes = 32 << 20;
  int64_t memory_bytes = int64_t{1} << 30;  // resident memory
  size_t waiting = 64;                      // requests
};

// Reads the answer at the beginning of `bytes`; nullopt: bytes are missing. `used` becomes the length of the answer.
// kInvalid: the bytes are no answer, or the answer is longer than `most`. Pure.
Result<std::optional<HttpAnswer>> ReadAnswer(std::string_view bytes, size_t most, size_t& used);

class ReaderProcess {
 public:
  // Starts a process whose standard input and output is the socket.
  using Start = std::function<Result<pid_t>(int socket)>;
  using Answer = std::function<void(Result<HttpAnswer>)>;

  ReaderProcess(EventLoop& loop, Start start, const ReaderLimits& limits = {})
      : loop_(loop), start_(std::move(start)), limits_(limits) {}
  ~ReaderProcess() { End(); }

  // Requests `target`, e.g. "/*/list?q=x". `answer` is called exactly once, never inside this call.
  void Ask(const std::string& target, Answer answer);
  pid_t pid() const { return pid_; }  // 0: no process runs

 private:
  struct Request {
    std::string target;
    Answer answer;
  };
  Status Begin();
  void SendNext();
  void OnReadable();
  void Watch();
  void Finish(Result<HttpAnswer> answer);
  void Fail(const std::string& why);
  void End();
  void Reap();

  EventLoop& loop_;
  const Start start_;
  const ReaderLimits limits_;
  // The first request was sent if `is_sent_` is true.
  std::deque<Request> requests_;
  bool is_sent_ = false;
  pid_t pid_ = 0;
  // Killed processes that still wait for a file system.
  std::vector<pid_t> killed_;
  UniqueFd socket_;
  std::string received_;
  EventLoop::FdWatch readable_;
  EventLoop::Timer limit_, watch_, next_;
};

}  // namespace tony
