// Who watches files being staged or sent, and may stop it.
#pragma once

#include <cstdint>
#include <functional>
#include <stop_token>
#include <string>

namespace tony {

struct StageProgress {
  std::string what;    // "src_dir /x/app"
  int64_t done = 0;    // bytes of sources gone through: to be hashed, and once more where they are put into a store
  int64_t total = 0;   // as far as it is known: it grows when a source turns out not to be in the store
  int64_t copied = 0;  // bytes written into the store; 0 in the end: everything was there
};

struct StageWatch {
  // Called on the staging thread, every few milliseconds while bytes move.
  std::function<void(const StageProgress&)> on_progress = [](const StageProgress&) {};
  std::stop_token stop;  // when asked, the staging ends soon, with kUnavailable and nothing left
  // Called on the staging thread: what had been staged of this source is damaged, and is made anew.
  std::function<void(const std::string& what, const std::string& damage)> on_damage = [](const auto&, const auto&) {};
};

}  // namespace tony
