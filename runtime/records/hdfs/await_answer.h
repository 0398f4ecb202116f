// A call of HDFS that a thread waits for, on a loop that is the caller's alone meanwhile.
#pragma once

#include <exception>
#include <optional>
#include <utility>

#include "runtime/base/event_loop.h"
#include "runtime/base/shortage.h"
#include "runtime/hadoop/webhdfs.h"

namespace tony {

// What the call that `start(done)` begins is answered with; the call's own limits end it.
template <class T, class Start>
T AwaitAnswer(EventLoop& loop, Start start) {
  try {
    std::optional<T> answer;
    const hadoop::WebHdfs::Handle handle = start([&](T result) {
      answer = std::move(result);
      loop.Stop();
    });
    loop.Run();
    return *std::move(answer);
  } catch (const std::exception& thrown) {  // the loop's, where there are no more descriptors
    return ThrownError(thrown);
  }
}

}  // namespace tony
