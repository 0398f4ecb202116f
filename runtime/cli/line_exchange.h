// Lines from standard input and lines to standard output, on a thread of its own: neither somebody who writes nothing
// nor a reader who does not read holds up the loop, and with it signals. The descriptors stay blocking, as a shell may
// share them. Loop thread only; everything is told on the loop.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "runtime/base/event_loop.h"

namespace tony {

class LineExchange {
 public:
  struct Sink {
    std::function<void(const std::string&)> on_line;  // without its end; one of more than 4 KiB is cut
    std::function<void()> on_input_end;
    std::function<void()> on_idle;  // all that was put has been written
    std::function<void()> on_reader_gone;
  };
  // `reads`: standard input, too.
  LineExchange(EventLoop& loop, bool reads, Sink sink);
  ~LineExchange();  // what has not been written is lost; no callback comes after

  // Adds a line (without its end). It takes the place of one under the same key that the reader has been too slow for.
  void Put(const std::string& key, std::string line);
  bool IsIdle() const;

 private:
  class Talk;
  std::shared_ptr<Talk> talk_;
};

}  // namespace tony
