// How far a staging is, and whether it is still wanted.
#pragma once

#include <cstdint>
#include <string>
#include <utility>

#include "runtime/base/result.h"
#include "runtime/records/stage_watch.h"

namespace tony {

class StageMeter {
 public:
  explicit StageMeter(const StageWatch& watch) : watch_(watch) {}

  void Begin(std::string what) { progress_.what = std::move(what); }
  void Expect(int64_t bytes) { progress_.total += bytes; }
  Status Done(int64_t bytes) { return Tell(progress_.done += bytes); }
  Status Copied(int64_t bytes) { return Tell(progress_.copied += bytes); }
  Status CheckStop() const {
    return watch_.stop.stop_requested() ? Error{ErrorCode::kUnavailable, "staging was stopped"} : Ok();
  }
  const StageProgress& progress() const { return progress_; }

 private:
  Status Tell(int64_t) {
    watch_.on_progress(progress_);
    return CheckStop();
  }

  const StageWatch& watch_;
  StageProgress progress_;
};

}  // namespace tony
