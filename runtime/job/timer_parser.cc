#include <algorithm>

#include "runtime/base/strings.h"
#include "runtime/job/parser_parts.h"

namespace tony {
namespace {

constexpr std::string_view kHeartbeat = "tony.task.heartbeat-interval-ms";
constexpr std::string_view kSuspect = "tony.task.suspect-after-ms";
constexpr std::string_view kCutoff = "tony.task.cutoff-after-ms";
constexpr std::string_view kGrace = "tony.task.stop-grace-ms";
constexpr std::string_view kLost = "tony.task.lost-after-ms";
constexpr std::string_view kFresh = "tony.task.record-fresh-ms";
constexpr std::string_view kMissed = "tony.task.max-missed-heartbeats";

constexpr int kSuspectHeartbeats = 5;
constexpr int64_t kLeastMissed = 3;  // TonY's floor: fewer would call a late heartbeat a death
constexpr Duration kMargin{5000};    // between a cut-off task's last instant and its successor's first

// max-missed-heartbeats is TonY's word for lost_after; ours goes before it. A value that worked with TonY, which knew
// no cut-off, still does: it counts from the shortest time that is safe here.
Result<Duration> ParseLostAfter(const PropertyValues& values, const Timers& timers, Warnings& warnings) {
  if (!values.Has(kMissed)) return values.Millis(kLost, 1);
  TRY_ASSIGN(const int64_t missed, values.Number(kMissed, 0, 1'000'000));
  if (values.Has(kLost)) {
    warnings.push_back(values.Bad(kMissed, StrCat("no effect, as ", kLost, " is set")).message);
    return values.Millis(kLost, 1);
  }
  const Duration asked = timers.heartbeat * std::max(kLeastMissed, missed);
  const Duration least = timers.cutoff_after + timers.grace + kMargin + Duration(1);
  if (asked >= least) return asked;
  warnings.push_back(
      values
          .Bad(kMissed, StrCat("taken as ", least.count(), " ms: a lost task has had ", kCutoff, " (",
                               timers.cutoff_after.count(), ") + ", kGrace, " (", timers.grace.count(), ") to stop"))
          .message);
  return least;
}

// A task that nobody hears must be dead before its successor starts, and the death of an AM must be told from being
// cut off from it.
Status CheckOrder(const Timers& timers) {
  if (timers.cutoff_after + timers.grace + kMargin >= timers.lost_after) {
    return Error{ErrorCode::kInvalid,
                 StrCat(kCutoff, " (", timers.cutoff_after.count(), ") + ", kGrace, " (", timers.grace.count(), ") + ",
                        kMargin.count(), " must be less than ", kLost, " (", timers.lost_after.count(),
                        "): a lost task must have stopped before it is started again")};
  }
  if (timers.heartbeat * kLeastMissed > timers.lost_after) {
    return Error{ErrorCode::kInvalid, StrCat(kLost, " (", timers.lost_after.count(), ") must be at least three times ",
                                             kHeartbeat, " (", timers.heartbeat.count(), ")")};
  }
  if (timers.record_fresh >= timers.cutoff_after) {
    return Error{ErrorCode::kInvalid, StrCat(kFresh, " (", timers.record_fresh.count(), ") must be less than ", kCutoff,
                                             " (", timers.cutoff_after.count(), ")")};
  }
  return Ok();
}

}  // namespace

Result<Timers> ParseTimers(const PropertyValues& values, Warnings& warnings) {
  Timers timers;
  TRY_ASSIGN(timers.heartbeat, values.Millis(kHeartbeat, 10));
  timers.suspect_after = timers.heartbeat * kSuspectHeartbeats;
  if (values.Has(kSuspect)) {
    TRY_ASSIGN(timers.suspect_after, values.Millis(kSuspect, 1));
  }
  TRY_ASSIGN(timers.cutoff_after, values.Millis(kCutoff, 1));
  TRY_ASSIGN(timers.grace, values.Millis(kGrace, 0));
  TRY_ASSIGN(timers.lost_after, ParseLostAfter(values, timers, warnings));
  TRY_ASSIGN(timers.record_fresh, values.Millis(kFresh, 1));
  TRY_ASSIGN(timers.am_lease, values.Millis("tony.am.lease-ms", 1));
  TRY_ASSIGN(timers.orphan_timeout, values.Millis("tony.task.orphan-timeout-ms", 1));
  TRY(CheckOrder(timers));
  return timers;
}

}  // namespace tony
